"""Odd peers: no pattern of half-closing, resetting or not reading costs CPU or holds anybody up."""
import contextlib
import socket
import threading
import time

import pytest

from talk.client import request
from talk.config import config
from talk.process import cpu_share, descriptors, resident_bytes
from talk.settings import SLOW, allow
from talk.upstream import answer

PATIENT = ("header_timeout = 60s", "body_timeout = 60s", "send_timeout = 60s", "keepalive_timeout = 60s")
CONF = config("ok", "wait", "files", "up", "health", listener=(*PATIENT, "min_rate = 0", "max_body_size = 1g"),
              upstream=("response_timeout = 60s",))

SAMPLE = 1.0  # seconds of CPU sampling a pattern; that time passes is the subject


def silent(link):
    with contextlib.suppress(AssertionError):
        link.request_head()
        link.wait_end(60)


@pytest.fixture
def server(serve, origin):
    server = serve(CONF, up=origin(silent))
    (server.dir / "big").write_bytes(b"b" * (64 << 20))
    return server


def half_close_before_the_head(server):
    client = server.connect()
    client.send(b"GET /ok HT")
    client.half_close()


def half_close_mid_upload(server):
    client = server.connect()
    client.send(request("POST", "/up", "Content-Length: 1000") + b"part")
    client.half_close()


def half_close_behind_a_request_that_waits(server):
    client = server.connect()
    client.send(request("GET", "/wait"))
    client.half_close()


def half_close_while_the_upstream_is_silent(server):
    client = server.connect()
    client.send(request("GET", "/up"))
    client.half_close()


def reset_while_an_answer_is_pending(server):
    client = server.connect()
    client.send(request("GET", "/up"))
    server.names["up"].next_request()
    client.reset()


def zero_window_reader(server):
    server.connect(receive_buffer=4096).send(request("GET", "/files/big"))


def zero_window_reader_that_half_closed(server):
    client = server.connect(receive_buffer=4096)
    client.send(request("GET", "/files/big"))
    client.half_close()


def pipelined_flood_that_reads_nothing(server):
    client = server.connect(receive_buffer=4096)
    client.send_until_stuck(request("GET", "/files/big") * 1000, most=1 << 24, quiet=0.3)


def urgent_byte(server):
    client = server.connect()
    client.sock.send(b"!", socket.MSG_OOB)
    client.expect_open()


def half_sent_body_that_waits(server):
    server.connect().send(request("POST", "/up", "Transfer-Encoding: chunked") + b"5\r\nhe")


def bytes_behind_a_request_that_waits(server):
    client = server.connect()
    client.send(request("GET", "/wait"))
    client.send_until_stuck(b"x" * 65536, most=1 << 24, quiet=0.3)


def half_close_after_the_answer(server):
    client = server.connect()
    client.expect_open()
    client.half_close()


PATTERNS = [half_close_before_the_head, half_close_mid_upload, half_close_behind_a_request_that_waits, half_close_while_the_upstream_is_silent,
            reset_while_an_answer_is_pending, zero_window_reader, zero_window_reader_that_half_closed, pipelined_flood_that_reads_nothing,
            urgent_byte, half_sent_body_that_waits, bytes_behind_a_request_that_waits, half_close_after_the_answer]


@pytest.mark.case("EVL-05")
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
def test_odd_peers_cost_no_cpu(server, pattern):
    for _ in range(3):
        pattern(server)
    assert server.get("/ok").body == b"ok"
    assert cpu_share(server.pid, SAMPLE) < 0.05 * max(1, SLOW)
    assert server.get("/ok").body == b"ok"


@pytest.mark.case("EVL-05")
def test_an_upstream_that_half_closes_while_the_client_is_idle_costs_no_cpu(serve, origin):
    def script(link):
        link.request()
        link.send(answer())
        link.half_close()
        link.wait_end(60)

    up = origin(script)
    server = serve(CONF, up=up)
    with server.connect() as client:
        assert client.get("/up").status == 200
        assert cpu_share(server.pid, SAMPLE) < 0.05 * max(1, SLOW)
        assert up.links[0].ended.wait(allow(5)), "the half-closed upstream connection was kept"
        client.expect_open()


def test_an_idle_server_sleeps(server):
    for _ in range(20):
        server.connect().expect_open()
    time.sleep(0.2)
    assert cpu_share(server.pid, 2.0) < 0.02 * max(1, SLOW)


def test_a_request_that_was_half_closed_is_still_answered(serve, origin):
    may_answer = threading.Event()

    def script(link):
        link.request()
        assert may_answer.wait(allow(10))
        link.send(answer(200, b"late"))
        link.wait_end()

    server = serve(CONF, up=origin(script))
    with server.connect() as client:
        client.send(request("GET", "/up"))
        client.half_close()
        assert client.is_quiet(0.3)
        may_answer.set()
        assert client.response().body == b"late"
        client.expect_end()


def test_ten_thousand_short_connections_leave_nothing_behind(server):
    count = 10_000 if SLOW <= 1 else 1000
    for _ in range(200):
        server.get("/ok")
    fds, memory = descriptors(server.pid), resident_bytes(server.pid)
    for number in range(count):
        with server.connect() as client:
            if number % 3 == 0:
                client.send(request("GET", "/ok", "Connection: close"))
                assert client.response().body == b"ok"
            elif number % 3 == 1:
                client.send(b"GET /ok")
            else:
                client.send(request("GET", "/ok"))
                client.reset()
        server.clients.clear()
    server.settle(lambda document: sum(loop["connections"] for loop in document["loops"]) == 1)
    deadline = time.monotonic() + allow(5)
    while descriptors(server.pid) > fds + 1:
        assert time.monotonic() < deadline, f"{fds} descriptors before, {descriptors(server.pid)} after"
    if SLOW <= 1:
        assert resident_bytes(server.pid) - memory < 8 << 20


def test_waiting_for_one_does_not_hold_up_others_on_the_same_loop(serve, origin):
    server = serve(CONF.replace("loops = 2", "loops = 1"), up=origin(silent))
    (server.dir / "big").write_bytes(b"b" * (64 << 20))
    for pattern in PATTERNS:
        pattern(server)
    with server.connect() as client:
        waits = []
        for _ in range(100):
            start = time.monotonic()
            client.expect_open()
            waits.append(time.monotonic() - start)
    assert sorted(waits)[95] < allow(0.02), sorted(waits)[-10:]
