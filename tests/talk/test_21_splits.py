"""How bytes arrive changes nothing: requests and answers are sent in two pieces, split at every byte, and byte by byte,
each piece once the one before it was read. Answer and forwarded bytes must be those of the unsplit run."""
import contextlib
import re

import pytest

from talk.client import Client, Closed, request
from talk.odd_answers import ANSWERS
from talk.odd_chunks import CHUNKS
from talk.odd_requests import HEADS, TE, get, post
from talk.unread import open_queues, send_read, splits
from talk.upstream import Link, answer, answering

CONF = """
[server]
loops = 2
[listener main]
bind = $bind
[route ok]
path = = /ok
handler = respond
body = ok
[route far]
path = /far
handler = proxy
upstream = app
[upstream app]
server = $up
retries = 0
connect_timeout = 20s
"""

NUMBER = re.compile(rb"/far/[0-9]{6}")
CHANGES = re.compile(rb"Date: [^\r]*|X-Request-Id: [^\r]*|[0-9a-f]{24}")
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

GET, HEAD = get(), get(line=b"HEAD @@ HTTP/1.1")
HIDDEN = get(line=b"GET /ok HTTP/1.1")
CHUNKED = b"3;e=\"v\"\r\nabc\r\n00A\r\n0123456789\r\n0;x\r\nX-Sum: 1\r\n\r\n"
GOOD = {
    "get": GET,
    "head": HEAD,
    "fields": get(b"X-A: one", b"X-Empty:", b"x-b:\ttwo \t", b"Cookie: a=b; c=d", b"Connection: x-a"),
    "absolute": get(line=b"GET http://t.test/far/../@@?q=1 HTTP/1.1"),
    "spelled": get(line=b"GET /x/..@@/%61%2fb//./c HTTP/1.1"),
    "version-1.0": get(line=b"GET @@ HTTP/1.0", host=None),
    "keep-alive-1.0": get(b"Connection: keep-alive", line=b"GET @@ HTTP/1.0", then=GET),
    "close": get(b"Connection: close", then=GET),
    "empty-lines": b"\r\n\r\n" + GET,
    "length": post(b"Content-Length: 10", then=b"0123456789"),
    "length-0": post(b"Content-Length: 0"),
    "length-is-request": post(b"Content-Length: %d" % len(HIDDEN), then=HIDDEN),
    "chunked": post(TE, then=CHUNKED),
    "chunked-empty": post(TE, then=b"0\r\n\r\n"),
    "chunked-is-request": post(TE, then=b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)),
    "expect-length": post(b"Expect: 100-continue", b"Content-Length: 3", then=b"abc"),
    "expect-chunked": post(b"Expect: 100-continue", TE, then=CHUNKED),
    "pair-get": GET + HEAD,
    "pair-length": post(b"Content-Length: 3", then=b"abc") + GET,
    "pair-chunked": post(TE, then=CHUNKED) + post(b"Content-Length: 3", then=b"abc"),
    "pair-empty-line": GET + b"\r\n" + GET,
    "pair-bad": GET + get(b"X-A : 1"),
    "no-route": get(line=b"GET /nope HTTP/1.1"),
    "unknown-method": get(line=b"FLY @@ HTTP/1.1", then=GET),
    "options-star": get(line=b"OPTIONS * HTTP/1.1"),
}
BAD = [
    "fold-length-next", "fold-by-lf", "name-nul", "name-nbsp", "value-cr-hides-length", "line-nul-target", "line-http2", "line-proxy-v1",
    "host-userinfo", "host-twice", "length-twice-differ",
    "length-plus", "length-2-64-plus-3", "coding-twice", "coding-vt", "coding-and-length-equal",
]
BAD_BODIES = ["size-hex-prefix", "end-lf", "data-lf", "extension-quoted-crlf", "huge-2-64-plus-3", "trailer-fold", "trailer-lf"]
REQUESTS = {**GOOD, **{name: HEADS[name].data for name in BAD}, **{name: CHUNKS[name].data for name in BAD_BODIES}}


@pytest.fixture(scope="module")
def queues():
    return open_queues()


@pytest.fixture(scope="module")
def relay(serve_module, origin_module):
    up = origin_module(answering(lambda taken: answer(200, taken.body, f"X-Framing: {taken.framing}"), may_be_cut=True), backlog=1024)
    return serve_module(CONF, up=up), up


