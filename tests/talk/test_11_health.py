"""The health document: every member of the contract, every loop, who may see it, and answers while loops are stuck."""
import re
import time

import pytest

from talk import ports
from talk.client import Client, request
from talk.config import config
from talk.server import run
from talk.settings import allow
from talk.upstream import answer, answering

CONF = config("ok", "wait", "up", "health",
              server=("loops = $loops", "stall_threshold = 100ms", "executor_threads = 2"),
              listener=("bind = unix:$dir/s.sock",), more="""
[listener control]
bind = 127.0.0.1:$control
served_by = control
[route block]
path = /block
handler = work
iterations = 10
io_delay = 0ms
block = 30ms
allow_override = on
[route live]
path = = /livez
handler = health
show = live
[route ready]
path = = /readyz
handler = health
show = ready
""")

LOOP = {"id", "state", "connections", "idle", "parked", "active_requests", "pending_tasks", "queue_depth", "accepted", "requests", "moved_in",
        "moved_out", "busy", "lag_ms", "latency_ms", "stalls", "longest_stall_ms", "stall", "bytes_in", "bytes_out"}
DOCUMENT = {"status", "warnings", "version", "pid", "uptime_s", "generation", "loops_configured", "loops_running", "cpus_available", "acceptor",
            "loops", "imbalance", "executor", "upstreams"}
STATES = {"starting", "running", "stalled", "draining", "stopped"}


@pytest.fixture
def make(serve, origin):
    def start(loops=2, text=CONF):
        return serve(text, loops=loops, up=origin(), control=ports.free_port())

    return start


def control(server):
    return ("127.0.0.1", server.names["control"])


# ---- the document


def test_the_document_has_every_member_of_the_contract(make):
    server = make(loops=3)
    answered = server.get("/healthz")
    document = answered.json()
    assert answered.status == 200
    assert DOCUMENT <= set(document), DOCUMENT - set(document)
    assert document["status"] == "ok" and isinstance(document["warnings"], list)
    assert document["version"] == re.fullmatch(r"mlserve (\S+)", run("-v").stdout.splitlines()[0])[1]
    assert document["pid"] == server.pid and document["generation"] == 1
    assert document["uptime_s"] >= 0 and document["cpus_available"] >= 1
    assert (document["loops_configured"], document["loops_running"]) == (3, 3)
    assert {"accept", "dispatch", "accepted", "errors", "refused", "queue_full"} <= set(document["acceptor"])
    assert (document["acceptor"]["accept"], document["acceptor"]["dispatch"]) == ("central", "least-load")
    assert {"requests", "busy"} <= set(document["imbalance"])
    assert document["executor"] == {**document["executor"], "threads": 2, "active": 0, "queued": 0, "rejected": 0}
    servers = document["upstreams"]["app"]
    assert [set(one) >= {"server", "state", "active", "idle", "requests", "failures"} for one in servers] == [True]
    assert servers[0]["server"] == server.names["up"].address and servers[0]["state"] == "up"


def test_every_loop_has_every_figure(make):
    loops = make(loops=4).health()["loops"]
    assert [loop["id"] for loop in loops] == [0, 1, 2, 3]
    for loop in loops:
        assert LOOP <= set(loop), LOOP - set(loop)
        assert loop["state"] == "running" and loop["stall"] is None
        assert {"mean", "p99", "max"} <= set(loop["lag_ms"]) and {"p50", "p95", "p99"} <= set(loop["latency_ms"])
        assert 0 <= loop["parked"] <= loop["idle"] <= loop["connections"]
        assert 0 <= loop["busy"] <= 1


def test_the_figures_count_what_happened(make):
    server = make(loops=2)
    with server.connect() as client:
        for _ in range(50):
            client.expect_open()
        for _ in range(3):
            client.get("/up")
        document = client.get("/healthz").json()
        idle = [server.connect() for _ in range(10)]
        for other in idle:
            other.expect_open()
        deadline = time.monotonic() + allow(5)
        with server.connect(control(server)) as asking:
            later = asking.get("/healthz").json()
            while sum(loop["idle"] for loop in later["loops"]) != 11:
                assert time.monotonic() < deadline, later
                later = asking.get("/healthz").json()
    assert sum(loop["requests"] for loop in document["loops"]) in (53, 54)
    assert sum(loop["active_requests"] for loop in document["loops"]) == 1
    assert sum(loop["accepted"] for loop in document["loops"]) == document["acceptor"]["accepted"] == 1
    assert sum(loop["connections"] for loop in document["loops"]) == 1
    assert sum(loop["bytes_in"] for loop in document["loops"]) >= 50 * len(request("GET", "/ok"))
    assert sum(loop["bytes_out"] for loop in document["loops"]) >= 50 * 60
    assert document["upstreams"]["app"][0]["requests"] == 3
    assert sum(loop["connections"] for loop in later["loops"]) == 11
    assert sum(loop["accepted"] for loop in later["loops"]) == 11
    assert sum(loop["requests"] for loop in later["loops"]) == 64


