"""Odd peers on both sides of the proxy: none costs CPU while it lasts, and each ends by its own timeout."""
import contextlib
import socket
import time

import pytest

from talk.client import request
from talk.config import config
from talk.process import cpu_share
from talk.settings import SLOW, allow
from talk.upstream import answer

SAMPLE = 0.6  # seconds of CPU sampling a pattern; that time passes is the subject


def conf(seconds):
    timeouts = [f"{name}_timeout = {seconds}s" for name in ("header", "body", "send", "keepalive")]
    return config("ok", "up", "health", listener=(*timeouts, "min_rate = 0", "max_body_size = 1g"),
                  upstream=(f"response_timeout = {seconds}s", "retries = 0"))


def head(link):
    return link.request_head(within=60)


def silence(link):
    with contextlib.suppress(AssertionError):
        link.wait_end(60)


def push(link, data, most=1 << 26):
    """Sends until the proxy takes no more; it may also end."""
    link.sock.settimeout(0.2)
    with contextlib.suppress(OSError):
        for _ in range(0, most, len(data)):
            link.sock.sendall(data)


LONG = answer(200, b"", "Content-Length: 1000000000", length=False)

# ---- what upstreams do: by name, for a GET of that name


def says_nothing(link):
    silence(link)


def stops_in_the_head(link):
    link.send(b"HTTP/1.1 200 OK\r\nContent-Le")
    silence(link)


def stops_behind_the_head(link):
    link.send(LONG)
    silence(link)


def stops_in_the_body(link):
    link.send(LONG + b"part")
    silence(link)


def stops_in_a_chunk(link):
    link.send(answer(200, b"", "Transfer-Encoding: chunked", length=False) + b"10\r\npart")
    silence(link)


def stops_before_the_last_chunk(link):
    link.send(answer(200, b"", "Transfer-Encoding: chunked", length=False) + b"4\r\npart\r\n")
    silence(link)


def stops_after_an_interim_answer(link):
    link.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
    silence(link)


def floods(link):
    link.send(LONG)
    push(link, b"f" * 65536)
    silence(link)


def floods_and_half_closes(link):
    link.send(answer(200, b"", "Connection: close", length=False))
    push(link, b"f" * 65536)
    link.half_close()
    silence(link)


def floods_and_resets(link):
    link.send(LONG)
    push(link, b"f" * 65536)
    link.reset()


def urges(link):
    link.send(LONG + b"part")
    link.sock.send(b"!", socket.MSG_OOB)
    silence(link)


def answers_and_urges(link):
    link.send(answer())
    link.sock.send(b"!", socket.MSG_OOB)
    silence(link)


def answers_early(link):
    """While the body is still on its way; the rest of it is not read."""
    link.send(answer(413, b"big"))
    silence(link)


UPSTREAMS = {made.__name__: made for made in (
    says_nothing, stops_in_the_head, stops_behind_the_head, stops_in_the_body, stops_in_a_chunk, stops_before_the_last_chunk,
    stops_after_an_interim_answer, floods, floods_and_half_closes,
    floods_and_resets, urges, answers_and_urges, answers_early)}


def script(link):
    with contextlib.suppress(AssertionError, OSError):
        while True:
            UPSTREAMS[head(link).target.removeprefix("/up/")](link)


# ---- what clients do


def gets(name, receive_buffer=None, half_close=False):
    def act(server):
        client = server.connect(receive_buffer=receive_buffer)
        client.send(request("GET", f"/up/{name}"))
        if half_close:
            client.half_close()

    act.__name__ = name + ("_to_a_stuck_reader" if receive_buffer else "") + ("_who_half_closed" if half_close else "")
    return act


def uploads(name, framing, half_close=False, reset=False, urgent=False):
    def act(server):
        client = server.connect()
        client.send(request("POST", f"/up/{name}", "Content-Length: 500000000" if framing == "length" else "Transfer-Encoding: chunked"))
        piece = b"u" * 65536 if framing == "length" else b"10000\r\n" + b"u" * 65536 + b"\r\n"
        client.send_until_stuck(piece, most=1 << 26, quiet=0.1)
        with contextlib.suppress(OSError):  # an early answer may have ended it
            if urgent:
                client.sock.send(b"!", socket.MSG_OOB)
            if half_close:
                client.half_close()
            if reset:
                client.reset()

    ways = {"_half_closed": half_close, "_reset": reset, "_urgent": urgent}
    act.__name__ = f"{name}_to_an_upload_by_{framing}" + "".join(way for way, said in ways.items() if said)
    return act


PATTERNS = [gets(name) for name in UPSTREAMS]
PATTERNS += [gets(name, receive_buffer=4096) for name in ("floods", "floods_and_half_closes", "floods_and_resets")]
PATTERNS += [gets(name, half_close=True) for name in ("says_nothing", "stops_in_the_body", "floods", "stops_in_a_chunk")]
PATTERNS += [gets("floods", receive_buffer=4096, half_close=True)]
PATTERNS += [uploads("says_nothing", framing, **how) for framing in ("length", "chunked")
             for how in ({}, {"half_close": True}, {"reset": True}, {"urgent": True})]
PATTERNS += [uploads("stops_behind_the_head", "length"), uploads("stops_in_the_body", "chunked", half_close=True),
             uploads("answers_early", "length"), uploads("answers_early", "chunked", half_close=True)]


@pytest.mark.case("EVL-05")
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
def test_odd_peers_of_the_proxy_cost_no_cpu(serve, origin, pattern):
    server = serve(conf(60), up=origin(script))
    for _ in range(3):
        pattern(server)
    assert server.get("/ok").body == b"ok"
    assert cpu_share(server.pid, SAMPLE) < 0.05 * max(1, SLOW)
    assert server.get("/ok").body == b"ok"


@pytest.mark.case("EVL-05")
def test_odd_peers_of_the_proxy_end_by_their_own_timeouts(serve, origin):
    """All at once. A reader is never read to its end here, so an answer that does not fit waits for send_timeout."""
    server = serve(conf(1), up=origin(script))
    for pattern in PATTERNS:
        pattern(server)
    start = time.monotonic()
    document = server.settle(lambda document: sum(loop["connections"] for loop in document["loops"]) == 1
                             and all(one["active"] == 0 for one in document["upstreams"]["app"]), within=10)
    assert time.monotonic() - start <= 3 + allow(3)
    assert sum(loop["active_requests"] for loop in document["loops"]) == 1
    assert server.get("/ok").body == b"ok"
