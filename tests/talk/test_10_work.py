"""The work handler: results to the last digit, waiting and computing in the configured measure, overrides and their cap."""
import time

import pytest

from talk.client import request
from talk.settings import allow
from talk.work import lcg, loop_result, square_roots

CONF = """
[server]
loops = $loops
[listener main]
bind = $bind
[route lcg]
path = = /lcg
handler = work
work = lcg
iterations = 1000
io_delay = 0ms
debug_headers = on
[route json]
path = = /json
handler = work
iterations = 1000
io_delay = 0ms
format = json
[route steps]
path = = /steps
handler = work
iterations = 100
steps = 3
io_delay = 50ms
[route sqrt]
path = = /sqrt
handler = work
work = sqrt
iterations = 100000
io_delay = 0ms
format = json
[route executor]
path = = /executor
handler = work
iterations = 1000
io_delay = 1ms
run_on = executor
debug_headers = on
[route open]
path = = /open
handler = work
iterations = 100
io_delay = 1ms
steps = 1
allow_override = on
format = json
[route zero]
path = = /zero
handler = work
iterations = 0
io_delay = 0ms
allow_override = on
format = json
[route block]
path = = /block
handler = work
iterations = 10
io_delay = 0ms
block = 100ms
[route lock]
path = = /lock
handler = work
iterations = 5000
io_delay = 0ms
lock = on
[route default]
path = = /default
handler = work
[route ok]
path = = /ok
handler = respond
body = ok
[route health]
path = /healthz
handler = health
"""


@pytest.fixture(scope="module")
def server(serve_module):
    return serve_module(CONF, loops=2)


@pytest.fixture
def client(server):
    with server.connect() as client:
        yield client


def result_of(answer):
    """The number in a json answer, whatever its other members are."""
    return answer.json()["result"]


def test_lcg_answers_eight_bytes_of_loop_and_result(client):
    for number in range(20):
        answer = client.get("/lcg")
        assert answer.status == 200 and len(answer.body) == 8
        loop = int(answer["X-Mlserve-Loop"])
        assert loop in (0, 1)
        assert answer.body == loop_result(loop, lcg(number, 1000))


def test_request_numbers_count_the_requests_of_a_connection(client):
    for _ in range(3):
        client.get("/ok")
    assert client.get("/lcg").body[2:] == loop_result(0, lcg(3, 1000))[2:]


def test_default_costs_are_twenty_thousand_steps_after_a_millisecond(client):
    assert client.get("/default").body[2:] == loop_result(0, lcg(0, 20000))[2:]


def test_json_has_the_whole_result_and_the_loop(client):
    for number in range(3):
        page = client.get("/json").json()
        assert page["result"] == lcg(number, 1000)
        assert page["loop"] in (0, 1)


def test_steps_carry_the_value_and_wait_before_each(client):
    start = time.monotonic()
    answer = client.get("/steps")
    took = time.monotonic() - start
    assert answer.body[2:] == loop_result(0, lcg(0, 100, steps=3))[2:]
    assert 0.15 <= took <= 0.15 + allow(0.5)


def test_square_roots_add_up(client):
    assert result_of(client.get("/sqrt")) == square_roots(100000) == 21081692


def test_the_executor_computes_the_same(client):
    for number in range(5):
        answer = client.get("/executor")
        assert answer.body == loop_result(int(answer["X-Mlserve-Loop"]), lcg(number, 1000))


@pytest.mark.parametrize("query, iterations, steps", [
    ("", 100, 1), ("?iterations=0", 0, 1), ("?iterations=7", 7, 1), ("?iterations=10000", 10000, 1), ("?iterations=10001", 10000, 1),
    ("?iterations=99999999999999999999", 10000, 1), ("?steps=3", 100, 3), ("?iterations=5&steps=2&io_delay=0ms", 5, 2),
    ("?steps=100&io_delay=0ms&iterations=1", 1, 100), ("?steps=101&io_delay=0ms&iterations=1", 1, 100),
    ("?run_on=executor&iterations=50", 50, 1), ("?other=1", 100, 1),
])
def test_overrides_hold_up_to_a_hundredfold(client, query, iterations, steps):
    answer = client.get("/open" + query)
    assert answer.status == 200, answer
    assert result_of(answer) == lcg(0, iterations, steps)


