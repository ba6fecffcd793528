"""The end: what is in flight finishes, what is idle closes at once, what takes too long is cut and counted."""
import os
import re
import resource
import select
import signal
import threading
import time

import pytest

from talk.client import Client, request
from talk.config import config
from talk.ports import free_port
from talk.server import run
from talk.settings import SLOW, allow
from talk.upstream import answer

CONF = config("ok", "wait", "files", "up", "health", server=("loops = $loops", "$server"),
              listener=("keepalive_timeout = 300s", "header_timeout = 300s", "$listener"), delay="$delay")


@pytest.fixture
def make(serve):
    def start(loops=2, server="", listener="", delay="500ms", up="127.0.0.1:1", **more):
        return serve(CONF, loops=loops, server=server, listener=listener, delay=delay, up=up, **more)

    return start


def in_flight(server, count=1, target="/wait"):
    """Clients whose requests are being worked on."""
    clients = [server.connect() for _ in range(count)]
    for client in clients:
        client.send(request("GET", target))
    server.settle(lambda document: sum(loop["active_requests"] for loop in document["loops"]) == count + 1)
    return clients


def ends(server, within=20):
    """Seconds until it ended by itself with exit code 0."""
    start = time.monotonic()
    assert server.wait(within) == 0, server.log[-2000:]
    return time.monotonic() - start


# ---- graceful


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT], ids=lambda number: number.name)
def test_a_signal_ends_it_with_exit_code_0(make, number):
    server = make()
    assert server.get("/ok").body == b"ok"
    server.send_signal(number)
    assert ends(server) < allow(1)
    with pytest.raises(OSError):
        server.connect()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT], ids=lambda number: number.name)
def test_requests_in_flight_finish_and_say_close(make, number):
    server = make(loops=3)
    clients = in_flight(server, 9)
    server.send_signal(number)
    for client in clients:
        answered = client.response()
        assert answered.status == 200 and len(answered.body) == 8 and not answered.keeps_open
        client.expect_end()
    ends(server)


def test_pipelined_requests_behind_the_one_in_flight_are_answered_or_not_begun(make):
    server = make(loops=1)
    client = in_flight(server)[0]
    client.send(request("GET", "/ok"))
    server.send_signal()
    first = client.response()
    assert first.status == 200
    if first.keeps_open:
        second = client.response()
        assert second.body == b"ok" and not second.keeps_open
    client.expect_end()
    ends(server)


@pytest.mark.case("RLD-08")
def test_idle_connections_close_at_once_by_fin(make):
    server = make(loops=4)
    clients = [server.connect() for _ in range(100)]
    for client in clients[:90]:
        client.expect_open()
    server.settle(lambda document: sum(loop["connections"] for loop in document["loops"]) == 101)
    server.send_signal()
    for client in clients:
        client.expect_end(within=1)
    assert ends(server) < allow(1)


def test_a_half_sent_head_does_not_hold_up_the_end(make):
    server = make(server="shutdown_timeout = 2s")
    with server.connect() as client:
        client.send(b"GET /ok HTTP/1.1\r\nHost: t.te")
        server.settle(lambda document: sum(loop["connections"] for loop in document["loops"]) == 2)
        server.send_signal()
        assert ends(server) < allow(3)


def test_connections_in_the_backlog_are_answered(make):
    """What the kernel has queued when TERM comes is accepted and answered."""
    server = make()
    os.kill(server.pid, signal.SIGSTOP)
    clients = [Client(("127.0.0.1", server.port)) for _ in range(50)]
    for client in clients:
        client.send(request("GET", "/ok"))
    server.send_signal()
    os.kill(server.pid, signal.SIGCONT)
    for client in clients:
        assert client.response().body == b"ok"
        client.close()
    ends(server)


