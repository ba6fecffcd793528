"""Chunked bodies that two servers could read in two ways; each is sent at once and byte by byte."""
import re
import time

import pytest

from talk.attack import KINDS, Target
from talk.client import Client
from talk.odd_chunks import CHUNKS
from talk.odd_requests import CHUNKED_HIDDEN, HIDDEN, TE, get, post
from talk.settings import allow

CASES = {"size": "SMG-15", "huge": "SMG-15", "end": "SMG-16", "data": "SMG-16", "extension": "SMG-13", "trailer": "SMG-20"}
SPLIT_BYTES = 600  # a body byte by byte costs a system call each


@pytest.fixture(scope="module")
def target(serve_module, origin_module):
    return Target(serve_module, origin_module)


def named(odd):
    return [pytest.param(name, marks=pytest.mark.case(CASES[name.split("-")[0]])) for name in odd]


@pytest.mark.parametrize("name", named([name for name, odd in CHUNKS.items() if odd.statuses]))
def test_chunks_with_two_meanings_are_refused(target, name):
    odd = CHUNKS[name]
    for kind in KINDS:
        for split in (None, 1) if len(odd.data) < SPLIT_BYTES else (None,):
            path = target.path(kind)
            target.expect_body_refused(odd.to(path), odd.statuses, split)
            target.expect_none_whole(path)


@pytest.mark.parametrize("name", named([name for name, odd in CHUNKS.items() if not odd.statuses]))
def test_odd_chunks_with_one_meaning_are_one_body(target, name):
    odd = CHUNKS[name]
    for kind in KINDS:
        path = target.path(kind)
        target.expect_served(odd.to(path), kind, path, odd.body)


@pytest.mark.case("SMG-20")
@pytest.mark.parametrize("name", [name for name, odd in CHUNKS.items() if name.startswith("trailer-") and not odd.statuses])
def test_trailers_that_frame_route_or_name_somebody_go_no_further(target, name):
    path = target.path("far")
    with target.connect() as client:
        client.send(CHUNKS[name].to(path))
        assert client.response().body == b"far:abc"
    taken = target.seen(path)[0]
    field = name.removeprefix("trailer-")
    if field != "empty-value":
        assert field not in taken.trailers, taken.trailers
    assert taken["Host"] == "t.test" and "X-Sum" not in taken.fields
    assert taken.framing == "chunked" and "Content-Length" not in taken.fields


@pytest.mark.case("SMG-13")
def test_extensions_never_go_on(target):
    path = target.path("far")
    with target.connect() as client:
        client.send(post(TE, then=b"3;secret=1\r\nabc\r\n3 ;\"secret\"\r\ndef\r\n0;secret\r\nX-T: 1\r\n\r\n").replace(b"@@", path.encode()))
        assert client.response().body == b"far:abcdef"  # the upstream reads strictly: a size, and nothing behind it
    assert target.seen(path)[0].body == b"abcdef"


@pytest.mark.case("SMG-13")
def test_an_endless_size_line_in_many_pieces_is_refused_within_a_bound(target):
    path = target.path("far")
    with target.connect() as client:
        client.send(post(TE).replace(b"@@", path.encode()) + b"3")
        sent = 0
        while not client.reader.ended and not client.reader.buffer:
            sent += client.send_while_reading(b";extension=value" * 16)
            assert sent < 1 << 20, "the server took a megabyte of extensions"
        client.refused_with(400, 413, 431)
    target.expect_none_whole(path)


@pytest.mark.case("SMG-15")
@pytest.mark.parametrize("size", [b"100000003", b"80000000", b"ffffffff", b"3ffffffffffff"])
def test_a_huge_chunk_within_the_limit_waits_for_its_data(serve, origin, size):
    """Nothing behind its first bytes is taken for a request, however wide the integers are."""
    target = Target(lambda text, **names: serve(text.replace("max_body_size = 1m", "max_body_size = 1048576g"), **names), origin)
    for kind in ("far", "local"):
        path = target.path(kind)
        with target.connect() as client:
            client.send(post(TE, then=size + b"\r\nabc\r\n0\r\n\r\n" + HIDDEN).replace(b"@@", path.encode()))
            data, _ = client.rest(within=20)  # body_timeout
            assert data.count(b"HTTP/1.1 ") == 1 and b"HIDDEN" not in data, data
            assert data.startswith(b"HTTP/1.1 408 ") or (kind == "local" and data.endswith(b"local")), data
    target.expect_none_whole(path)


@pytest.mark.case("BDY-05")
@pytest.mark.parametrize("kind", KINDS)
def test_a_body_of_get_is_never_the_next_request(target, kind):
    by_length = get(b"Content-Length: 38", then=HIDDEN)
    for data in (by_length, get(TE, then=CHUNKED_HIDDEN), by_length.replace(b"GET", b"HEAD", 1)):
        path = target.path(kind)
        method = "HEAD" if data.startswith(b"HEAD") else "GET"
        with target.connect() as client:
            client.send(data.replace(b"@@", path.encode()) + get(line=b"GET /ok HTTP/1.1"))
            assert client.response(method).status == 200
            assert client.response().body == b"ok"
            assert client.is_quiet(0.05)
        if kind == "far":
            assert [seen.body for seen in target.seen(path)] == [HIDDEN]


@pytest.mark.case("BDY-05")
def test_head_of_every_kind_of_answer_is_followed_by_the_next_at_once(target):
    (target.server.dir / "dir").mkdir()
    heads = [b"HEAD /files/dir HTTP/1.1", b"HEAD /files/none HTTP/1.1", b"HEAD /nope HTTP/1.1", b"HEAD /files/dir/ HTTP/1.1"]
    for line in heads:
        with target.connect() as client:
            client.send(get(line=line) + get(line=b"GET /ok HTTP/1.1"))
            taken = client.response("HEAD")
            assert taken.status in (301, 307, 308, 403, 404), taken
            assert client.response().body == b"ok"
    with target.connect() as client:  # too large: nothing follows, but no body of the error page either
        client.send(get(b"Content-Length: 99999999", line=b"HEAD /far/x HTTP/1.1"))
        client.refused_with(413, method="HEAD")


@pytest.mark.case("BDY-03")
@pytest.mark.parametrize("framing", [b"Content-Length: 1000000", TE])
def test_a_refusal_of_an_expected_body_leaves_no_bytes_to_guess_about(serve, origin, framing):
    def refuse(link):
        link.request_head()
        link.send(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
        link.wait_end()

    server = serve("[listener main]\nbind = $bind\n[route far]\npath = /\nhandler = proxy\nupstream = app\n[upstream app]\nserver = $up\n",
                   up=origin(refuse))
    with Client(("127.0.0.1", server.port)) as client:
        start = time.monotonic()
        client.send(post(framing, b"Expect: 100-continue").replace(b"@@", b"/x"))
        taken = client.response()
        assert taken.status == 403 and time.monotonic() - start < allow(2)
        assert re.match(r"close", taken["Connection"] or "")
        client.expect_end()