def test_delay_overrides_are_clamped_to_a_hundredfold(client):
    for query, least, most in (("?io_delay=80ms", 0.08, 0.08), ("?io_delay=10s", 0.1, 0.1)):
        start = time.monotonic()
        client.get("/open" + query)
        assert least <= time.monotonic() - start <= most + allow(0.5)


@pytest.mark.parametrize("query", ["?iterations=-1", "?iterations=x", "?iterations=", "?io_delay=5", "?steps=0", "?run_on=moon", "?block=1"])
def test_overrides_that_are_no_values_are_400(client, query):
    assert client.get("/open" + query).status == 400


def test_where_nothing_is_configured_the_cap_is_a_million_steps_and_a_second(client):
    assert result_of(client.get("/zero?iterations=1000")) == lcg(0, 1000)
    start = time.monotonic()
    client.get("/zero?io_delay=1h")
    assert 1 <= time.monotonic() - start <= 1 + allow(0.7)


@pytest.mark.parametrize("query", ["?iterations=5", "?block=1s", "?io_delay=1s"])
def test_without_allow_override_the_query_changes_nothing(client, query):
    start = time.monotonic()
    assert client.get("/lcg" + query).body[2:] == loop_result(0, lcg(0, 1000))[2:]
    assert time.monotonic() - start < allow(0.5)


def test_waiting_requests_of_a_loop_wait_together(serve):
    server = serve(CONF.replace("io_delay = 50ms", "io_delay = 300ms").replace("steps = 3", "steps = 1"), loops=1)
    clients = [server.connect() for _ in range(20)]
    start = time.monotonic()
    for client in clients:
        client.send(request("GET", "/steps"))
    for client in clients:
        assert client.response().status == 200
    assert 0.3 <= time.monotonic() - start <= 0.3 + allow(0.5)


def test_block_holds_the_loop_and_the_executor_does_not(serve):
    server = serve(CONF.replace("allow_override = on", "allow_override = on\nblock = 10ms"), loops=1)
    with server.connect() as one, server.connect() as other:
        one.send(request("GET", "/block"))
        start = time.monotonic()
        other.expect_open()
        one.response()
        assert time.monotonic() - start >= 0.08
        one.send(request("GET", "/open?run_on=executor&block=500ms"))
        start = time.monotonic()
        for _ in range(10):
            other.expect_open()
        assert time.monotonic() - start < 0.4 * max(1, allow(1))
        assert one.response().status == 200
        assert time.monotonic() - start >= 0.45


def test_under_the_lock_results_are_the_same(serve):
    server = serve(CONF, loops=2)
    clients = [server.connect() for _ in range(8)]
    for number in range(5):
        for client in clients:
            client.send(request("GET", "/lock"))
        for client in clients:
            assert client.response().body[2:] == loop_result(0, lcg(number, 5000))[2:]


def test_a_full_executor_says_503_with_retry_after(serve):
    server = serve(CONF.replace("[listener", "executor_threads = 1\nexecutor_queue = 2\n[listener", 1)
                   .replace("run_on = executor", "run_on = executor\nblock = 300ms"), loops=1)
    clients = [server.connect() for _ in range(8)]
    for client in clients:
        client.send(request("GET", "/executor"))
    answers = [client.response() for client in clients]
    refused = [answer for answer in answers if answer.status == 503]
    assert all(answer.status in (200, 503) for answer in answers)
    assert 8 - 4 <= len(refused) <= 8 - 2, [answer.status for answer in answers]
    assert all(int(answer["Retry-After"]) >= 1 for answer in refused)
    assert server.health()["executor"]["rejected"] == len(refused)


def test_a_client_that_leaves_cancels_its_work(serve):
    server = serve(CONF.replace("io_delay = 50ms", "io_delay = 30s"), loops=1)
    with server.connect() as client:
        client.send(request("GET", "/steps"))
        server.settle(lambda document: document["loops"][0]["active_requests"] == 2)
        client.reset()
    server.settle(lambda document: document["loops"][0]["active_requests"] == 1)


def test_head_runs_and_says_the_length(client):
    answer = client.ask("HEAD", "/lcg")
    assert (answer.status, answer["Content-Length"], answer.body) == (200, "8", b"")
    client.expect_open()
