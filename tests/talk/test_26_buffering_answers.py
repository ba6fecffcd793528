"""response_buffering: what a client does not take at once waits in memory and in a file, and its server is free."""
import hashlib
import resource
import signal
import threading

import pytest

from talk.buffering import DATA, body, count_descriptors, digest, expect_rest, files, small_disk, start
from talk.client import chunked, request
from talk.process import resident_bytes
from talk.settings import SLOW, allow
from talk.upstream import answer, answering
from talk.wire import Closed, TooLate, deadline_in

MIB = 1 << 20


def framed(data, framing):
    if framing == "length":
        return answer(200, data)
    if framing == "close":
        return answer(200, data, "Connection: close", length=False)
    pieces = (data[at : at + 100000] for at in range(0, len(data), 100000))
    return answer(200, b"", "Transfer-Encoding: chunked", length=False) + chunked(*pieces)


class Sender:
    """A script that answers /big with `reply`, others with their target; `sent` is set once all of it went out."""

    def __init__(self, reply, then=None):
        self.reply, self.sent, self.then = reply, threading.Event(), then

    def __call__(self, link):
        while True:
            try:
                taken = link.request(within=60)
            except Closed:
                return
            if taken.target == "/big":
                link.send(self.reply)
                self.sent.set()
                if self.then:
                    return self.then(link)
            else:
                link.send(answer(200, taken.target.encode()))

    def wait(self):
        assert self.sent.wait(allow(30)), "the server was made to wait"


def ask_big(server, version="HTTP/1.1"):
    """A client that has asked and does not read."""
    client = server.connect(receive_buffer=32768)
    return client.send(request("GET", "/big", version=version))


def read_digest(client, length, within=60):
    """Of so many bytes, without keeping them."""
    hashed, deadline = hashlib.sha256(), deadline_in(within)
    while length:
        if not client.reader.buffer:
            client.reader.need(deadline)
        part = bytes(client.reader.buffer[:length])
        del client.reader.buffer[: len(part)]
        hashed.update(part)
        length -= len(part)
    return hashed.hexdigest()


# ---- what it is for


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_server_is_free_for_others_while_a_slow_client_still_reads(serve, origin, framing):
    script = Sender(framed(body(20), framing))
    up = origin(script)
    server = start(serve, up, response=True, upstream="max_connections = 1")
    slow = ask_big(server)
    script.wait()
    with server.connect() as other:
        assert other.get("/small").body == b"/small"
        assert len(up.links) == 1 and len(files(server)) == 1
        taken = slow.response(within=60)
        assert digest(taken.body) == digest(body(20)) and taken.framing == framing
        assert slow.get("/again").body == b"/again"
        expect_rest(server, connections=2)


def test_without_it_the_server_waits_for_the_client(serve, origin):
    script = Sender(framed(body(20), "length"))
    server = start(serve, origin(script), upstream="max_connections = 1\nqueue = 0")
    slow = ask_big(server)
    slow.head(deadline_in(10))
    assert server.get("/small").status == 503
    assert not script.sent.is_set() and not files(server)
    assert read_digest(slow, 20 * MIB) == digest(body(20))


def test_bytes_go_at_once_to_a_client_that_takes_them(serve, origin):
    go_on = [threading.Event() for _ in range(3)]

    def script(link):
        link.request()
        link.send(answer(200, b"", "Content-Type: text/event-stream", "Transfer-Encoding: chunked", length=False))
        for number, event in enumerate(go_on):
            link.send(chunked(b"data: %d\n\n" % number, last=b""))
            assert event.wait(allow(10))
        link.send(b"0\r\n\r\n")
        link.wait_end()

    server = start(serve, origin(script), response=True)
    with server.connect() as client:
        client.send(request("GET", "/"))
        assert client.head(deadline_in(10)).status == 200
        for number, event in enumerate(go_on):
            assert client.reader.until(b"data: %d\n\n" % number, deadline_in(10)).strip(b"\r\n") in (b"", b"9")
            event.set()
        assert client.reader.until(b"0\r\n\r\n", deadline_in(10)) == b"\r\n"
        expect_rest(server, connections=1)


