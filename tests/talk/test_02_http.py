"""HTTP/1.1 and 1.0 as any client sees them: methods, versions, pipelining, dates, error pages, limits."""
import email.utils
import re
import time

import pytest

from talk.client import request

CONF = """
[server]
loops = 2
[listener main]
bind = $bind
max_header_size = 32k
max_headers = 100
max_body_size = 64k
[route ok]
path = = /ok
handler = respond
body = ok
[route created]
path = = /created
handler = respond
status = 201
content_type = application/json
body = {"made":true}
[route none]
path = = /none
handler = respond
status = 204
[route old]
path = /old/
handler = redirect
to = /new/
[route moved]
path = /moved
handler = redirect
to = http://other.test/x
status = 301
[route files]
path = /files/
handler = static
root = $dir
[route health]
path = /healthz
handler = health
"""


@pytest.fixture(scope="module")
def server(serve_module):
    server = serve_module(CONF, start=False)
    (server.dir / "a.txt").write_text("text")
    return server.start()


@pytest.fixture
def client(server):
    with server.connect() as client:
        yield client


# ---- plain requests


def test_get_answers_with_server_date_type_and_length(client):
    before = time.time()
    answer = client.get("/ok")
    assert (answer.line, answer.body) == ("HTTP/1.1 200 OK", b"ok")
    assert answer["Server"] == "mlserve"
    assert answer["Content-Length"] == "2"
    assert answer["Content-Type"].startswith("text/plain")
    date = email.utils.parsedate_to_datetime(answer["Date"]).timestamp()
    assert before - 2 <= date <= time.time() + 1


def test_the_date_moves_on(client):
    first = client.get("/ok")["Date"]
    time.sleep(1.2)
    second = client.get("/ok")["Date"]
    passed = email.utils.parsedate_to_datetime(second) - email.utils.parsedate_to_datetime(first)
    assert 1 <= passed.total_seconds() <= 3


def test_head_has_the_fields_of_get_and_no_body(client):
    got, head = client.get("/ok"), client.ask("HEAD", "/ok")
    assert head.status == 200
    for name in ("Content-Length", "Content-Type", "Server"):
        assert head[name] == got[name]
    client.expect_open()


@pytest.mark.case("BDY-05")
@pytest.mark.parametrize("path", ["/nope", "/created", "/none", "/old/x", "/files/none", "/files/a.txt", "/healthz"])
def test_head_is_followed_by_the_next_answer_at_once(client, path):
    client.send(request("HEAD", path) + request("GET", "/ok"))
    client.response("HEAD")
    assert client.response().body == b"ok"


def test_respond_gives_status_type_and_body(client):
    answer = client.get("/created")
    assert (answer.status, answer["Content-Type"], answer.body) == (201, "application/json", b'{"made":true}')


@pytest.mark.case("BDY-05")
def test_204_has_neither_body_nor_framing(client):
    client.send(request("GET", "/none") + request("GET", "/ok"))
    answer = client.response()
    assert answer.status == 204 and "Content-Length" not in answer.fields and "Transfer-Encoding" not in answer.fields
    assert client.response().body == b"ok"


def test_redirect_appends_the_rest_and_the_query(client):
    answer = client.get("/old/a/b?x=1&y")
    assert (answer.status, answer["Location"]) == (308, "/new/a/b?x=1&y")


def test_redirect_to_another_host_keeps_its_status(client):
    answer = client.get("/moved")
    assert answer.status == 301 and answer["Location"] == "http://other.test/x"


def test_a_redirect_cannot_be_split_by_escapes(client):
    answer = client.get("/old/%0d%0aX-Bad:%201")
    assert answer.status in (308, 400) and "X-Bad" not in answer.fields


# ---- methods


def test_a_known_method_that_a_route_does_not_serve_is_405_with_allow(client):
    answer = client.ask("DELETE", "/healthz")
    assert answer.status == 405
    assert {part.strip() for part in answer["Allow"].split(",")} >= {"GET", "HEAD"}
    assert "DELETE" not in answer["Allow"]
    client.expect_open()


@pytest.mark.parametrize("method", ["TRACE", "CONNECT"])
def test_trace_and_connect_are_405(server, method):
    with server.connect() as client:
        target = "t.test:443" if method == "CONNECT" else "/ok"
        answer = client.ask(method, target, host="t.test:443" if method == "CONNECT" else "t.test")
        assert answer.status == 405, answer
        assert "Allow" in answer.fields


