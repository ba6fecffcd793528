"""Slow and silent clients: absolute deadlines, no harm to others, little memory each."""
import contextlib
import select
import socket
import time

import pytest

from talk.client import request
from talk.config import config
from talk.process import resident_bytes
from talk.settings import SLOW, allow
from talk.upstream import answer, answering

TIMEOUTS = ("header_timeout = 1s", "body_timeout = 1s", "send_timeout = 1s", "keepalive_timeout = 3s")
CONF = config("ok", "files", "up", "health", listener=(*TIMEOUTS, "$more"))

HEAD = request("GET", "/ok", "X-Long: " + "v" * 200)


@pytest.fixture
def server(serve, origin):
    return serve(CONF, up=origin(answering(may_be_cut=True)), more="min_rate = 0")


def drip(client, data, every, until):
    """Sends a byte each `every` seconds until the server says or ends something; seconds that took."""
    start = time.monotonic()
    for byte in data:
        if select.select([client.sock], [], [], every)[0]:
            return time.monotonic() - start
        assert time.monotonic() - start < until, "the server never lost patience"
        client.send(bytes([byte]))
    raise AssertionError("all was sent before the server lost patience")


@pytest.mark.case("LIM-01")
def test_a_head_that_drips_ends_at_a_deadline_from_its_first_byte(server):
    with server.connect() as client:
        took = drip(client, HEAD, 0.05, allow(5))
        assert 0.9 <= took <= 1 + allow(1)
        assert client.refused_with(408).status == 408


@pytest.mark.case("LIM-01")
def test_a_field_line_now_and_then_does_not_restart_the_deadline(server):
    with server.connect() as client:
        client.send(b"GET /ok HTTP/1.1\r\nHost: t.test\r\n")
        start = time.monotonic()
        while not select.select([client.sock], [], [], 0.2)[0]:
            assert time.monotonic() - start < allow(5)
            client.send(b"X-Again: v\r\n")
        assert 0.9 <= time.monotonic() - start <= 1 + allow(1)
        client.refused_with(408)


@pytest.mark.case("LIM-01")
def test_one_byte_then_silence_is_408(server):
    with server.connect() as client:
        start = time.monotonic()
        client.send(b"G")
        client.refused_with(408)
        assert 0.9 <= time.monotonic() - start <= 1 + allow(1)


@pytest.mark.case("LIM-01")
def test_silence_from_the_start_ends_without_a_byte(server):
    with server.connect() as client:
        start = time.monotonic()
        client.expect_end()
        assert 0.9 <= time.monotonic() - start <= 3 + allow(1.5)


@pytest.mark.case("LIM-01")
def test_a_slow_second_request_has_its_own_deadline(server):
    with server.connect() as client:
        client.get("/ok")
        assert client.is_quiet(1.3)
        took = drip(client, HEAD, 0.05, allow(5))
        assert 0.9 <= took <= 1 + allow(1)
        client.refused_with(408)


@pytest.mark.case("LIM-01")
def test_a_head_that_is_slow_but_in_time_is_served(server):
    with server.connect() as client:
        piece = len(HEAD) // 4 + 1
        for at in range(0, len(HEAD), piece):
            client.send(HEAD[at : at + piece])
            if at:
                time.sleep(0.1)
        assert client.response().body == b"ok"


@pytest.mark.case("LIM-01")
def test_two_thousand_slow_clients_hold_little_and_harm_nobody(serve, origin):
    count = 2000 if SLOW <= 1 else 500
    server = serve(CONF.replace("header_timeout = 1s", "header_timeout = 5s"), up=origin(), more="min_rate = 0")
    server.get("/ok")
    before = resident_bytes(server.pid)
    clients = [server.connect() for _ in range(count)]
    for client in clients:
        client.send(HEAD[:100])
    with server.connect() as other:
        waits = []
        for _ in range(100):
            start = time.monotonic()
            other.expect_open()
            waits.append(time.monotonic() - start)
    assert sorted(waits)[95] < allow(0.05)
    if SLOW <= 1:
        assert (resident_bytes(server.pid) - before) / count < 12 << 10
    for client in clients:
        client.refused_with(408, within=20)


def test_a_body_that_stops_is_408_after_body_timeout(server):
    with server.connect() as client:
        start = time.monotonic()
        client.send(request("POST", "/up", "Content-Length: 10") + b"half")
        client.refused_with(408)
        assert 0.9 <= time.monotonic() - start <= 1 + allow(1)


