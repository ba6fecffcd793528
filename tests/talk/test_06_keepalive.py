"""Connections that live on: order of pipelined answers, idle ends, pooled upstream connections that went stale or sour."""
import threading
import time

import pytest

from talk.client import Client, request
from talk.settings import allow
from talk.upstream import answer, answering

CONF = """
[server]
loops = 1
[listener main]
bind = $bind
[route ok]
path = = /ok
handler = respond
body = ok
[route slow]
path = /slow
handler = work
iterations = 10
io_delay = 300ms
[route files]
path = /files
handler = static
root = $dir
[route up]
path = /
handler = proxy
upstream = app
[route health]
path = = /healthz
handler = health
[upstream app]
server = $up
"""


def pool_of(server):
    return server.health()["upstreams"]["app"][0]


# ---- order


@pytest.mark.case("KAL-03")
def test_a_fast_answer_never_overtakes_a_slow_one(serve, origin):
    server = serve(CONF, up=origin())
    (server.dir / "f").write_text("file")
    with server.connect() as client:
        start = time.monotonic()
        client.send(request("GET", "/slow") + request("GET", "/ok") + request("GET", "/files/f") + request("GET", "/slow")
                    + request("GET", "/up"))
        assert len(client.response().body) == 8
        assert time.monotonic() - start >= 0.29
        assert [client.response().body for _ in range(2)] == [b"ok", b"file"]
        assert len(client.response().body) == 8
        assert client.response().body == b"up:/up"


@pytest.mark.case("KAL-03")
def test_a_slow_upstream_comes_before_the_fast_file_behind_it(serve, origin):
    def script(link):
        link.request()
        link.sock.settimeout(None)
        time.sleep(0.3)  # slowness is what this upstream is for
        link.send(answer(200, b"slow"))
        link.wait_end()

    server = serve(CONF, up=origin(script))
    (server.dir / "f").write_text("file")
    with server.connect() as client:
        client.send(request("GET", "/x") + request("GET", "/files/f") + request("GET", "/ok"))
        assert [client.response().body for _ in range(3)] == [b"slow", b"file", b"ok"]


# ---- the idle client


@pytest.mark.case("KAL-06")
def test_the_header_timer_does_not_run_while_a_connection_is_idle(serve, origin):
    server = serve(CONF.replace("bind = $bind", "bind = $bind\nkeepalive_timeout = 2s\nheader_timeout = 500ms"), up=origin())
    with server.connect() as client:
        assert client.get("/ok").status == 200
        assert client.is_quiet(1.2)  # longer than header_timeout
        assert client.get("/ok").status == 200
        start = time.monotonic()
        client.expect_end(within=10)
        assert 1.9 <= time.monotonic() - start <= 2 + allow(1.5)


def test_an_idle_connection_ends_by_fin_without_bytes_after_keepalive_timeout(serve, origin):
    server = serve(CONF.replace("bind = $bind", "bind = $bind\nkeepalive_timeout = 1s"), up=origin())
    with server.connect() as one, server.connect() as two:
        one.get("/ok")
        two.get("/ok")
        start = time.monotonic()
        one.expect_end()
        two.expect_end()
        assert 0.9 <= time.monotonic() - start <= 1 + allow(1.5)


def test_many_idle_connections_wake_up_and_serve(serve, origin):
    server = serve(CONF.replace("loops = 1", "loops = 4"), up=origin())
    clients = [server.connect() for _ in range(200)]
    for _ in range(3):
        for client in clients:
            client.send(request("GET", "/ok"))
        assert all(client.response().body == b"ok" for client in clients)
    health = server.settle(lambda document: sum(loop["idle"] for loop in document["loops"]) >= 200)
    assert sum(loop["connections"] for loop in health["loops"]) == 201


# ---- pooled upstream connections


def test_an_upstream_connection_is_used_again(serve, origin):
    up = origin()
    server = serve(CONF, up=up)
    with server.connect() as client:
        for number in range(20):
            assert client.get(f"/{number}").body == b"up:/%d" % number
    for number in range(20):
        assert server.get(f"/again/{number}").status == 200
    assert len(up.links) == 1
    assert pool_of(server)["idle"] == 1


def test_keepalive_0_makes_a_connection_a_request(serve, origin):
    up = origin()
    server = serve(CONF.replace("server = $up", "server = $up\nkeepalive = 0"), up=up)
    with server.connect() as client:
        for number in range(5):
            assert client.get(f"/{number}").status == 200
    assert len(up.links) == 5
    assert all(taken["Connection"] == "close" for taken in up.requests)


def test_no_more_than_keepalive_idle_connections_are_kept(serve, origin):
    together = threading.Barrier(4)

    def make(taken):
        if taken.target == "/wait":
            together.wait(allow(10))
        return answer()

    server = serve(CONF.replace("server = $up", "server = $up\nkeepalive = 2"), up=origin(answering(make)))
    clients = [server.connect() for _ in range(4)]
    for client in clients:
        client.send(request("GET", "/wait"))
    for client in clients:
        assert client.response().status == 200
    server.settle(lambda document: document["upstreams"]["app"][0]["idle"] == 2)


