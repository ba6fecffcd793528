"""Answers that two proxies could read in two ways: 502, or one answer that the client can read in one way only. Whatever
an upstream says, the next client gets its own answer."""
import threading
import time

import pytest

from talk.client import Client, Closed, request
from talk.odd_answers import ANSWERS, STRAY
from talk.settings import allow
from talk.upstream import answer, answering

CONF = """
[server]
loops = 1
stall_threshold = 50ms
[listener main]
bind = $bind
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
retries = 0
response_timeout = 5s
"""

HOLD = """
[route hold]
path = = /hold
handler = work
iterations = 1
io_delay = 0
block = 500ms
"""

CASES = {"length": "SMG-18", "lengths": "SMG-18", "coding": "SMG-01", "line": "PRX-13", "field": "SMG-21", "bare": "PRX-13",
    "none": "BDY-05",
         "surplus": "KAL-05", "until": "BDY-06", "body": "PRX-06"}


@pytest.fixture(scope="module")
def server(serve_module, origin_module):
    """Each target names the answer that the upstream gives to it; all other targets get their own name back."""

    def script(link):
        while True:
            try:
                taken = link.request(within=60)
            except Closed:
                return
            given = ANSWERS.get(taken.target[1:])
            if not given:
                link.send(answer(200, b"up:" + taken.target.encode()))
                continue
            link.send(given.data)
            if not given.stays:
                link.half_close()
                link.wait_end()
                return

    return serve_module(CONF, up=origin_module(script))


def named(kind):
    return [pytest.param(name, marks=pytest.mark.case(CASES[name.split("-")[0]])) for name, given in ANSWERS.items() if given.kind == kind]


def connect(server):
    return Client(("127.0.0.1", server.port))


def expect_own_answers(server, client=None):
    for number in range(2):
        if client:
            assert client.get(f"/own/{number}").body == b"up:/own/%d" % number
        with connect(server) as other:
            assert other.get(f"/other/{number}").body == b"up:/other/%d" % number


@pytest.mark.parametrize("name", named("refused"))
@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
def test_answers_with_two_meanings_are_502(server, name, version):
    with connect(server) as client:
        client.send(request("GET", f"/{name}", "Connection: keep-alive", version=version))
        taken = client.response()
        assert taken.status == 502 and b"abc" not in taken.body, taken
        assert "X-A" not in taken.fields and "Set-Cookie" not in taken.fields
        expect_own_answers(server, client)


@pytest.mark.parametrize("name", named("served"))
def test_odd_answers_with_one_meaning_are_served(server, name):
    given = ANSWERS[name]
    with connect(server) as client:
        taken = client.ask(given.method, f"/{name}")
        assert (taken.status, taken.body) == (given.status, given.body), taken
        expect_own_answers(server, client)
        client.send(request(given.method, f"/{name}", version="HTTP/1.0"))
        taken = client.response(given.method)
        assert (taken.status, taken.body) == (given.status, given.body) and not taken.interim, taken
        client.expect_end()


@pytest.mark.parametrize("name", named("cut"))
def test_bodies_that_are_not_right_never_look_whole(server, name):
    with connect(server) as client:
        client.send(request("GET", f"/{name}") + request("GET", "/own"))
        try:
            taken = client.response()
        except Closed:  # the head, and then too little
            pass
        else:
            assert taken.status == 502 and b"abc" not in taken.body, taken
            assert client.response().body == b"up:/own"
        assert b"up:" not in client.reader.buffer
        expect_own_answers(server)


@pytest.mark.parametrize("status", [600, 700, 999])
def test_a_status_that_has_no_class_is_passed_on_or_502(server, status):
    name = f"line-{status}"
    ANSWERS[name] = type(ANSWERS["length-0"])(b"HTTP/1.1 %d X\r\nContent-Length: 3\r\n\r\nabc" % status, "any", stays=True)
    with connect(server) as client:
        client.send(request("GET", f"/{name}", "Connection: close"))
        data, how = client.rest()
        assert how == "FIN" and data.count(b"HTTP/1.1 ") == 1
        assert data.startswith(b"HTTP/1.1 502 ") or (data.startswith(b"HTTP/1.1 %d " % status) and data.endswith(b"\r\n\r\nabc"))
    expect_own_answers(server)


@pytest.mark.case("PRX-13")
@pytest.mark.parametrize("byte", [b"\r", b"\n", b"\0", b"\x0b", b"\x7f"], ids=repr)
def test_a_control_byte_anywhere_in_an_answers_head_is_502(server, byte):
    head = b"HTTP/1.1 200 OK\r\nX-A: one\r\nContent-Length: 3\r\n\r\n"
    for at in range(len(head) - 1):
        if byte == b"\n" and head[at : at + 1] == b"\n":
            continue
        name = f"control-{byte.hex()}-{at}"
        ANSWERS[name] = type(ANSWERS["length-0"])(head[:at] + byte + head[at:] + b"abc", "refused")
        with connect(server) as client:
            assert client.get(f"/{name}").status == 502, (at, head[:at] + byte + head[at:])
    expect_own_answers(server)


