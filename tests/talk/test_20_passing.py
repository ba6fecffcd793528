"""What passes through the proxy beside head and body: trailers, interim answers, expectations, an early end of the client."""
import threading

import pytest

from talk.client import chunked, request
from talk.config import config
from talk.settings import allow
from talk.upstream import answer, answering
from talk.wire import deadline_in

CONF = config("ok", "health", server=("loops = 1",), more="""
[route up]
path = /
handler = proxy
upstream = app
[upstream app]
server = $up
""")
BAD = ("Content-Length: 5", "Transfer-Encoding: gzip", "Host: evil", "Connection: X-Sum", "TE: x", "Trailer: x", "Upgrade: h2c",
       "Authorization: x", "Proxy-Authorization: x", "Cookie: a=b", "Set-Cookie: a=b", "Content-Encoding: gzip", "Content-Type: x",
       "Cache-Control: no-store", "If-Match: x", "Range: bytes=0-1", "Via: x", "Forwarded: for=x", "X-Forwarded-For: 9.9.9.9",
       "X_Forwarded_For: 9.9.9.9", "WWW-Authenticate: x", "Location: /", "Date: x")


def trailing(*lines):
    return b"0\r\n" + "".join(line + "\r\n" for line in lines).encode() + b"\r\n"


def with_trailers(*lines, fields=()):
    """A chunked answer."""
    return answer(200, b"", "Transfer-Encoding: chunked", *fields, length=False) + chunked(b"abc", last=trailing(*lines))


# ---- trailers of requests


@pytest.mark.case("SMG-20")
def test_trailers_of_a_request_stay_trailers_and_bad_ones_are_left_out(serve, origin):
    up = origin()
    with serve(CONF, up=up).connect() as client:
        client.send(request("POST", "/", "Transfer-Encoding: chunked", "Trailer: X-Sum")
                    + chunked(b"abc", last=trailing("X-Sum: 1", *BAD, "X-Last:  two  words ")))
        assert client.response().status == 200
        client.expect_open()
    taken = up.requests[0]
    assert taken.body == b"abc" and taken.trailers.lines == [("X-Sum", "1"), ("X-Last", "two  words")]
    assert "X-Sum" not in taken.fields and "Trailer" not in taken.fields and taken["Host"] == "t.test"


def test_trailers_that_connection_names_stay_here(serve, origin):
    up = origin()
    with serve(CONF, up=up).connect() as client:
        client.send(request("POST", "/", "Transfer-Encoding: chunked", "Connection: TE, x-hop") + chunked(last=trailing("X-Hop: 1", "X-Sum: 2")))
        assert client.response().status == 200
    assert up.requests[0].trailers.lines == [("X-Sum", "2")]


def test_trailers_of_a_request_arrive_at_every_split(serve, origin):
    up = origin()
    head, body = request("POST", "/", "Transfer-Encoding: chunked"), chunked(b"abc", last=trailing("X-Sum: 1", "Host: evil", "X-B:"))
    with serve(CONF, up=up).connect() as client:
        for at in range(1, len(body)):
            client.send(head + body[:at])
            client.send(body[at:])
            assert client.response().status == 200
    assert len(up.requests) == len(body) - 1
    assert all(taken.trailers.lines == [("X-Sum", "1"), ("X-B", "")] and taken.body == b"abc" for taken in up.requests)


def test_the_longest_trailer_section_passes(serve, origin):
    up = origin()
    with serve(CONF, up=up).connect() as client:
        lines = [f"X-{number}: {'t' * 120}" for number in range(60)]
        client.send(request("POST", "/", "Transfer-Encoding: chunked") + chunked(b"b" * 100_000, last=trailing(*lines)))
        assert client.response().status == 200
    assert len(up.requests[0].trailers.lines) == 60


def test_trailers_go_out_again_with_a_request_that_is_tried_again(serve, origin):
    def dead(link):
        link.request()
        link.reset()

    up = origin([dead, answering()])
    with serve(CONF, up=up).connect() as client:
        client.send(request("PUT", "/", "Transfer-Encoding: chunked") + chunked(last=trailing("X-Sum: 1")))
        assert client.response().status == 200
    assert [taken.trailers.lines for taken in up.requests] == [[("X-Sum", "1")]] * 2


# ---- trailers of answers


def test_trailers_of_an_answer_stay_trailers_and_bad_ones_are_left_out(serve, origin):
    up = origin(answering(lambda taken: with_trailers("grpc-status: 0", *BAD, "X-Sum: 1", fields=("Trailer: grpc-status",))))
    with serve(CONF, up=up).connect() as client:
        for _ in range(2):
            taken = client.get("/")
            assert taken.body == b"abc" and taken.trailers.lines == [("grpc-status", "0"), ("X-Sum", "1")]
            assert "X-Sum" not in taken.fields and "Trailer" not in taken.fields
    assert len(up.links) == 1


def test_answers_without_trailers_after_one_with_them_have_none(serve, origin):
    replies = iter([with_trailers("X-Sum: 1"), with_trailers()])
    with serve(CONF, up=origin(answering(lambda taken: next(replies)))).connect() as client:
        assert client.get("/").trailers.lines == [("X-Sum", "1")]
        assert client.get("/").trailers.lines == []