def test_a_client_that_catches_up_is_streamed_to_again(serve, origin):
    go_on = threading.Event()

    def script(link):
        link.request()
        link.send(answer(200, b"", f"Content-Length: {20 * MIB + 10}", length=False) + body(20))
        assert go_on.wait(allow(30))
        link.send(b"first")
        assert go_on_again.wait(allow(30))
        link.send(b"later")
        link.wait_end()

    go_on_again = threading.Event()
    server = start(serve, origin(script), response=True)
    client = ask_big(server)
    client.head(deadline_in(10))
    server.settle(lambda _: files(server))
    assert read_digest(client, 20 * MIB) == digest(body(20))
    server.settle(lambda _: not files(server))
    go_on.set()
    assert client.reader.exactly(5, deadline_in(10)) == b"first"
    go_on_again.set()
    assert client.reader.exactly(5, deadline_in(10)) == b"later"
    expect_rest(server, connections=1)


@pytest.mark.parametrize("version, framing", [("HTTP/1.0", "chunked"), ("HTTP/1.0", "length"), ("HTTP/1.1", "close")])
def test_answers_of_other_framings_arrive_whole(serve, origin, version, framing):
    then = (lambda link: None) if framing == "close" else None
    script = Sender(framed(body(20), framing), then=then)
    server = start(serve, origin(script), response=True)
    client = ask_big(server, version)
    script.wait()
    assert digest(client.response(within=60).body) == digest(body(20))
    expect_rest(server)


def test_trailers_behind_a_buffered_answer_arrive(serve, origin):
    script = Sender(framed(body(20), "chunked")[:-5] + b"0\r\nX-Sum: 1\r\n\r\n")
    server = start(serve, origin(script), response=True)
    client = ask_big(server)
    script.wait()
    assert server.get("/small").body == b"/small"
    taken = client.response(within=60)
    assert digest(taken.body) == digest(body(20)) and taken.trailers.get("X-Sum") == "1"


@pytest.mark.parametrize("memory", ["0", "1k", "64k", "32m"])
def test_buffer_memory_decides_whether_there_is_a_file(serve, origin, memory):
    script = Sender(framed(body(20), "length"))
    server = start(serve, origin(script), response=True, route=f"buffer_memory = {memory}")
    client = ask_big(server)
    script.wait()
    server.settle(lambda document: document["loops"][0]["pending_tasks"] == 0)
    assert len(files(server)) == (0 if memory == "32m" else 1)
    assert digest(client.response(within=60).body) == digest(body(20))
    expect_rest(server)


# ---- bounds


def test_memory_stays_flat_with_200_mebibytes_in_the_file(serve, origin):
    script = Sender(framed(body(200), "length"))
    server = start(serve, origin(script), response=True)
    server.health()
    before, count = resident_bytes(server.pid), count_descriptors(server)
    client = ask_big(server)
    script.wait()
    assert sum(files(server)) > 180 * MIB
    if SLOW <= 1:
        assert resident_bytes(server.pid) - before < 4 * MIB
    client.head(deadline_in(10))
    assert read_digest(client, 200 * MIB) == digest(body(200))
    if SLOW <= 1:
        assert resident_bytes(server.pid) - before < 4 * MIB
    expect_rest(server, connections=1, count=count)
    assert not list(server.spool.iterdir())


def test_beyond_buffer_max_the_server_waits_for_the_client(serve, origin):
    script = Sender(framed(body(30), "length"))
    server = start(serve, origin(script), response=True, route="buffer_max = 1m")
    client = ask_big(server)
    client.head(deadline_in(10))
    server.settle(lambda _: sum(files(server)) > 600 * 1024)
    assert not script.sent.wait(0.5), "30 MiB do not fit into 1 MiB and the sockets"
    assert sum(files(server)) <= MIB
    assert read_digest(client, 30 * MIB) == digest(body(30))
    script.wait()
    expect_rest(server)


