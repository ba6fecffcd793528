"""The wall clock jumps: timeouts take their true time, and only Date and the log's stamps follow."""
import email.utils
import os
import select
import struct
import time

import pytest

from talk import settings
from talk.client import request
from talk.config import config, section
from talk.server import run
from talk.settings import allow
from talk.upstream import answering

CLOCK = settings.BUILD / "tests/talk/clock/clock.so"
HOUR, TEN_YEARS = 3600, 10 * 365 * 86400

TIMEOUTS = ("header_timeout = 1500ms", "body_timeout = 1500ms", "send_timeout = 1500ms", "keepalive_timeout = 1500ms", "min_rate = 0")
HOLD = section("route hold", "path = = /hold", "handler = work", "iterations = 1", "io_delay = 0", "block = 8s", "run_on = executor")
CONF = config("ok", "wait", "files", "up", "health", listener=TIMEOUTS, delay="1500ms", more=HOLD,
              upstream=("response_timeout = 1500ms", "retries = 0"), server=("loops = 2", "shutdown_timeout = 1500ms"))
TRUE_TIME = 1.5


class Clock:
    """The wall clock of a server, as far as it runs beside the machine's."""

    def __init__(self, path):
        self.path, self.offset = path, 0
        path.write_bytes(struct.pack("=q", 0))

    def jump(self, seconds):
        self.offset += seconds
        with open(self.path, "r+b") as file:
            file.write(struct.pack("=q", self.offset))

    @property
    def environment(self):
        options = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))
        return {"LD_PRELOAD": str(CLOCK), "TALK_CLOCK": str(self.path), "ASAN_OPTIONS": options}

    def is_told_by(self, answer, within=1):
        told = email.utils.parsedate_to_datetime(answer["Date"]).timestamp()
        return abs(told - (time.time() + self.offset)) <= within + allow(1)


@pytest.fixture(autouse=True, scope="module")
def built():
    if not CLOCK.exists():
        pytest.fail(f"{CLOCK} was not built: make check builds it")


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path / "clock")


def silent(link):
    link.request_head()
    link.wait_end()


def ends(clients, start):
    """Seconds from `start` until each of them, by name, has something to read."""
    took, waiting = {}, {client.sock: name for name, client in clients.items()}
    while waiting:
        ready = select.select(list(waiting), [], [], allow(10))[0]
        assert ready, f"these never came to an end: {list(waiting.values())}"
        for sock in ready:
            took[waiting.pop(sock)] = time.monotonic() - start
    return took


@pytest.mark.case("EVL-01")
@pytest.mark.parametrize("jump", [-HOUR, HOUR, TEN_YEARS, -TEN_YEARS])
def test_every_timeout_takes_its_true_time(serve, origin, clock, jump):
    server = serve(CONF, up=origin(silent), environment=clock.environment)
    (server.dir / "big").write_bytes(b"b" * (32 << 20))
    sent = {
        "idle": request("GET", "/ok"), "head": b"GET /ok HTTP/1.1\r\nHo", "body": request("POST", "/up", "Content-Length: 9") + b"part",
        "answer": request("GET", "/up"),
        "timer": request("GET", "/wait"), "silent": b"",
    }
    clients = {name: server.connect() for name in sent}
    start = time.monotonic()
    for name, data in sent.items():
        clients[name].send(data)
    assert clients["idle"].response().body == b"ok"
    clock.jump(jump)
    took = ends(clients, start)
    for name, seconds in took.items():
        assert TRUE_TIME - 0.05 <= seconds <= TRUE_TIME + allow(1), took
    clients["idle"].expect_end()
    clients["silent"].expect_end()
    assert clients["head"].response().status == 408
    assert clients["body"].response().status == 408
    assert clients["answer"].response().status == 504
    assert clients["timer"].response().status == 200