def test_control_connections_are_counted_apart(make):
    server = make(loops=2)
    for _ in range(5):
        assert server.get("/ok").status == 200
    for _ in range(3):
        document = server.health(address=control(server))
    assert document["control"] == {"accepted": 3, "errors": 0, "refused": 0}
    assert document["acceptor"]["accepted"] == sum(loop["accepted"] for loop in document["loops"]) == 5


def test_waiting_requests_are_active_and_owed_a_task(make):
    server = make(loops=1)
    clients = [server.connect() for _ in range(5)]
    for client in clients:
        client.send(request("GET", "/wait"))
    document = server.settle(lambda document: document["loops"][0]["active_requests"] == 6)
    assert document["loops"][0]["pending_tasks"] >= 5
    assert document["loops"][0]["idle"] == 0


def test_busy_and_latency_rise_with_work(make):
    server = make(loops=1)
    with server.connect() as client:
        for _ in range(20):
            client.get("/block?block=30ms")
        loop = client.get("/healthz").json()["loops"][0]
    assert loop["busy"] > 0.05
    assert loop["latency_ms"]["p50"] >= 25 and loop["latency_ms"]["p99"] >= loop["latency_ms"]["p95"] >= loop["latency_ms"]["p50"]


def test_head_is_get_without_the_body(make):
    server = make()
    with server.connect() as client:
        for target in ("/healthz", "/healthz/live", "/healthz/ready", "/healthz/loops/0", "/livez", "/readyz"):
            head = client.ask("HEAD", target)
            assert head.status == 200 and head.body == b"", target
            assert head["Content-Type"].startswith("application/json"), target
            client.expect_open()
        answered = client.ask("POST", "/healthz", body=b"")
        assert answered.status == 405 and {"GET", "HEAD"} == {part.strip() for part in answered["Allow"].split(",")}


def test_health_is_not_to_be_stored(make):
    assert make().get("/healthz")["Cache-Control"] in ("no-store", "no-cache", "no-cache, no-store", "no-store, no-cache")


def test_one_loop_can_be_asked_for(make):
    server = make(loops=3)
    for number in range(3):
        loop = server.get(f"/healthz/loops/{number}").json()
        assert loop["id"] == number and LOOP <= set(loop)
    for target in ("/healthz/loops/3", "/healthz/loops/-1", "/healthz/loops/x", "/healthz/loops/", "/healthz/loops/4294967296", "/healthz/none", "/healthz/loops/0/x"):
        assert server.get(target).status == 404, target


def test_live_and_ready_say_200(make):
    server = make()
    for target in ("/healthz/live", "/healthz/ready", "/livez", "/readyz"):
        answered = server.get(target)
        assert answered.status == 200 and "loops" not in answered.json(), target


def test_a_unix_peer_counts_as_loopback(make):
    server = make()
    assert "loops" in server.get("/healthz", address=str(server.dir / "s.sock")).json()


def test_detail_is_for_detail_to_only(serve, origin):
    text = CONF.replace("[route health]\n", "[route health]\ndetail_to = 192.0.2.0/24\n")
    server = serve(text, loops=1, up=origin(), control=ports.free_port())
    for target in ("/healthz", "/healthz/loops/0"):
        answered = server.get(target)
        assert answered.status in (200, 403, 404)
        if answered.status == 200:
            assert answered.json() == {"status": "ok"}, target
    assert server.get("/healthz").json() == {"status": "ok"}
    assert server.get("/healthz/ready").status == 200


def test_detail_to_networks_of_both_families(serve, origin):
    text = CONF.replace("[route health]\n", "[route health]\ndetail_to = 127.0.0.0/8 ::1\n")
    server = serve(text, loops=1, up=origin(), control=ports.free_port())
    assert "loops" in server.health()


# ---- trouble


def test_an_upstream_that_is_down_degrades_with_a_warning(serve):
    server = serve(CONF, loops=1, up=f"127.0.0.1:{ports.free_port()}", control=ports.free_port())
    with server.connect() as client:
        for _ in range(20):
            assert client.get("/up").status == 502
        answered = client.get("/healthz")
    document = answered.json()
    assert answered.status == 200
    assert document["upstreams"]["app"][0]["failures"] >= 20
    assert document["upstreams"]["app"][0]["state"] == "down"
    assert document["status"] == "degraded" and any("app" in warning for warning in document["warnings"])


def one_connection_a_loop(server):
    """An idle connection to each loop, by its number."""
    loops = {}
    while len(loops) < server.names["loops"]:
        client = server.connect()
        loops.setdefault(int(client.expect_open()["X-Mlserve-Loop"]), client)
    return loops