def test_a_body_that_drips_is_served_when_min_rate_is_off(server):
    with server.connect() as client:
        client.send(request("POST", "/up", "Content-Length: 10"))
        for byte in b"0123456789":
            client.send(bytes([byte]))
            time.sleep(0.15)
        assert client.response().status == 200


def test_min_rate_ends_a_body_that_drips(serve, origin):
    server = serve(CONF, up=origin(answering(may_be_cut=True)), more="min_rate = 1000")
    with server.connect() as client:
        client.send(request("POST", "/up", "Content-Length: 100000"))
        took = drip(client, b"x" * 1000, 0.2, allow(30))
        assert 5 <= took <= 20 + allow(5)
        data, _ = client.rest()
        assert data == b"" or data.startswith(b"HTTP/1.1 408 ")


def test_a_reader_that_stops_is_ended_after_send_timeout(server):
    (server.dir / "big").write_bytes(b"b" * (32 << 20))
    with server.connect(receive_buffer=8192) as client:
        client.send(request("GET", "/files/big"))
        client.reader.need(time.monotonic() + allow(5))
        start = time.monotonic()
        server.settle(lambda document: sum(loop["connections"] for loop in document["loops"]) == 1)
        assert 0.9 <= time.monotonic() - start <= 1 + allow(1.5)
        assert len(client.rest()[0]) < 32 << 20


def test_a_slow_reader_gets_all_when_it_keeps_reading(server):
    body = bytes(range(256)) * 4096
    (server.dir / "some").write_bytes(body)
    with server.connect(receive_buffer=8192) as client:
        client.send(request("GET", "/files/some"))
        for _ in range(6):
            time.sleep(0.3)
            client.reader.need(time.monotonic() + allow(5))
        assert client.response(within=20).body == body


@pytest.mark.parametrize("target", ["/files/big", "/up"])
def test_a_steady_slow_reader_is_not_ended_while_the_socket_seems_full(serve, origin, target):
    """The socket takes nothing more until a large part of its buffer has drained, which is longer than the timeouts."""
    body = b"b" * (16 << 20)

    def stream(link):
        link.request()
        with contextlib.suppress(OSError):  # the client leaves before all is sent
            link.send(answer(200, body))
            link.wait_end()

    server = serve(CONF.replace("send_timeout = 1s", "send_timeout = 2s"), up=origin(stream), more="min_rate = 128")
    (server.dir / "big").write_bytes(body)
    with server.connect(receive_buffer=65536) as client:
        client.send(request("GET", target))
        end = time.monotonic() + 7
        while time.monotonic() < end:
            assert client.sock.recv(5000), "the server gave up a client that reads"
            time.sleep(0.05)


def test_a_steady_slow_upstream_gets_the_whole_upload(serve, origin):
    body = bytes(range(256)) * (6 << 12)

    def slow(link):
        # A larger one would open its window by steps that take longer than the timeout.
        link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        head = link.request_head()
        for _ in range(14):
            link.reader.fill(time.monotonic() + allow(10))
            time.sleep(0.5)
        link.read_body(head)
        link.send(answer(200, b"all"))
        link.wait_end()

    server = serve(CONF + "response_timeout = 2s\n", up=origin(slow), more="min_rate = 0")
    with server.connect() as client:
        client.send_while_reading(request("POST", "/up", body=body), within=40)
        assert client.response(within=20).body == b"all"


def test_min_rate_does_not_punish_a_client_that_waits_for_the_server(serve, origin):
    """It counts only while bytes wait for the client."""
    def slow(link):
        link.request()
        time.sleep(1.5)  # longer than send_timeout: the server owes the answer, not the client
        link.send(answer(200, b"late"))
        link.wait_end()

    server = serve(CONF, up=origin(slow), more="min_rate = 100000")
    with server.connect() as client:
        assert client.get("/up").body == b"late"


def test_a_trickling_upstream_does_not_end_the_client(serve, origin):
    def trickle(link):
        link.request()
        link.send(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
        for byte in b"trickled":
            time.sleep(0.3)
            link.send(bytes([byte]))
        link.wait_end()

    server = serve(CONF, up=origin(trickle), more="min_rate = 100000")
    with server.connect() as client:
        assert client.get("/up").body == b"trickled"
