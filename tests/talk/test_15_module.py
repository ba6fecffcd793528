"""Handlers from a .so file: the sample module answers at once, from a timer, from the executor and by a pulled body."""
import re
import time

import pytest

from talk import settings
from talk.client import chunked, request
from talk.server import run
from talk.settings import allow

CONF = """
[server]
loops = 2
[listener main]
bind = $bind
send_timeout = 60s
[route sample]
path = /m
handler = $module
greeting = hello
times = 3
delay = 100ms
[route plain]
path = /plain
handler = $module
[route ok]
path = = /ok
handler = respond
body = ok
[route health]
path = /healthz
handler = health
"""

MODULE = settings.BUILD / "tests/talk/module/sample.so"
DIGITS = b"0123456789"


@pytest.fixture(autouse=True, scope="module")
def built():
    if not MODULE.exists():
        pytest.fail(f"{MODULE} was not built: make check builds it")


@pytest.fixture
def server(serve):
    return serve(CONF, module=MODULE)


@pytest.fixture
def client(server):
    with server.connect() as client:
        yield client


def counts(server, route="/m"):
    """Exchanges that the route's handler began (this one included) and saw cancelled."""
    return tuple(map(int, re.fullmatch(rb"begun (\d+) cancelled (\d+)", server.get(f"{route}/counts").body).groups()))


def test_its_options_are_those_of_its_table(tmp_path):
    ini = tmp_path / "m.ini"
    good = f"[route m]\npath = /m\nhandler = {MODULE}\ngreeting = hi\n"
    ini.write_text(good)
    listed = run("-T", "-c", ini)
    assert listed.returncode == 0, listed.stderr
    for line in ("greeting = hi", "times = 1", "delay = 20ms"):
        assert re.search(rf"^{line}$", listed.stdout, re.M), line
    for wrong, words in (("greting = hi\n", ("greting", "greeting")), ("times = 101\n", ("times", "100")), ("delay = 5\n", ("delay",)),
                         ("greeting = forbidden\n", ("greeting", "what is forbidden"))):
        ini.write_text(good.replace("greeting = hi\n", wrong))
        done = run("-t", "-c", ini)
        assert done.returncode == 1 and re.search(rf"{re.escape(str(ini))}:4: \[route m\] ", done.stderr), done.stderr
        assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.parametrize("what", ["missing", "text", "relative"])
def test_what_is_no_module_is_a_fault_with_its_place(tmp_path, what):
    path = {"missing": tmp_path / "none.so", "text": tmp_path / "text.so", "relative": "sample.so"}[what]
    (tmp_path / "text.so").write_text("no object")
    ini = tmp_path / "m.ini"
    ini.write_text(f"[route m]\npath = /m\nhandler = {path}\n")
    done = run("-t", "-c", ini)
    assert done.returncode == 1 and f"{ini}:3: [route m] handler: " in done.stderr, done.stderr
    assert str(path) in done.stderr and len(done.stderr.splitlines()) == 1


def test_it_answers_at_once_with_its_settings(client):
    answer = client.get("/m")
    assert (answer.status, answer.body, answer["Content-Type"]) == (200, b"hellohellohello", "text/plain")
    assert answer["Server"] == "mlserve"
    assert client.get("/plain/").body == b"hello from a module"
    assert client.ask("HEAD", "/m").body == b""
    client.expect_open()


def test_it_answers_from_a_timer(client):
    start = time.monotonic()
    assert client.get("/m/later").body == b"later"
    assert 0.1 <= time.monotonic() - start <= 0.1 + allow(0.5)
    client.send(request("GET", "/m/later") + request("GET", "/ok") + request("GET", "/m/later"))
    assert [client.response().body for _ in range(3)] == [b"later", b"ok", b"later"]


def test_it_answers_from_the_executor(client):
    for _ in range(5):
        assert client.get("/m/executor").body == b"1000000"
    assert client.ask("HEAD", "/m/executor").status == 200


@pytest.mark.parametrize("length", [1, 10, 4095, 65536, 1_000_003, 20_000_001])
@pytest.mark.parametrize("kind", ["body", "chunked"])
def test_its_pulled_body_arrives_to_the_byte(client, kind, length):
    answer = client.get(f"/m/{kind}/{length}", within=30)
    assert answer.body == (DIGITS * (length // 10 + 1))[:length]
    assert answer.framing == ("length" if kind == "body" else "chunked")
    client.expect_open()


def test_a_pulled_body_for_a_slow_reader_arrives_to_the_byte(server):
    with server.connect(receive_buffer=8192) as client:
        client.send(request("GET", "/m/body/3000000"))
        for _ in range(5):
            time.sleep(0.05)
            client.reader.need(time.monotonic() + allow(10))
        assert client.response(within=30).body == DIGITS * 300000


@pytest.mark.parametrize("method", ["HEAD"])
def test_head_of_a_pulled_body_sends_nothing(client, method):
    for kind in ("body", "chunked"):
        client.ask(method, f"/m/{kind}/100000")
        client.expect_open()


def test_a_pulled_body_reaches_an_http_1_0_client(client):
    client.send(request("GET", "/m/chunked/100000", version="HTTP/1.0"))
    assert client.response().body == DIGITS * 10000


@pytest.mark.parametrize("size", [0, 1, 100, 70000, 3_000_000])
@pytest.mark.parametrize("as_chunks", [False, True], ids=["length", "chunked"])
def test_it_gets_the_request_body(client, size, as_chunks):
    body = bytes(i % 253 for i in range(size))
    if as_chunks:
        client.send_while_reading(request("POST", "/m/echo", "Transfer-Encoding: chunked") + (chunked(body) if size else chunked()))
    else:
        client.send_while_reading(request("POST", "/m/echo", body=body))
    answer = client.response()
    assert answer.body == body
    if answer.keeps_open:  # it begins to answer before the body ended, so the server may rather close
        client.expect_open()
    else:
        client.expect_end()


def test_methods_that_it_does_not_serve_are_405(client):
    answer = client.ask("DELETE", "/m")
    assert answer.status == 405 and {part.strip() for part in answer["Allow"].split(",")} == {"GET", "HEAD", "POST"}


def test_its_error_answers_are_the_servers_pages(client):
    answer = client.get("/m/none", "Accept: application/json")
    assert answer.status == 404 and answer.json()["status"] == 404


@pytest.mark.parametrize("target", ["/m/hang", "/m/body/1000000000", "/m/later", "/m/executor"])
def test_it_is_cancelled_once_when_the_client_leaves(server, target):
    stays = target in ("/m/hang", "/m/body/1000000000")
    with server.connect(receive_buffer=8192) as client:
        client.send(request("GET", target))
        if stays:  # beside the question for health itself; the others may be over before they are seen
            server.settle(lambda document: sum(loop["active_requests"] for loop in document["loops"]) == 2)
        client.reset()
    server.settle(lambda document: sum(loop["active_requests"] for loop in document["loops"]) == 1)
    cancelled = counts(server)[1]
    assert cancelled == 1 if stays else cancelled <= 1


def test_it_is_cancelled_when_the_server_ends(serve):
    server = serve(CONF.replace("loops = 2", "loops = 2\nshutdown_timeout = 300ms"), module=MODULE)
    with server.connect() as client:
        client.send(request("GET", "/m/hang"))
        server.settle(lambda document: sum(loop["active_requests"] for loop in document["loops"]) == 2)
        server.send_signal()
        data, _ = client.rest()
        assert data == b""
        assert server.wait() == 0
