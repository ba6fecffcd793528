"""Request bodies: length and chunked framing, 100-continue, limits, bodies nobody reads."""
import pytest

from talk.client import chunked, request
from talk.upstream import answer, answering

CONF = """
[server]
loops = 2
[listener main]
bind = $bind
max_body_size = 64k
[route ok]
path = = /ok
handler = respond
body = ok
[route any]
path = = /any
handler = respond
methods = GET HEAD POST PUT PATCH DELETE
body = any
[route up]
path = /up
handler = proxy
upstream = app
[route small]
path = /small
handler = proxy
upstream = app
max_body_size = 10
[upstream app]
server = $up
"""


def echo(taken):
    return answer(200, taken.body, f"X-Framing: {taken.framing}", f"X-Target: {taken.target}")


@pytest.fixture
def up(origin):
    return origin(answering(echo))


@pytest.fixture
def client(serve, up):
    with serve(CONF, up=up).connect() as client:
        yield client


# ---- framing


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 16384, 65536])
def test_bodies_by_length_arrive_whole(client, up, size):
    body = bytes(i * 7 % 251 for i in range(size))
    assert client.ask("POST", "/up", body=body).body == body
    assert up.requests[-1]["Content-Length"] == str(size)


@pytest.mark.parametrize("pieces", [[], [b"a"], [b"hello", b" ", b"world"], [b"x" * 60000], [b"y"] * 500],
                         ids=["empty", "one", "three", "large", "tiny-ones"])
def test_chunked_bodies_arrive_whole(client, pieces):
    client.send(request("POST", "/up", "Transfer-Encoding: chunked") + chunked(*pieces))
    assert client.response().body == b"".join(pieces)
    client.expect_open()


def test_chunk_sizes_in_any_case_with_leading_zeros_and_extensions(client, up):
    client.send(request("POST", "/up", "Transfer-Encoding: Chunked")
                + b"00A;x=y\r\n0123456789\r\na ; q=\"v\"\r\nabcdefghij\r\n000\r\n\r\n")
    assert client.response().body == b"0123456789abcdefghij"
    assert b"x=y" not in up.requests[0].raw


def test_every_split_of_a_chunked_request_gives_the_same_body(client):
    data = request("POST", "/up", "Transfer-Encoding: chunked") + b"3;e\r\nabc\r\n2\r\nde\r\n0\r\nX-T: v\r\n\r\n"
    for at in range(1, len(data)):
        client.send(data[:at]).send(data[at:])
        assert client.response().body == b"abcde", at
    client.send_split(data)
    assert client.response().body == b"abcde"


def test_bodies_may_be_pipelined(client):
    client.send(request("POST", "/up/1", body=b"one") + request("POST", "/up/2", "Transfer-Encoding: chunked")
                + chunked(b"two") + request("GET", "/ok") + request("PUT", "/up/3", body=b"three"))
    assert [client.response().body for _ in range(4)] == [b"one", b"two", b"ok", b"three"]


# ---- bodies that a handler does not read


@pytest.mark.parametrize("body", [b"GET /hidden HTTP/1.1\r\nHost: t.test\r\n\r\n", b"x" * 60000], ids=["request", "large"])
@pytest.mark.parametrize("as_chunks", [False, True], ids=["length", "chunked"])
def test_an_unread_body_is_not_taken_for_a_request(client, body, as_chunks):
    if as_chunks:
        client.send(request("POST", "/any", "Transfer-Encoding: chunked") + chunked(body))
    else:
        client.send(request("POST", "/any", body=body))
    answered = client.response()
    assert answered.body == b"any"
    if answered.keeps_open:
        client.expect_open()
        assert not client.reader.buffer
    else:
        client.expect_end()


def test_get_with_a_body_is_framed_too(client):
    client.send(request("GET", "/ok", body=b"GET /any HTTP/1.1\r\nHost: t\r\n\r\n") + request("GET", "/any"))
    assert client.response().body == b"ok"
    assert client.response().body == b"any"
    assert client.is_quiet(0.2)


# ---- Expect


@pytest.mark.case("BDY-01")
def test_100_continue_comes_before_the_body(client):
    client.send(request("POST", "/up", "Content-Length: 3", "Expect: 100-continue"))
    client.continues()
    client.send(b"abc")
    answered = client.response()
    assert answered.body == b"abc" and answered.interim == []


@pytest.mark.case("BDY-01")
def test_100_continue_for_a_chunked_body_in_any_case(client):
    client.send(request("POST", "/up", "Transfer-Encoding: chunked", "expect: 100-Continue"))
    client.continues()
    client.send(chunked(b"abc"))
    assert client.response().body == b"abc"


@pytest.mark.case("BDY-01")
def test_no_100_when_the_body_has_come_already_or_there_is_none(client):
    client.send(request("POST", "/up", "Expect: 100-continue", body=b"abc"))
    answered = client.response()
    assert answered.body == b"abc" and len(answered.interim) <= 1
    assert client.get("/ok", "Expect: 100-continue").interim == []


@pytest.mark.case("BDY-01")
def test_no_100_to_an_http_1_0_client(client):
    client.send(request("POST", "/up", "Expect: 100-continue", version="HTTP/1.0", body=b"abc"))
    answered = client.response()
    assert answered.body == b"abc" and answered.interim == []


@pytest.mark.case("BDY-01")
def test_an_unknown_expectation_is_417(client):
    client.send(request("POST", "/up", "Content-Length: 3", "Expect: 200-maybe"))
    answered = client.response()
    assert answered.status == 417
    if not answered.keeps_open:
        client.expect_end()