def test_nothing_is_lost_under_load(make):
    """Every request that was sent is answered whole, or its connection ended before a byte of an answer."""
    server = make(loops=4)
    faults, answered = [], []

    def keep_asking():
        while True:
            try:
                client = Client(("127.0.0.1", server.port))
            except OSError:
                return
            try:
                with client:
                    for _ in range(10):
                        client.send(request("GET", "/ok"))
                        one = client.response()
                        assert one.body == b"ok"
                        answered.append(1)
                        if not one.keeps_open:
                            break
            except OSError:
                return
            except AssertionError as fault:
                if getattr(fault, "got", None) != b"" or getattr(fault, "how", "") == "RST":
                    faults.append(fault)
                return

    threads = [threading.Thread(target=keep_asking) for _ in range(8)]
    for thread in threads:
        thread.start()
    server.settle(lambda document: sum(loop["requests"] for loop in document["loops"]) > 500)
    server.send_signal()
    for thread in threads:
        thread.join(allow(20))
    ends(server)
    assert faults == [] and len(answered) > 500


@pytest.mark.case("RLD-03")
def test_a_stream_and_an_upload_finish_to_the_byte(make, origin):
    go_on = threading.Event()

    def script(link):
        taken = link.request_head()
        if taken.method == "POST":
            link.read_body(taken)
            return link.send(answer(200, b"%d" % len(taken.body)))
        link.send(answer(200, b"", "Transfer-Encoding: chunked", length=False) + b"5\r\nfirst\r\n")
        assert go_on.wait(allow(10))
        link.send(b"5\r\nlater\r\n0\r\n\r\n")
        return None

    server = make(up=origin(script), listener="max_body_size = 64m")
    size = 16 << 20
    with server.connect() as stream, server.connect() as upload:
        stream.send(request("GET", "/up"))
        upload.send(request("POST", "/up", f"Content-Length: {size}") + b"u" * 100)
        stream.head(time.monotonic() + allow(10))
        server.settle(lambda document: document["upstreams"]["app"][0]["active"] == 2)
        server.send_signal()
        server.notify.wait("STOPPING", "1")
        upload.send(b"u" * (size - 100))
        go_on.set()
        data, _, _ = stream.reader.chunked(time.monotonic() + allow(10))
        assert data == b"firstlater"
        assert upload.response().body == b"%d" % size
    ends(server)


def test_a_slow_download_finishes(make):
    server = make()
    body = bytes(range(256)) * (32 << 12)
    (server.dir / "big").write_bytes(body)
    with server.connect(receive_buffer=65536) as client:
        client.send(request("GET", "/files/big"))
        client.reader.need(time.monotonic() + allow(10))
        server.send_signal()
        server.notify.wait("STOPPING", "1")
        assert client.response(within=30).body == body
        client.expect_end()
    ends(server)


# ---- not ready, then closed


def test_drain_delay_keeps_serving_but_says_not_ready(make):
    server = make(server="drain_delay = 1s")
    client = server.connect()
    client.expect_open()
    start = time.monotonic()
    server.send_signal()
    server.notify.wait("STOPPING", "1")
    ready = client.get("/healthz/ready")
    assert ready.status == 503
    document = server.get("/healthz")
    assert document.status == 503 and document.json()["loops"][0]["state"] in ("running", "draining")
    assert server.get("/healthz/live").status == 200
    assert server.get("/ok").body == b"ok"
    ends(server)
    assert 0.9 <= time.monotonic() - start <= 1 + allow(1.5)


# ---- cut


def test_shutdown_timeout_cuts_and_counts(make):
    server = make(server="shutdown_timeout = 1s", delay="1h")
    clients = in_flight(server, 3)
    start = time.monotonic()
    server.send_signal()
    for client in clients:
        data, _ = client.rest()
        assert data == b"" or data.startswith(b"HTTP/1.1 503 ")
    ends(server)
    assert 0.9 <= time.monotonic() - start <= 1 + allow(1.5)
    assert re.search(r"\b3\b.*\bcut\b|\bcut\b.*\b3\b", server.log), server.log[-2000:]


def test_shutdown_timeout_0_cuts_at_once(make):
    server = make(server="shutdown_timeout = 0", delay="1h")
    clients = in_flight(server, 2)
    server.send_signal()
    assert ends(server) < allow(1)
    for client in clients:
        data, _ = client.rest()
        assert data == b"" or data.startswith(b"HTTP/1.1 503 ")


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT], ids=lambda number: number.name)
def test_a_second_signal_cuts_at_once(make, second):
    server = make(server="shutdown_timeout = 60s", delay="1h")
    in_flight(server, 2)
    server.send_signal(signal.SIGTERM)
    server.notify.wait("STOPPING", "1")
    assert not select.select([server.pidfd], [], [], 0.3)[0], "the first signal must wait for what is in flight"
    server.send_signal(second)
    assert ends(server) < allow(1)
    assert re.search(r"\b2\b.*\bcut\b|\bcut\b.*\b2\b", server.log), server.log[-2000:]


