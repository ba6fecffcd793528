"""A scripted origin server for the proxy to talk to.

An Upstream listens and gives each connection, in a thread of its own, to the script: a function of one Link. What a
script raises fails the test at its end. Everything that arrives is kept: .requests in order over all connections.
"""
import os
import queue
import re
import select
import socket
import struct
import threading

from talk.ports import free_port
from talk.settings import allow
from talk.wire import Closed, Malformed, Reader, TooLate, deadline_in, parse_fields

REQUEST_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP/1\.([01])\Z")


def answer(status=200, body=b"ok", *fields, length=True):
    """Response bytes with a Content-Length unless said."""
    lines = [f"HTTP/1.1 {status} X", *fields]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


class Request:
    """What the proxy sent: one head, strictly read, and its body."""

    def __init__(self, block, link):
        line, _, fields = block.partition(b"\r\n")
        match = REQUEST_LINE.match(line.decode("latin-1"))
        if not match:
            raise Malformed(f"request line {line!r}")
        self.raw, self.link = block + b"\r\n\r\n", link
        self.method, self.target, self.minor = match[1], match[2], int(match[3])
        self.fields = parse_fields(fields)
        self.body, self.trailers, self.framing = b"", None, "none"
        self.is_whole = False  # head and body arrived to their end
        lengths, codings = self.fields.all("Content-Length"), self.fields.all("Transfer-Encoding")
        if (lengths and codings) or len(lengths) > 1 or len(codings) > 1 or codings not in ([], ["chunked"]):
            raise Malformed(f"framing {lengths} {codings}")
        if self.minor == 1 and len(self.fields.all("Host")) != 1:
            raise Malformed(f"Host {self.fields.all('Host')}")

    def __getitem__(self, name):
        return self.fields.get(name)

    def __repr__(self):
        return f"<{self.method} {self.target}\n{self.fields}\n{self.body[:200]!r}>"


class Link:
    """One accepted connection."""

    def __init__(self, sock, upstream, number):
        self.sock, self.upstream, self.number = sock, upstream, number
        self.reader, self.requests = Reader(sock), []
        self.ended = threading.Event()  # the script is over

    def request_head(self, within=20):
        """Reads a head only, and records it."""
        taken = Request(self.reader.until(b"\r\n\r\n", deadline_in(within)), self)
        self.requests.append(taken)
        self.upstream.record(taken)
        return taken

    def read_body(self, taken, within=20):
        deadline = deadline_in(within)
        if taken["Transfer-Encoding"]:
            taken.framing = "chunked"
            taken.body, taken.trailers, _ = self.reader.chunked(deadline)
        elif taken["Content-Length"]:
            taken.framing = "length"
            taken.body = self.reader.exactly(int(taken["Content-Length"]), deadline)
        taken.is_whole = True
        return taken

    def request(self, within=20):
        return self.read_body(self.request_head(within), within)

    def send(self, data):
        self.sock.settimeout(allow(20))
        self.sock.sendall(data)

    def send_split(self, data, every=1):
        for at in range(0, len(data), every):
            self.send(data[at : at + every])

    def close(self):
        self.sock.close()

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        if self.sock.family != socket.AF_UNIX:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def wait_end(self, within=20):
        """Reads on until the proxy ends; (bytes, how)."""
        data = self.reader.rest(deadline_in(within))
        return data, self.reader.ended

    def wait_readable_end(self, within=20):
        """Waits until the proxy ends, without taking bytes that may come before."""
        poll = select.poll()
        poll.register(self.sock, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
        assert poll.poll(allow(within) * 1000), f"the proxy did not end within {within} s"


def answering(make=None, may_be_cut=False):
    """A script that answers every request on the connection: make(request) gives the bytes. A request that breaks off
    fails the test unless it may."""

    def script(link):
        while True:
            try:
                taken = link.request(within=60)
            except Closed as closed:
                assert may_be_cut or not closed.got, f"a request was cut: {closed.got!r}"
                return
            link.send(make(taken) if make else answer(200, b"up:" + taken.target.encode()))

    return script


class Upstream:
    """`script`: for every connection, or a list: one each, the last one for all that follow."""

    def __init__(self, script=None, path=None, backlog=128, port=None, host="127.0.0.1"):
        self.scripts = script if isinstance(script, list) else [script or answering()]
        if path:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.bind(str(path))
            self.address = f"unix:{path}"
        else:
            self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.sock.bind((host, port or free_port(host)))
            self.address = "%s:%d" % self.sock.getsockname()
        self.sock.listen(backlog)
        self.links, self.requests, self.faults = [], [], []
        self._arrived, self._accepted = queue.Queue(), queue.Queue()
        self._wake_read, self._wake_write = os.pipe()
        self._stopping = False
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __str__(self):
        return self.address

    def _accept(self):
        while True:
            if self._wake_read in select.select([self.sock, self._wake_read], [], [])[0]:
                return
            sock, _ = self.sock.accept()
            link = Link(sock, self, len(self.links))
            self.links.append(link)
            self._accepted.put(link)
            script = self.scripts[min(link.number, len(self.scripts) - 1)]
            threading.Thread(target=self._play, args=(script, link), daemon=True).start()

    def _play(self, script, link):
        try:
            script(link)
        except (AssertionError, OSError) as fault:
            if not self._stopping:
                self.faults.append(fault)
        finally:
            link.sock.close()
            link.ended.set()

    def record(self, taken):
        self.requests.append(taken)
        self._arrived.put(taken)

    def next_request(self, within=10):
        """Waits for the next request head that arrives on any connection."""
        try:
            return self._arrived.get(timeout=allow(within))
        except queue.Empty:
            raise TooLate(f"no request reached the upstream within {within} s") from None

    def next_link(self, within=10):
        try:
            return self._accepted.get(timeout=allow(within))
        except queue.Empty:
            raise TooLate(f"no connection reached the upstream within {within} s") from None

    def targets(self):
        return [taken.target for taken in self.requests]

    def stop_listening(self):
        """Ends the accepting, so that connections are refused from now on."""
        os.write(self._wake_write, b"x")
        self._thread.join()
        self.sock.close()

    def die(self):
        """Connections are refused from now on, and those that there are end."""
        self.stop_listening()
        self._end_links()

    def _end_links(self):
        for link in self.links:
            try:
                link.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        """Ends every connection and raises what scripts found wrong."""
        self._stopping = True
        if self._thread.is_alive():
            self.stop_listening()
        self._end_links()
        for link in self.links:
            link.ended.wait(allow(5))
        os.close(self._wake_read)
        os.close(self._wake_write)
        if self.faults:
            raise self.faults[0]


class SilentPort:
    """A TCP address that never completes a connect: its backlog is full. For connect timeouts."""

    def __init__(self):
        self.sock = socket.socket()
        self.sock.bind(("127.0.0.1", 0))
        self.sock.listen(0)
        self.address = "127.0.0.1:%d" % self.sock.getsockname()[1]
        self.fillers = []
        self._fill()

    def _fill(self):
        """Connects until one attempt hangs."""
        for _ in range(64):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(self.sock.getsockname())
            self.fillers.append(filler)
            if not select.select([], [filler], [], 0.2)[1]:
                return
        raise RuntimeError("the backlog never filled")

    def __str__(self):
        return self.address

    def close(self):
        for filler in self.fillers:
            filler.close()
        self.sock.close()


__all__ = ["Link", "Request", "SilentPort", "Upstream", "answer", "answering"]
