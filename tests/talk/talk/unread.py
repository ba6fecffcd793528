"""Whether the other end of a connection on this machine has read all that was sent: its own receive queue tells.

The kernel is asked for that one socket (sock_diag(7)); where it cannot tell, /proc/net/tcp is read.
"""
import fcntl
import socket
import struct
import termios
import time

from talk.settings import allow

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, NLMSG_ERROR = 4, 20, 1, 2
NO_COOKIE = b"\xff" * 8
RECEIVE_QUEUE_AT = 16 + 4 + 48 + 4  # in an answer: behind nlmsghdr, four bytes, inet_diag_sockid and idiag_expires
GONE = -2  # -ENOENT


class Diag:
    """Receive queues of IPv4 sockets, each named by its own and its peer's address."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG)
        self.sock.settimeout(allow(10))

    def unread(self, own, peer):
        """Bytes received and not yet read; None: there is no such socket any more. OSError: no answer to be had."""
        id_ = struct.pack("!HH", own[1], peer[1]) + socket.inet_aton(own[0]).ljust(16, b"\0") + socket.inet_aton(peer[0]).ljust(16, b"\0")
        body = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + id_ + struct.pack("=I", 0) + NO_COOKIE
        self.sock.sendto(struct.pack("=IHHII", 16 + len(body), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0) + body, (0, 0))
        told = self.sock.recv(8192)
        if struct.unpack_from("=H", told, 4)[0] != NLMSG_ERROR:
            return struct.unpack_from("=I", told, RECEIVE_QUEUE_AT)[0]
        error = struct.unpack_from("=i", told, 16)[0]
        if error == GONE:
            return None
        raise OSError(-error, "sock_diag")


class Proc:
    """The same from /proc/net/tcp, which lists all sockets each time."""

    def unread(self, own, peer):
        key = " ".join("%08X:%04X" % (struct.unpack("=I", socket.inet_aton(address))[0], port) for address, port in (own, peer))
        with open("/proc/net/tcp") as table:
            for line in table:
                if key in line:
                    return int(line.split()[4].split(":")[1], 16)
        return None


def open_queues():
    diag = Diag()
    try:
        diag.unread(("127.0.0.1", 1), ("127.0.0.1", 2))
        return diag
    except OSError:
        return Proc()


def wait_read(queues, sock, within=10):
    """Waits until the peer of `sock` has read all that was sent to it, or has ended."""
    own, peer, deadline = sock.getsockname(), sock.getpeername(), time.monotonic() + allow(within)
    while struct.unpack("=i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0" * 4))[0] or queues.unread(peer, own):
        assert time.monotonic() < deadline, f"not read within {within} s"
        time.sleep(0.00002)  # lets go of the interpreter too, which scripts of upstreams may wait for


def send_read(queues, sock, pieces):
    """Sends each piece once the one before it was read, so that the peer sees each in a read of its own. A peer that
    ends before the last one has seen enough."""
    try:
        for number, piece in enumerate(pieces):
            if number:
                wait_read(queues, sock)
            sock.sendall(piece)
    except (BrokenPipeError, ConnectionResetError, OSError):
        pass


def splits(data):
    """All ways in two pieces, and byte by byte."""
    for at in range(1, len(data)):
        yield data[:at], data[at:]
    yield [data[at : at + 1] for at in range(len(data))]
