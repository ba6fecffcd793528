"""Health checks and ejection: who is taken out of service, when, and how he comes back."""
import threading
import time

import pytest

from talk.client import Client, Closed, request
from talk.groups import conf
from talk.ports import free_port
from talk.settings import allow
from talk.upstream import Upstream, answer, answering


class Checked:
    """A server whose checks are answered as the test says, one after the other; the last one goes on."""

    def __init__(self, *moods, body=b"up"):
        self.moods, self.body = list(moods), body
        self.lock, self.count, self.begun = threading.Condition(), 0, []

    def __call__(self, link):
        try:
            while True:
                taken = link.request(within=60)
                if taken.target != "/check":
                    link.send(answer(200, self.body))
                    continue
                with self.lock:
                    mood = self.moods.pop(0) if len(self.moods) > 1 else self.moods[0]
                    self.count += 1
                    self.begun.append(time.monotonic())
                    self.lock.notify_all()
                getattr(self, mood)(link)
        except (Closed, OSError):
            pass

    def ok(self, link):
        link.send(answer(200, b"fine"))

    def moved(self, link):
        link.send(answer(301, b""))

    def bad(self, link):
        link.send(answer(503, b"no"))

    def silent(self, link):
        link.wait_end()

    def half(self, link):
        link.send(b"HTTP/1.1 200 OK\r\nContent-Le")
        link.close()

    def reset(self, link):
        link.reset()

    def endless(self, link):
        link.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        try:
            while True:
                link.send(b"x" * 65536)
        except OSError:
            pass

    def interim(self, link):
        link.send(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 3)
        self.ok(link)

    def await_checks(self, count, within=20):
        with self.lock:
            assert self.lock.wait_for(lambda: self.count >= count, allow(within)), self.count

    def change(self, *moods):
        with self.lock:
            self.moods = list(moods)


CHECKS = ("health_path = /check", "health_interval = 50ms", "health_timeout = 1s", "health_rise = 2", "health_fall = 3")


def states(server):
    return [up["state"] for up in server.health()["upstreams"]["app"]]


def settle_states(server, *wanted):
    server.settle(lambda d: [up["state"] for up in d["upstreams"]["app"]] == list(wanted), within=20)


@pytest.mark.case("HLB-03")
def test_a_server_goes_down_after_fall_misses_and_up_after_rise_passes(serve, origin):
    checked, other = Checked("ok"), Checked("ok", body=b"other")
    up, second = origin(checked), origin(other)
    server = serve(conf(f"server = {up}", f"server = {second}", *CHECKS))
    checked.await_checks(2)
    assert states(server) == ["up", "up"]
    checked.change("bad")
    settle_states(server, "down", "up")
    with server.connect() as client:
        assert {client.get("/").body for _ in range(8)} == {b"other"}
    assert server.health()["status"] == "degraded"
    checked.change("ok")
    settle_states(server, "up", "up")
    assert len(server.wait_log("server .*: down: failed 3 health checks in a row, the last: answered with status 503")[0])
    server.wait_log("server .*: up: passed 2 health checks in a row")
    assert server.log.count(": down: ") == 1 and server.log.count(": up: passed") == 1


@pytest.mark.case("HLB-03")
def test_checks_that_fail_now_and_then_change_nothing(serve, origin):
    checked = Checked("ok", "bad", "ok", "silent", "ok", "bad", "bad", "ok", "reset", "half", "ok")
    up = origin(checked)
    server = serve(conf(f"server = {up}", *CHECKS[:2], "health_timeout = 100ms", *CHECKS[3:]))
    checked.await_checks(14)
    assert states(server) == ["up"]
    assert ": down: " not in server.log


@pytest.mark.case("HLB-03")
@pytest.mark.parametrize("mood", ["ok", "moved", "endless", "interim"])
def test_what_passes_a_check(serve, origin, mood):
    checked = Checked(mood)
    up = origin(checked)
    server = serve(conf(f"server = {up}", *CHECKS[:4], "health_fall = 1"))
    checked.await_checks(4)
    assert states(server) == ["up"]


