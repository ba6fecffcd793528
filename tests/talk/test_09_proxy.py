"""The proxy when all goes well: what is forwarded each way, streaming with bounded memory, HEAD, 204, 304, HTTP/1.0."""
import hashlib
import re
import threading
import time

import pytest

from talk.client import Client, chunked, request
from talk.process import resident_bytes
from talk.settings import SLOW, allow
from talk.upstream import answer, answering

CONF = """
[server]
loops = 2
[listener main]
bind = $bind
bind = unix:$dir/front.sock
max_body_size = 8g
[route ok]
path = = /ok
handler = respond
body = ok
[route up]
path = /
handler = proxy
upstream = app
[upstream app]
server = $up
"""


def digest(data):
    return hashlib.sha256(data).hexdigest()


# ---- upstreams


def test_a_tcp_upstream_answers_through_us(serve, origin):
    up = origin(answering(lambda taken: answer(200, b"hi", "Content-Type: text/x", "X-App: 1", "Server: app", "Set-Cookie: a=1",
                                               "Set-Cookie: b=2")))
    taken = serve(CONF, up=up).get("/path?q=1")
    assert (taken.status, taken.body, taken["Content-Type"], taken["X-App"]) == (200, b"hi", "text/x", "1")
    assert taken.fields.all("Set-Cookie") == ["a=1", "b=2"]
    assert len(taken.fields.all("Server")) == 1
    assert up.requests[0].target == "/path?q=1"


def test_a_unix_upstream_answers_through_us_and_is_kept(serve, origin, tmp_path):
    up = origin(path=tmp_path / "app.sock")
    server = serve(CONF, up=up)
    with server.connect() as client:
        assert [client.get(f"/{i}").body for i in range(3)] == [b"up:/0", b"up:/1", b"up:/2"]
    assert len(up.links) == 1
    assert up.requests[0]["Host"] == "t.test"


def test_several_servers_of_an_upstream_share_the_work(serve, origin):
    ups = [origin(answering(lambda taken, i=i: answer(200, b"%d" % i))) for i in range(2)]
    server = serve(CONF.replace("server = $up", f"server = {ups[0]}\nserver = {ups[1]}"))
    with server.connect() as client:
        got = [client.get("/").body for _ in range(20)]
    assert set(got) == {b"0", b"1"}


# ---- the request as the upstream sees it


def test_forwarding_fields_say_who_asked_for_what(serve, origin):
    up = origin()
    serve(CONF, up=up).get("/x", host="site.test:8080")
    taken = up.requests[0]
    assert taken.minor == 1 and taken["Host"] == "site.test:8080"
    assert taken["X-Forwarded-For"] == "127.0.0.1"
    assert taken["X-Forwarded-Proto"] == "http"
    assert taken["X-Forwarded-Host"] == "site.test:8080"
    assert re.fullmatch(r"1\.1 mlserve-[0-9A-Za-z]+", taken["Via"]), taken["Via"]
    pairs = dict(pair.split("=", 1) for pair in taken["Forwarded"].split(";"))
    assert pairs["for"].strip('"').startswith("127.0.0.1") and pairs["proto"] == "http"
    assert pairs["host"] == '"site.test:8080"'


@pytest.mark.case("TGT-05")
def test_an_ipv6_client_is_bracketed_in_forwarded_and_bare_in_x_forwarded_for(serve, origin):
    up = origin()
    server = serve(CONF.replace("bind = $bind\n", "bind = [::1]:$port\n"), up=up)
    with Client(("::1", server.port)) as client:
        assert client.get("/").status == 200
    taken = up.requests[0]
    assert taken["X-Forwarded-For"] == "::1"
    assert re.search(r'for="\[::1\](:\d+)?"', taken["Forwarded"]), taken["Forwarded"]


