"""How tunnels end: by either side, by a reset, by time, with the server; and what they cost while they last."""
import hashlib
import os
import re
import signal
import socket
import threading
import time

import pytest

from talk.client import Client
from talk.many import Many
from talk.ports import free_port
from talk.process import resident_bytes
from talk.settings import SLOW, allow
from talk.tunnel import make_with, tunnel_to, until_end, upgrade
from talk.wire import deadline_in


def digest(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def make(serve, origin):
    return make_with(serve, origin)


# ---- ends


def test_the_clients_end_is_passed_on_and_the_upstream_speaks_on(make):
    def play(link):
        assert link.wait_end() == (b"last words", "FIN")
        link.send(b"answer to them")

    _, server = make(tunnel_to(play))
    with server.connect() as client:
        upgrade(client)
        client.send(b"last words").half_close()
        assert client.rest() == (b"answer to them", "FIN")


def test_the_upstreams_end_is_passed_on_and_the_client_speaks_on(make):
    got = []

    def play(link):
        link.send(b"last words")
        link.half_close()
        got.append(link.wait_end())

    up, server = make(tunnel_to(play))
    with server.connect() as client:
        upgrade(client)
        assert client.rest() == (b"last words", "FIN")
        client.send(b"x" * 1_000_000).half_close()
        assert up.links[0].ended.wait(allow(10))
    assert got == [(b"x" * 1_000_000, "FIN")]


@pytest.mark.parametrize("front", ["tcp", "unix"])
def test_a_client_that_closes_behind_its_last_bytes_loses_none_of_them(make, front):
    go_on, got = threading.Event(), []

    def play(link):
        assert go_on.wait(allow(10))
        got.append(link.wait_end())

    up, server = make(tunnel_to(play))
    client = server.connect(**({"address": str(server.dir / "front.sock")} if front == "unix" else {}))
    upgrade(client)
    data = os.urandom(1_000_000)
    client.send(data)
    client.close()
    go_on.set()
    assert up.links[0].ended.wait(allow(20))
    assert (digest(got[0][0]), got[0][1]) == (digest(data), "FIN")


@pytest.mark.parametrize("how", ["idle", "busy"])
def test_a_reset_of_the_client_resets_the_upstream(make, how):
    ended = threading.Event()

    def play(link):
        if how == "busy":
            with pytest.raises(OSError):
                while True:
                    link.send(b"x" * 65536)
        else:
            assert link.wait_end() == (b"", "RST")
        ended.set()

    _, server = make(tunnel_to(play))
    client = Client(("127.0.0.1", server.port))
    upgrade(client)
    if how == "busy":
        client.reader.need(deadline_in(10))
    client.reset()
    assert ended.wait(allow(10))
    server.settle(lambda document: document["upstreams"]["app"][0]["active"] == 0)


@pytest.mark.parametrize("how", ["idle", "busy"])
def test_a_reset_of_the_upstream_resets_the_client(make, how):
    go_on = threading.Event()

    def play(link):
        assert go_on.wait(allow(10))
        if how == "busy":
            link.reader.need(deadline_in(10))
        link.reset()

    _, server = make(tunnel_to(play))
    with server.connect() as client:
        upgrade(client)
        go_on.set()
        if how == "busy":
            with pytest.raises(ConnectionResetError):
                client.sock.sendall(b"x" * (1 << 30))
        else:
            client.expect_end(how="RST")
    document = server.health()
    assert document["upstreams"]["app"][0]["active"] == 0 and document["loops"][0]["active_requests"] == 1


def test_an_upstream_that_said_all_and_takes_no_more_ends_the_tunnel_cleanly(make):
    """It closes with the client's bytes unread or on their way: its end was whole before."""

    def play(link):
        link.send(b"bye")
        link.half_close()
        link.reader.need(deadline_in(10))
        link.reset()

    _, server = make(tunnel_to(play))
    with server.connect() as client:
        upgrade(client)
        assert client.rest() == (b"bye", "FIN")
        client.send(b"x")
        server.settle(lambda document: document["upstreams"]["app"][0]["active"] == 1)
        client.send_until_stuck(b"x" * 65536, most=64 << 20, quiet=0.2)
        server.settle(lambda document: document["upstreams"]["app"][0]["active"] == 0)


# ---- room


@pytest.mark.parametrize("side", ["client", "upstream"])
def test_a_side_that_does_not_read_holds_the_other_back_and_loses_nothing(make, side):
    go_on, stuck, got = threading.Event(), threading.Event(), []
    block = os.urandom(65536)

    def pour(sock):
        sock.settimeout(1.0)
        sent = 0
        try:
            while sent < 1 << 30:
                sent += sock.send(block[sent % 65536 :])
        except socket.timeout:
            pass
        return sent

    def play(link):
        if side == "client":
            got.append(pour(link.sock))
            stuck.set()
            link.half_close()
            until_end(link)
        else:
            assert go_on.wait(allow(30))
            got.append(link.wait_end(within=60)[0])

    up, server = make(tunnel_to(play))
    server.get("/ok")
    before = resident_bytes(server.pid)
    with server.connect(receive_buffer=65536) as client:
        upgrade(client)
        if side == "client":
            assert stuck.wait(allow(30))
            sent = got[0]
        else:
            sent = pour(client.sock)
            client.half_close()
        assert sent < 64 << 20, "never made to wait"
        if SLOW <= 1:
            assert resident_bytes(server.pid) - before < 1 << 20
        go_on.set()
        if side == "client":
            data = client.rest(within=60)[0]
        else:
            client.expect_end(within=60)
            assert up.links[0].ended.wait(allow(10))
            data = got[0]
        assert len(data) == sent and digest(data) == digest((block * (sent // 65536 + 1))[:sent])


def test_a_busy_tunnel_leaves_the_loop_to_others(make):
    over = threading.Event()

    def play(link):
        try:
            while not over.is_set():
                link.send(b"x" * 65536)
        except OSError:
            pass

    _, server = make(tunnel_to(play))
    with server.connect() as busy, server.connect() as other:
        upgrade(busy)

        def drain():
            while busy.reader.fill(deadline_in(30)):
                busy.reader.buffer.clear()

        reader = threading.Thread(target=drain)
        reader.start()
        for _ in range(50):
            assert other.get("/ok", within=5).body == b"ok"
        over.set()
        busy.half_close()
        reader.join()


# ---- time


@pytest.mark.case("UPG-05")
def test_tunnel_timeout_counts_from_the_last_byte_either_way(make):
    def play(link):
        for _ in range(6):
            assert link.reader.exactly(1, deadline_in(10)) == b"p"
        link.send(b"q")
        until_end(link)

    _, server = make(tunnel_to(play), route="tunnel_timeout = 1s", listener="keepalive_timeout = 200ms")
    with server.connect() as client:
        upgrade(client)
        for _ in range(6):  # one way only
            time.sleep(0.4)
            client.send(b"p")
        assert client.reader.exactly(1, deadline_in(10)) == b"q"
        last = time.monotonic()
        client.expect_end()
        assert 0.9 < time.monotonic() - last < 1 + allow(1)


@pytest.mark.case("UPG-05")
def test_no_other_timeout_is_about_a_tunnel(make):
    def play(link):
        time.sleep(1.2)
        link.send(b"late")
        until_end(link)

    _, server = make(tunnel_to(play), upstream="response_timeout = 200ms\nconnect_timeout = 200ms",
                     listener="header_timeout = 200ms\nbody_timeout = 200ms\nsend_timeout = 200ms\nkeepalive_timeout = 200ms\nmin_rate = 1m")
    with server.connect() as client:
        upgrade(client)
        assert client.reader.exactly(4, deadline_in(10)) == b"late"


def test_a_client_that_pauses_longer_than_send_timeout_gets_all(make):
    data = os.urandom(8 << 20)

    def play(link):
        link.send(data)
        link.half_close()
        until_end(link)

    _, server = make(tunnel_to(play), listener="send_timeout = 200ms\nmin_rate = 1m", upstream="response_timeout = 200ms")
    with server.connect(receive_buffer=65536) as client:
        upgrade(client)
        time.sleep(1.0)
        got, how = client.rest(within=30)
        assert (digest(got), how) == (digest(data), "FIN")


def test_a_side_that_takes_nothing_for_tunnel_timeout_is_cut(make):
    ended = threading.Event()

    def play(link):
        with pytest.raises(OSError):
            while True:
                link.send(b"x" * 65536)
        ended.set()

    _, server = make(tunnel_to(play), route="tunnel_timeout = 500ms")
    with server.connect(receive_buffer=65536) as client:
        upgrade(client)
        assert ended.wait(allow(10))
        assert client.rest()[1] == "RST"


@pytest.mark.parametrize("who", ["client", "upstream"])
def test_half_close_timeout_ends_a_tunnel_of_which_one_side_is_left(make, who):
    def play(link):
        if who == "upstream":
            link.half_close()
        assert link.wait_end()[1] == "FIN"
        if who == "client":
            link.wait_readable_end()
            server_is_gone.wait(allow(10))

    server_is_gone = threading.Event()
    up, server = make(tunnel_to(play), route="half_close_timeout = 500ms")
    with server.connect() as client:
        upgrade(client)
        start = time.monotonic()
        if who == "client":
            client.half_close()
        client.expect_end()
        if who == "upstream":
            assert up.links[0].ended.wait(allow(10))
        assert 0.4 < time.monotonic() - start < 0.5 + allow(1)
        server.settle(lambda document: document["upstreams"]["app"][0]["active"] == 0)
        server_is_gone.set()


def test_half_close_timeout_does_not_end_a_long_answer(make):
    def play(link):
        assert link.wait_end() == (b"go", "FIN")
        for _ in range(5):
            time.sleep(0.3)
            link.send(b"x")

    _, server = make(tunnel_to(play), route="half_close_timeout = 700ms")
    with server.connect() as client:
        upgrade(client)
        client.send(b"go").half_close()
        assert client.rest() == (b"xxxxx", "FIN")


# ---- figures, and the end


def test_a_tunnel_counts_as_a_request_in_progress_until_it_ends(make):
    _, server = make(tunnel_to(until_end))
    with server.connect() as client:
        upgrade(client)
        document = server.health()
        assert document["loops"][0]["active_requests"] == 2 and document["upstreams"]["app"][0]["active"] == 1
        client.half_close()
        client.expect_end()
    document = server.settle(lambda document: document["loops"][0]["active_requests"] == 1)
    assert document["upstreams"]["app"][0]["active"] == 0


def until_term(server):
    server.send_signal(signal.SIGTERM)
    server.notify.wait("STOPPING", "1")


def test_a_websocket_is_told_to_go_when_the_server_drains(make):
    masked = b"\x88\x82\x01\x02\x03\x04" + bytes([0x03 ^ 1, 0xE9 ^ 2])
    got = []

    def play(link):
        link.send(b"\x81\x02hi")
        got.append(link.wait_end())

    up, server = make(tunnel_to(play))
    with server.connect() as client:
        upgrade(client)
        assert client.reader.exactly(4, deadline_in(10)) == b"\x81\x02hi"
        until_term(server)
        assert client.rest() == (b"\x88\x02\x03\xe9", "FIN")
        client.send(masked).half_close()
        assert up.links[0].ended.wait(allow(10))
        assert server.wait() == 0
    assert got == [(masked, "FIN")], "the upstream hears of it from the client"


@pytest.mark.parametrize("frame", [b"\x82\x7e\x01\x00" + b"m" * 256, b"\x01\x03abc", b"\x82\x7f" + (70_000).to_bytes(8, "big") + b"l" * 70_000])
@pytest.mark.parametrize("at", [1, 3, 4])
def test_the_word_comes_between_frames_only(make, frame, at):
    go_on = threading.Event()

    def play(link):
        link.send(frame[:at])
        assert go_on.wait(allow(10))
        link.send(frame[at:] + b"\x81\x04more")
        assert link.wait_end()[1] == "FIN"

    _, server = make(tunnel_to(play))
    with server.connect() as client:
        upgrade(client)
        assert client.reader.exactly(at, deadline_in(10)) == frame[:at]
        until_term(server)
        assert client.is_quiet(0.3)
        go_on.set()
        assert client.rest() == (frame[at:] + b"\x88\x02\x03\xe9", "FIN")
        client.half_close()
        assert server.wait() == 0


def test_other_tunnels_go_on_until_shutdown_timeout_and_are_cut_and_counted(make):
    _, server = make(tunnel_to(lambda link: link.wait_end()), shutdown="1s")
    with server.connect() as client:
        upgrade(client, "Connection: Upgrade", "Upgrade: foo")
        start = time.monotonic()
        until_term(server)
        client.expect_end(how="RST")
        assert 0.9 < time.monotonic() - start
        assert server.wait() == 0
    assert re.search(r"\b1\b.*\bcut\b|\bcut\b.*\b1\b", server.log), server.log[-2000:]


@pytest.mark.skipif(SLOW > 1, reason="sanitizers have memory of their own")
def test_an_idle_websocket_costs_little_memory(make):
    """Counted from the first ones on, which fill the pools that all share. It is 1.6 KiB; a head that was kept, or a
    buffer, would be 4 or 16 more."""
    up_port, first, more = free_port(), 500, 2000
    _, server = make(f"127.0.0.1:{up_port}")
    with Many(up_port, server.port, first) as ends:
        assert ends.wait(60) == "open"
        before = resident_bytes(server.pid)
        ends.end()
        assert ends.wait(60) == str(first), "every one must end cleanly"
    with Many(up_port, server.port, first + more) as ends:
        assert ends.wait(60) == "open"
        ends.again()
        assert ends.wait(60) == "again"
        assert resident_bytes(server.pid) - before < more * 3072
        assert server.health()["loops"][0]["active_requests"] == first + more + 1
        ends.end()
        assert ends.wait(60) == str(first + more)
    server.settle(lambda document: document["loops"][0]["active_requests"] == 1)
