"""DNS servers: a real dnsmasq, and a scripted one for what dnsmasq never says. Both change while they run."""
import os
import pwd
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from talk.dns_wire import a, aaaa, ask, cname, frame, pack_reply, read_framed, read_question, srv
from talk.ports import free_port
from talk.settings import allow
from talk.wire import deadline_in

DNSMASQ = "/usr/sbin/dnsmasq"
OPTIONS = ("--keep-in-foreground", "--log-facility=-", "--pid-file=", "--listen-address=127.0.0.1", "--bind-interfaces",
           "--no-resolv", "--no-hosts", "--local=/test/", "--cache-size=0")


class Dns:
    """dnsmasq on a free port of 127.0.0.1, which knows the names below .test that it is told: `lines` of its
    configuration (host-record=NAME,ADDRESS..., srv-host=NAME,TARGET,PORT,PRIORITY,WEIGHT, cname=NAME,TARGET, each with
    ,TTL behind) and hosts. Everything else is refused."""

    def __init__(self, directory, *lines, ttl=1):
        if not os.access(DNSMASQ, os.X_OK):
            pytest.skip(f"there is no {DNSMASQ}; package dnsmasq-base has it")
        self.dir, self.ttl, self.port = Path(directory), ttl, free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.conf, self.hosts = self.dir / "dnsmasq.conf", self.dir / "hosts"
        self.hosts.write_text("")
        self.process = None
        self.lines = lines
        self.start()

    def __str__(self):
        return self.address

    # ---- life

    def start(self):
        self.conf.write_text("\n".join((*self.lines, "")))
        self.process = subprocess.Popen(
            [DNSMASQ, *OPTIONS, f"--user={pwd.getpwuid(os.getuid()).pw_name}", f"--port={self.port}",
             f"--local-ttl={self.ttl}", f"--conf-file={self.conf}", f"--addn-hosts={self.hosts}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self._log, self._log_grew = "", threading.Condition()
        self._reader = threading.Thread(target=self._read_log, args=(self.process.stderr,), daemon=True)
        self._reader.start()
        try:
            self._wait_hosts_read(0)
        except AssertionError:
            self.stop()
            raise
        return self

    def stop(self):
        """Nobody listens on its port from now on; start() comes back there."""
        if self.process:
            self.process.terminate()
            self.process.wait(allow(10))
            self._reader.join(allow(10))
            self.process.stderr.close()
            self.process = None

    close = stop

    # ---- records

    def change(self, *lines):
        """Other lines instead of those before: dnsmasq is started anew on the same port."""
        self.stop()
        self.lines = lines
        self.start()

    def set_hosts(self, **hosts):
        """hosts: name (with _ for each dot) = address or list of addresses; instead of those before, at once."""
        lines = []
        for name, addresses in hosts.items():
            addresses = [addresses] if isinstance(addresses, str) else addresses
            lines += [f"{address} {name.replace('_', '.')}" for address in addresses]
        self.hosts.write_text("\n".join((*lines, "")))
        read_before = self._hosts_read()
        self.process.send_signal(signal.SIGHUP)
        self._wait_hosts_read(read_before)

    # ---- log

    def _read_log(self, stream):
        while piece := os.read(stream.fileno(), 65536):
            with self._log_grew:
                self._log += piece.decode("utf-8", "replace")
                self._log_grew.notify_all()
        with self._log_grew:
            self._log_grew.notify_all()

    def _hosts_read(self):
        return len(re.findall(rf"read {re.escape(str(self.hosts))} - \d+", self._log))

    def _wait_hosts_read(self, before, within=10):
        deadline = deadline_in(within)
        with self._log_grew:
            while self._hosts_read() <= before:
                left = deadline - time.monotonic()
                assert left > 0 and self.process.poll() is None, f"dnsmasq does not serve:\n{self._log}"
                self._log_grew.wait(left)


class Answer:
    """What ScriptedDns says of one name."""

    def __init__(self, records, code="NOERROR", silent=False, delay=0, additional=(), raw=None, failing=()):
        self.records, self.code, self.silent, self.delay = list(records), code, silent, delay
        self.additional, self.raw, self.failing = list(additional), raw, failing


class Asked:
    """A question that came."""

    def __init__(self, name, kind, tcp):
        self.name, self.type, self.tcp, self.at = name, kind, tcp, time.monotonic()

    def __repr__(self):
        return f"<{self.name} {self.type}{' by TCP' if self.tcp else ''}>"


class ScriptedDns:
    """Answers by name, over UDP and TCP on one port of 127.0.0.1; names that it was not told are NXDOMAIN. Whatever
    does not fit the asker's datagram is truncated. `asked` is what came, in order."""

    def __init__(self):
        self._answers, self._lock = {}, threading.Condition()
        self.asked = []
        self._open()
        self.address = "127.0.0.1:%d" % self.udp.getsockname()[1]
        for serve in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=serve, daemon=True).start()

    def __str__(self):
        return self.address

    def _open(self):
        for _ in range(100):
            port = free_port()
            self.udp, self.tcp = socket.socket(type=socket.SOCK_DGRAM), socket.socket()
            self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                self.udp.bind(("127.0.0.1", port))
                self.tcp.bind(("127.0.0.1", port))
                self.tcp.listen()
                return
            except OSError:
                self.udp.close()
                self.tcp.close()
        raise RuntimeError("no free port for UDP and TCP")

    def close(self):
        for sock in (self.udp, self.tcp):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    # ---- what it says

    def set(self, name, *records, **more):
        """From now on `name` has these records: a(ADDRESS, ttl), aaaa(...), cname(NAME), srv(PORT, TARGET, ...).
        code: NXDOMAIN, SERVFAIL, REFUSED, ...; silent: no answer at all; delay: seconds before it; additional: (name,
        record) that come along; raw: bytes after the id instead of all that; failing: types answered SERVFAIL."""
        with self._lock:
            self._answers[name.lower()] = Answer(records, **more)

    def remove(self, name):
        with self._lock:
            self._answers.pop(name.lower(), None)

    # ---- what came

    def count(self, name=None, kind=None):
        with self._lock:
            return self._count(name, kind)

    def _count(self, name, kind):
        return sum(name in (None, asked.name) and kind in (None, asked.type) for asked in self.asked)

    def wait_asked(self, name=None, kind=None, count=1, within=10):
        """Waits until so many of these questions have come, from the beginning."""
        deadline = deadline_in(within)
        with self._lock:
            while self._count(name, kind) < count:
                left = deadline - time.monotonic()
                assert left > 0, f"{name} {kind} was not asked {count} times within {within} s: {self.asked}"
                self._lock.wait(left)

    # ---- serving

    def _find(self, question, tcp):
        """The Answer with its records and those of the names that it points to."""
        with self._lock:
            self.asked.append(Asked(question.name, question.type, tcp))
            self._lock.notify_all()
            name, found = question.name, []
            answer = self._answers.get(name.lower(), Answer([], code="NXDOMAIN"))
            while len(found) < 1000:
                records = self._answers[name.lower()].records if name.lower() in self._answers else []
                found += [(name, record) for record in records if record.type in (question.type, "CNAME")]
                targets = [record.data for record in records if record.type == "CNAME"]
                if not targets or question.type == "CNAME":
                    break
                name = targets[0]
        return answer, found

    def _reply(self, message, tcp):
        """Bytes, or None for silence; comes after the delay."""
        question = read_question(message)
        answer, found = self._find(question, tcp)
        if answer.delay:
            time.sleep(answer.delay)  # the network's, which tests ask for
        if answer.silent:
            return None
        if answer.raw is not None:
            return message[:2] + answer.raw
        if answer.code != "NOERROR" or question.type in answer.failing:
            return pack_reply(question, [], code="SERVFAIL" if question.type in answer.failing else answer.code)
        reply = pack_reply(question, found, answer.additional)
        if not tcp and len(reply) > question.room:
            return pack_reply(question, [], truncated=True)
        return reply

    def _serve_udp(self):
        while True:
            try:
                message, peer = self.udp.recvfrom(65536)
            except OSError:
                return
            if not message:
                return
            threading.Thread(target=self._answer_datagram, args=(message, peer), daemon=True).start()

    def _answer_datagram(self, message, peer):
        reply = self._reply(message, False)
        try:
            if reply:
                self.udp.sendto(reply, peer)
        except OSError:
            pass  # closed, or the asker is gone

    def _serve_tcp(self):
        while True:
            try:
                sock, _ = self.tcp.accept()
            except OSError:
                return
            threading.Thread(target=self._answer_stream, args=(sock,), daemon=True).start()

    def _answer_stream(self, sock):
        with sock:
            try:
                while message := read_framed(sock):
                    if reply := self._reply(message, True):
                        sock.sendall(frame(reply))
            except OSError:
                pass


__all__ = ["Dns", "ScriptedDns", "a", "aaaa", "ask", "cname", "srv"]
