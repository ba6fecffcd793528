"""Upgraded connections through the proxy: which requests may ask, what 101 opens, bytes both ways, what is tried again."""
import hashlib
import os
import random
import socket
import threading

import pytest

from talk.client import request
from talk.settings import allow
from talk.tunnel import ACCEPT, WEBSOCKET, echo, make_with, opened, switching, tunnel_to, until_end, upgrade
from talk.upstream import answer, answering
from talk.wire import deadline_in


def digest(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def make(serve, origin):
    return make_with(serve, origin)


# ---- opening


@pytest.mark.case("UPG-01")
def test_a_websocket_opens_and_bytes_pass_both_ways_unchanged(make):
    up_bytes, down_bytes = os.urandom(1024), os.urandom(1024)

    def play(link):
        link.send(down_bytes)
        assert link.reader.exactly(1024, deadline_in(10)) == up_bytes
        until_end(link)

    up, server = make(tunnel_to(play))
    with server.connect() as client:
        taken = upgrade(client)
        assert taken["Upgrade"].lower() == "websocket" and taken["Connection"].lower() == "upgrade"
        assert taken["Sec-WebSocket-Accept"] == ACCEPT
        client.send(up_bytes)
        assert client.reader.exactly(1024, deadline_in(10)) == down_bytes
        client.half_close()
        client.expect_end()
    seen = up.requests[0]
    assert seen["Connection"].lower() == "upgrade" and seen["Upgrade"] == "websocket"
    assert seen["Sec-WebSocket-Key"] == "dGhlIHNhbXBsZSBub25jZQ==" and seen["Sec-WebSocket-Version"] == "13"
    assert seen["X-Forwarded-For"] == "127.0.0.1" and seen["Via"] and seen["Host"] == "t.test"


def test_another_protocol_opens_with_its_version(make):
    up, server = make(tunnel_to(echo))
    with server.connect() as client:
        taken = upgrade(client, "Connection: keep-alive, UPGRADE", "Upgrade: foo/2.1")
        assert taken["Upgrade"] == "foo/2.1"
        client.send(b"\0\xff")
        assert client.reader.exactly(2, deadline_in(10)) == b"\0\xff"
    assert up.requests[0]["Upgrade"] == "foo/2.1"


@pytest.mark.case("UPG-01")
def test_large_streams_pass_both_ways_at_once(make):
    data = random.Random(1).randbytes(8 << 20)

    def play(link):
        sender = threading.Thread(target=lambda: (link.send(data), link.half_close()))
        sender.start()
        got, how = link.wait_end(within=60)
        sender.join()
        assert (digest(got), how) == (digest(data), "FIN")

    _, server = make(tunnel_to(play))
    with server.connect() as client:
        upgrade(client)
        sender = threading.Thread(target=lambda: (client.sock.sendall(data), client.half_close()))
        sender.start()
        got, how = client.rest(within=60)
        sender.join()
        assert (digest(got), how) == (digest(data), "FIN")


def test_bytes_right_behind_either_head_are_the_tunnels(make):
    def play(link):
        assert link.reader.exactly(5, deadline_in(10)) == b"early"
        until_end(link)

    _, server = make(tunnel_to(play, reply=switching() + b"hello"))
    with server.connect() as client:
        client.send(request("GET", "/", *WEBSOCKET) + b"early")
        opened(client)
        assert client.reader.exactly(5, deadline_in(10)) == b"hello"


@pytest.mark.case("UPG-01")
def test_no_byte_is_lost_however_the_answer_and_what_follows_are_split(make):
    reply = switching("X-More: 1") + b"\x81\x05hello"

    def script(link):
        link.request_head()
        link.send_split(reply)
        assert link.reader.exactly(3, deadline_in(10)) == b"abc"
        until_end(link)

    _, server = make(script)
    with server.connect() as client:
        client.send_split(request("GET", "/", *WEBSOCKET) + b"abc")
        assert opened(client)["X-More"] == "1"
        assert client.reader.exactly(7, deadline_in(10)) == b"\x81\x05hello"


@pytest.mark.case("UPG-03")
@pytest.mark.parametrize("status", [200, 426, 404])
def test_bytes_behind_a_refused_upgrade_are_the_next_request_here(make, status):
    up, server = make(answering(lambda taken: answer(status, b"no", "Upgrade: websocket", "Connection: Upgrade")))
    with server.connect() as client:
        client.send(request("GET", "/chat", *WEBSOCKET) + request("GET", "/ok", host="other.test"))
        taken = client.response()
        assert (taken.status, taken.body) == (status, b"no") and "Upgrade" not in taken.fields
        assert client.response().body == b"ok"
        assert client.get("/again").status == status
    assert up.targets() == ["/chat", "/again"], "the second request is ours to route"
    assert up.requests[1].raw.startswith(b"GET /again ") and len(up.links) == 1


def test_nothing_behind_the_head_reaches_the_upstream_before_it_agreed(make):
    sent = threading.Event()

    def script(link):
        link.request_head()
        assert sent.wait(allow(10))
        link.sock.settimeout(0.3)
        with pytest.raises(socket.timeout):
            link.sock.recv(1)
        link.send(switching())
        assert link.reader.exactly(100_000, deadline_in(10)) == b"e" * 100_000
        until_end(link)

    _, server = make(script)
    with server.connect() as client:
        client.send(request("GET", "/", *WEBSOCKET) + b"e" * 100_000)
        sent.set()
        opened(client)
        client.half_close()
        client.expect_end()


# ---- what is no upgrade


@pytest.mark.case("UPG-06")
@pytest.mark.parametrize("fields", [
    ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
    ("Connection: Upgrade", "Upgrade: H2C"), ("Connection: Upgrade", "Upgrade: h2"), ("Connection: Upgrade", "Upgrade: HTTP/2.0"),
    ("Connection: Upgrade", "Upgrade: TLS/1.2"),
    ("Connection: Upgrade", "Upgrade: websocket, h2c"), ("Connection: Upgrade", "Upgrade: h2c, websocket"),
    ("Connection: Upgrade", "Upgrade: websocket", "Upgrade: h2c"), ("Connection: Upgrade", "Upgrade:", "Upgrade: websocket"),
    ("Connection: Upgrade", "Upgrade: websocket", "HTTP2-Settings: AAMAAABkAAQAAP__"),
    ("Connection: Upgrade", "Upgrade: web socket"), ("Connection: Upgrade", "Upgrade: websocket/"), ("Connection: Upgrade", "Upgrade: /13"),
    ("Connection: Upgrade", "Upgrade:"), ("Connection: keep-alive", "Upgrade: websocket"), ("Upgrade: websocket",),
    ("HTTP2-Settings: AAMAAABkAAQAAP__",),
])
def test_what_must_not_be_asked_for_is_left_out_of_a_usual_request(make, fields):
    up, server = make(None)
    with server.connect() as client:
        assert client.get("/x", *fields).body == b"up:/x"
        client.expect_open()
    seen = up.requests[0]
    assert "Upgrade" not in seen.fields and "HTTP2-Settings" not in seen.fields, seen
    assert "upgrade" not in (seen["Connection"] or "").lower()


@pytest.mark.parametrize("raw", [
    request("POST", "/x", *WEBSOCKET, body=b"abc"), request("POST", "/x", *WEBSOCKET), request("GET", "/x", *WEBSOCKET, body=b"abc"),
    request("GET", "/x", *WEBSOCKET, version="HTTP/1.0"), request("OPTIONS", "/x", *WEBSOCKET),
    request("GET", "/x", *WEBSOCKET, "Transfer-Encoding: chunked") + b"0\r\n\r\n",
], ids=["POST with a body", "POST", "GET with a body", "HTTP/1.0", "OPTIONS", "chunked"])
def test_requests_that_cannot_become_tunnels_are_usual_ones(make, raw):
    up, server = make(None)
    with server.connect() as client:
        assert client.send(raw).response().body == b"up:/x"
    assert "Upgrade" not in up.requests[0].fields


@pytest.mark.case("UPG-06")
@pytest.mark.parametrize("fields, reply", [
    ((), switching()), (("Upgrade: websocket",), switching()), (WEBSOCKET, switching(protocol="h2c")),
    (WEBSOCKET, answer(101, b"", "Connection: Upgrade", length=False)), (WEBSOCKET, switching("Upgrade: websocket")),
    (WEBSOCKET, switching(protocol="websocket, h2c")),
], ids=["nothing asked", "not by Connection", "another one", "none named", "named twice", "two named"])
def test_a_101_that_was_not_asked_for_is_502(make, fields, reply):
    def script(link):
        link.request_head()
        link.send(reply + b"PRI * HTTP/2.0\r\n\r\n")
        link.wait_end()

    up, server = make(script)
    with server.connect() as client:
        taken = client.get("/", *fields)
        assert taken.status == 502 and taken["X-Request-Id"]
        client.expect_open()
    server.wait_log("protocol that was not asked for")
    assert len(up.links) == 1, "an answer came: no second try"


def test_a_101_in_any_case_has_no_framing_of_its_own_and_none_of_one_hop(make):
    reply = answer(101, b"", "UPGRADE: WebSocket", "Connection: upgrade, x-hop", "X-Hop: 1", "Content-Length: 7", "Keep-Alive: 5", length=False)
    _, server = make(tunnel_to(until_end, reply=reply))
    with server.connect() as client:
        taken = upgrade(client)
        for name in ("X-Hop", "Content-Length", "Transfer-Encoding", "Keep-Alive"):
            assert name not in taken.fields


# ---- tries


def test_an_upgrade_is_tried_again_like_any_get(make):
    def dead(link):
        link.request_head()
        link.reset()

    up, server = make([dead, tunnel_to(echo)])
    with server.connect() as client:
        upgrade(client)
        client.send(b"x")
        assert client.reader.exactly(1, deadline_in(10)) == b"x"
    assert [taken["Upgrade"] for taken in up.requests] == ["websocket"] * 2


def test_an_upgrade_goes_over_a_kept_connection_and_that_is_never_used_again(make):
    def script(link):
        link.request()
        link.send(answer())
        tunnel_to(echo)(link)

    up, server = make([script, answering()])
    with server.connect() as client:
        assert client.get("/").body == b"ok"
        upgrade(client)
        client.half_close()
        client.expect_end()
    assert server.get("/next").body == b"up:/next"
    assert [taken.link.number for taken in up.requests] == [0, 0, 1]