@pytest.mark.case("HLB-03")
@pytest.mark.parametrize("mood, why", [
    ("bad", "answered with status 503"), ("half", "closed within the answer's head"), ("reset", "reset by peer"),
    ("silent", "no answer within health_timeout")])
def test_what_fails_a_check(serve, origin, mood, why):
    checked = Checked(mood)
    up = origin(checked)
    server = serve(conf(f"server = {up}", *CHECKS[:2], "health_timeout = 200ms", "health_fall = 1"))
    server.wait_log(f": down: failed 1 health check in a row, the last: .*{why}")
    with server.connect() as client:
        assert client.get("/").status == 503


@pytest.mark.case("HLB-03")
def test_a_check_never_exceeds_its_timeout_nor_overlaps_the_next(serve, origin):
    checked = Checked("silent")
    up = origin(checked)
    server = serve(conf(f"server = {up}", "health_path = /check", "health_interval = 20ms", "health_timeout = 100ms"))
    checked.await_checks(6)
    # An interval of 20 ms does not shorten a check that takes its 100 ms.
    assert checked.begun[5] - checked.begun[0] >= 0.45, checked.begun
    settle_states(server, "down")


def test_all_down_is_503_at_once_and_the_first_that_recovers_serves_within_an_interval(serve, origin):
    checked = [Checked("bad"), Checked("bad")]
    ups = [origin(each) for each in checked]
    server = serve(conf(*(f"server = {up}" for up in ups), *CHECKS, "connect_timeout = 1h", "response_timeout = 1h"))
    settle_states(server, "down", "down")
    with server.connect() as client:
        refused = client.get("/")
        assert refused.status == 503 and refused["Retry-After"]
        checked[1].change("ok")
        # One pass is enough when nobody else is up.
        server.wait_log(r": up: passed 1 health check in a row")
        assert client.get("/").body == b"up"


def test_a_check_of_a_port_where_nobody_listens_fails_and_the_server_comes_back(serve):
    port = free_port()
    server = serve(conf(f"server = 127.0.0.1:{port}", *CHECKS))
    server.wait_log(": down: .*Connection refused")
    up = Upstream(Checked("ok"), port=port)
    try:
        settle_states(server, "up")
        assert server.get("/").status == 200
    finally:
        up.close()


def test_checks_are_no_requests_in_the_figures(serve, origin):
    checked = Checked("ok")
    up = origin(checked)
    server = serve(conf(f"server = {up}", *CHECKS))
    checked.await_checks(4)
    figures = server.health()["upstreams"]["app"][0]
    assert (figures["requests"], figures["active"], figures["idle"]) == (0, 0, 0)


# ---- ejection


def moody(mood):
    """Answers while mood[0] is true, else breaks off."""

    def script(link):
        while True:
            try:
                link.request(within=60)
            except Closed:
                return
            if not mood[0]:
                return link.reset()
            link.send(answer(200, b"fine"))

    return script


def test_failures_in_a_row_eject_a_server_and_a_success_between_does_not_count(serve, origin):
    """Two servers in strict turns, both at the same origin."""
    mood = [False]
    up = origin(moody(mood))
    server = serve(conf(f"server = {up}", f"server = {up}", "balance = round-robin", "eject_errors = 3", "eject_time = 1h",
                        "retries = 0"))
    with server.connect() as client:
        for _ in range(4):
            assert [client.get("/").status for _ in range(4)] == [502] * 4
            mood[0] = True
            assert [client.get("/").status for _ in range(2)] == [200] * 2
            mood[0] = False
        assert "ejected" not in server.log
        assert [client.get("/").status for _ in range(6)] == [502] * 6
        server.wait_log("server .*: ejected for 3600000 ms after 3 failures in a row")
        # One may try; the others hear at once.
        statuses = [client.get("/").status for _ in range(6)]
        assert statuses.count(503) >= 5, statuses
    assert states(server) == ["down", "down"]


