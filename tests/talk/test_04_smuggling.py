"""Request smuggling: bytes that two hops could read differently are refused, for routes that forward and that do not.

Every attack is sent to /local (answered here) and to /far (proxied). /hidden must never be answered, and the upstream
must never see it.
"""
import itertools

import pytest

from talk.attack import CONF
from talk.client import Client, request
from talk.upstream import answer, answering

HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: t.test\r\n\r\n"
CHUNKED_HIDDEN = b"26\r\n" + HIDDEN + b"\r\n0\r\n\r\n"
assert len(HIDDEN) == 0x26


@pytest.fixture(params=["/local", "/far"])
def path(request):
    """A target of each test's own, so that what an earlier attack sends late is not taken for this one's."""
    return f"{request.param}/{next(numbers)}"


numbers = itertools.count()


class Far:
    """What reached the upstream for one test's target, and for the hidden one."""

    def __init__(self, upstream, path):
        self.upstream, self.targets = upstream, (path, "/hidden")

    @property
    def requests(self):
        return [taken for taken in self.upstream.requests if taken.target in self.targets]


@pytest.fixture(scope="module")
def shared(serve_module, origin_module):
    far = origin_module(answering(lambda taken: answer(200, b"far:" + taken.body), may_be_cut=True))
    return serve_module(CONF, up=far), far


@pytest.fixture
def far(shared, path):
    return Far(shared[1], path)


@pytest.fixture
def server(shared):
    return shared[0]


def post(path, *lines, version="HTTP/1.1", host=True):
    head = [f"POST {path} {version}".encode()] + ([b"Host: t.test"] if host else []) + list(lines)
    return b"\r\n".join(head) + b"\r\n\r\n"


def refused(server, data, *statuses, split=None):
    """One answer, a refusal, then the end; no request behind it was looked at."""
    with Client(("127.0.0.1", server.port)) as client:
        if split:
            client.send_split(data, split)
        else:
            client.send_while_reading(data)
        taken = client.refused_with(*(statuses or (400,)))
        assert b"HIDDEN" not in taken.body
        return taken


def body_refused(server, path, data, *statuses, split=None):
    """The same for a fault in a body. A route that does not read bodies may have answered before it was found: then
    that answer is the only one."""
    with Client(("127.0.0.1", server.port)) as client:
        if split:
            client.send_split(data, split)
        else:
            client.send_while_reading(data)
        taken = client.response()
        assert taken.status in (statuses or (400,)) or (path.startswith("/local") and taken.body == b"local"), taken
        client.expect_end()


def none_whole(far, server):
    """No whole request reached the upstream, what was begun there was cut, and the server still serves."""
    assert server.get("/ok").body == b"ok"
    for taken in far.requests:
        assert taken.link.ended.wait(10) and not taken.is_whole, taken


def none_arrived(far, server):
    assert server.get("/ok").body == b"ok"
    assert far.requests == []