def stick(client, seconds):
    """Holds the loop of that connection."""
    client.send(request("GET", f"/block?block={int(seconds * 1000)}ms"))


def when_stalled(asking, count, within):
    """The first health document that shows so many stalled loops."""
    deadline = time.monotonic() + allow(within)
    while True:
        document = asking.get("/healthz").json()
        if sum(loop["state"] == "stalled" for loop in document["loops"]) == count:
            return document
        assert time.monotonic() < deadline, f"{count} loops were never seen stalled together"


def timed(ask):
    """(seconds that it took, its result)"""
    start = time.monotonic()
    result = ask()
    return time.monotonic() - start, result


def assert_soon(waits):
    """50 ms; a busy machine may delay one of them, but not for as long as a stall lasts."""
    assert sorted(waits)[len(waits) // 2] < allow(0.05) and max(waits) < allow(0.3), waits


def test_a_stalled_loop_is_shown_with_route_and_handler_while_it_lasts(make):
    server = make(loops=2)
    stuck = one_connection_a_loop(server)[1]
    with server.connect(control(server)) as asking:
        stick(stuck, 3)
        document = when_stalled(asking, 1, 2.8)
        assert document["status"] == "degraded" and any("stall" in warning for warning in document["warnings"])
        assert asking.get("/healthz").status == 200
    stalled = document["loops"][1]
    assert stalled["state"] == "stalled"
    stall = stalled["stall"]
    assert {"ms", "kind", "syscall", "route", "handler"} <= set(stall)
    assert stall["ms"] >= 100 and (stall["route"], stall["handler"]) == ("block", "work")
    assert stuck.response().status == 200
    document = server.settle(lambda document: all(loop["state"] == "running" for loop in document["loops"]))
    loop = document["loops"][1]
    assert loop["stall"] is None and loop["stalls"] == 1
    assert 2900 <= loop["longest_stall_ms"] <= 3000 + allow(500)
    assert document["status"] == "ok"
    server.wait_log(r"loop 1\b.*stall.*block.*work")


def test_health_answers_soon_while_all_other_loops_are_stuck(make):
    server = make(loops=3)
    connections = one_connection_a_loop(server)
    with server.connect(control(server)) as asking:
        for free in range(3):
            stuck = [client for loop, client in connections.items() if loop != free]
            for client in stuck:
                stick(client, 3)
            when_stalled(asking, 2, 2)
            answers = [timed(server.health) for _ in range(7)]
            assert_soon([took for took, _ in answers])
            assert sum(loop["state"] == "stalled" for loop in answers[0][1]["loops"]) == 2
            for client in stuck:
                assert client.response().status == 200


def test_the_control_listener_answers_when_every_loop_is_stuck(make):
    server = make(loops=2)
    connections = one_connection_a_loop(server)
    with server.connect(control(server)) as asking:
        for client in connections.values():
            stick(client, 3)
        when_stalled(asking, 2, 2)
        assert_soon([timed(lambda: asking.get("/healthz"))[0] for _ in range(7)])
        assert asking.get("/healthz/ready").status == 503, "no loop can take work"
        assert asking.get("/healthz/live").status == 200
        for client in connections.values():
            client.response()
        deadline = time.monotonic() + allow(5)
        while asking.get("/healthz/ready").status != 200:
            assert time.monotonic() < deadline, "never ready again"


def test_the_control_listener_serves_health_only(make):
    server = make()
    with Client(control(server)) as client:
        assert client.get("/healthz").status == 200
        assert client.get("/ok").status == 404
        assert client.get("/block").status == 404


def test_health_is_consistent_under_load(make):
    """No document shows more idle than connections, or sums that go backwards."""
    server = make(loops=4)
    clients = [server.connect() for _ in range(40)]
    with server.connect(control(server)) as asking:
        total = 0
        for _ in range(50):
            for client in clients:
                client.send(request("GET", "/ok"))
            document = asking.get("/healthz").json()
            for loop in document["loops"]:
                assert 0 <= loop["parked"] <= loop["idle"] <= loop["connections"] and loop["state"] in STATES
            now = sum(loop["requests"] for loop in document["loops"])
            assert now >= total
            total = now
            for client in clients:
                assert client.response().body == b"ok"
        assert sum(loop["requests"] for loop in asking.get("/healthz").json()["loops"]) == 2000


def test_upstream_figures_follow_the_requests(serve, origin):
    up = origin(answering(lambda taken: answer(200, b"x")))
    server = serve(CONF, loops=1, up=up, control=ports.free_port())
    with server.connect() as client:
        for _ in range(7):
            client.get("/up")
    one = server.health()["upstreams"]["app"][0]
    assert (one["requests"], one["active"], one["idle"], one["failures"]) == (7, 0, 1, 0)