class Runs:
    """The same request, each time with a target of its own that is as long as the others."""

    def __init__(self, relay, queues, data):
        self.server, self.up = relay
        self.queues, self.data, self.count, self.before = queues, data, 0, len(self.up.requests)

    def run(self, cut):
        """What the client got, with what differs by nature taken out."""
        self.count += 1
        target = b"/far/%06d" % self.count
        with Client(("127.0.0.1", self.server.port)) as client:
            send_read(self.queues, client.sock, cut(self.data.replace(b"@@", target)))
            with contextlib.suppress(OSError):  # it may have ended by itself
                client.half_close()
            got, how = client.rest()
        # What follows Connection: close meets a closed socket when it comes late, else one that was read to its end.
        return CHANGES.sub(b"-", got.replace(CONTINUE, b"")), "" if b"Connection: close\r\n\r\nGET" in self.data else how

    def forwarded(self):
        """By run: the requests that were whole."""
        found = {}
        for taken in self.up.requests[self.before :]:
            if taken.is_whole:
                seen = NUMBER.sub(b"/far/N", taken.raw), NUMBER.sub(b"/far/N", taken.body), str(taken.trailers)
                found.setdefault(taken.target[:11], []).append(seen)
        return [found.get("/far/%06d" % number, []) for number in range(1, self.count + 1)]


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_are_the_same_at_every_split(relay, queues, name):
    runs = Runs(relay, queues, REQUESTS[name])
    whole = runs.run(lambda data: [data])
    length = len(REQUESTS[name].replace(b"@@", b"/far/000000"))
    for at in range(1, length):
        assert runs.run(lambda data, at=at: [data[:at], data[at:]]) == whole, f"split at {at}"
    assert runs.run(lambda data: [data[at : at + 1] for at in range(len(data))]) == whole, "byte by byte"
    expected, *others = runs.forwarded()
    for at, forwarded in enumerate(others, 1):
        assert forwarded == expected, f"split at {at}"
    statuses = re.findall(rb"HTTP/1\.1 ([0-9]+)", whole[0])
    assert statuses and whole[1] != "RST"
    if name in BAD or name in BAD_BODIES:
        assert len(statuses) == 1 and statuses[0] >= b"400" and expected == []


TOLD = [  # no surplus: cut off from its answer it may come behind the next request, as the answer to that
    "length-leading-zeros", "length-fold", "coding-case", "line-no-reason", "line-1.0", "field-fold", "field-fold-blank", "field-high",
    "none-204", "none-304-length", "none-head",
    "none-102-103", "none-100", "until-close", "body-extension", "body-trailer", "body-zeros",
    "length-plus", "lengths-differ", "coding-twice", "length-and-coding", "line-1000", "line-two", "line-cr", "field-nul-value",
    "field-cr-splits", "field-lf-only-head", "bare-html", "bare-head",
    "body-size-hex", "body-data-long", "body-end-lf", "body-cut-boundary", "body-cut-after-0", "body-length-short", "body-trailer-nul",
]


class Teller:
    """An upstream that gives the answer of its present test, cut as it is told."""

    def __init__(self, queues):
        self.queues, self.given, self.pieces = queues, None, None

    def script(self, link: Link):
        while True:
            try:
                link.request(within=60)
            except Closed:
                return
            send_read(self.queues, link.sock, self.pieces)
            if not self.given.stays:
                with contextlib.suppress(OSError):
                    link.half_close()
                    link.wait_end()
                return


@pytest.fixture(scope="module")
def told(serve_module, origin_module):
    teller = Teller(open_queues())
    return serve_module(CONF.replace("loops = 2", "loops = 1"), up=origin_module(teller.script, backlog=1024)), teller


def outcome(client, given):
    """What a client can tell of an answer, however its chunks were cut."""
    client.send(request(given.method, "/far/x"))
    try:
        taken = client.response(given.method)
    except Closed:
        return "cut"
    fields = [(name, value) for name, value in taken.fields.lines if name not in ("Date", "X-Request-Id")]
    body = b"" if taken.status == 502 else taken.body
    return taken.status, [early.status for early in taken.interim], fields, body, str(taken.trailers)


@pytest.mark.parametrize("name", TOLD)
def test_answers_are_the_same_at_every_split(told, name):
    server, teller = told
    given = teller.given = ANSWERS[name]
    seen = []
    for pieces in ([given.data], *splits(given.data)):
        teller.pieces = pieces
        with Client(("127.0.0.1", server.port)) as client:
            seen.append(outcome(client, given))
    if given.kind == "cut":  # 502 while nothing has gone on, else the client sees that it did not end
        assert all(one == "cut" or one[0] == 502 for one in seen), seen
    else:
        assert seen[0][0] == (502 if given.kind == "refused" else given.status)
        for number, one in enumerate(seen):
            assert one == seen[0], f"split at {number} of {len(given.data)}"