def test_a_second_signal_ends_the_drain_delay_too(make):
    server = make(server="drain_delay = 60s", delay="1h")
    server.send_signal()
    server.notify.wait("STOPPING", "1")
    server.send_signal()
    assert ends(server) < allow(1)


@pytest.mark.parametrize("signals", [1, 2])
def test_a_loop_that_is_stuck_at_the_end_does_not_hold_it_for_ever(serve, signals):
    text = CONF.replace("io_delay = $delay", "io_delay = 0ms\nblock = 30s")
    timeout = "500ms" if signals == 1 else "60s"
    server = serve(text, loops=2, server=f"shutdown_timeout = {timeout}", listener="", delay="0", up="127.0.0.1:1")
    client = server.connect()
    client.send(request("GET", "/wait"))
    server.settle(lambda document: any(loop["state"] == "stalled" for loop in document["loops"]))
    for _ in range(signals):
        server.send_signal()
        server.notify.wait("STOPPING", "1")
    assert ends(server) < (0.5 + 2 if signals == 1 else 0.5) + allow(1)
    assert re.search(r"loop \d: 0 requests finished, 1 cut,.*still stuck in a handler", server.log), server.log[-2000:]
    assert re.search(r"closed: 2 loops: \d+ requests finished, 1 cut,", server.log), server.log[-2000:]


# ---- the report


def test_one_closing_report_says_what_each_loop_did(make):
    server = make(loops=2)
    for _ in range(6):
        server.get("/ok")
    clients = in_flight(server, 2)
    server.send_signal()
    for client in clients:
        client.response()
    ends(server)
    tail = server.log[server.log.rindex("listening on"):]
    assert len(re.findall(r"\bcut\b", tail)) >= 1
    for loop in range(2):
        assert re.search(rf"loop {loop}\b", tail), tail
    assert sum(map(int, re.findall(r"loop \d+\D*?(\d+)[^,;]*(?:requests|finished|served)", tail))) >= 2, tail


@pytest.mark.parametrize("limit", [24, 32, 40])
def test_loops_that_never_start_are_stopped_and_reported_or_the_start_is_refused(serve, limit):
    """Few descriptors for many loops."""
    server = serve(CONF, start=False, loops=40, server="", listener="", delay="1ms", up="127.0.0.1:1",
                   preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    server.spawn()
    if server.notify.wait("READY", "1", 20, server.pidfd) is None:
        assert server.wait() == 3
        assert re.search(r"descriptor|Too many open files", server.log)
        return
    document = server.health()
    stopped = [loop for loop in document["loops"] if loop["state"] == "stopped"]
    assert stopped and document["loops_running"] == 40 - len(stopped) and document["status"] == "degraded"
    assert server.get("/ok").body == b"ok"
    server.send_signal()
    ends(server)
    assert re.search(r"loop \d+.*Too many open files", server.log)


# ---- signals at any moment


@pytest.mark.case("RLD-05")
def test_term_at_any_moment_of_the_start_ends_with_exit_code_0(make):
    """A process that has not got as far as to block or catch TERM cannot but die of it; from then on it is exit 0."""
    for milliseconds in range(0, 50, 2 if SLOW <= 1 else 10):
        server = make(start=False)
        server.spawn()
        select.select([server.pidfd], [], [], milliseconds / 1000)  # the moment is the subject
        prepared = is_prepared_for(server.pid, signal.SIGTERM)
        server.send_signal()
        code = server.wait()
        assert code == 0 or (not prepared and code == -signal.SIGTERM), (milliseconds, code, server.log)
    server = make()
    assert is_prepared_for(server.pid, signal.SIGTERM)


def is_prepared_for(pid, number):
    """Whether some thread of it blocks or catches the signal."""
    with open(f"/proc/{pid}/status") as status:
        masks = dict(line.split(":\t") for line in status if line.startswith(("SigBlk", "SigCgt")))
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks.values())