def test_trailers_of_an_answer_whose_connection_names_fields_stay_here(serve, origin):
    up = origin(answering(lambda taken: with_trailers("X-Hop: 1", fields=("Connection: X-Hop",))))
    with serve(CONF, up=up).connect() as client:
        taken = client.get("/")
        assert taken.body == b"abc" and taken.trailers.lines == []


def test_trailers_are_kept_from_an_http_1_0_client(serve, origin):
    up = origin(answering(lambda taken: with_trailers("X-Sum: 1")))
    with serve(CONF, up=up).connect() as client:
        client.send(request("GET", "/", version="HTTP/1.0"))
        assert client.response().body == b"abc"


@pytest.mark.case("SMG-20")
@pytest.mark.parametrize("last", [b"0\r\nbad line\r\n\r\n", b"0\r\nX-A : 1\r\n\r\n", b"0\r\n" + b"X-F: t\r\n" * 1000 + b"\r\n"])
def test_malformed_or_endless_trailers_of_an_answer_make_it_a_truncated_one(serve, origin, last):
    def script(link):
        link.request()
        link.send(answer(200, b"", "Transfer-Encoding: chunked", length=False) + chunked(b"abc", last=last))
        link.wait_end()

    server = serve(CONF, up=origin(script))
    with server.connect() as client:
        client.send(request("GET", "/"))
        data, _ = client.rest()
        assert b"abc" in data and not data.endswith(b"0\r\n\r\n")
    server.wait_log("answer truncated")


# ---- interim answers


def test_interim_answers_pass_to_1_1_as_they_come_and_never_to_1_0(serve, origin):
    go_on = threading.Event()

    def script(link):
        for _ in range(2):
            link.request()
            link.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: x-hop\r\nX-Hop: 1\r\n\r\nHTTP/1.1 102 X\r\n\r\n")
            assert go_on.wait(allow(10))
            link.send(answer(200, b"ok"))
        link.wait_end()

    with serve(CONF, up=origin(script)).connect() as client:
        client.send(request("GET", "/"))
        early = client.head(deadline_in(10))
        assert early.status == 103 and early["Link"] == "</a>" and "X-Hop" not in early.fields
        assert client.head(deadline_in(10)).status == 102
        go_on.set()
        assert client.response().body == b"ok"
        client.send(request("GET", "/", version="HTTP/1.0"))
        taken = client.response()
        assert taken.body == b"ok" and taken.interim == []


@pytest.mark.case("PRX-13")
@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
@pytest.mark.parametrize("count, status", [(64, 200), (65, 502), (500, 502)])
def test_interim_answers_of_one_request_are_bounded(serve, origin, version, count, status):
    def script(link):
        link.request()
        link.send(b"HTTP/1.1 103 X\r\n\r\n" * count + answer(200, b"ok"))
        link.wait_end()

    server = serve(CONF, up=origin(script))
    with server.connect() as client:
        client.send(request("GET", "/", version=version))
        taken = client.response()
        assert taken.status == status
        assert len(taken.interim) == (0 if version == "HTTP/1.0" else min(count, 64))
    assert server.get("/ok").body == b"ok"


# ---- expectations


@pytest.mark.case("BDY-01")
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_client_that_waits_gets_100_from_us_and_the_upstream_no_expect(serve, origin, framing):
    up = origin(answering(lambda taken: b"HTTP/1.1 100 Continue\r\n\r\n" + answer(200, taken.body)))
    with serve(CONF, up=up).connect() as client:
        client.send(request("POST", "/", "Expect: 100-continue", "Content-Length: 3" if framing == "length" else "Transfer-Encoding: chunked"))
        client.continues()
        client.send(b"abc" if framing == "length" else chunked(b"abc"))
        taken = client.response()
        assert taken.body == b"abc" and taken.interim == [], "the upstream's own 100 answers nobody"
        client.expect_open()
    assert "Expect" not in up.requests[0].fields


@pytest.mark.case("BDY-03")
@pytest.mark.parametrize("length", [1000, 1_000_000])
def test_a_refusal_instead_of_100_is_delivered_without_the_body(serve, origin, length):
    def script(link):
        link.request_head()
        link.send(answer(403, b"no"))
        link.wait_end()

    with serve(CONF, up=origin(script)).connect() as client:
        client.send(request("POST", "/", "Expect: 100-continue", f"Content-Length: {length}"))
        taken = client.response()
        assert (taken.status, taken.body) == (403, b"no")
        if taken.keeps_open:
            client.send(b"b" * length + request("GET", "/ok"))
            assert client.response().body == b"ok"
        else:
            client.expect_end()


# ---- a client that ends its side


@pytest.mark.parametrize("body", [None, b"abc"])
def test_a_client_that_ended_its_side_still_gets_its_answer(serve, origin, body):
    """Only a reset says that nobody waits any more."""
    go_on = threading.Event()

    def script(link):
        taken = link.request()
        assert go_on.wait(allow(10))
        assert not link.reader.buffer
        link.send(answer(200, b"got " + (taken.body or b"it")))
        link.wait_end()

    up = origin(script)
    server = serve(CONF, up=up)
    with server.connect() as client:
        client.send(request("POST" if body else "GET", "/", body=body)).half_close()
        up.next_request()
        # The end has reached the server, and it has come round since.
        server.settle(lambda document: document["loops"][0]["active_requests"] == 2)
        assert client.is_quiet(0.3)
        go_on.set()
        assert client.response().body == b"got " + (body or b"it")
        client.expect_end()
