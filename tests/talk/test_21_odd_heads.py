"""Heads that two servers could read in two ways, on routes that forward, that answer and that look at files: they are
refused before any of these sees them. What is odd but has one meaning is served, once."""
import pytest

from talk.attack import KINDS, Target
from talk.odd_requests import HEADS, HIDDEN, get, post

CASES = {"fold": "SMG-08", "name": "SMG-21", "value": "SMG-10", "line": "SMG-11", "host": "TGT-01", "length": "SMG-18", "coding": "SMG-01"}


@pytest.fixture(scope="module")
def target(serve_module, origin_module):
    return Target(serve_module, origin_module)


def named(odd):
    return [pytest.param(name, marks=pytest.mark.case(CASES[name.split("-")[0]])) for name in odd]


@pytest.mark.parametrize("name", named([name for name, odd in HEADS.items() if odd.statuses]))
def test_heads_with_two_meanings_are_refused(target, name):
    odd = HEADS[name]
    for kind in KINDS:
        path = target.path(kind)
        target.expect_refused(odd.to(path), odd.statuses)
        target.expect_nothing_arrived(path)


@pytest.mark.parametrize("name", named([name for name, odd in HEADS.items() if not odd.statuses]))
def test_odd_heads_with_one_meaning_are_served_once(target, name):
    odd = HEADS[name]
    for kind in KINDS:
        path = target.path(kind)
        target.expect_served(odd.to(path), kind, path, odd.body)


@pytest.mark.case("SMG-10")
@pytest.mark.parametrize("byte", [b"\r", b"\n", b"\0", b"\x0b", b"\x0c", b"\x08", b"\x7f"], ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_a_control_byte_anywhere_in_a_head_is_refused(target, kind, byte):
    path = target.path(kind)
    head = post(b"X-A: one", b"Content-Length: 0").replace(b"@@", path.encode())
    for at in range(len(head) - 1):
        if byte == b"\n" and head[at : at + 1] == b"\n":
            continue  # the same as behind it, where the line has ended well
        target.expect_refused(head[:at] + byte + head[at:] + HIDDEN, (400, 501))
    target.expect_nothing_arrived(path)


@pytest.mark.case("SMG-10")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\n\r", b"\r\r\n", b"\x0b", b"\x85", b"\xe2\x80\xa8"], ids=repr)
def test_heads_whose_lines_end_otherwise_are_refused(target, kind, end):
    path = target.path(kind)
    head = get(b"X-A: one", b"Content-Length: 38").replace(b"@@", path.encode())
    with target.connect() as client:
        client.send(head.replace(b"\r\n", end) + HIDDEN.replace(b"\r\n", end))
        client.half_close()  # some of these are only the begin of a line
        data, _ = client.rest()
        assert data == b"" or data.startswith(b"HTTP/1.1 400 "), data
        assert data.count(b"HTTP/1.1 ") <= 1 and b"HIDDEN" not in data
    target.expect_nothing_arrived(path)


@pytest.mark.case("SMG-10")
@pytest.mark.parametrize("kind", KINDS)
def test_each_line_end_of_a_head_must_be_crlf(target, kind):
    path = target.path(kind)
    head = post(b"X-A: one", b"Content-Length: 0").replace(b"@@", path.encode())
    ends = [at for at in range(len(head)) if head[at : at + 2] == b"\r\n"]
    for at in ends:
        for end in (b"\n", b"\r\r\n", b"\n\n", b"\n\r\n", b"\r\n\n"):
            if end.startswith(b"\r\n") and at >= ends[-2]:
                continue  # behind the head
            target.expect_refused(head[:at] + end + head[at + 2 :] + HIDDEN, (400,))
    target.expect_nothing_arrived(path)


@pytest.mark.case("SMG-21")
def test_bytes_above_ascii_in_values_pass_as_they_are(target):
    path = target.path("far")
    with target.connect() as client:
        client.send(get(b"X-A: \x85 \xa0v\xa0 \x85", b"X-B: \xe2\x80\xa8", b"X-C: \xff\xfe").replace(b"@@", path.encode()))
        assert client.response().status == 200
    raw = target.seen(path)[0].raw
    assert b"\r\nX-A: \x85 \xa0v\xa0 \x85\r\nX-B: \xe2\x80\xa8\r\nX-C: \xff\xfe\r\n" in raw


@pytest.mark.case("SMG-18")
def test_a_length_goes_on_as_plain_digits(target):
    path = target.path("far")
    with target.connect() as client:
        client.send(post(b"Content-Length: \t 0003 ", then=b"abc").replace(b"@@", path.encode()))
        assert client.response().body == b"far:abc"
    assert target.seen(path)[0]["Content-Length"] == "3"


@pytest.mark.case("TGT-08")
def test_what_connection_names_in_any_form_stops_here(target):
    path = target.path("far")
    with target.connect() as client:
        lines = b"X-A: 1", b"x-b: 2", b"X-C: 3", b"X-Stays: 4"
        naming = b"Connection: ,, x-a ,\tX-B", b"connection: X-C", b"Connection: Host, Via, Content-Length"
        client.send(get(*lines, *naming).replace(b"@@", path.encode()))
        assert client.response().status == 200
        client.send(get().replace(b"@@", path.encode()))
        assert client.response().status == 200
    first, second = target.seen(path)
    assert not {"X-A", "X-B", "X-C"} & {name for name, _ in first.fields.lines} and "x-b" not in first.fields
    assert first["X-Stays"] == "4" and first["Host"] == "t.test" and first["Via"]
    assert first.link is second.link, "the upstream connection was not used again"
