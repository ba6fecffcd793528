"""request_buffering: a body is read whole, to memory and then to a file, before a server is asked."""
import os
import resource
import tempfile
import threading
import time
from pathlib import Path

import pytest

from talk.buffering import DATA, body, count_descriptors, digest, expect_rest, files, small_disk, start
from talk.checks import check, faults_of, write
from talk.client import chunked, request
from talk.process import resident_bytes
from talk.server import run
from talk.settings import SLOW, allow
from talk.upstream import answer, answering


def echo_digest(taken):
    return answer(200, digest(taken.body).encode(), "X-Framing: " + taken.framing)


def in_chunks(data, size=65536):
    return chunked(*(data[at : at + size] for at in range(0, len(data), size)))


# ---- when


@pytest.mark.parametrize("buffering", [True, False], ids=["on", "off"])
def test_no_server_is_asked_before_a_slow_body_is_whole(serve, origin, buffering):
    up = origin()
    server = start(serve, up, request=buffering)
    with server.connect() as client, server.connect() as other:
        client.send(request("POST", "/slow", "Expect: 100-continue", "Content-Length: 10"))
        client.continues()
        client.send(b"first")
        other.get("/other")
        assert len(up.links) == (1 if buffering else 2)
        client.send(b"later")
        assert client.response().status == 200
        assert up.targets()[-1] == "/slow" or not buffering
        expect_rest(server, connections=2)


def test_a_request_without_a_body_goes_on_at_once(serve, origin):
    up = origin()
    server = start(serve, up, request=True)
    with server.connect() as client:
        assert client.get("/a").body == b"up:/a"
        assert client.ask("POST", "/b", "Content-Length: 0").body == b"up:/b"
        assert up.requests[1]["Content-Length"] == "0"


# ---- how


@pytest.mark.parametrize("size", [0, 1, 5, 65535, 65536, 65537, 1 << 20, 20 << 20])
def test_a_chunked_body_goes_up_with_its_length(serve, origin, size):
    up = origin(answering(echo_digest))
    data = body(20)[:size]
    server = start(serve, up, request=True)
    with server.connect() as client:
        for _ in range(2):
            client.send(request("PUT", "/", "Transfer-Encoding: chunked") + in_chunks(data), within=60)
            assert client.response(within=60).body == digest(data).encode()
            client.send(request("PUT", "/", body=data), within=60)
            assert client.response(within=60).body == digest(data).encode()
    assert [taken["Content-Length"] for taken in up.requests] == [str(size)] * 4
    assert not any(taken["Transfer-Encoding"] for taken in up.requests)
    assert len(up.links) == 1
    expect_rest(server)


def test_a_body_is_the_same_however_it_is_split(serve, origin):
    up = origin(answering(echo_digest))
    data = DATA[:300]
    server = start(serve, up, request=True, route="buffer_memory = 100")
    for every in (1, 7, 99, 100, 101):
        with server.connect() as client:
            client.send(request("PUT", "/", "Content-Length: 300")).send_split(data, every)
            assert client.response().body == digest(data).encode()
            client.send(request("PUT", "/", "Transfer-Encoding: chunked")).send_split(chunked(data[:150], data[150:]), every)
            assert client.response().body == digest(data).encode()


def test_trailers_behind_a_collected_body_go_up_with_its_chunks(serve, origin):
    first, second = origin(closing_within_body), origin(answering(echo_digest))
    server = start(serve, first, second, request=True, upstream="balance = round-robin")
    data = body(5)
    with server.connect() as client:
        for _ in range(2):
            client.send(request("PUT", "/", "Transfer-Encoding: chunked") + in_chunks(data)[:-5] + b"0\r\nX-Sum: 1\r\n\r\n")
            assert client.response(within=30).body == digest(data).encode()
    assert first.links
    assert [(taken.framing, taken.trailers.get("X-Sum")) for taken in second.requests] == [("chunked", "1")] * 2


def test_a_large_body_waits_in_a_file_that_ends_with_its_request(serve, origin):
    up = origin(answering(echo_digest))
    data = body(200)
    server = start(serve, up, request=True)
    server.health()
    before, count = resident_bytes(server.pid), count_descriptors(server)
    with server.connect() as client:
        client.send(request("PUT", "/", f"Content-Length: {len(data)}"))
        client.send(data[:-1], within=60)
        server.settle(lambda _: sum(files(server)) > 190 << 20, within=60)
        assert not up.links
        if SLOW <= 1:
            assert resident_bytes(server.pid) - before < 4 << 20
        client.send(data[-1:])
        assert client.response(within=60).body == digest(data).encode()
        expect_rest(server, connections=1, count=count)
        if SLOW <= 1:
            assert resident_bytes(server.pid) - before < 4 << 20
    assert not list(server.spool.iterdir())


