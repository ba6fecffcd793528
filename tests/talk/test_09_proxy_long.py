"""Long bodies: they go from socket to socket through pipes of the kernel's, and arrive whole or visibly cut."""
import contextlib
import fcntl
import hashlib
import os
import time

import pytest

from talk.client import Closed, request
from talk.groups import conf
from talk.settings import allow
from talk.upstream import answer, answering


def digest(data):
    return hashlib.sha256(data).hexdigest()


def serving(serve, up):
    return serve(conf(f"server = {up}", listener="max_body_size = 1g"))


def pipes_of(pid):
    """How many ends of pipes with room for a long body's parts the process has: what it moves bodies through without
    copying them."""
    count = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("pipe:"):
                end = os.open(f"/proc/{pid}/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK)
                count += fcntl.fcntl(end, fcntl.F_GETPIPE_SZ) >= 256 * 1024
                os.close(end)
        except OSError:
            continue
    return count


@pytest.mark.parametrize("way", ["up", "down"])
def test_long_bodies_with_a_length_pass_through_pipes_and_short_ones_do_not(serve, origin, way):
    def make(taken):
        return answer(200, taken.body if way == "down" else digest(taken.body).encode())

    server = serving(serve, origin(answering(make)))
    with server.connect(receive_buffer=65536) as client:
        for number, size in enumerate((1 << 20, 7 << 20, 1000, 7 << 20)):
            data = os.urandom(size)
            client.send(request("POST" if way == "up" else "PUT", "/", body=data), within=60)
            body = client.response(within=60).body
            assert body == data if way == "down" else body == digest(data).encode()
            assert (pipes_of(server.pid) > 0) == (number > 0)
        client.expect_open()


def test_a_long_answer_that_is_cut_gives_all_that_came_and_is_visibly_cut(serve, origin):
    came = os.urandom(5 << 20)

    def script(link):
        link.request()
        link.send(answer(200, b"", "Content-Length: 9000000", length=False) + came)
        link.close()

    with serving(serve, origin(script)).connect() as client:
        client.send(request("GET", "/"))
        data, how = client.rest(within=60)
        head, _, body = data.partition(b"\r\n\r\n")
        assert b"Content-Length: 9000000" in head and body == came, (len(body), how)


def test_a_client_that_leaves_within_a_long_answer_costs_only_that_connection(serve, origin):
    def script(link):
        with contextlib.suppress(OSError, Closed):
            while link.request():
                link.send(answer(200, b"a" * (30 << 20)))

    server = serving(serve, origin(script))
    for _ in range(20):  # more than there are pipes, each left with bytes in it
        with server.connect(receive_buffer=4096) as client:
            client.send(request("GET", "/"))
            client.reader.exactly(100000, time.monotonic() + allow(20))
    with server.connect() as client:
        assert len(client.get("/", within=60).body) == 30 << 20
