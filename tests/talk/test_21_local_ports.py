"""No local port is left for connections to an upstream: in a network namespace with a range of 50."""
import contextlib
import threading
import time

import pytest

from talk.client import Client, request
from talk.netns import NetworkNamespace
from talk.process import cpu_share, descriptors
from talk.settings import SLOW, allow
from talk.upstream import answer

PORTS, REQUESTS = 50, 200

CONF = """
[server]
loops = 2
[listener main]
bind = unix:$dir/front.sock
[route ok]
path = = /ok
handler = respond
body = ok
[route health]
path = /healthz
handler = health
[route hang]
path = /hang
handler = proxy
upstream = hang
[upstream hang]
server = $hang
response_timeout = 60s
retries = 2
"""


@pytest.fixture
def namespace():
    try:
        made = NetworkNamespace()
    except OSError as fault:
        pytest.skip(f"no right to make a network namespace here: {fault}")
    yield made
    made.close()


@pytest.fixture
def go_on():
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def server(serve, origin, namespace, go_on):
    def script(link):
        with contextlib.suppress(AssertionError):
            while True:
                link.request(within=60)
                assert go_on.wait(60)
                link.send(answer(200, b"at last"))

    with namespace.inside():
        hang = origin(script, backlog=1024)
    namespace.local_ports(40000, 40000 + PORTS - 1)
    return serve(CONF, hang=hang, preexec=namespace.enter)


@pytest.mark.case("ACC-06")
def test_without_local_ports_503_comes_quickly_and_all_else_is_served(server, go_on):
    front = str(server.dir / "front.sock")
    clients = [Client(front) for _ in range(REQUESTS)]
    start = time.monotonic()
    for client in clients:
        client.send(request("GET", "/hang"))
    refused = []
    while len(refused) < REQUESTS - PORTS:
        assert time.monotonic() - start < allow(10), len(refused)
        refused = [client for client in clients if not client.is_quiet(0)]
    document = server.health(address=front)
    assert document["upstreams"]["hang"][0]["active"] == PORTS
    assert sum(loop["active_requests"] for loop in document["loops"]) == PORTS + 1
    for client in refused:
        assert client.response().status == 503
    assert time.monotonic() - start < allow(5)
    server.wait_log(r"upstream hang: .*(port|address)")

    with Client(front) as other:
        waits = []
        for _ in range(100):
            begun = time.monotonic()
            assert other.get("/ok").body == b"ok"
            waits.append(time.monotonic() - begun)
        assert sorted(waits)[95] < allow(0.02)
    assert cpu_share(server.pid, 1.0) < 0.05 * max(1, SLOW)
    assert server.log.count("upstream hang") < 50, "a log line for each of many failures"

    go_on.set()
    waiting = [client for client in clients if client not in refused]
    assert len(waiting) == PORTS
    for client in waiting:
        assert client.response().body == b"at last"
    for client in refused:  # ports are there again, or connections that are kept
        assert client.get("/hang").body == b"at last"
        client.close()
    for client in waiting:
        client.close()


@pytest.mark.case("ACC-06")
def test_a_flood_of_refusals_leaks_no_descriptor(server, go_on):
    front = str(server.dir / "front.sock")
    with contextlib.ExitStack() as stack:
        holders = [stack.enter_context(Client(front)) for _ in range(PORTS)]
        for holder in holders:
            holder.send(request("GET", "/hang"))
        with Client(front) as client:
            while client.get("/healthz").json()["upstreams"]["hang"][0]["active"] < PORTS:
                pass
            before = descriptors(server.pid)
            for _ in range(500):
                assert client.get("/hang").status == 503
            assert descriptors(server.pid) <= before
        go_on.set()
        for holder in holders:
            assert holder.response().body == b"at last"