def test_a_slow_server_does_not_hold_up_the_loop_or_the_memory(serve, origin):
    go_on = threading.Event()

    def script(link):
        taken = link.request_head()
        assert go_on.wait(allow(20))
        link.send(echo_digest(link.read_body(taken)))
        link.wait_end()

    up = origin(script)
    server = start(serve, up, request=True)
    before = resident_bytes(server.pid)
    with server.connect() as client:
        client.send(request("PUT", "/", body=body(20)), within=60)
        up.next_request()
        assert server.health()["status"] == "ok"
        if SLOW <= 1:
            assert resident_bytes(server.pid) - before < 4 << 20
        go_on.set()
        assert client.response(within=60).body == digest(body(20)).encode()


# ---- limits


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_body_beyond_buffer_max_is_refused_with_413(serve, origin, framing):
    up = origin()
    server = start(serve, up, request=True, route="buffer_max = 100k")
    data = DATA[: 100 * 1024]
    with server.connect() as client:
        assert client.ask("PUT", "/", body=data).status == 200
        if framing == "length":
            client.send(request("PUT", "/", "Expect: 100-continue", f"Content-Length: {len(data) + 1}"))
        else:
            client.send(request("PUT", "/", "Transfer-Encoding: chunked") + b"%x\r\n" % (len(data) + 1) + data + b"x\r\n0\r\n\r\n")
        client.refused_with(413)
    assert len(up.requests) == 1
    expect_rest(server)


def test_a_body_that_stalls_is_refused_with_408_and_forgotten(serve, origin):
    up = origin()
    server = start(serve, up, request=True, listener="body_timeout = 200ms")
    with server.connect() as client:
        client.send(request("PUT", "/", "Content-Length: 1000000") + DATA[:500000])
        client.refused_with(408)
    assert not up.links
    expect_rest(server)


def test_a_malformed_body_is_refused_before_a_server_is_asked(serve, origin):
    up = origin()
    server = start(serve, up, request=True)
    with server.connect() as client:
        client.send(request("PUT", "/", "Transfer-Encoding: chunked") + b"5\r\nhello\r\nxyz\r\n")
        client.refused_with(400)
    assert not up.links
    expect_rest(server)


def test_a_client_that_leaves_within_its_body_leaves_nothing_behind(serve, origin):
    up = origin()
    server = start(serve, up, request=True)
    count = count_descriptors(server)
    for end in ("close", "reset"):
        client = server.connect()
        client.send(request("PUT", "/", "Content-Length: 30000000"))
        client.send(body(20))
        server.settle(lambda _: files(server))
        getattr(client, end)()
        expect_rest(server, connections=0, count=count)
    assert not up.links


# ---- again


def closing_within_body(link):
    link.request_head()
    link.reader.exactly(1 << 20, time.monotonic() + allow(10))
    link.reset()


@pytest.mark.parametrize("method, buffering, status", [("PUT", True, 200), ("PUT", False, 502), ("POST", True, 502)])
def test_a_large_idempotent_request_is_sent_again_when_its_server_closes_within_it(serve, origin, method, buffering, status):
    first, second = origin(closing_within_body), origin(answering(echo_digest))
    server = start(serve, first, second, request=buffering, upstream="balance = round-robin")
    answers = []
    for _ in range(2):  # whichever server has the first turn
        with server.connect() as client:
            client.send_while_reading(request(method, "/", body=body(20)), within=60)
            answers.append(client.response(within=60))
    assert sorted(taken.status for taken in answers) == [200, status]
    assert all(taken.body == digest(body(20)).encode() for taken in answers if taken.status == 200)
    assert first.links
    expect_rest(server)


def test_each_of_several_tries_gets_the_whole_body(serve, origin):
    bad = [origin(closing_within_body) for _ in range(2)]
    good = origin(answering(echo_digest))
    server = start(serve, *bad, good, request=True, upstream="balance = round-robin\nretry_budget = 100")
    with server.connect() as client:
        for size in (5, 9):
            client.send(request("PUT", "/", "Transfer-Encoding: chunked") + in_chunks(body(size)), within=60)
            assert client.response(within=60).body == digest(body(size)).encode()
    assert sum(len(up.links) for up in bad) >= 2
    expect_rest(server)


def test_an_early_answer_is_passed_on_and_its_body_dropped(serve, origin):
    def script(link):
        link.request_head()
        link.send(answer(403, b"no", "Connection: close"))
        link.wait_end()

    up = origin(script)
    server = start(serve, up, request=True)
    with server.connect() as client:
        client.send(request("PUT", "/", body=body(20)), within=60)
        taken = client.response(within=30)
        assert (taken.status, taken.body) == (403, b"no")
        expect_rest(server)