def test_forwarding_fields_of_an_untrusted_client_are_replaced(serve, origin):
    up = origin()
    serve(CONF, up=up).get("/", "X-Forwarded-For: 9.9.9.9", "X-Forwarded-For: 8.8.8.8", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil",
                           "Forwarded: for=9.9.9.9", "x_forwarded_for: 7.7.7.7")
    taken = up.requests[0]
    assert taken["X-Forwarded-For"] == "127.0.0.1" and taken["X-Forwarded-Proto"] == "http"
    assert taken["X-Forwarded-Host"] == "t.test" and "9.9.9.9" not in taken["Forwarded"]


def test_a_client_on_a_unix_socket_is_forwarded_without_a_false_address(serve, origin):
    up = origin()
    server = serve(CONF, up=up)
    assert server.get("/", address=str(server.dir / "front.sock")).status == 200
    taken = up.requests[0]
    assert not re.search(r"\d", (taken["X-Forwarded-For"] or "").replace("unix", "")), taken


def test_via_of_the_client_is_kept_and_ours_appended(serve, origin):
    up = origin()
    serve(CONF, up=up).get("/", "Via: 1.0 front")
    assert re.fullmatch(r"1\.0 front, 1\.1 mlserve-\w+", ", ".join(up.requests[0].fields.all("Via")))


def test_our_own_via_is_a_loop_508(serve, origin):
    up = origin()
    server = serve(CONF, up=up)
    server.get("/")
    via = up.requests[0]["Via"]
    assert server.get("/", f"Via: 1.1 other, {via}").status == 508
    assert server.get("/", "Via: 1.1 mlserve-elsewhere").status == 200
    assert len(up.requests) == 2


def test_other_fields_pass_unchanged_in_order(serve, origin):
    up = origin()
    serve(CONF, up=up).get("/", "X-B: 2", "x-a: one  two", "X-B: 3", "Cookie: a=b; c=d", "Accept-Encoding: gzip", "Authorization: Basic eA==",
                           "X-High: \xe9")
    lines = up.requests[0].fields.lines
    wanted = [("X-B", "2"), ("x-a", "one  two"), ("X-B", "3"), ("Cookie", "a=b; c=d"), ("Accept-Encoding", "gzip"),
              ("Authorization", "Basic eA=="), ("X-High", "\xe9")]
    assert [line for line in lines if line in wanted] == wanted


def test_hop_by_hop_fields_of_the_answer_stop_here(serve, origin):
    up = origin(answering(lambda taken: answer(200, b"x", "Connection: keep-alive, X-Hop", "X-Hop: 1", "Keep-Alive: timeout=5",
                                               "Proxy-Connection: y", "Upgrade: h2c", "X-Stays: 1")))
    with serve(CONF, up=up).connect() as client:
        taken = client.get("/")
        for name in ("X-Hop", "Keep-Alive", "Proxy-Connection", "Upgrade"):
            assert name not in taken.fields, taken
        assert taken["X-Stays"] == "1" and taken.keeps_open


# ---- kinds of answers


