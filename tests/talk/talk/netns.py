"""A network namespace of its own, where the range of local ports can be small. Sockets stay in the namespace in which
they were made, so the tests step in to make them and out again."""
import contextlib
import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWNET, SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x40000000, 0x8913, 0x8914, 1
_libc = ctypes.CDLL(None, use_errno=True)


def _must(result):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


class NetworkNamespace:
    """OSError where this process may not have one."""

    def __init__(self):
        self.outside = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.fd = None
        try:
            _must(_libc.unshare(CLONE_NEWNET))
            self.fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            self._raise_loopback()
        finally:
            self.leave()

    @staticmethod
    def _raise_loopback():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            name = b"lo".ljust(16, b"\0")
            flags = struct.unpack_from("=h", fcntl.ioctl(sock, SIOCGIFFLAGS, name + b"\0" * 24), 16)[0]
            fcntl.ioctl(sock, SIOCSIFFLAGS, name + struct.pack("=h", flags | IFF_UP) + b"\0" * 22)

    def enter(self):
        _must(_libc.setns(self.fd, CLONE_NEWNET))

    def leave(self):
        _must(_libc.setns(self.outside, CLONE_NEWNET))

    @contextlib.contextmanager
    def inside(self):
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def local_ports(self, first, last):
        with self.inside(), open("/proc/sys/net/ipv4/ip_local_port_range", "w") as file:
            file.write(f"{first} {last}")

    def close(self):
        os.close(self.outside)
        if self.fd is not None:
            os.close(self.fd)
