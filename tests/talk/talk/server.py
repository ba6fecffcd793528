"""A real mlserve process: its configuration, its start up to READY=1, its log, its end."""
import os
import re
import select
import signal
import string
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from talk import settings
from talk.client import Client, request
from talk.notify import NotifySocket
from talk.ports import free_port
from talk.settings import allow
from talk.wire import deadline_in

SANITIZER = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error: |SUMMARY: \w+Sanitizer")
BUG = re.compile(r"\bbug: ")


def run(*arguments, within=20, **more):
    """Runs mlserve to its end: a CompletedProcess with text output."""
    environment = {**os.environ, **more.pop("environment", {})}
    environment.pop("NOTIFY_SOCKET", None)
    return subprocess.run([settings.MLSERVE, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=allow(within), env=environment, **more)


class Server:
    """`text` is the INI; $dir, $bind, $port and the names given replace $NAME in it. $bind is 127.0.0.1:$port."""

    def __init__(self, text="", arguments=(), environment=None, preexec=None, pass_fds=(), notify=True, config=True,
                 wrap=(), **names):
        self._tmp = tempfile.TemporaryDirectory(prefix="mlt-")
        self.dir = Path(self._tmp.name)
        self.port = names.pop("port", None) or free_port()
        self.names = {"dir": self.dir, "port": self.port, "bind": f"127.0.0.1:{self.port}", **names}
        self.ini = self.dir / "mlserve.ini"
        self.configure(text)
        self.arguments = [*(["-c", str(self.ini)] if config else []), *map(str, arguments)]
        self.environment, self.preexec, self.pass_fds, self.wrap = environment or {}, preexec, pass_fds, list(wrap)
        self.notify = NotifySocket(self.dir / "notify") if notify else None
        self.process = self.pidfd = self.returncode = None
        self.clients = []
        self._log, self._log_grew, self._reader = "", threading.Condition(), None

    def configure(self, text, **names):
        self.names.update(names)
        self.ini.write_text(string.Template(text).substitute(self.names))

    # ---- life

    def spawn(self):
        """Starts it without waiting for anything."""
        environment = {**os.environ}
        environment.pop("NOTIFY_SOCKET", None)
        if self.notify:
            environment["NOTIFY_SOCKET"] = self.notify.path
        environment.update(self.environment)
        self.process = subprocess.Popen([*self.wrap, settings.MLSERVE, *self.arguments], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment,
                                        preexec_fn=self.preexec, pass_fds=self.pass_fds, cwd=self.dir)
        self.pidfd = os.pidfd_open(self.process.pid)
        self._reader = threading.Thread(target=self._read_log, args=(self.process.stderr,), daemon=True)
        self._reader.start()
        return self

    def start(self, within=20):
        """Starts it and waits until it says READY=1."""
        self.spawn()
        if self.notify.wait("READY", "1", within, self.pidfd) is None:
            code = self.wait()
            raise AssertionError(f"mlserve ended with {code} instead of getting ready:\n{self.log}\n{self.ini.read_text()}")
        return self

    @property
    def pid(self):
        return self.process.pid

    def send_signal(self, number=signal.SIGTERM):
        os.kill(self.pid, number)

    def is_running(self):
        return self.process is not None and self.returncode is None and self.process.poll() is None

    def wait(self, within=20):
        """Its exit code, once it has ended by itself."""
        if self.returncode is None:
            assert select.select([self.pidfd], [], [], allow(within))[0], f"mlserve still runs after {within} s"
            self.returncode = self.process.wait()
            self._reader.join(allow(5))
            self.process.stderr.close()
            os.close(self.pidfd)
        return self.returncode

    def stop(self, number=signal.SIGTERM, within=20, code=0, patience=None):
        """Ends it by a signal and holds it to what must be true at every end. `patience`: after so many seconds a
        second signal cuts what a test has left in flight."""
        if self.process is None:
            return
        for client in self.clients:
            client.close()
        if self.is_running():
            self.send_signal(number)
        try:
            if patience and not select.select([self.pidfd], [], [], patience)[0]:
                self.send_signal(number)
            ended = self.wait(within)
        finally:
            self.kill()
        assert ended == code, f"exit code {ended}, not {code}"
        self.assert_clean_log()

    def assert_clean_log(self):
        assert not SANITIZER.search(self.log), "a sanitizer reported"
        assert not BUG.search(self.log), "a bug was logged"

    def kill(self):
        if self.is_running():
            self.process.kill()
            self.wait()

    def dispose(self):
        self.kill()
        if self.notify:
            self.notify.close()
            self.notify = None
        self._tmp.cleanup()

    # ---- log

    def _read_log(self, stream):
        while piece := os.read(stream.fileno(), 65536):
            with self._log_grew:
                self._log += piece.decode("utf-8", "replace")
                self._log_grew.notify_all()

    @property
    def log(self):
        return self._log

    def wait_log(self, pattern, within=10):
        """Waits for a match in the log so far or to come."""
        deadline = deadline_in(within)
        with self._log_grew:
            while not (match := re.search(pattern, self._log, re.M)):
                left = deadline - time.monotonic()
                assert left > 0, f"no {pattern!r} in the log within {within} s"
                self._log_grew.wait(left)
        return match

    # ---- talking to it

    def connect(self, address=None, **more):
        client = Client(address or ("127.0.0.1", self.port), **more)
        self.clients.append(client)
        return client

    def get(self, target, *fields, address=None, **more):
        """One GET on a connection of its own."""
        with Client(address or ("127.0.0.1", self.port)) as client:
            return client.get(target, "Connection: close", *fields, **more)

    def health(self, target="/healthz", address=None):
        answer = self.get(target, address=address)
        assert answer.status in (200, 503), answer
        return answer.json()

    def settle(self, holds, within=10, target="/healthz"):
        """Asks for the health document until `holds(document)`; the document. For figures that follow an event of
        which the server gives no other sign."""
        deadline = deadline_in(within)
        with Client(("127.0.0.1", self.port)) as client:
            while True:
                client.send(request("GET", target))
                document = client.response().json()
                if holds(document):
                    return document
                assert time.monotonic() < deadline, f"health never came to hold: {document}"
                time.sleep(0.01)
