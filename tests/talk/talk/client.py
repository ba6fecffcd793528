"""A client that sends exactly the bytes it is told and reads answers strictly; how the server ends is told apart."""
import json
import re
import select
import socket
import struct
import time

from talk.wire import Closed, Malformed, Reader, TooLate, deadline_in, parse_fields

STATUS_LINE = re.compile(r"HTTP/1\.1 ([1-5][0-9][0-9]) [\t\x20-\x7e\x80-\xff]*\Z")
DATE = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r" [0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] GMT\Z"
)


class Response:
    """One answer. framing: none, length, chunked or close; `truncated` says that a body ended early."""

    def __init__(self, line, fields):
        match = STATUS_LINE.match(line)
        if not match:
            raise Malformed(f"status line {line!r}")
        self.line, self.fields, self.status = line, fields, int(match[1])
        self.body, self.trailers, self.framing, self.sizes = b"", None, "none", []
        self.interim = []
        self._check()

    def _check(self):
        lengths, codings = self.fields.all("Content-Length"), self.fields.all("Transfer-Encoding")
        if lengths and codings:
            raise Malformed("Content-Length beside Transfer-Encoding")
        if len(lengths) > 1 or (lengths and not re.match(r"[0-9]+\Z", lengths[0])):
            raise Malformed(f"Content-Length {lengths}")
        if codings and codings != ["chunked"]:
            raise Malformed(f"Transfer-Encoding {codings}")
        if (self.status < 200 or self.status == 204) and (lengths or codings):
            raise Malformed(f"{self.status} with framing: {self.fields}")
        if self.status >= 200 and not DATE.match(self.fields.get("Date", "")):
            raise Malformed(f"Date {self.fields.all('Date')} in {self.line}")

    def __getitem__(self, name):
        return self.fields.get(name)

    def json(self):
        assert self["Content-Type"].split(";")[0] == "application/json", self["Content-Type"]
        return json.loads(self.body)

    @property
    def keeps_open(self):
        return "close" not in [part.strip().lower() for part in (self["Connection"] or "").split(",")]

    def __repr__(self):
        return f"<{self.line}\n{self.fields}\n({self.framing}) {self.body[:300]!r}>"


def request(method, target, *fields, host="t.test", version="HTTP/1.1", body=None):
    """Request bytes; fields are whole lines. A body gets its Content-Length."""
    lines = [f"{method} {target} {version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += fields
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b"")


def chunked(*pieces, last=b"0\r\n\r\n"):
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + last


class Client:
    """One connection to the server. `methods` of requests whose answers are still due are remembered in order."""

    def __init__(self, address, receive_buffer=None, source=None):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if family != socket.AF_UNIX:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if source:
            self.sock.bind(source)
        self.sock.settimeout(deadline_in(10) - time.monotonic())
        self.sock.connect(address)
        self.reader = Reader(self.sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def reset(self):
        """Ends by RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    # ---- sending

    def send(self, data, within=20):
        self.sock.settimeout(deadline_in(within) - time.monotonic())
        self.sock.sendall(data)
        return self

    def send_split(self, data, every=1):
        """In pieces that leave as segments of their own."""
        for at in range(0, len(data), every):
            self.send(data[at : at + every])
        return self

    def send_until_stuck(self, data, most, quiet=1.0):
        """Sends `data` again and again until the peer takes nothing for `quiet` seconds, ends, or `most` bytes went;
        the count of bytes taken."""
        sent = 0
        self.sock.settimeout(quiet)
        while sent < most:
            try:
                sent += self.sock.send(data[: most - sent])
            except socket.timeout:
                break
            except (BrokenPipeError, ConnectionResetError):
                break
        return sent

    def send_while_reading(self, data, within=20):
        """Goes on sending `data` while answers arrive, as a browser does with an upload; stops when the peer ends."""
        deadline, sent = deadline_in(within), 0
        self.sock.setblocking(False)
        try:
            while sent < len(data) and not self.reader.ended:
                left = deadline - time.monotonic()
                assert left > 0, f"peer took only {sent} of {len(data)} bytes"
                can_read, can_write, _ = select.select([self.sock], [self.sock], [], left)
                if can_read:
                    self._take()
                if can_write:
                    try:
                        sent += self.sock.send(data[sent : sent + 65536])
                    except (BrokenPipeError, ConnectionResetError):
                        break
                    except BlockingIOError:
                        pass
        finally:
            self.sock.setblocking(True)
        return sent

    def _take(self):
        try:
            piece = self.sock.recv(1 << 16)
        except ConnectionResetError:
            self.reader.ended = "RST"
            return
        if piece:
            self.reader.buffer += piece
        else:
            self.reader.ended = "FIN"

    # ---- reading

    def head(self, deadline):
        block = self.reader.until(b"\r\n\r\n", deadline)
        line, _, fields = block.partition(b"\r\n")
        return Response(line.decode("latin-1"), parse_fields(fields))

    def response(self, method="GET", within=10):
        """The next final answer to a request of that method; interim ones before it are in .interim."""
        deadline, interim = deadline_in(within), []
        while (answer := self.head(deadline)).status < 200:
            interim.append(answer)
        answer.interim = interim
        self._read_body(answer, method, deadline)
        return answer

    def _read_body(self, answer, method, deadline):
        if method == "HEAD" or answer.status in (204, 304):
            return
        if answer["Transfer-Encoding"]:
            answer.framing = "chunked"
            answer.body, answer.trailers, answer.sizes = self.reader.chunked(deadline)
        elif answer["Content-Length"]:
            answer.framing = "length"
            answer.body = self.reader.exactly(int(answer["Content-Length"]), deadline)
        else:
            answer.framing = "close"
            assert not answer.keeps_open, f"no framing, yet no Connection: close in {answer}"
            answer.body = self.reader.rest(deadline)
            assert self.reader.ended == "FIN", "a body that ends by close ended by RST"

    def continues(self, within=10):
        """Reads one interim answer 100."""
        answer = self.head(deadline_in(within))
        assert answer.status == 100, answer
        return answer

    def ask(self, method, target, *fields, within=10, **more):
        """Sends one request and reads its answer."""
        self.send(request(method, target, *fields, **more))
        return self.response(method, within)

    def get(self, target, *fields, **more):
        return self.ask("GET", target, *fields, **more)

    def rest(self, within=10):
        """(bytes, how): all that comes until the server ends, and whether by FIN or RST."""
        data = self.reader.rest(deadline_in(within))
        return data, self.reader.ended

    def expect_end(self, within=10, how="FIN"):
        """The server ends, sends nothing before, and by FIN unless said."""
        data, ended = self.rest(within)
        assert data == b"", f"unexpected bytes before the end: {data[:300]!r}"
        assert ended == how, f"ended by {ended}, not {how}"

    def is_quiet(self, seconds):
        """Whether nothing at all comes for so long (a matter of elapsed time)."""
        if self.reader.buffer or self.reader.ended:
            return False
        return not select.select([self.sock], [], [], seconds)[0]

    def expect_open(self, target="/ok"):
        """The connection still serves."""
        answer = self.get(target)
        assert answer.status == 200, answer
        return answer

    def refused_with(self, *statuses, method="GET", within=10):
        """One answer with one of these statuses, which says that it closes, then FIN and nothing more."""
        answer = self.response(method, within)
        assert answer.status in statuses, answer
        assert not answer.keeps_open, answer
        self.expect_end(within)
        return answer


__all__ = ["Client", "Closed", "Malformed", "Response", "TooLate", "chunked", "request"]
