"""The servers that are compared, each as a proxy before a recording upstream of its own."""
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from talk import settings
from talk.odd_answers import ANSWERS
from talk.ports import free_port
from talk.settings import allow
from talk.upstream import Upstream, answer
from talk.wire import Closed, Malformed, TooLate

MLSERVE = """
[server]
loops = 1
[log]
error = $dir/log
[listener main]
bind = 127.0.0.1:$port
max_body_size = 1m
header_timeout = 1s
body_timeout = 1s
[route up]
path = /
handler = proxy
upstream = app
[upstream app]
server = $up
response_timeout = 2s
retries = 0
"""

NGINX = """
daemon off;
master_process off;
worker_processes 1;
pid $dir/pid;
error_log $dir/log;
events { worker_connections 1000; }
http {
	access_log off;
	client_body_temp_path $dir/body;
	proxy_temp_path $dir/proxy;
	fastcgi_temp_path $dir/fastcgi;
	uwsgi_temp_path $dir/uwsgi;
	scgi_temp_path $dir/scgi;
	client_max_body_size 1m;
	client_header_timeout 1s;
	client_body_timeout 1s;
	server {
		listen 127.0.0.1:$port;
		location / {
			proxy_pass http://$up;
			proxy_http_version 1.1;
			proxy_set_header Host $$http_host;
			proxy_set_header Connection "";
			proxy_read_timeout 2s;
			proxy_next_upstream off;
		}
	}
}
"""

HAPROXY = """
global
	maxconn 1000
	nbthread 1
defaults
	mode http
	timeout connect 2s
	timeout client 2s
	timeout server 2s
	timeout http-request 1s
	retries 0
frontend front
	bind 127.0.0.1:$port
	default_backend back
backend back
	server up $up
"""


def script(link):
    """Reads as strictly as this end can. The target's last word may name one of the odd answers."""
    while True:
        try:
            taken = link.request(within=20)
        except (Closed, TooLate):
            return
        except Malformed as fault:
            link.upstream.malformed.append(str(fault))
            return
        given = ANSWERS.get(taken.target.removeprefix("/"))
        try:
            link.send(given.data if given else answer(200, b"up"))
            if given and not given.stays:
                link.half_close()
                link.wait_end()
                return
        except OSError:
            return


class Peer:
    def __init__(self, name, program, arguments, text):
        self.name, self.port = name, free_port()
        self.upstream = Upstream(script)
        self.upstream.malformed = []
        self._tmp = tempfile.TemporaryDirectory(prefix=f"differential-{name}-")
        self.dir = Path(self._tmp.name)
        for key, value in (("$dir", str(self.dir)), ("$port", str(self.port)), ("$up", str(self.upstream)), ("$$", "$")):
            text = text.replace(key, value)
        (self.dir / "conf").write_text(text)
        self.process = subprocess.Popen([program, *(argument.replace("$dir", str(self.dir)) for argument in arguments)],
            stdin=subprocess.DEVNULL,
                                        stdout=(self.dir / "out").open("wb"), stderr=subprocess.STDOUT)
        self._wait_listening()

    def _wait_listening(self):
        deadline = time.monotonic() + allow(10)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{self.name} does not serve: {(self.dir / 'out').read_text()}") from None
                time.sleep(0.02)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(allow(5))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.upstream.close()
        self._tmp.cleanup()


def missing():
    """Why nothing can be compared here, or None."""
    assert os.access(settings.MLSERVE, os.X_OK), f"{settings.MLSERVE} is not there; set MLSERVE or MLSERVE_BUILD"
    for program in ("nginx", "haproxy"):
        if not _find(program):
            return f"{program} is not installed"
    return None


def _find(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def start_peers():
    made = []
    try:
        made.append(Peer("mlserve", settings.MLSERVE, ["-c", "$dir/conf"], MLSERVE))
        made.append(Peer("nginx", _find("nginx"), ["-p", "$dir", "-c", "$dir/conf", "-e", "$dir/log"], NGINX))
        made.append(Peer("haproxy", _find("haproxy"), ["-db", "-f", "$dir/conf"], HAPROXY))
    except BaseException:
        for peer in made:
            peer.close()
        raise
    return made


STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[ \r]")


class Reply:
    """All that came back on one connection."""

    def __init__(self, data, ended):
        self.data, self.ended = data, ended
        statuses = [int(status) for status in STATUS.findall(data)]
        self.statuses = [status for status in statuses if status >= 200]

    @property
    def status(self):
        return self.statuses[0] if self.statuses else 0


def exchange(port, data, patience=1.3, quiet=0.08):
    """Sends the bytes and reads until the server ends, says nothing for `quiet` after an answer, or answers nothing."""
    got, ended = bytearray(), None
    with socket.create_connection(("127.0.0.1", port), allow(5)) as sock:
        sender = threading.Thread(target=_send, args=(sock, data), daemon=True)
        sender.start()
        deadline = time.monotonic() + allow(patience)
        while ended is None:
            left = deadline - time.monotonic() if not STATUS.search(got) else allow(quiet)
            if left <= 0:
                break
            sock.settimeout(left)
            try:
                piece = sock.recv(65536)
            except socket.timeout:
                break
            except ConnectionResetError:
                ended = "RST"
                break
            got += piece
            ended = None if piece else "FIN"
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        sender.join(allow(5))
    return Reply(bytes(got), ended)


def _send(sock, data):
    try:
        sock.sendall(data)
    except OSError:
        pass