# ---- failures of ours


def refused_for(server, up, reason):
    """A large body gets 503; the log says why."""
    with server.connect() as client:
        client.send_while_reading(request("PUT", "/", body=body(5)), within=30)
        taken = client.response(within=30)
        assert taken.status == 503 and taken["Retry-After"], taken
    server.wait_log(rf"route up: request_buffering: {server.spool}: {reason} \(request [0-9a-f]+\)")
    assert not up.links
    expect_rest(server)


def test_without_its_directory_a_large_body_is_refused_and_a_small_one_served(serve, origin):
    up = origin(answering(echo_digest))
    server = start(serve, up, request=True)
    count = count_descriptors(server)
    server.spool.rmdir()
    refused_for(server, up, "No such file or directory")
    with server.connect() as client:
        assert client.ask("PUT", "/", body=DATA[:50000]).body == digest(DATA[:50000]).encode()
        server.spool.mkdir()
        assert client.ask("PUT", "/", body=body(5)).body == digest(body(5)).encode()
    expect_rest(server, connections=0, count=count)


def test_without_a_descriptor_a_large_body_is_refused(serve, origin):
    up = origin(answering(echo_digest))
    server = start(serve, up, request=True)
    with server.connect() as client, server.connect() as asks:
        asks.get("/healthz")
        client.send(request("PUT", "/", f"Content-Length: {5 << 20}"))
        before = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (3, before[1]))
        client.send_while_reading(body(5))
        taken = client.response()
        assert taken.status == 503 and taken["Retry-After"], taken
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, before)
    server.wait_log(f"{server.spool}: Too many open files")
    assert not up.links
    expect_rest(server)


def test_with_a_full_executor_a_large_body_is_refused(serve, origin):
    up = origin()
    server = start(serve, up, request=True, server="executor_threads = 1\nexecutor_queue = 1", hold="3s")
    with server.connect() as first, server.connect() as second, server.connect() as client:
        first.send(request("GET", "/hold"))
        server.settle(lambda document: document["executor"]["active"] == 1)
        second.send(request("GET", "/hold"))
        server.settle(lambda document: document["executor"]["queued"] == 1)
        client.send_while_reading(request("PUT", "/", body=body(5)))
        taken = client.response()
        assert taken.status == 503 and taken["Retry-After"], taken
        assert first.response().status == 200 and second.response().status == 200
    server.wait_log(f"{server.spool}: the executor is full")
    expect_rest(server)


def test_on_a_full_disk_a_large_body_is_refused(serve, origin, tmp_path):
    (tmp_path / "disk").mkdir()
    wrap, reason = small_disk(tmp_path / "disk", "1m")
    if not wrap:
        pytest.skip(reason)
    up = origin(answering(echo_digest))
    server = start(serve, up, request=True, wrap=wrap, spool=tmp_path / "disk")
    refused_for(server, up, "No space left on device")
    with server.connect() as client:
        assert client.ask("PUT", "/", body=body(1)[:-200000]).body == digest(body(1)[:-200000]).encode()
    expect_rest(server)


# ---- configuration

CHECKED = """
[listener main]
bind = 127.0.0.1:8080
[route up]
handler = proxy
upstream = app
%s = %s
buffer_dir = %s
[upstream app]
server = 127.0.0.1:9
"""


@pytest.mark.parametrize("option", ["request_buffering", "response_buffering"])
def test_a_directory_that_cannot_be_used_is_a_fault_where_it_is_used(tmp_path, option):
    (tmp_path / "file").write_text("")
    for path, word in ((tmp_path / "none", "No such file"), (tmp_path / "file", "Not a directory")):
        lines = faults_of(tmp_path, CHECKED % (option, "on", path))
        assert len(lines) == 1 and "[route up] buffer_dir: " in lines[0] and word in lines[0], lines
        assert check(tmp_path, CHECKED % (option, "off", path)).returncode == 0


def test_a_directory_without_permission_is_a_fault():
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        locked = Path(name) / "locked"
        locked.mkdir(mode=0o555)
        path = write(Path(name), CHECKED % ("request_buffering", "on", locked))
        done = run("-t", "-c", path, user=65534 if os.geteuid() == 0 else None)
        assert done.returncode == 1 and "buffer_dir" in done.stderr and "Permission denied" in done.stderr, done.stderr


def test_a_server_that_ends_within_a_collected_request_sends_no_second_one(serve, origin):
    """POST is not repeated, however whole its body is at hand."""
    up = origin([closing_within_body, answering(echo_digest)])
    server = start(serve, up, request=True)
    with server.connect() as client:
        client.send(request("POST", "/", body=body(5)))
        assert client.response().status == 502
    assert len(up.links) == 1
