"""The proxy when the upstream or the client fails: who is told what, what is tried again, what is never tried twice."""
import itertools
import threading
import time

import pytest

from talk.client import Client, Closed, chunked, request
from talk.ports import free_port
from talk.settings import allow
from talk.upstream import answer, answering

CONF = """
[server]
loops = 1
[listener main]
bind = $bind
max_body_size = 1g
[route ok]
path = = /ok
handler = respond
body = ok
[route health]
path = = /healthz
handler = health
[route up]
path = /
handler = proxy
upstream = app
[upstream app]
server = $up
connect_timeout = 1s
response_timeout = 1s
"""


def pair(origin, *scripts):
    """Two servers that play one list of scripts together: the first connection to either plays the first, and so on,
    the last one for all that follow. They and a configuration with both."""
    count = itertools.count()

    def script(link):
        scripts[min(next(count), len(scripts) - 1)](link)

    ups = [origin(script), origin(script)]
    return ups, CONF.replace("server = $up", f"server = {ups[0]}\nserver = {ups[1]}")


def seen(ups):
    return [taken for up in ups for taken in up.requests]


def error_page(answered, status):
    assert answered.status == status, answered
    assert answered["X-Request-Id"] and answered.framing == "length"


# ---- connecting


def test_refused_is_502(serve):
    with serve(CONF, up=f"127.0.0.1:{free_port()}").connect() as client:
        error_page(client.get("/"), 502)
        client.expect_open()


def test_a_missing_unix_socket_is_502(serve, tmp_path):
    with serve(CONF, up=f"unix:{tmp_path}/none.sock").connect() as client:
        error_page(client.get("/"), 502)
        client.expect_open()


def test_a_connect_that_hangs_is_504_after_connect_timeout(serve, silent_port):
    with serve(CONF.replace("connect_timeout = 1s", "connect_timeout = 1s\nretries = 0"), up=silent_port).connect() as client:
        start = time.monotonic()
        error_page(client.get("/"), 504)
        assert 0.9 <= time.monotonic() - start <= 1 + allow(1.5)
        client.expect_open()


def test_a_silent_upstream_is_504_after_response_timeout(serve, origin):
    def silent(link):
        link.request()
        link.wait_end()

    up = origin(silent)
    with serve(CONF.replace("connect_timeout = 1s", "connect_timeout = 1s\nretries = 0"), up=up).connect() as client:
        start = time.monotonic()
        error_page(client.get("/"), 504)
        assert 0.9 <= time.monotonic() - start <= 1 + allow(1.5)
        client.expect_open()
    assert up.links[0].ended.wait(allow(5)), "a connection that owes an answer was kept"


def test_other_requests_are_served_while_an_upstream_hangs(serve, origin, silent_port):
    server = serve(CONF, up=silent_port)
    with server.connect() as stuck, server.connect() as other:
        stuck.send(request("GET", "/"))
        for _ in range(20):
            start = time.monotonic()
            other.expect_open()
            assert time.monotonic() - start < allow(0.3)


# ---- retries


@pytest.mark.case("PRX-01")
@pytest.mark.parametrize("method, body", [("POST", b"abc"), ("POST", None), ("PATCH", b"abc"), ("PATCH", None)])
@pytest.mark.parametrize("how", ["RST", "FIN"])
def test_what_is_not_idempotent_is_never_sent_twice(serve, origin, method, body, how):
    def fails(link):
        link.request()
        link.reset() if how == "RST" else link.close()

    ups, text = pair(origin, fails, answering())
    with serve(text).connect() as client:
        error_page(client.ask(method, "/", body=body), 502)
        client.expect_open()
    assert len(seen(ups)) == 1


@pytest.mark.case("PRX-01")
@pytest.mark.parametrize("method, body", [("POST", b"abc"), ("GET", None)])
def test_a_refused_connection_lets_the_next_server_answer(serve, origin, method, body):
    other = origin()
    with serve(CONF.replace("server = $up", f"server = 127.0.0.1:{free_port()}\nserver = {other}")).connect() as client:
        for _ in range(6):
            assert client.ask(method, "/x", body=body).body == b"up:/x"
    assert [taken.body for taken in other.requests] == [body or b""] * 6