@pytest.mark.case("KAL-05")
@pytest.mark.parametrize("early", [STRAY, b"HTTP/1.1 408 Late\r\nContent-Length: 0\r\n\r\n", b"\r\n", b"stray"],
    ids=["answer", "408", "crlf", "text"])
@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
def test_an_answer_that_came_before_its_request_is_no_answer(serve, origin, early, method):
    """As servers send 408 on connections that they are about to close. The loop is held, so that the next request and the
    stray answer are both there when it looks, the request first."""
    may_push, pushed = threading.Event(), threading.Event()

    def pushy(link):
        link.send(answer(200, b"up:" + link.request().target.encode()))
        assert may_push.wait(allow(10))
        link.send(early)
        pushed.set()
        link.wait_end()

    up = origin([pushy, answering()])
    server = serve(CONF.replace("[upstream app]", HOLD + "[upstream app]"), up=up)
    with connect(server) as client, connect(server) as holder:
        assert client.get("/1").body == b"up:/1"
        holder.send(request("GET", "/hold"))
        server.wait_log("loop 0: stalled")
        client.send(request(method, "/2", body=None if method == "GET" else b"abc"))
        may_push.set()
        assert pushed.wait(allow(10))
        assert client.response().body == b"up:/2"
        assert client.get("/3").body == b"up:/3"


@pytest.mark.case("KAL-05")
def test_a_server_that_speaks_first_answers_no_later_request(serve, origin):
    """On a connection made for it an answer may outrun its request; the one behind it stays out of reach."""

    def hasty(link):
        link.send(STRAY + STRAY.replace(b"stray", b"twice"))
        link.wait_end()

    server = serve(CONF, up=origin([hasty, answering()]))
    with connect(server) as client:
        first = client.get("/1")
        assert first.status == 502 or first.body == b"stray"
        for number in (2, 3):
            assert client.get(f"/{number}").body == b"up:/%d" % number


@pytest.mark.case("PRX-13")
@pytest.mark.parametrize("flood",
    [b"HTTP/1.1 103 X\r\nLink: </a>\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 102 X\r\nX-Pad: " + b"p" * 8000 + b"\r\n\r\n"],
                         ids=["103", "100", "8k"])
@pytest.mark.parametrize("count", [500, 20_000])
def test_floods_of_interim_answers_are_bounded(serve, origin, flood, count):
    def script(link):
        link.request()
        try:
            link.send(flood * count + answer())
        except OSError:
            return  # cut, as it may be
        link.wait_end()

    server = serve(CONF, up=origin(script))
    with connect(server) as client:
        client.send(request("GET", "/"))
        taken = client.response(within=30)
        assert taken.status == 502 or (count == 500 and taken.body == b"ok"), taken
        assert len(taken.interim) <= count
        client.expect_open()


@pytest.mark.case("PRX-13")
@pytest.mark.parametrize("size, status", [(60 << 10, 200), (65 << 10, 502), (1 << 20, 502)])
def test_upstream_heads_up_to_the_limit_are_served_and_the_log_names_it(serve, origin, size, status):
    def script(link):
        link.request()
        try:
            link.send(answer(200, b"ok", "Set-Cookie: " + "c" * size))
        except OSError:
            return
        link.wait_end()

    server = serve(CONF, up=origin(script))
    with connect(server) as client:
        taken = client.get("/")
        assert taken.status == status
        if status == 502:
            server.wait_log(r"app.*head.*limit of 65536")
        client.expect_open()


@pytest.mark.case("PRX-01")
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("part", [b"H", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\n"])
def test_half_a_status_line_and_a_reset_is_502_and_no_second_try(serve, origin, method, part):
    sent, may_reset = threading.Event(), threading.Event()

    def script(link):
        link.request()
        link.send(part)
        sent.set()
        assert may_reset.wait(allow(10))
        link.reset()

    first, second = origin(script), origin(script)
    server = serve(CONF.replace("retries = 0", f"server = {second}"), up=first)
    with connect(server) as client:
        client.send(request(method, "/", body=b"abc" if method == "POST" else None))
        assert sent.wait(allow(10))
        client.is_quiet(0.1)  # its bytes are read now, or with the reset
        may_reset.set()
        assert client.response().status == 502
        client.expect_open()
    assert len(first.requests) + len(second.requests) == 1


@pytest.mark.case("PRX-08")
def test_the_tail_survives_bytes_that_come_behind_a_late_end_of_the_request(serve, origin):
    """The rest of the request and something more come while the answer is on its way to a slow reader."""
    body = bytes(range(256)) * (10 << 12)

    def script(link):
        link.request_head()
        link.send(answer(200, body, "Connection: close"))

    server = serve(CONF, up=origin(script))
    for _ in range(10):
        with Client(("127.0.0.1", server.port), receive_buffer=32768) as client:
            client.send(request("GET", "/big", "Transfer-Encoding: chunked"))
            client.reader.need(time.monotonic() + allow(10))
            client.send(b"0\r\n\r\nextra")
            for _ in range(20):
                client.reader.buffer += client.sock.recv(1000)
                time.sleep(0.001)
            assert client.response(within=30).body == body