def test_a_server_made_to_wait_has_no_response_timeout_meanwhile(serve, origin):
    script = Sender(framed(body(30), "length"))
    server = start(serve, origin(script), response=True, route="buffer_max = 1m", upstream="response_timeout = 200ms")
    client = ask_big(server)
    client.head(deadline_in(10))
    assert not script.sent.wait(1)
    assert read_digest(client, 30 * MIB) == digest(body(30))
    expect_rest(server)


# ---- ends


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_an_answer_cut_by_its_server_is_cut_for_the_client_behind_what_came(serve, origin, framing):
    whole = framed(body(20), framing)
    script = Sender(whole[: 15 * MIB], then=lambda link: link.half_close() or link.wait_end())
    server = start(serve, origin(script), response=True)
    client = ask_big(server)
    script.wait()
    server.wait_log("answer truncated: closed within the answer's body")
    assert server.health()["upstreams"]["app"][0]["active"] == 0
    with pytest.raises(Closed):
        client.response(within=60)
    if framing == "length":
        came = 15 * MIB - (len(whole) - 20 * MIB)
        assert digest(bytes(client.reader.buffer)) == digest(body(20)[:came])
    else:
        assert not bytes(client.reader.buffer).endswith(b"0\r\n\r\n")
    expect_rest(server)


def test_a_server_that_falls_silent_is_let_go_and_the_client_cut_behind_what_came(serve, origin):
    script = Sender(framed(body(20), "length")[: 15 * MIB], then=lambda link: link.wait_end())
    server = start(serve, origin(script), response=True, upstream="response_timeout = 300ms")
    client = ask_big(server)
    script.wait()
    server.wait_log("no more of the answer within response_timeout")
    client.head(deadline_in(10))
    with pytest.raises(Closed):
        read_digest(client, 20 * MIB)
    expect_rest(server)


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "half"])
def test_a_client_that_leaves_leaves_nothing_behind(serve, origin, end, whole):
    reply = framed(body(20), "length")
    script = Sender(reply if whole else reply[: 10 * MIB], then=None if whole else lambda link: link.wait_end())
    server = start(serve, origin(script), response=True)
    count = count_descriptors(server)
    client = ask_big(server)
    script.wait()
    server.settle(lambda _: files(server))
    getattr(client, end)()
    expect_rest(server, connections=0, count=count)


def test_a_client_that_stops_reading_is_cut_and_its_file_freed(serve, origin):
    script = Sender(framed(body(20), "length"))
    server = start(serve, origin(script), response=True, listener="send_timeout = 300ms")
    client = ask_big(server)
    script.wait()
    expect_rest(server, connections=0)
    client.head(deadline_in(10))
    with pytest.raises((Closed, TooLate)):
        read_digest(client, 20 * MIB)


def test_an_answer_in_the_file_is_finished_when_the_server_drains(serve, origin):
    script = Sender(framed(body(20), "length"))
    server = start(serve, origin(script), response=True)
    client = ask_big(server)
    script.wait()
    server.send_signal(signal.SIGTERM)
    server.wait_log("shutting down")
    assert digest(client.response(within=60).body) == digest(body(20))
    assert server.wait() == 0


def test_an_answer_in_the_file_is_cut_with_the_server(serve, origin):
    script = Sender(framed(body(20), "length"))
    server = start(serve, origin(script), response=True, server="shutdown_timeout = 0s")
    ask_big(server)
    script.wait()
    server.settle(lambda _: files(server))
    server.stop()


# ---- failures of ours: the answer goes on as without buffering


def expect_backpressure(server, script, client, reason):
    server.wait_log(rf"route up: response_buffering: {server.spool}: {reason} \(request [0-9a-f]+\)")
    assert not script.sent.is_set()
    assert digest(client.response(within=60).body) == digest(body(20))
    assert server.log.count("response_buffering") == 1
    expect_rest(server)