def test_too_large_with_expect_is_413_without_100(client, up):
    client.send(request("POST", "/up", "Content-Length: 65537", "Expect: 100-continue"))
    answered = client.refused_with(413)
    assert answered.interim == [] and up.requests == []


@pytest.mark.case("BDY-03")
def test_a_final_answer_instead_of_100_is_delivered_at_once(serve, origin):
    def refuse(link):
        link.request_head()
        link.send(answer(403, b"no"))
        link.wait_end()

    with serve(CONF, up=origin(refuse)).connect() as client:
        client.send(request("POST", "/up", "Content-Length: 60000", "Expect: 100-continue"))
        answered = client.response()
        assert (answered.status, answered.body) == (403, b"no")
        if answered.keeps_open:
            client.send(b"b" * 60000 + request("GET", "/ok"))
            assert client.response().body == b"ok"
        else:
            client.expect_end()


# ---- limits


@pytest.mark.parametrize("size, status", [(65536, 200), (65537, 413)])
def test_body_limit_by_length_is_exact(client, up, size, status):
    client.send_while_reading(request("POST", "/up", body=b"b" * size))
    answered = client.response()
    assert answered.status == status
    if status == 413:
        assert not answered.keeps_open and up.requests == []
        client.expect_end()


@pytest.mark.parametrize("size, status", [(65536, 200), (65537, 413)])
def test_body_limit_of_chunks_is_exact(client, size, status):
    pieces = [b"c" * 1000] * (size // 1000) + [b"c" * (size % 1000)]
    client.send_while_reading(request("POST", "/up", "Transfer-Encoding: chunked") + chunked(*pieces))
    answered = client.response()
    assert answered.status == status
    if status == 413:
        assert not answered.keeps_open
        client.expect_end()


def test_a_route_overrides_the_body_limit(client):
    assert client.ask("POST", "/small", body=b"0123456789").body == b"0123456789"
    assert client.ask("POST", "/small", body=b"0123456789a").status == 413


def test_an_endless_chunked_body_is_413_within_the_limit(client):
    client.send(request("POST", "/up", "Transfer-Encoding: chunked"))
    client.send_while_reading(b"1000\r\n" + b"d" * 4096 + b"\r\n" * 1 + (b"1000\r\n" + b"d" * 4096 + b"\r\n") * 200)
    client.refused_with(413)


# ---- bodies that never end


@pytest.mark.parametrize("framing, part", [("Content-Length: 100", b"part"), ("Transfer-Encoding: chunked", b"4\r\npart\r\n")])
@pytest.mark.parametrize("how", ["FIN", "RST"])
def test_a_body_cut_by_the_client_never_looks_whole_to_the_upstream(serve, origin, framing, part, how):
    seen = []

    def script(link):
        link.request_head()
        seen.append(link.wait_end()[0])

    up = origin(script)
    with serve(CONF, up=up).connect() as client:
        client.send(request("POST", "/up", framing) + part)
        up.next_request()
        client.half_close() if how == "FIN" else client.reset()
        assert up.next_link().ended.wait(10)
    assert len(seen[0]) < 100 and not seen[0].endswith(b"0\r\n\r\n")


def test_body_timeout_is_between_two_reads(serve, origin):
    """408 only after the first byte of a request; here the head is whole and the body stops."""
    def script(link):
        link.request_head()
        link.wait_end()

    server = serve(CONF.replace("max_body_size = 64k", "max_body_size = 64k\nbody_timeout = 500ms", 1), up=origin(script))
    with server.connect() as client:
        client.send(request("POST", "/up", "Content-Length: 10") + b"12345")
        client.refused_with(408)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_body_without_length_is_411_in_http_1_0(client, method):
    """Nothing but a length could end it, and 411 can still be read."""
    body = request("GET", "/ok")  # must not be taken for a request
    client.send(request(method, "/up", "Connection: keep-alive", version="HTTP/1.0") + body)
    client.refused_with(411)


def test_a_post_of_http_1_0_with_length_is_served(client):
    client.send(request("POST", "/up", version="HTTP/1.0", body=b"four"))
    assert client.response().status == 200


def test_a_bodyless_post_is_served_or_411(client):
    client.send(request("POST", "/any"))
    assert client.response().status in (200, 411)


# ---- handlers that take no body


@pytest.mark.parametrize("data", [chunked(), chunked(b"abc"), chunked(b"a", b"bc", last=b"0\r\nX-T: v\r\n\r\n")])
def test_a_chunked_body_that_no_handler_takes_does_not_end_the_connection(client, data):
    client.send(request("POST", "/any", "Transfer-Encoding: chunked") + data + request("GET", "/ok"))
    first = client.response()
    assert first.status == 200 and first.keeps_open
    assert client.response().body == b"ok"


@pytest.mark.parametrize("data", [b"3\r\nabcXX0\r\n\r\n", b"f" * 40 + b"\r\n", b"-1\r\n\r\n", b"3\nabc\r\n0\r\n\r\n",
                                  b"0\r\nno field\r\n\r\n", b"3;\x00\r\nabc\r\n0\r\n\r\n"])
def test_a_malformed_chunked_body_is_refused_by_handlers_that_take_none(client, data):
    client.send(request("POST", "/any", "Transfer-Encoding: chunked") + data + request("GET", "/ok"))
    answered = client.response()
    assert answered.status in (400, 413)
    assert client.rest()[0] == b"", "what follows a malformed body was taken for a request"


def test_a_chunked_body_over_the_limit_is_413_for_handlers_that_take_none(client):
    client.send(request("POST", "/any", "Transfer-Encoding: chunked") + b"10001\r\n")
    assert client.response().status == 413