@pytest.mark.case("PRX-01")
@pytest.mark.parametrize("method, body", [("GET", None), ("HEAD", None), ("PUT", b"abc"), ("DELETE", None), ("OPTIONS", None)])
def test_idempotent_requests_are_tried_again_before_the_answer_began(serve, origin, method, body):
    def fails(link):
        link.request()
        link.reset()

    ups, text = pair(origin, fails, answering())
    with serve(text).connect() as client:
        assert client.ask(method, "/x", body=body).status == 200
    assert [taken.body for taken in seen(ups)] == [body or b""] * 2


@pytest.mark.case("PRX-01")
@pytest.mark.parametrize("part", [b"H", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\nContent-Le"])
def test_nothing_is_retried_once_an_answer_byte_came(serve, origin, part):
    def fails(link):
        link.request()
        link.send(part)
        link.half_close()
        link.wait_end()

    ups, text = pair(origin, fails, answering())
    with serve(text).connect() as client:
        error_page(client.get("/"), 502)
        client.expect_open()
    assert len(seen(ups)) == 1


@pytest.mark.parametrize("retries, fewest, most", [(0, 1, 1), (1, 2, 2), (3, 2, 4)])
def test_retries_bounds_the_tries(serve, origin, retries, fewest, most):
    """Another server is tried; whether the same one is asked again is a choice."""

    def fails(link):
        link.request()
        link.close()

    ups, text = pair(origin, fails)
    with serve(text.replace("connect_timeout = 1s", f"connect_timeout = 1s\nretries = {retries}")).connect() as client:
        error_page(client.get("/"), 502)
    assert fewest <= len(seen(ups)) <= most


# ---- early answers


@pytest.mark.case("PRX-03")
@pytest.mark.parametrize("then", ["reads", "closes"])
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_an_early_answer_during_an_upload_is_delivered(serve, origin, then, framing):
    def early(link):
        link.request_head()
        link.reader.exactly(65536, time.monotonic() + allow(10))
        link.send(b"HTTP/1.1 413 X\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig")
        if then == "closes":
            link.close()  # with unread data: RST
        else:
            link.wait_end()

    up = origin([early, answering()])
    if framing == "length":
        data = request("POST", "/", f"Content-Length: {64 << 20}") + b"u" * (64 << 20)
    else:
        data = request("POST", "/", "Transfer-Encoding: chunked") + chunked(*[b"u" * 65536] * 1024)
    with serve(CONF, up=up).connect() as client:
        client.send_while_reading(data, within=30)
        taken = client.response()
        assert (taken.status, taken.body) == (413, b"big")
        if taken.keeps_open:
            client.expect_open()
        else:
            client.expect_end()
    assert up.links[0].ended.wait(allow(10))


# ---- truncation


@pytest.mark.case("PRX-05")
@pytest.mark.parametrize("part", [b"part", b""])
@pytest.mark.parametrize("how", ["FIN", "RST"])
def test_a_short_body_by_length_never_looks_complete(serve, origin, part, how):
    may_end = threading.Event()

    def script(link):
        link.request()
        link.send(b"HTTP/1.1 500 X\r\nContent-Length: 100\r\n\r\n" + part)
        assert may_end.wait(allow(10))
        link.reset() if how == "RST" else link.close()

    server = serve(CONF, up=origin(script))
    with server.connect() as client:
        client.send(request("GET", "/") + request("GET", "/ok"))
        head = client.head(time.monotonic() + allow(10))
        assert head.status == 500 and head["Content-Length"] == "100"
        if part:
            assert client.reader.exactly(len(part), time.monotonic() + allow(10)) == part
        may_end.set()
        data, _ = client.rest()
        assert data == b""
    server.wait_log(r"upstream|truncat|early|short")


@pytest.mark.case("PRX-06")
@pytest.mark.parametrize("part, how", [
    (b"5\r\nhello\r\n", "FIN"), (b"5\r\nhello\r\n5\r\nhe", "FIN"), (b"5\r\nhello\r\n0\r\n", "FIN"), (b"5\r\nhello\r\n", "RST"),
    (b"5\r\nhello\r\n", "silence"), (b"5\r\nhello\r\nxyz\r\n", "silence"), (b"5\r\nhello\r\n5", "FIN"),
], ids=["boundary", "inside", "after-0", "reset", "timeout", "garbage", "size-line"])
def test_a_truncated_chunked_body_gets_no_clean_ending(serve, origin, part, how):
    may_end = threading.Event()

    def script(link):
        link.request()
        link.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + part)
        assert may_end.wait(allow(10))
        if how == "FIN":
            link.close()
        elif how == "RST":
            link.reset()
        else:
            link.wait_end()

    with serve(CONF, up=origin(script)).connect() as client:
        client.send(request("GET", "/") + request("GET", "/ok"))
        assert client.head(time.monotonic() + allow(10)).status == 200
        assert client.reader.until(b"hello", time.monotonic() + allow(10)) == b"5\r\n"
        may_end.set()
        data, _ = client.rest()
        assert b"0\r\n\r\n" not in data and b"HTTP/1.1" not in data, data


def test_a_truncated_body_reaches_an_http_1_0_client_with_a_sign(serve, origin):
    """Without framing only RST, or a missing end by length, can tell."""
    may_end = threading.Event()

    def script(link):
        link.request()
        link.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        assert may_end.wait(allow(10))
        link.close()

    with serve(CONF, up=origin(script)).connect() as client:
        client.send(request("GET", "/", version="HTTP/1.0"))
        client.head(time.monotonic() + allow(10))
        assert client.reader.exactly(5, time.monotonic() + allow(10)) == b"hello"
        may_end.set()
        assert client.rest() == (b"", "RST")


# ---- heads


@pytest.mark.case("PRX-13")
@pytest.mark.parametrize("size", [3, 5, 15, 17])
@pytest.mark.parametrize("split", [None, 1], ids=["whole", "bytes"])
def test_large_upstream_heads_are_served(serve, origin, size, split):
    def script(link):
        link.request()
        data = answer(200, b"ok", "Set-Cookie: " + "c" * (size << 10))
        link.send_split(data, split or len(data))
        link.wait_end()

    with serve(CONF.replace("response_timeout = 1s", "response_timeout = 20s"), up=origin(script)).connect() as client:
        taken = client.get("/")
        assert taken.body == b"ok" and len(taken["Set-Cookie"]) == size << 10


@pytest.mark.case("PRX-13")
def test_an_upstream_head_above_the_limit_is_502_and_logged_with_its_cause(serve, origin):
    def script(link):
        link.request()
        try:
            link.send(answer(200, b"ok", *[f"Set-Cookie: {'c' * 1000}"] * 1000))
        except OSError:
            pass

    server = serve(CONF, up=origin(script))
    error_page(server.get("/"), 502)
    server.wait_log(r"app.*(head|header).*(limit|large|long|more than|over|beyond)|(head|header).*(limit|large|long|beyond).*app")


@pytest.mark.case("PRX-13")
@pytest.mark.parametrize("garbage", [
    b"\x15\x03\x01\x00\x02\x02\x28", b"SSH-2.0-OpenSSH\r\n", b"HTTP/2 200\r\n\r\n", b"200 OK\r\n\r\n", b"\r\n\r\n",
    b"HTTP/1.1 20 OK\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    b"HTTP/1.1 099 X\r\n\r\n", b"HTTP/1.1 101 X\r\nUpgrade: foo\r\n\r\n", b"<html>hello</html>",
])
def test_garbage_instead_of_an_answer_is_502(serve, origin, garbage):
    def script(link):
        link.request()
        link.send(garbage)
        link.half_close()
        link.wait_end()

    with serve(CONF, up=origin(script)).connect() as client:
        error_page(client.get("/"), 502)
        client.expect_open()


@pytest.mark.case("PRX-13")
def test_interim_answers_are_bounded(serve, origin):
    def script(link):
        link.request()
        try:
            for _ in range(100_000):
                link.send(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
            link.send(answer())
        except OSError:
            pass

    with serve(CONF, up=origin(script)).connect() as client:
        assert client.get("/", within=30).status == 502


# ---- clients that leave


@pytest.mark.case("PRX-11")
@pytest.mark.parametrize("state, how", [("silent", "RST"), ("streaming", "FIN"), ("streaming", "RST"), ("uploading", "FIN"),
                                        ("uploading", "RST")])
def test_an_upstream_is_let_go_when_the_client_is_gone(serve, origin, state, how):
    """Not for silence and FIN alone: that is a half-close, and the client may still wait for its answer."""
    ended = threading.Event()

    def script(link):
        taken = link.request_head()
        if state == "streaming":
            link.send(answer(200, b"", "Transfer-Encoding: chunked", length=False))
            link.sock.settimeout(allow(10))
            try:
                while True:
                    link.sock.sendall(b"400\r\n" + b"s" * 1024 + b"\r\n")
            except OSError:
                pass
        else:
            link.wait_end()
        assert not taken.is_whole
        ended.set()

    up = origin(script)
    server = serve(CONF.replace("response_timeout = 1s", "response_timeout = 60s"), up=up)
    client = Client(("127.0.0.1", server.port))
    client.send(request("POST", "/", "Content-Length: 1000") + b"part" if state == "uploading" else request("GET", "/"))
    up.next_request()
    if state == "streaming":
        client.reader.need(time.monotonic() + allow(10))
    if how == "RST":
        client.reset()
    else:
        client.close()
    assert ended.wait(allow(5)), "the upstream goes on for nobody"
    document = server.settle(lambda document: document["upstreams"]["app"][0]["active"] == 0)
    assert sum(loop["active_requests"] for loop in document["loops"]) == 1


@pytest.mark.case("HLB-05")
def test_every_way_to_end_leaves_the_counts_at_zero(serve, origin):
    def moody(link):
        while True:
            try:
                taken = link.request()
            except Closed:
                return
            mood = taken.target[1:]
            if mood == "fine":
                link.send(answer())
            elif mood == "short":
                return link.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")
            elif mood == "reset":
                return link.reset()
            elif mood == "garbage":
                return link.send(b"garbage\r\n\r\n")
            elif mood == "silent":
                link.wait_end()
                return None
            else:
                link.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
                link.wait_end()
                return None

    up = origin(moody)
    server = serve(CONF.replace("response_timeout = 1s", "response_timeout = 300ms\nretries = 1"), up=up)
    for _ in range(3):
        for mood in ("fine", "short", "reset", "garbage", "silent", "leave"):
            client = Client(("127.0.0.1", server.port))
            client.send(request("GET", f"/{mood}"))
            if mood == "leave":
                client.reader.need(time.monotonic() + allow(10))
                client.reset()
                continue
            try:
                client.response()
            except Closed:
                assert mood == "short"
            client.close()
    document = server.settle(lambda document: document["upstreams"]["app"][0]["active"] == 0)
    assert document["upstreams"]["app"][0]["failures"] > 0
    with server.connect() as client:
        for _ in range(8):
            assert client.get("/fine").status == 200


# ---- what the log says


def test_log_lines_of_a_failed_request_carry_the_id_of_its_error_page(serve):
    server = serve(CONF, up=f"127.0.0.1:{free_port()}")
    answer = server.get("/")
    assert answer.status == 502
    id_ = answer["X-Request-Id"]
    server.wait_log(rf" warn: upstream app: server .*\(request {id_}\)$")
    server.wait_log(rf" info: up: 502: .*\(request {id_}\)$")