@pytest.mark.case("KAL-01")
@pytest.mark.parametrize("how", ["FIN", "RST"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_pooled_connection_that_ended_is_not_used(serve, origin, how, method):
    def ends(link):
        link.request()
        link.send(answer(200, b"first"))
        link.reset() if how == "RST" else link.close()

    up = origin([ends, answering()])
    server = serve(CONF, up=up)
    with server.connect() as client:
        assert client.get("/1").body == b"first"
        assert up.links[0].ended.wait(10)
        server.settle(lambda document: document["upstreams"]["app"][0]["idle"] == 0)
        answered = client.ask(method, "/2", body=b"b" if method == "POST" else None)
        assert (answered.status, answered.body) == (200, b"up:/2")
    assert up.targets() == ["/1", "/2"]


@pytest.mark.case("KAL-01")
@pytest.mark.parametrize("how", ["FIN", "RST"])
@pytest.mark.parametrize("method, body", [("GET", None), ("HEAD", None), ("PUT", b"abc"), ("DELETE", None)])
def test_a_pooled_connection_closed_after_the_request_costs_one_more_try(serve, origin, how, method, body):
    def stale(link):
        link.request()
        link.send(answer(200, b"first"))
        link.request()
        link.reset() if how == "RST" else link.close()

    up = origin([stale, answering()])
    server = serve(CONF.replace("server = $up", "server = $up\nretries = 0"), up=up)
    with server.connect() as client:
        assert client.get("/1").body == b"first"
        assert client.ask(method, "/2", body=body).status == 200
        client.expect_open()
    assert up.targets() == ["/1", "/2", "/2"]
    if body:
        assert [taken.body for taken in up.requests[1:]] == [body, body]


@pytest.mark.case("KAL-01")
def test_a_second_failure_is_502_whole_and_well_formed(serve, origin):
    def stale(link):
        link.request()
        link.send(answer(200, b"first"))
        link.request()
        link.close()

    def fails(link):
        link.request()
        link.close()

    up = origin([stale, fails])
    server = serve(CONF.replace("server = $up", "server = $up\nretries = 0"), up=up)
    with server.connect() as client:
        assert client.get("/1").body == b"first"
        assert client.get("/2").status == 502
        client.expect_open()
    assert up.targets() == ["/1", "/2", "/2"]


@pytest.mark.case("KAL-01")
def test_a_post_that_was_sent_on_a_stale_connection_is_502_and_not_sent_twice(serve, origin):
    def stale(link):
        link.request()
        link.send(answer(200, b"first"))
        link.request()
        link.close()

    up = origin([stale, answering()])
    server = serve(CONF, up=up)
    with server.connect() as client:
        assert client.get("/1").body == b"first"
        assert client.ask("POST", "/2", body=b"abc").status == 502
    assert up.targets() == ["/1", "/2"]


@pytest.mark.case("KAL-05")
@pytest.mark.parametrize("reply, method", [
    (b"HTTP/1.1 204 No Content\r\n\r\n", "GET"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "GET"),
    (b"HTTP/1.1 304 X\r\nETag: \"a\"\r\n\r\n", "GET"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "GET"),
], ids=["204", "head", "length-0", "304", "chunked"])
@pytest.mark.parametrize("stray", [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray", b"stray", b"\r\n"], ids=["answer", "body", "crlf"])
@pytest.mark.parametrize("when", ["with", "after"])
def test_surplus_bytes_end_the_pooled_connection(serve, origin, reply, method, stray, when):
    may_push = threading.Event()

    def pushy(link):
        link.request()
        if when == "with":
            link.send(reply + stray)
        else:
            link.send(reply)
            assert may_push.wait(allow(10))
            link.send(stray)
        link.wait_end()

    up = origin([pushy, answering()])
    server = serve(CONF, up=up)
    with server.connect() as client:
        assert client.ask(method, "/first").body == b""
        may_push.set()
        assert up.links[0].ended.wait(allow(10)), "the sour connection was kept"
        with Client(("127.0.0.1", server.port)) as other:
            assert other.get("/me").body == b"up:/me"
        assert client.get("/me").body == b"up:/me"
    assert len(up.links) == 2


def test_upstream_connection_close_is_honoured(serve, origin):
    def once(link):
        link.request()
        link.send(answer(200, b"once", "Connection: close"))
        link.wait_end()

    up = origin(once)
    with serve(CONF, up=up).connect() as client:
        for _ in range(3):
            answered = client.get("/")
            assert answered.body == b"once" and answered.keeps_open
    assert len(up.links) == 3


def test_an_upstream_that_speaks_1_0_is_not_kept_unless_it_says_so(serve, origin):
    def old(link):
        link.request()
        link.send(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold")
        link.wait_end()

    up = origin(old)
    with serve(CONF, up=up).connect() as client:
        for _ in range(2):
            assert client.get("/").body == b"old"
    assert len(up.links) == 2
