"""systemd's side: sd_notify messages in order, and sockets that the manager hands over."""
import os
import re
import socket
import sys

import pytest

from talk.client import Client
from talk.notify import NotifySocket

CONF = """
[server]
loops = 2
$server
[listener main]
bind = $main
[route ok]
path = = /ok
handler = respond
body = ok
[route health]
path = /healthz
handler = health
"""


@pytest.fixture
def make(serve):
    def start(server="", main="$bind", **more):
        return serve(CONF.replace("$main", main), server=server, **more)

    return start


def test_ready_comes_once_it_serves(make):
    server = make()
    assert server.get("/ok").body == b"ok"
    assert [message["READY"] for message in server.notify.poll() if "READY" in message] == ["1"]


def test_status_says_loops(make):
    server = make()
    message = server.notify.wait("STATUS")
    assert re.search(r"\b2\b.*loops?|loops?.*\b2\b", message["STATUS"]), message


def test_mainpid_when_said_is_ours(make):
    server = make()
    for message in server.notify.poll():
        assert message.get("MAINPID", str(server.pid)) == str(server.pid)


def test_stopping_comes_before_the_end_and_once(make):
    server = make()
    server.send_signal()
    assert server.wait() == 0
    said = [key for message in server.notify.poll() for key in message if key in ("READY", "STOPPING")]
    assert said == ["READY", "STOPPING"]


def test_an_abstract_notify_socket_works(make):
    heard = NotifySocket(f"@mlserve-talk-{os.getpid()}")
    server = make(start=False, notify=False, environment={"NOTIFY_SOCKET": heard.path})
    server.spawn()
    assert heard.wait("READY", "1", 20, server.pidfd)
    heard.close()


def test_without_a_notify_socket_it_just_serves(make):
    server = make(start=False, notify=False)
    server.spawn()
    server.wait_log("listening on")
    assert server.get("/ok").body == b"ok"


def test_a_notify_socket_that_is_gone_does_not_matter(make):
    server = make(start=False, notify=False, environment={"NOTIFY_SOCKET": "/nonexistent/notify"})
    server.spawn()
    server.wait_log("listening on")
    assert server.get("/ok").body == b"ok"


def test_faults_do_not_say_ready(make):
    server = make(server="lops = 2", start=False)
    server.spawn()
    assert server.wait() == 1
    assert not any("READY" in message for message in server.notify.poll())


# ---- socket activation


# Places the descriptors named by its first argument at 3, 4, ... and becomes the server, as a service manager does.
PLACE = """
import os, sys
numbers = [int(number) for number in sys.argv[1].split(",")]
spare = [os.dup2(number, 100 + at) for at, number in enumerate(numbers)]
for at, number in enumerate(spare):
    os.dup2(number, 3 + at)
    os.close(number)
os.environ.setdefault("LISTEN_PID", str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


def activated(make, sockets, names, main, **environment):
    numbers = [sock.fileno() for sock in sockets]
    return make(main=main, start=False, pass_fds=numbers, wrap=[sys.executable, "-S", "-c", PLACE, ",".join(map(str, numbers))],
                environment={"LISTEN_FDS": str(len(sockets)), "LISTEN_FDNAMES": ":".join(names), **environment})


@pytest.fixture
def listening():
    made = []

    def make(path=None):
        sock = socket.socket(socket.AF_UNIX if path else socket.AF_INET, socket.SOCK_STREAM)
        sock.bind(str(path) if path else ("127.0.0.1", 0))
        sock.listen(64)
        made.append(sock)
        return sock

    yield make
    for sock in made:
        sock.close()


def test_a_named_socket_is_served(make, listening):
    sock = listening()
    server = activated(make, [sock], ["web"], "systemd:web").start()
    assert server.get("/ok", address=sock.getsockname()).body == b"ok"


def test_connections_made_before_the_start_are_served(make, listening):
    sock = listening()
    with Client(sock.getsockname()) as early:
        early.send(b"GET /ok HTTP/1.1\r\nHost: t.test\r\n\r\n")
        activated(make, [sock], ["web"], "systemd:web").start()
        assert early.response().body == b"ok"


def test_several_sockets_of_one_name_and_a_unix_one_are_all_served(make, listening, tmp_path):
    one, two, unix = listening(), listening(), listening(tmp_path / "u.sock")
    server = activated(make, [one, two, unix], ["web", "web", "local"], "systemd:web\nbind = systemd:local").start()
    for address in (one.getsockname(), two.getsockname(), str(tmp_path / "u.sock")):
        assert server.get("/ok", address=address).body == b"ok"
    server.stop()
    assert (tmp_path / "u.sock").exists(), "the manager's socket was removed"


def test_the_managers_socket_still_listens_after_our_end(make, listening):
    sock = listening()
    server = activated(make, [sock], ["web"], "systemd:web").start()
    server.stop()
    with Client(sock.getsockname()) as client:  # waits in the backlog for the next start
        client.send(b"GET /ok HTTP/1.1\r\nHost: t.test\r\n\r\n")
        again = activated(make, [sock], ["web"], "systemd:web").start()
        assert client.response().body == b"ok"
        again.stop()


def test_a_name_that_was_not_handed_over_is_a_clear_fault(make, listening):
    server = activated(make, [listening()], ["web"], "systemd:other")
    server.spawn()
    assert server.wait() in (1, 3)
    assert "systemd:other" in server.log or "other" in server.log


def test_sockets_meant_for_another_process_are_not_taken(make, listening):
    server = activated(make, [listening()], ["web"], "systemd:web", LISTEN_PID="1")
    server.spawn()
    assert server.wait() in (1, 3)
    assert "web" in server.log