@pytest.mark.parametrize("target, allowed", [("/healthz", {"GET", "HEAD"}), ("/healthz/../ok?x", None), ("/nowhere-at-all", None)])
def test_trace_allows_what_the_route_serves(server, target, allowed):
    with server.connect() as client:
        answer = client.ask("TRACE", target)
        assert answer.status == 405, answer
        told = {part.strip() for part in answer["Allow"].split(",")}
        assert told == (allowed or {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
        assert client.get("/ok").status == 200


@pytest.mark.parametrize("method", ["FLY", "get", "GETT", "G", "M-SEARCHX"])
def test_an_unknown_method_is_501(server, method):
    with server.connect() as client:
        assert client.ask(method, "/ok").status == 501


@pytest.mark.parametrize("method", ["G(ET", "GE\x01T", "G\xc9T", "\"GET\"", "GET,"])
def test_a_malformed_method_is_400(server, method):
    with server.connect() as client:
        client.send(request(method, "/ok"))
        client.refused_with(400)


@pytest.mark.case("TGT-03")
def test_options_star_is_answered_by_the_server(client):
    answer = client.ask("OPTIONS", "*")
    assert answer.status in (200, 204)
    client.expect_open()


@pytest.mark.case("TGT-03")
def test_star_for_another_method_is_400(client):
    client.send(request("GET", "*"))
    client.refused_with(400)


# ---- versions and connection


def test_http_1_0_closes_after_the_answer(client):
    client.send(request("GET", "/ok", version="HTTP/1.0"))
    answer = client.response()
    assert answer.status == 200 and answer.body == b"ok" and not answer.keeps_open
    client.expect_end()


def test_http_1_0_needs_no_host(client):
    client.send(request("GET", "/ok", version="HTTP/1.0", host=None))
    assert client.response().body == b"ok"


def test_http_1_0_keep_alive_is_confirmed_and_kept(client):
    for _ in range(3):
        client.send(request("GET", "/ok", "Connection: keep-alive", version="HTTP/1.0"))
        answer = client.response()
        assert answer.body == b"ok" and answer["Connection"].lower() == "keep-alive"


@pytest.mark.parametrize("value", ["close", "Close", "foo, close", "close,", "keep-alive, close"])
def test_connection_close_is_honoured_and_said(client, value):
    client.send(request("GET", "/ok", f"Connection: {value}"))
    answer = client.response()
    assert answer.body == b"ok" and not answer.keeps_open
    client.expect_end()


def test_bytes_after_a_request_with_close_are_not_answered(client):
    client.send(request("GET", "/ok", "Connection: close") + request("GET", "/created"))
    assert client.response().body == b"ok"
    client.expect_end()


@pytest.mark.parametrize("version, status", [("HTTP/2.0", 505), ("HTTP/3.0", 505), ("HTTP/0.9", 505)])
def test_other_major_versions_are_505(client, version, status):
    client.send(request("GET", "/ok", version=version))
    client.refused_with(status, 400)


def test_a_later_minor_version_is_served_as_1_1(client):
    client.send(request("GET", "/ok", version="HTTP/1.2"))
    answer = client.response()
    assert answer.status in (200, 505)
    assert answer.line.startswith("HTTP/1.1 ")


@pytest.mark.parametrize("version", ["HTTP/1.1 ", "HTTP/11", "http/1.1", "HTTP/1.1.1", "HTTP/1,1", "HTTP/ 1.1", "FTP/1.1"])
def test_a_malformed_version_is_refused(client, version):
    client.send(request("GET", "/ok", version=version))
    client.refused_with(400, 505)


@pytest.mark.parametrize("count", [2, 10, 500])
def test_pipelined_requests_are_answered_in_order(client, count):
    paths = ["/ok", "/created", "/none", "/nope"]
    client.send(b"".join(request("GET", paths[i % 4]) for i in range(count)))
    for i in range(count):
        assert client.response().status == (200, 201, 204, 404)[i % 4]


def test_every_split_of_two_requests_gives_the_same_answers(server):
    data = request("GET", "/ok", "X-A: b") + request("HEAD", "/created")
    with server.connect() as client:
        for at in range(1, len(data)):
            client.send(data[:at]).send(data[at:])
            assert client.response().body == b"ok"
            assert client.response("HEAD").status == 201
        client.send_split(data)
        assert client.response().body == b"ok"
        assert client.response("HEAD").status == 201


def test_empty_lines_before_a_request_are_skipped(client):
    client.send(b"\r\n\r\n" + request("GET", "/ok"))
    assert client.response().body == b"ok"
    client.send(b"\r\n" + request("GET", "/ok"))
    assert client.response().body == b"ok"


def test_keepalive_requests_closes_after_the_last_one(serve):
    server = serve(CONF.replace("max_headers = 100", "keepalive_requests = 3"))
    with server.connect() as client:
        for _ in range(2):
            assert client.get("/ok").keeps_open
        assert not client.get("/ok").keeps_open
        client.expect_end()


# ---- error pages


def test_error_pages_are_html_for_browsers(client):
    answer = client.get("/nope", "Accept: text/html,application/xhtml+xml,*/*;q=0.8")
    assert answer.status == 404 and answer["Content-Type"].startswith("text/html")
    assert b"404" in answer.body and answer["X-Request-Id"].encode() in answer.body
    client.expect_open()


@pytest.mark.parametrize("accept", ["Accept: application/json", "Accept: text/html;q=0.5, application/json",
                                    "Accept: application/*"])
def test_error_pages_are_json_for_programs(client, accept):
    answer = client.get("/nope", accept)
    page = answer.json()
    assert answer.status == 404 and page["status"] == 404
    assert answer["X-Request-Id"] in answer.body.decode()


@pytest.mark.parametrize("fields", [(), ("Accept: text/html",), ("Accept: application/json",)])
def test_error_pages_tell_caches_that_accept_chose_them(client, fields):
    assert client.get("/nope", *fields)["Vary"] == "Accept"
    assert client.ask("HEAD", "/nope", *fields)["Vary"] == "Accept"


def test_every_error_has_a_request_id_of_its_own(client):
    ids = [client.get("/nope")["X-Request-Id"] for _ in range(50)]
    assert len(set(ids)) == 50
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{8,64}", id_) for id_ in ids)


def test_refusals_are_logged_at_debug_with_id_and_limit(serve):
    server = serve(CONF, arguments=("-o", "log.level=debug"))
    for bytes_, line in (
        (request("POST", "/ok", "Content-Length: 65537"), r": 413: .*\b65537\b.*\b65536\b"),
        (request("GET", "/" + "x" * 9000), r": 414: .*\b8192\b"),
        (request("GET", "/ok", "C: " + "x" * 40000), r": 431: .*\b32768\b"),
    ):
        with server.connect() as client:
            client.send(bytes_)
            id_ = client.response()["X-Request-Id"]
        server.wait_log(rf" debug: \S+{line}.* \(request {id_}\)$")


def test_an_error_page_does_not_echo_markup_of_the_request(client):
    answer = client.get("/%3Cscript%3Ealert(1)%3C/script%3E?<b>".replace("<b>", "%3Cb%3E"), "Accept: text/html")
    assert answer.status == 404 and b"<script" not in answer.body


def test_head_errors_announce_what_get_would_send(client):
    got, head = client.get("/nope"), client.ask("HEAD", "/nope")
    assert head.status == 404 and head["Content-Length"] == got["Content-Length"]


# ---- limits; each answer can be read before the close, even when the client goes on sending


def test_a_request_line_of_8000_octets_is_served(client):
    target = "/ok?" + "x" * (8000 - len("GET /ok? HTTP/1.1"))
    assert client.get(target).body == b"ok"


@pytest.mark.case("LIM-03")
@pytest.mark.parametrize("size", [8200, 9 << 10, 31 << 10, 1 << 20])
def test_a_longer_request_line_is_414(client, size):
    client.send_while_reading(request("GET", "/" + "x" * size))
    client.refused_with(414)


@pytest.mark.case("LIM-03")
def test_a_head_up_to_the_limit_is_served_and_one_byte_more_is_431(server):
    limit = 32 << 10
    bare = len(request("GET", "/ok", "Cookie: "))
    for size, status in ((limit - 1, 200), (limit, 200), (limit + 1, 431)):
        with server.connect() as client:
            client.send(request("GET", "/ok", "Cookie: " + "c" * (size - bare)))
            if status == 200:
                assert client.response().body == b"ok", size
            else:
                client.refused_with(431)


@pytest.mark.case("LIM-03")
def test_field_count_limit_is_exact(server):
    for count, status in ((100, 200), (101, 431)):
        with server.connect() as client:
            answer = client.get("/ok", *[f"X-{i}: v" for i in range(count - 1)])
            assert answer.status == status, count


@pytest.mark.case("LIM-03")
@pytest.mark.parametrize("head", [
    b"GET /ok HTTP/1.1\r\nHost: t.test\r\n" + b"A: b\r\n" * 10000 + b"\r\n",
    b"GET /ok HTTP/1.1\r\nHost: t.test\r\n" + b"n" * (1 << 20) + b": v\r\n\r\n",
    b"GET /ok HTTP/1.1\r\nHost: t.test\r\nCookie: " + b"v" * (1 << 20) + b"\r\n\r\n",
], ids=["10000-fields", "long-name", "long-value"])
def test_oversized_heads_are_431_and_readable(client, head):
    client.send_while_reading(head)
    client.refused_with(431)


@pytest.mark.case("LIM-03")
def test_leading_empty_lines_are_bounded(client):
    client.send_while_reading(b"\r\n" * (35 << 10) + request("GET", "/ok"))
    client.refused_with(400, 431, 414)


@pytest.mark.parametrize("head, statuses", [
    (b"GET /ok HTTP/1.1\r\n\r\n", (400,)),
    (b"GET /ok HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", (400,)),
    (b"GET  /ok HTTP/1.1\r\nHost: t.test\r\n\r\n", (400,)),
    (b" GET /ok HTTP/1.1\r\nHost: t.test\r\n\r\n", (400,)),
    (b"GET /ok HTTP/2.0\r\nHost: t.test\r\n\r\n", (505,)),
    (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: t.test\r\n\r\n", (414,)),
    (b"GET /ok HTTP/1.1\r\nHost: t.test\r\nC: " + b"x" * 40000 + b"\r\n\r\n", (431,)),
    (b"POST /ok HTTP/1.1\r\nHost: t.test\r\nContent-Length: 99999999\r\n\r\n", (405, 413)),
    (b"POST /ok HTTP/1.1\r\nHost: t.test\r\nContent-Length: x\r\n\r\n", (400,)),
    (b"POST /ok HTTP/1.1\r\nHost: t.test\r\nTransfer-Encoding: gzip\r\n\r\n", (400, 501)),
], ids=["no-host", "two-hosts", "two-blanks", "leading-blank", "505", "414", "431", "413", "bad-length", "bad-coding"])
def test_errors_are_readable_while_the_client_keeps_sending(server, head, statuses):
    """The answer must not be lost to a RST that unread bytes would cause."""
    with server.connect() as client:
        client.send(head)
        for _ in range(64):  # goes on without looking, like a client deep in an upload
            client.send(b"y" * 4096)
        answer = client.response()
        assert answer.status in statuses and not answer.keeps_open, answer
        client.expect_end()


def test_a_client_that_never_stops_sending_is_cut_in_the_end(server):
    """Lingering is bounded: after a refusal the server does not read for ever."""
    with server.connect() as client:
        client.send(b"GET  / HTTP/1.1\r\n\r\n")
        sent = client.send_until_stuck(b"z" * 65536, most=1 << 40, quiet=5)
        assert sent < 1 << 40
        assert client.response().status == 400


def test_a_closed_connection_before_any_byte_is_silent(server):
    for _ in range(20):
        server.connect().close()
    with server.connect() as client:
        client.half_close()
        client.expect_end()
    with server.connect() as client:
        client.expect_open()


def test_a_half_closed_client_still_gets_its_answers(client):
    client.send(request("GET", "/ok") + request("GET", "/created"))
    client.half_close()
    assert client.response().body == b"ok"
    assert client.response().status == 201
    client.expect_end()


def test_a_head_cut_by_the_clients_end_is_not_answered_as_a_request(client):
    client.send(b"GET /ok HTTP/1.1\r\nHost: t.te")
    client.half_close()
    data, how = client.rest()
    assert data == b"" or data.startswith(b"HTTP/1.1 400 ")
    assert how == "FIN"


def test_odd_but_right_heads_are_served(server):
    with server.connect() as client:
        for head in (
            b"GET /ok HTTP/1.1\r\nhOST:t.test\r\n\r\n",
            b"GET /ok HTTP/1.1\r\nHost: \t t.test \t \r\n\r\n",
            b"GET /ok HTTP/1.1\r\nHost: t.test\r\nX-Empty:\r\nX-High: \xe9\r\n\r\n",
            b"GET /ok HTTP/1.1\r\n!#$%&'*+-.^_`|~9: x\r\nHost: t.test\r\n\r\n",
        ):
            client.send(head)
            assert client.response().body == b"ok", head