def test_without_its_directory_an_answer_arrives_all_the_same(serve, origin):
    script = Sender(framed(body(20), "length"))
    server = start(serve, origin(script), response=True)
    server.spool.rmdir()
    expect_backpressure(server, script, ask_big(server), "No such file or directory")


def test_on_a_full_disk_an_answer_arrives_all_the_same(serve, origin, tmp_path):
    (tmp_path / "disk").mkdir()
    wrap, reason = small_disk(tmp_path / "disk", "1m")
    if not wrap:
        pytest.skip(reason)
    script = Sender(framed(body(20), "length"))
    server = start(serve, origin(script), response=True, wrap=wrap, spool=tmp_path / "disk")
    expect_backpressure(server, script, ask_big(server), "No space left on device")


def test_without_a_descriptor_an_answer_arrives_all_the_same(serve, origin):
    go_on = threading.Event()
    script = Sender(framed(body(20), "length"))

    def wait_first(link):
        link.request_head()
        assert go_on.wait(allow(10))
        link.send(script.reply)
        script.sent.set()
        link.wait_end()

    up = origin(wait_first)
    server = start(serve, up, response=True)
    client = ask_big(server)
    up.next_request()
    before = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (3, before[1]))
    go_on.set()
    server.wait_log("Too many open files")
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, before)
    expect_backpressure(server, script, client, "Too many open files")


def test_with_a_full_executor_an_answer_arrives_all_the_same(serve, origin):
    script = Sender(framed(body(20), "length"))
    server = start(serve, origin(script), response=True, server="executor_threads = 1\nexecutor_queue = 1", hold="3s")
    with server.connect() as first, server.connect() as second:
        first.send(request("GET", "/hold"))
        server.settle(lambda document: document["executor"]["active"] == 1)
        second.send(request("GET", "/hold"))
        server.settle(lambda document: document["executor"]["queued"] == 1)
        expect_backpressure(server, script, ask_big(server), "the executor is full")
        assert first.response().status == 200 and second.response().status == 200


def test_a_file_is_read_on_once_a_full_executor_has_time(serve, origin):
    script = Sender(framed(body(20), "length"))
    server = start(serve, origin(script), response=True, server="executor_threads = 1\nexecutor_queue = 1", hold="2s")
    client = ask_big(server)
    script.wait()
    server.settle(lambda document: document["loops"][0]["pending_tasks"] == 0)
    with server.connect() as first, server.connect() as second:
        first.send(request("GET", "/hold"))
        server.settle(lambda document: document["executor"]["active"] == 1)
        second.send(request("GET", "/hold"))
        server.settle(lambda document: document["executor"]["queued"] == 1)
        assert digest(client.response(within=60).body) == digest(body(20))
    expect_rest(server)


# ---- both ways at once


def test_many_clients_with_both_options_get_their_own_bytes(serve, origin):
    up = origin(answering(lambda taken: answer(200, taken.body)), backlog=512)
    server = start(serve, up, request=True, response=True, route="buffer_memory = 16k")
    faults = []

    def play(number):
        try:
            with server.connect(receive_buffer=32768) as client:
                for turn in range(3):
                    data = DATA[number * 1000 : number * 1000 + 20000] * (1 + (number * 7 + turn * 13) % 150)
                    fields = ["Transfer-Encoding: chunked"] if number % 2 else [f"Content-Length: {len(data)}"]
                    client.send(request("PUT", "/", *fields) + (chunked(data) if number % 2 else data), within=60)
                    assert digest(client.response(within=60).body) == digest(data)
        except AssertionError as fault:
            faults.append(fault)

    players = [threading.Thread(target=play, args=(number,)) for number in range(24)]
    for player in players:
        player.start()
    for player in players:
        player.join()
    if faults:
        raise faults[0]
    expect_rest(server, connections=0)
