"""Reading from a socket up to a deadline, and the strict grammar of heads (RFC 9112) that both ends share."""
import re
import socket
import time

from talk.settings import allow

TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*\Z")


class Malformed(AssertionError):
    """The peer sent what no HTTP/1.1 sender may send."""


class Closed(AssertionError):
    """The peer ended the connection where more was due; how: FIN or RST."""

    def __init__(self, how, got):
        super().__init__(f"connection ended by {how} after {len(got)} bytes: {bytes(got[:300])!r}")
        self.how, self.got = how, bytes(got)


class TooLate(AssertionError):
    """Nothing came within the time allowed."""


class Fields:
    """Field lines in order; names compare in any case."""

    def __init__(self, lines):
        self.lines = list(lines)

    def all(self, name):
        return [value for have, value in self.lines if have.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        assert len(values) <= 1, f"{name} stands {len(values)} times: {values}"
        return values[0] if values else default

    def __contains__(self, name):
        return bool(self.all(name))

    def __repr__(self):
        return "\n".join(f"{name}: {value}" for name, value in self.lines)


def parse_fields(block):
    """Field lines of a head without its last blank line; each must be clean."""
    lines = []
    for line in block.split(b"\r\n") if block else []:
        name, colon, value = line.partition(b":")
        value = value.strip(b" \t")
        if not colon or not TOKEN.match(name) or not VALUE.match(value):
            raise Malformed(f"field line {line!r}")
        lines.append((name.decode("ascii"), value.decode("latin-1")))
    return Fields(lines)


class Reader:
    """Buffered reads with a deadline. The socket stays blocking; each wait has its own timeout."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = bytearray()
        self.ended = None  # "FIN" or "RST" once seen

    def fill(self, deadline):
        """Waits for more bytes; False once the peer has ended."""
        if self.ended:
            return False
        left = deadline - time.monotonic()
        if left <= 0:
            raise TooLate(f"no more bytes in time; so far {bytes(self.buffer[:300])!r}")
        self.sock.settimeout(left)
        try:
            piece = self.sock.recv(1 << 16)
        except socket.timeout:
            raise TooLate(f"no more bytes in time; so far {bytes(self.buffer[:300])!r}") from None
        except (ConnectionResetError, BrokenPipeError):
            self.ended = "RST"
            return False
        if not piece:
            self.ended = "FIN"
            return False
        self.buffer += piece
        return True

    def need(self, deadline):
        if not self.fill(deadline):
            raise Closed(self.ended, self.buffer)

    def until(self, mark, deadline, most=1 << 20):
        """Bytes before `mark`, which is taken too."""
        start = 0
        while (at := self.buffer.find(mark, start)) < 0:
            if len(self.buffer) > most:
                raise Malformed(f"no {mark!r} within {most} bytes")
            start = max(0, len(self.buffer) - len(mark))
            self.need(deadline)
        taken = bytes(self.buffer[:at])
        del self.buffer[: at + len(mark)]
        return taken

    def exactly(self, count, deadline):
        while len(self.buffer) < count:
            self.need(deadline)
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken

    def rest(self, deadline):
        """All bytes until the peer ends."""
        while self.fill(deadline):
            pass
        taken = bytes(self.buffer)
        self.buffer.clear()
        return taken

    def chunked(self, deadline):
        """A chunked body, strictly: (data, trailers, sizes)."""
        data, sizes = bytearray(), []
        while True:
            line = self.until(b"\r\n", deadline, 1 << 16)
            if not re.match(rb"[0-9A-Fa-f]{1,16}\Z", line):
                raise Malformed(f"chunk size line {line!r}")
            size = int(line, 16)
            if size == 0:
                break
            sizes.append(size)
            data += self.exactly(size, deadline)
            if self.exactly(2, deadline) != b"\r\n":
                raise Malformed("chunk data not followed by CRLF")
        trailers = []
        while line := self.until(b"\r\n", deadline):
            trailers.append(line)
        return bytes(data), parse_fields(b"\r\n".join(trailers)), sizes


def deadline_in(seconds):
    return time.monotonic() + allow(seconds)