CL_TE = {
    "cl-0-te": ([b"Content-Length: 0", b"Transfer-Encoding: chunked"], CHUNKED_HIDDEN),
    "te-cl-0": ([b"Transfer-Encoding: chunked", b"Content-Length: 0"], CHUNKED_HIDDEN),
    "cl-43-te": ([b"Content-Length: 43", b"Transfer-Encoding: chunked"], b"0\r\n\r\n" + HIDDEN),
    "te-te": ([b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"], CHUNKED_HIDDEN),
    "cl-cl-differ": ([b"Content-Length: 38", b"Content-Length: 0"], HIDDEN),
    "cl-cl-list": ([b"Content-Length: 0, 38"], HIDDEN),
}


@pytest.mark.case("SMG-01")
@pytest.mark.parametrize("attack", CL_TE)
def test_contradicting_framing_is_refused(server, far, path, attack):
    lines, body = CL_TE[attack]
    refused(server, post(path, *lines) + body, 400, 501)
    none_arrived(far, server)


@pytest.mark.case("SMG-01")
def test_equal_content_lengths_are_one_or_refused(server, far, path):
    for lines in ([b"Content-Length: 3", b"Content-Length: 3"], [b"Content-Length: 3, 3"]):
        refused(server, post(path, *lines) + b"abc" + HIDDEN)
    none_arrived(far, server)


@pytest.mark.case("SMG-03")
@pytest.mark.parametrize("value", [b",chunked", b"chunked,", b"chunked , "])
def test_empty_members_of_transfer_encoding_are_chunked_or_refused(server, far, path, value):
    with server.connect() as client:
        client.send(post(path, b"Transfer-Encoding: " + value) + CHUNKED_HIDDEN)
        taken = client.response()
        assert taken.status in (200, 400, 501), taken
        if taken.status == 200 and taken.keeps_open:
            assert client.is_quiet(0.3)
        else:
            client.expect_end()
        assert b"HIDDEN" not in taken.body
    assert all(seen.target == path for seen in far.requests)


@pytest.mark.parametrize("value", [b"xchunked", b"chunked, gzip", b"gzip", b"identity", b"chunked, chunked", b"\"chunked\"",
                                   b"chunked;q=1", b"\x0bchunked", b"chunked\x00", b"chun\tked", b""])
def test_other_transfer_codings_are_refused(server, far, path, value):
    refused(server, post(path, b"Transfer-Encoding: " + value) + CHUNKED_HIDDEN, 400, 501)
    none_arrived(far, server)


@pytest.mark.case("SMG-05")
def test_transfer_encoding_in_http_1_0_never_shows_a_second_request(server, far, path):
    data = post(path, b"Connection: keep-alive", b"Content-Length: 51", b"Transfer-Encoding: chunked", version="HTTP/1.0")
    refused(server, data + b"3\r\nabc\r\n0\r\n\r\n" + HIDDEN)
    refused(server, post(path, b"Connection: keep-alive", b"Transfer-Encoding: chunked", version="HTTP/1.0")
            + b"3\r\nabc\r\n0\r\n\r\n" + HIDDEN)
    none_arrived(far, server)


BLANKS = [
    [b"Content-Length: 6", b"Transfer-Encoding : chunked"],
    [b"Content-Length: 6", b"Transfer-Encoding\t: chunked"],
    [b"Content-Length : 6"],
    [b"Content-Length\t: 6"],
    [b" Content-Length: 6"],
    [b"Content-Length: 6", b"Transfer Encoding: chunked"],
    [b"Content-Length: 6", b"Transfer-Encoding\x0b: chunked"],
    [b"Content-Length: 6", b"Transfer-Encoding\x00: chunked"],
]


@pytest.mark.case("SMG-06")
@pytest.mark.parametrize("lines", BLANKS, ids=[repr(lines[-1])[2:24] for lines in BLANKS])
def test_blank_before_the_colon_is_refused(server, far, path, lines):
    refused(server, post(path, *lines) + b"0\r\n\r\nX" + HIDDEN)
    none_arrived(far, server)


@pytest.mark.case("SMG-06")
@pytest.mark.parametrize("line", [b"Host : t.test", b"Host\t: t.test", b" Host: t.test"])
def test_blank_in_the_host_line_is_refused(server, far, path, line):
    refused(server, post(path, line, b"Content-Length: 0", host=False))
    refused(server, post(path, line, b"Content-Length: 0"))
    none_arrived(far, server)


@pytest.mark.case("SMG-08")
@pytest.mark.parametrize("fold", [b"X-A: one\r\n Content-Length: 9", b"X-A: one\r\n\tContent-Length: 9", b"X-A: one\r\n ",
                                  b"X-A: one\r\n \t\r\nContent-Length: 38"])
def test_folded_lines_are_refused(server, far, path, fold):
    refused(server, request("GET", path, host=None).replace(b"\r\n\r\n", b"\r\nHost: t.test\r\n" + fold + b"\r\nX-B: two\r\n\r\n")
            + HIDDEN)
    none_arrived(far, server)


@pytest.mark.case("SMG-10")
@pytest.mark.parametrize("head", [
    b"X-A: 1\nContent-Length: 38\r\n\r\n",
    b"X-A: 1\rContent-Length: 38\r\n\r\n",
    b"X-A: 1\n\nContent-Length: 38\r\n\r\n",
    b"X-A: 1\r\n\rZ",
    b"X-A: 1\n\n",
    b"X-A: 1\r\r\n\r\n",
    b"X-A: a\0b\r\nContent-Length: 38\r\n\r\n",
], ids=["lf", "cr", "lf-lf", "crlf-cr", "ended-by-lf", "cr-crlf", "nul"])
def test_lone_cr_lf_or_nul_in_the_head_is_refused(server, far, path, head):
    refused(server, f"POST {path} HTTP/1.1\r\nHost: t.test\r\n".encode() + head + HIDDEN)
    none_arrived(far, server)


@pytest.mark.case("SMG-11")
@pytest.mark.parametrize("line", ["GET {}\nHost: t.test\r\nContent-Length: 3\r\n\r\nabc",
                                  "GET {} HTTP/1.1\nHost: t.test\r\n\r\n", "GET {}\r\n", "GET {} \r\n\r\n", "GET\r\n\r\n",
                                  "{} HTTP/1.1\r\nHost: t.test\r\n\r\n", "GET {} HTTP/1.1 x\r\nHost: t.test\r\n\r\n",
                                  "GET {} x HTTP/1.1\r\nHost: t.test\r\n\r\n", "GET\t{}\tHTTP/1.1\r\nHost: t.test\r\n\r\n"])
def test_bent_request_lines_are_refused_and_no_0_9_answer_comes(server, far, path, line):
    refused(server, line.format(path).encode())
    none_arrived(far, server)


@pytest.mark.case("SMG-13")
@pytest.mark.parametrize("body, statuses", [
    (b"3;a\rb\r\nabc\r\n0\r\n\r\n", (400,)),
    (b"3;a\nb\r\nabc\r\n0\r\n\r\n", (400,)),
    (b'3;a="x\r\nX-T: 1"\r\nabc\r\n0\r\n\r\n', (400,)),
    (b"3" + b";k=v" * (70 << 8) + b"\r\nabc\r\n0\r\n\r\n", (400, 413, 431)),
    (b"3\n\nabc\r\n0\r\n\r\n", (400,)),
    (b"3\r\nabc\n0\r\n\r\n", (400,)),
    (b"3 x\r\nabc\r\n0\r\n\r\n", (400,)),
    (b"\r\n3\r\nabc\r\n0\r\n\r\n", (400,)),
], ids=["cr", "lf", "quoted-crlf", "70k", "lf-lf", "data-lf", "blank", "empty-line"])
def test_bad_chunk_extensions_and_line_ends_are_refused(server, far, path, body, statuses):
    body_refused(server, path, post(path, b"Transfer-Encoding: chunked") + body + HIDDEN, *statuses)
    none_whole(far, server)


@pytest.mark.case("SMG-15")
@pytest.mark.parametrize("size, statuses", [
    (b"10000000000000003", (400, 413)), (b"f" * 40, (400, 413)), (b"8000000000000000", (400, 413)),
    (b"100000003", (413,)), (b"80000000", (413,)), (b"7fffffffffffffff", (413,)), (b"100001", (413,)),
    (b"-3", (400,)), (b"+3", (400,)), (b"0x3", (400,)), (b"3g", (400,)), (b"", (400,)), (b" 3", (400,)), (b"3_0", (400,)),
], ids=lambda value: value.decode()[:20] if isinstance(value, bytes) else "")
def test_chunk_sizes_are_never_cut(server, far, path, size, statuses):
    data = post(path, b"Transfer-Encoding: chunked") + size + b"\r\nabc\r\n0\r\n\r\n" + HIDDEN
    body_refused(server, path, data, *statuses)
    none_whole(far, server)


@pytest.mark.case("SMG-16")
@pytest.mark.parametrize("body", [b"3\r\nabcXX0\r\n\r\n", b"3\r\nabcdef\r\n0\r\n\r\n", b"3\r\nabc0\r\n\r\n", b"3\r\nabc\r0\r\n\r\n"])
@pytest.mark.parametrize("split", [None, 1], ids=["whole", "bytes"])
def test_chunk_data_longer_than_declared_is_refused(server, far, path, body, split):
    body_refused(server, path, post(path, b"Transfer-Encoding: chunked") + body + HIDDEN, split=split)
    none_whole(far, server)


@pytest.mark.case("SMG-18")
@pytest.mark.parametrize("value, statuses", [
    (b"+3", (400,)), (b"-3", (400,)), (b"3_0", (400,)), (b"0x3", (400,)), (b"3 3", (400,)), (b"", (400,)), (b"3;", (400,)),
    (b"3.0", (400,)), (b"3,", (400,)), (b"\xb2", (400,)), (b"18446744073709551619", (400, 413)),
    (b"9223372036854775808", (400, 413)), (b"9" * 100, (400, 413)), (b"9223372036854775807", (413,)),
], ids=lambda value: repr(value)[2:14] if isinstance(value, bytes) else "")
def test_content_length_that_is_no_plain_number_is_refused(server, far, path, value, statuses):
    refused(server, post(path, b"Content-Length: " + value) + b"abc" + HIDDEN, *statuses)
    none_arrived(far, server)


@pytest.mark.case("SMG-20")
@pytest.mark.parametrize("trailers, statuses", [
    (b"Content-Length: 5\r\nX-Real-User: admin\r\nbad line\r\n\r\n", (400,)),
    (b"X-A : 1\r\n\r\n", (400,)),
    (b"X-A: 1\nX-B: 2\r\n\r\n", (400,)),
    (b"X-A: 1\r\n folded\r\n\r\n", (400,)),
    (b"X-Fill: " + b"t" * (100 << 10) + b"\r\n\r\n", (400, 413, 431)),
    (b"X-Fill: t\r\n" * 10000 + b"\r\n", (400, 413, 431)),
], ids=["bad-line", "blank", "lf", "fold", "100k", "10000"])
def test_bad_or_endless_trailers_are_refused(server, far, path, trailers, statuses):
    body_refused(server, path, post(path, b"Transfer-Encoding: chunked") + b"3\r\nabc\r\n0\r\n" + trailers + HIDDEN, *statuses)
    none_whole(far, server)


@pytest.mark.case("SMG-20")
@pytest.mark.parametrize("trailers", [b"X-Sum: 1\r\n\r\n",
                                      b"Content-Length: 5\r\nTransfer-Encoding: gzip\r\nHost: evil\r\nAuthorization: x\r\nX-Sum: 1\r\n\r\n"],
                         ids=["plain", "framing"])
def test_trailers_never_become_fields(server, far, path, trailers):
    with server.connect() as client:
        client.send(post(path, b"Transfer-Encoding: chunked") + b"3\r\nabc\r\n0\r\n" + trailers)
        assert client.response().status in ((200,) if trailers.startswith(b"X-Sum") else (200, 400))
    for taken in far.requests:
        assert "X-Sum" not in taken.fields and "Authorization" not in taken.fields
        assert taken["Host"] == "t.test"
        for name in ("Content-Length", "Transfer-Encoding", "Host", "Authorization"):
            assert name not in taken.trailers or not taken.trailers.lines


@pytest.mark.case("SMG-21")
@pytest.mark.parametrize("line", [b"nonsense", b": v", b"X A: 1", b"X\x01A: 1", b"X\x7fA: 1", b"X\xe9A: 1", b"X(A): 1", b"X-A\x00: 1",
                                  b"X-A: a\x01b", b"X-A: a\x7fb", b"X-A: \x1b[2J"])
def test_bad_field_lines_are_refused(server, far, path, line):
    refused(server, f"GET {path} HTTP/1.1\r\nHost: t.test\r\n".encode() + line + b"\r\nX-B: 1\r\n\r\n" + HIDDEN)
    none_arrived(far, server)


def test_a_refused_head_is_refused_at_every_split(server, far, path):
    data = post(path, b"Content-Length: 6", b"Transfer-Encoding : chunked") + b"0\r\n\r\nX"
    for at in range(1, len(data)):
        with Client(("127.0.0.1", server.port)) as client:
            client.send(data[:at])
            client.send_while_reading(data[at:])
            client.refused_with(400)
    none_arrived(far, server)


def test_upstream_heads_of_the_same_kind_are_502(serve, origin, path):
    """The same rules hold towards upstreams; what a client could not send, an origin may not answer."""
    if path.startswith("/local"):
        path = "/far/again"  # the pairing with a route that does not forward has no meaning here
    heads = [
        b"Content-Length: +3\r\n\r\nabc", b"Content-Length: -3\r\n\r\nabc", b"Content-Length: 3 3\r\n\r\nabc",
        b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", b"Content-Length: 0x3\r\n\r\nabc", b"Content-Length:\r\n\r\nabc",
        b"Content-Length: 18446744073709551619\r\n\r\nabc", b"Content-Length: 9223372036854775808\r\n\r\nabc",
        b"Transfer-Encoding: gzip, foo\r\n\r\nabc", b"X A: b\r\nContent-Length: 3\r\n\r\nabc",
        b"nonsense\r\nContent-Length: 3\r\n\r\nabc", b"X-A: a\0b\r\nContent-Length: 3\r\n\r\nabc",
        b"Content-Length: 3\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    ]

    def script(link):
        taken = link.request()
        link.send(b"HTTP/1.1 200 OK\r\n" + heads[int(taken.target.rsplit("/", 1)[1])])
        link.wait_end()

    server = serve(CONF, up=origin(script))
    with server.connect() as client:
        for number in range(len(heads)):
            assert client.get(f"{path}/{number}").status == 502, heads[number]