def test_the_only_server_is_never_ejected(serve, origin):
    up = origin(moody([False]))
    for more in ((), (f"server = {up} drain",)):
        server = serve(conf(f"server = {up}", *more, "eject_errors = 2", "retries = 0"))
        with server.connect() as client:
            assert [client.get("/").status for _ in range(12)] == [502] * 12
        assert "ejected" not in server.log


def test_eject_errors_0_never_ejects(serve, origin):
    up = origin(moody([False]))
    server = serve(conf(f"server = {up}", f"server = {up}", "eject_errors = 0", "retries = 0"))
    with server.connect() as client:
        assert [client.get("/").status for _ in range(12)] == [502] * 12


def test_an_ejected_server_comes_back_after_eject_time(serve, origin):
    mood = [False]
    up, other = origin(moody(mood)), origin(answering(lambda taken: answer(200, b"other")))
    server = serve(conf(f"server = {up}", f"server = {other}", "eject_errors = 1", "eject_time = 200ms"))
    with server.connect() as client:
        while "ejected for 200 ms" not in server.log:
            assert client.get("/").body == b"other"
        mood[0] = True
        deadline = time.monotonic() + allow(10)
        while client.get("/").body != b"fine":
            assert time.monotonic() < deadline
        server.wait_log("answers again, and is no longer ejected")
        assert {client.get("/").body for _ in range(8)} == {b"fine", b"other"}


def test_with_all_ejected_a_request_a_second_finds_the_first_that_recovers(serve, origin):
    mood = [False]
    up = origin(moody(mood))
    server = serve(conf(f"server = {up}", f"server = {up}", "balance = round-robin", "eject_errors = 1", "eject_time = 1h",
                        "retries = 0"))
    with server.connect() as client:
        assert [client.get("/").status for _ in range(2)] == [502] * 2
        mood[0] = True
        begun = time.monotonic()
        while (status := client.get("/").status) != 200:
            assert status == 503
            assert time.monotonic() - begun < allow(5)
        assert client.get("/").status == 200
    server.wait_log("no longer ejected")


def test_answers_with_errors_of_the_application_eject_nobody(serve, origin):
    up = origin(answering(lambda taken: answer(500, b"")))
    server = serve(conf(f"server = {up}", f"server = {up}", "eject_errors = 2"))
    with server.connect() as client:
        assert [client.get("/").status for _ in range(8)] == [500] * 8
    assert states(server) == ["up", "up"]


def test_clients_that_leave_eject_nobody(serve, origin):
    def slow(link):
        link.request()
        link.wait_end()

    up = origin(slow)
    server = serve(conf(f"server = {up}", f"server = {up}", "eject_errors = 2"))
    for _ in range(6):
        client = server.connect()
        client.send(request("GET", "/"))
        up.next_request()
        client.reset()
    server.settle(lambda d: sum(up["active"] for up in d["upstreams"]["app"]) == 0)
    assert states(server) == ["up", "up"]


def test_a_killed_and_restarted_server_costs_only_what_it_had_begun(serve):
    """Requests under load while one of two servers dies and comes back: only those in progress there may fail."""
    ports = [free_port(), free_port()]
    ups = [Upstream(answering(lambda taken: answer(200, b"x"), may_be_cut=True), port=port) for port in ports]
    server = serve(conf(*(f"server = 127.0.0.1:{port}" for port in ports), "eject_time = 200ms"))
    stop, statuses = threading.Event(), []

    def work():
        with Client(("127.0.0.1", server.port)) as client:
            while not stop.is_set():
                statuses.append(client.get("/").status)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            seen = len(ups[0].requests)
            deadline = time.monotonic() + allow(10)
            while len(ups[0].requests) < seen + 20 and time.monotonic() < deadline:
                time.sleep(0.005)
            ups[0].close()
            server.settle(lambda d: d["upstreams"]["app"][0]["state"] == "down")
            ups[0] = Upstream(answering(lambda taken: answer(200, b"x"), may_be_cut=True), port=ports[0])
            server.settle(lambda d: d["upstreams"]["app"][0]["state"] == "up")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        for up in ups:
            up.close()
    # GETs are repeated elsewhere, so not even those fail.
    assert len(statuses) > 60 and set(statuses) == {200}, set(statuses)
