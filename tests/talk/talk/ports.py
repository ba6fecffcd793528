"""Free TCP ports below the range from which the kernel takes local ports, so that no outgoing connection gets there first."""
import os
import random
import socket

LOWEST, HIGHEST = 10200, 32000
_random = random.Random(os.getpid())


def _is_free(port, host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_port(host="127.0.0.1"):
    return free_ports(1, host)


def free_ports(count, host="127.0.0.1"):
    """The first of `count` neighbouring free ports."""
    for _ in range(1000):
        first = _random.randrange(LOWEST, HIGHEST - count)
        if all(_is_free(port, host) for port in range(first, first + count)):
            return first
    raise RuntimeError("no free ports")