@pytest.mark.case("RLD-05")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1, signal.SIGPIPE], ids=lambda number: number.name)
def test_other_signals_never_end_it(make, number):
    server = make()
    for _ in range(20):
        server.send_signal(number)
    for _ in range(5):
        assert server.get("/ok").body == b"ok"
    server.send_signal(signal.SIGTERM)
    server.send_signal(number)
    ends(server)


@pytest.mark.case("RLD-05")
def test_hup_after_term_does_not_restart(make):
    server = make(delay="500ms")
    clients = in_flight(server)
    server.send_signal()
    server.notify.wait("STOPPING", "1")
    server.send_signal(signal.SIGHUP)
    assert clients[0].response().status == 200
    ends(server)


# ---- what is left behind


def test_a_stopped_listener_can_be_bound_again_at_once(make):
    port = free_port()
    for _ in range(3):
        server = make(port=port)
        server.get("/ok")
        server.stop()


@pytest.mark.case("RLD-06")
def test_a_stale_unix_socket_is_replaced_and_removed_at_the_end(make, tmp_path):
    path = tmp_path / "s.sock"
    first = make(listener=f"bind = unix:{path}")
    first.kill()
    assert path.exists()
    second = make(listener=f"bind = unix:{path}")
    assert second.get("/ok", address=str(path)).body == b"ok"
    second.stop()
    assert not path.exists()


@pytest.mark.case("RLD-06")
def test_a_unix_socket_that_is_answered_is_left_alone(make, tmp_path):
    path = tmp_path / "s.sock"
    first = make(listener=f"bind = unix:{path}")
    second = make(listener=f"bind = unix:{path}", start=False)
    second.spawn()
    assert second.wait() == 3
    assert str(path) in second.log
    assert first.get("/ok", address=str(path)).body == b"ok"


@pytest.mark.case("RLD-06")
def test_a_regular_file_at_the_socket_path_is_not_deleted(make, tmp_path):
    path = tmp_path / "s.sock"
    path.write_text("precious")
    server = make(listener=f"bind = unix:{path}", start=False)
    server.spawn()
    assert server.wait() == 3
    assert str(path) in server.log and path.read_text() == "precious"


@pytest.mark.case("RLD-06")
def test_a_pid_file_names_us_and_goes_with_us(make, tmp_path):
    path = tmp_path / "m.pid"
    server = make(server=f"pid_file = {path}")
    assert path.read_text() == f"{server.pid}\n"
    server.stop()
    assert not path.exists()


@pytest.mark.case("RLD-06")
def test_a_stale_pid_file_even_of_a_living_stranger_is_taken_over(make, tmp_path):
    path = tmp_path / "m.pid"
    path.write_text(f"{os.getpid()}\n")
    server = make(server=f"pid_file = {path}")
    assert path.read_text() == f"{server.pid}\n"
    server.kill()
    again = make(server=f"pid_file = {path}")
    assert path.read_text() == f"{again.pid}\n"


@pytest.mark.case("RLD-06")
def test_a_second_instance_refuses_and_leaves_the_first_ones_files_alone(make, tmp_path):
    path = tmp_path / "m.pid"
    first = make(server=f"pid_file = {path}")
    second = make(server=f"pid_file = {path}", start=False)
    second.spawn()
    assert second.wait() == 3
    assert str(path) in second.log
    assert path.read_text() == f"{first.pid}\n"
    assert first.get("/ok").body == b"ok"


def test_s_stop_ends_the_running_instance(make, tmp_path):
    path = tmp_path / "m.pid"
    server = make(server=f"pid_file = {path}")
    done = run("-c", server.ini, "-s", "stop")
    assert done.returncode == 0, done.stderr
    ends(server)


def test_a_pid_file_that_cannot_be_written_is_named(make, tmp_path):
    server = make(server=f"pid_file = {tmp_path}/none/m.pid", start=False)
    server.spawn()
    assert server.wait() in (1, 3)
    assert f"{tmp_path}/none/m.pid" in server.log


def test_sockets_of_upstreams_end_with_us(make, origin):
    up = origin()
    server = make(up=up)
    assert server.get("/up").status == 200
    server.send_signal()
    ends(server)
    assert up.links[0].ended.wait(allow(5))