@pytest.mark.parametrize("reply, method, status, body", [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "GET", 200, b"abc"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3;x=y\r\ndef\r\n0\r\nX-T: 1\r\n\r\n", "GET", 200, b"abcdef"),
    (b"HTTP/1.1 204 No Content\r\n\r\n", "GET", 204, b""),
    (b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", "GET", 204, b""),
    (b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 500\r\n\r\n", "GET", 304, b""),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", "HEAD", 200, b""),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HEAD", 200, b""),
    (b"HTTP/1.1 404\r\nContent-Length: 2\r\n\r\nno", "GET", 404, b"no"),
    (b"HTTP/1.1 299 \r\nContent-Length: 2\r\n\r\nno", "GET", 299, b"no"),
    (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", "GET", 200, b"ok"),
    (b"HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: 2\r\n\r\nok", "GET", 200, b"ok"),
], ids=["length", "chunked", "204", "204-length", "304", "head", "head-chunked", "no-reason", "odd-status", "1.0-keep", "folded"])
@pytest.mark.parametrize("split", [None, 1], ids=["whole", "bytes"])
def test_answers_of_each_kind_arrive_and_leave_both_connections_in_use(serve, origin, reply, method, status, body, split):
    def script(link):
        for _ in range(2):
            link.request()
            link.send_split(reply, split or len(reply))
        link.wait_end()

    up = origin(script)
    with serve(CONF, up=up).connect() as client:
        for _ in range(2):
            taken = client.ask(method, "/")
            assert (taken.status, taken.body) == (status, body)
            client.expect_open()
    assert len(up.links) == 1


def test_a_body_until_close_arrives_whole(serve, origin):
    def script(link):
        link.request()
        link.send(b"HTTP/1.0 200 OK\r\nX-Old: 1\r\n\r\n" + b"o" * 100000)

    with serve(CONF, up=origin(script)).connect() as client:
        for _ in range(2):
            taken = client.get("/")
            assert taken.body == b"o" * 100000 and taken.framing == "chunked"


@pytest.mark.case("SMG-08")
def test_a_blank_looking_line_in_an_upstream_head_hides_nothing(serve, origin):
    up = origin(answering(lambda taken: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n \t\r\nX-After: v\r\n\r\nok"))
    taken = serve(CONF, up=up).get("/")
    assert taken.status == 502 or (taken["X-After"], taken.body) == ("v", b"ok")


@pytest.mark.case("BDY-06")
@pytest.mark.parametrize("connection", ["keep-alive", "close"])
def test_a_chunked_answer_reaches_an_http_1_0_client_raw(serve, origin, connection):
    up = origin(answering(lambda taken: answer(200, b"", "Transfer-Encoding: chunked", length=False) + chunked(b"abc", b"def")))
    with serve(CONF, up=up).connect() as client:
        client.send(request("GET", "/c", f"Connection: {connection}", version="HTTP/1.0"))
        taken = client.response()
        assert taken.body == b"abcdef" and taken.framing in ("close", "length")
        if not taken.keeps_open:
            client.expect_end()


def test_interim_answers_are_passed_to_1_1_and_kept_from_1_0(serve, origin):
    up = origin(answering(lambda taken: b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 2 + answer(200, b"ok")))
    server = serve(CONF, up=up)
    with server.connect() as client:
        taken = client.get("/")
        assert taken.body == b"ok" and [early.status for early in taken.interim] in ([], [103, 103])
        client.send(request("GET", "/", version="HTTP/1.0"))
        taken = client.response()
        assert taken.body == b"ok" and taken.interim == []


# ---- streaming


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_an_answer_streams_as_it_comes(serve, origin, framing):
    go_on = threading.Event()

    def script(link):
        link.request()
        head = "Content-Length: 10" if framing == "length" else "Transfer-Encoding: chunked"
        part = (lambda data: data) if framing == "length" else (lambda data: b"5\r\n" + data + b"\r\n")
        link.send(answer(200, b"", head, length=False) + part(b"first"))
        assert go_on.wait(allow(10))
        link.send(part(b"later") + (b"" if framing == "length" else b"0\r\n\r\n"))
        link.wait_end()

    with serve(CONF, up=origin(script)).connect() as client:
        client.send(request("GET", "/"))
        assert client.head(time.monotonic() + allow(10)).status == 200
        assert client.reader.until(b"first", time.monotonic() + allow(10)) in (b"", b"5\r\n")
        go_on.set()
        assert client.reader.until(b"later", time.monotonic() + allow(10)) in (b"", b"\r\n5\r\n")


def test_a_request_body_streams_as_it_comes(serve, origin):
    arrived = threading.Event()

    def script(link):
        taken = link.request_head()
        assert link.reader.exactly(5, time.monotonic() + allow(10)) == b"first"
        arrived.set()
        assert link.reader.exactly(5, time.monotonic() + allow(10)) == b"later"
        taken.is_whole = True
        link.send(answer())
        link.wait_end()

    with serve(CONF, up=origin(script)).connect() as client:
        client.send(request("POST", "/", "Content-Length: 10") + b"first")
        assert arrived.wait(allow(10)), "the upstream saw nothing before the body was whole"
        client.send(b"later")
        assert client.response().body == b"ok"


@pytest.mark.parametrize("size", [1 << 20, 50 << 20])
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_large_bodies_pass_both_ways_unchanged(serve, origin, size, framing):
    data = bytes(range(251)) * (size // 251) + b"end"
    pieces = [data[at : at + 65536] for at in range(0, len(data), 65536)]

    def make(taken):
        assert taken.framing == framing and digest(taken.body) == digest(data)
        if framing == "length":
            return answer(200, taken.body)
        return answer(200, b"", "Transfer-Encoding: chunked", length=False) + chunked(*pieces)

    with serve(CONF, up=origin(answering(make))).connect() as client:
        if framing == "length":
            client.send(request("POST", "/", body=data), within=60)
        else:
            client.send(request("POST", "/", "Transfer-Encoding: chunked") + chunked(*pieces), within=60)
        taken = client.response(within=60)
        assert digest(taken.body) == digest(data) and taken.framing == framing
        client.expect_open()


def test_memory_stays_flat_when_the_client_does_not_read(serve, origin):
    stuck = threading.Event()

    def script(link):
        link.request()
        link.send(answer(200, b"", "Content-Length: 4294967296", length=False))
        link.sock.settimeout(1.0)
        sent = 0
        try:
            while sent < 1 << 30:
                sent += link.sock.send(b"x" * 65536)
        except (TimeoutError, OSError):
            stuck.set()
        link.sent = sent

    up = origin(script)
    server = serve(CONF, up=up)
    server.get("/ok")
    before = resident_bytes(server.pid)
    with server.connect(receive_buffer=65536) as client:
        client.send(request("GET", "/"))
        assert stuck.wait(allow(30)), "the upstream was never made to wait"
        assert up.links[0].sent < 64 << 20
        if SLOW <= 1:
            assert resident_bytes(server.pid) - before < 4 << 20


@pytest.mark.case("PRX-10")
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_memory_stays_flat_when_the_upstream_does_not_read(serve, origin, framing):
    over = threading.Event()

    def script(link):
        link.request_head()
        assert over.wait(allow(30))

    server = serve(CONF.replace("server = $up", "server = $up\nresponse_timeout = 3s"), up=origin(script))
    server.get("/ok")
    before = resident_bytes(server.pid)
    with server.connect() as client:
        if framing == "length":
            client.send(request("POST", "/", "Content-Length: 4294967296"))
            sent = client.send_until_stuck(b"u" * 65536, most=1 << 30)
        else:
            client.send(request("POST", "/", "Transfer-Encoding: chunked"))
            sent = client.send_until_stuck(b"10000\r\n" + b"u" * 65536 + b"\r\n", most=1 << 30)
        assert sent < 64 << 20, "the client was never made to wait"
        if SLOW <= 1:
            assert resident_bytes(server.pid) - before < 4 << 20
        client.refused_with(502, 504, within=60)
        over.set()


@pytest.mark.case("PRX-08")
def test_the_tail_of_a_large_answer_survives_both_sides_closing(serve, origin):
    body = bytes(range(256)) * (10 << 12)

    def script(link):
        link.request()
        link.send(answer(200, body, "Connection: close"))

    server = serve(CONF, up=origin(script))
    for _ in range(20):
        with server.connect(receive_buffer=32768) as client:
            client.send(request("GET", "/big", "Transfer-Encoding: chunked"))
            client.send(b"0\r\n\r\nextra")
            taken = client.response(within=30)
            assert digest(taken.body) == digest(body)


def test_buffer_size_is_what_is_read_at_once(serve, origin):
    """A long answer that comes in chunks goes on in pieces of the buffer's size at most."""
    body = bytes(range(256)) * 4096
    up = origin(answering(lambda taken: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(body)))
    most = {}
    for size in ("4k", "256k"):
        server = serve(CONF.replace("[server]\n", f"[server]\nbuffer_size = {size}\n"), up=up)
        with server.connect() as client:
            answered = client.get("/up")
        assert answered.body == body
        most[size] = max(answered.sizes)
    assert most["4k"] <= 4096 < 16384 < most["256k"] <= 256 * 1024, most