@pytest.mark.case("EVL-01")
@pytest.mark.parametrize("jump", [-HOUR, HOUR, TEN_YEARS])
def test_date_follows_at_once_and_nobody_else(serve, origin, clock, jump):
    server = serve(CONF, up=origin(answering()), environment=clock.environment)
    with server.connect() as client:
        before = server.health()
        assert clock.is_told_by(client.expect_open())
        clock.jump(jump)
        for _ in range(3):
            assert clock.is_told_by(client.expect_open())
            assert clock.is_told_by(client.get("/up"))
        after = server.health()
        assert 0 <= after["uptime_s"] - before["uptime_s"] <= allow(5)
        for loop in after["loops"]:
            assert 0 <= loop["lag_ms"]["p99"] < allow(2000), loop
            assert 0 <= loop["busy"] <= 1, loop
        clock.jump(-jump)
        assert clock.is_told_by(client.expect_open())


@pytest.mark.case("EVL-01")
@pytest.mark.parametrize("jump", [-HOUR, HOUR, TEN_YEARS])
def test_a_slow_upload_and_a_slow_reader_are_not_ended(serve, origin, clock, jump):
    server = serve(CONF, up=origin(answering()), environment=clock.environment)
    body = bytes(range(256)) * 8192
    (server.dir / "some").write_bytes(body)
    with server.connect() as up, server.connect(receive_buffer=8192) as down:
        up.send(request("POST", "/up", "Content-Length: 8"))
        down.send(request("GET", "/files/some"))
        for number, byte in enumerate(b"a byte .", 1):
            up.send(bytes([byte]))
            down.reader.need(time.monotonic() + allow(5))
            clock.jump(jump if number % 2 else -jump)
            time.sleep(0.3)  # slower than all of it may take by a clock that jumped, faster than the true timeout
        assert up.response().body == b"up:/up"
        assert down.response(within=20).body == body


@pytest.mark.case("EVL-01")
@pytest.mark.parametrize("jump", [-HOUR, TEN_YEARS])
def test_two_threads_that_read_the_time_together_agree(serve, origin, clock, jump):
    """Two loops and the control thread keep their own stamps."""
    server = serve(CONF, up=origin(answering()), environment=clock.environment)
    clients = [server.connect() for _ in range(8)]
    for _ in range(20):
        clock.jump(jump if clock.offset == 0 else -jump)
        for client in clients:
            client.send(request("GET", "/ok") * 5)
        for client in clients:
            assert all(clock.is_told_by(client.response()) for _ in range(5))


@pytest.mark.case("EVL-01")
@pytest.mark.parametrize("jump", [-HOUR, TEN_YEARS])
def test_shutdown_timeout_takes_its_true_time(serve, origin, clock, jump):
    server = serve(CONF, up=origin(silent), environment=clock.environment)
    with server.connect() as client, server.connect() as held:
        client.send(request("GET", "/up"))
        held.send(request("GET", "/hold"))  # a job that outlives the shutdown is waited for, but not for long
        server.settle(lambda document: sum(loop["active_requests"] for loop in document["loops"]) >= 3)
        start = time.monotonic()
        server.send_signal()
        server.wait_log("drain|stop|shut|clos")
        clock.jump(jump)
        server.wait(within=10)
        assert TRUE_TIME - 0.1 <= time.monotonic() - start <= TRUE_TIME + 2 + allow(2)


@pytest.mark.case("EVL-01")
@pytest.mark.skipif("health_path" not in run("--help-config", "upstream").stdout, reason="this mlserve has no active health checks")
@pytest.mark.parametrize("jump", [-HOUR, HOUR, TEN_YEARS])
def test_health_checks_keep_their_pace(serve, origin, clock, jump):
    probed = []

    def probe(link):
        answering(lambda taken: probed.append(time.monotonic()) or b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", may_be_cut=True)(link)

    serve(CONF.replace("response_timeout = 1500ms", "health_path = /health\nhealth_interval = 300ms"), up=origin(probe),
        environment=clock.environment)
    start = time.monotonic()
    while len(probed) < 3:
        assert time.monotonic() - start < allow(5)
        time.sleep(0.02)
    clock.jump(jump)
    count, start = len(probed), time.monotonic()
    time.sleep(1.5)  # five of them
    assert 3 <= len(probed) - count <= 8, (count, probed)
    assert max(later - earlier for earlier, later in zip(probed, probed[1:])) < 0.3 + allow(0.7)
