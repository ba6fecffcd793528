"""Targets, hosts and routes: one normalised path decides and is forwarded; which route serves what."""
import pytest

from talk.client import Client, request
from talk.upstream import answer, answering

VHOSTS = """
[server]
loops = 2
[listener main]
bind = $bind
[route a]
path = /
host = a.test
handler = respond
body = a
[route b]
path = /
host = b.test *.wild.test
handler = respond
body = b
[route six]
path = /
host = [2001:db8::1]
handler = respond
body = six
[route deep]
path = /
host = deep.wild.test
handler = respond
body = deep
[route none]
path = /x
handler = respond
body = none
"""


@pytest.fixture(scope="module")
def vhosts(serve_module):
    return serve_module(VHOSTS)


def raw(server, head):
    with Client(("127.0.0.1", server.port)) as client:
        client.send(head)
        return client.response()


@pytest.mark.case("TGT-01")
@pytest.mark.parametrize("target, host, statuses, body", [
    ("http://a.test/x", "b.test", (200, 400), b"a"),
    ("http://a.test/x", "a.test", (200,), b"a"),
    ("http://A.Test/x", "a.test", (200,), b"a"),
    ("http://a.test:80/x", "a.test", (200,), b"a"),
    ("http://a.test/x", "A.TEST:80", (200,), b"a"),
    ("http://a.test", "a.test", (200,), b"a"),
    ("http://a.test?q", "a.test", (200,), b"a"),
    ("HTTP://a.test/x", "a.test", (200,), b"a"),
])
def test_absolute_form_wins_over_host(vhosts, target, host, statuses, body):
    taken = raw(vhosts, request("GET", target, host=host))
    assert taken.status in statuses, taken
    if taken.status == 200:
        assert taken.body == body


@pytest.mark.parametrize("target", ["http:///x", "http://a.test:port/x", "http://u@a.test/x", "ftp://a.test/x", "a.test/x", "x",
                                    "http://", "://a.test/", "http:/x", "//"])
def test_targets_in_no_right_form_are_400_or_found_nowhere(vhosts, target):
    taken = raw(vhosts, request("GET", target, host="nobody.test"))
    assert taken.status == 400 or (target == "//" and taken.status == 404), taken


@pytest.mark.parametrize("target", ["/a b", "/a\x01", "/\x7f", "/\xe9", "/a#frag", "/%", "/%4", "/%zz", "/%00", "/a\tb"])
def test_targets_with_bad_octets_are_400(vhosts, target):
    with Client(("127.0.0.1", vhosts.port)) as client:
        client.send(request("GET", target, host="a.test"))
        assert client.response().status == 400


@pytest.mark.case("TGT-05")
@pytest.mark.parametrize("host, status, body", [
    ("[2001:db8::1]", 200, b"six"), ("[2001:db8::1]:8080", 200, b"six"), ("[2001:DB8::1]", 200, b"six"),
    ("2001:db8::1", 400, None), ("[2001:db8::1", 400, None), ("2001:db8::1]", 400, None), ("[2001:db8::1]x", 400, None),
])
def test_ipv6_literals_in_host(vhosts, host, status, body):
    taken = raw(vhosts, request("GET", "/", host=host))
    assert taken.status == status, taken
    if body:
        assert taken.body == body


@pytest.mark.parametrize("host", ["a.test:", "a.test:80:80", "a.test:x", "a.test:99999", "a test", "a.test/", "u@a.test", "a.test, b.test",
                                  "a.test?x", "a.test#x", "a\\b"])
def test_a_host_that_is_no_authority_is_400(vhosts, host):
    taken = raw(vhosts, request("GET", "/", host=host))
    if host == "a.test:":  # RFC 3986 3.2.3 allows an empty port
        assert taken.status == 400 or taken.body == b"a"
    else:
        assert taken.status == 400, taken


@pytest.mark.parametrize("host, body", [("a.test", b"a"), ("A.TEST", b"a"), ("a.test:1234", b"a"), ("b.test", b"b"),
                                        ("x.wild.test", b"b"), ("x.y.wild.test", b"b"), ("deep.wild.test", b"deep"),
                                        ("a.test.", b"a"), ("A.test.:1234", b"a"), ("x.wild.test.", b"b"),
                                        ("nobody.test", b"none"), ("a.test..", b"none"), (".", b"none"), ("wild.test", b"none")])
def test_exact_hosts_then_wildcards_then_none(vhosts, host, body):
    taken = raw(vhosts, request("GET", "/x", host=host))
    assert (taken.status, taken.body) == (200, body), taken


def test_two_hosts_or_none_are_400(vhosts):
    for head in (b"GET /x HTTP/1.1\r\n\r\n", b"GET /x HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n",
                 b"GET /x HTTP/1.1\r\nHost: a.test\r\nhost: a.test\r\n\r\n"):
        assert raw(vhosts, head).status == 400


# ---- choosing by path

PATHS = """
[server]
loops = 1
[listener main]
bind = $bind
[route all]
path = /
handler = respond
body = all
[route api]
path = /api
handler = respond
body = api
[route v1]
path = /api/v1/
handler = respond
body = v1
[route exact]
path = = /api/v1/me
handler = respond
body = exact
[route regex]
path = ~ ^/img/[0-9]+\\.png$$
handler = respond
body = regex
[route img]
path = /img/
handler = respond
body = img
[route second]
path = ~ ^/img/[0-9]
handler = respond
body = second
"""


@pytest.fixture(scope="module")
def paths(serve_module):
    return serve_module(PATHS)


@pytest.mark.parametrize("path, body", [
    ("/", b"all"), ("/apix", b"all"), ("/ap", b"all"), ("/api", b"api"), ("/api/", b"api"), ("/api/x", b"api"), ("/api?x", b"api"),
    ("/api/v1", b"v1"), ("/api/v1/", b"v1"), ("/api/v1/x", b"v1"), ("/api/v1x", b"api"), ("/api/v1/me", b"exact"),
    ("/api/v1/me/", b"v1"), ("/api/v1/mex", b"v1"), ("/img/12.png", b"regex"), ("/img/12.gif", b"second"), ("/img/x.png", b"img"),
    ("/API", b"all"), ("/%61pi", b"api"), ("/api/./v1/../v1/me", b"exact"), ("//api", b"api"), ("/api//v1", b"v1"),
    ("/api%2Fv1", b"all"), ("/x/%2e%2E/api", b"api"), ("/api/..", b"all"), ("/api/v1/..", b"api"),
])
def test_the_route_that_fits_best_serves(paths, path, body):
    assert paths.get(path).body == body


@pytest.mark.parametrize("path", ["/..", "/../x", "/%2e%2e/x", "/a/../../x", "/./../x", "/a/%2e%2e/%2e%2e"])
def test_above_the_root_is_400(paths, path):
    assert paths.get(path).status == 400


LOCKED = """
[listener main]
bind = $bind
[route locked]
path = ~ ^/evil/((a+)+$$|.*!$$)
handler = respond
status = 403
body = locked
[route all]
path = /
handler = respond
body = all
"""


def test_a_regex_that_comes_to_no_result_opens_no_other_route(serve):
    server = serve(LOCKED)
    assert server.get("/evil/x!").status == 403
    assert server.get("/evil/" + "a" * 6 + "!").status == 403
    assert server.get("/evil/" + "a" * 40 + "!").status == 500
    assert server.get("/evil/x").body == b"all"
    server.wait_log("route locked: path: regular expression came to no result: match limit exceeded")


# ---- forwarding

FORWARD = """
[server]
loops = 2
[listener main]
bind = $bind
[route pub]
path = /pub
handler = proxy
upstream = pub
[route adm]
path = /adm
handler = proxy
upstream = adm
[route strip]
path = /strip/
handler = proxy
upstream = pub
strip_prefix = /strip
[upstream pub]
server = $pub
[upstream adm]
server = $adm
"""


@pytest.fixture
def ups(origin):
    return {name: origin(answering(lambda taken, name=name: answer(200, name.encode()))) for name in ("pub", "adm")}


@pytest.fixture
def forward(serve, ups):
    return serve(FORWARD, **ups)


@pytest.mark.case("TGT-06")
@pytest.mark.parametrize("path", ["/pub/../adm/x", "/pub/./../adm/x", "/pub/%2e%2e/adm/x", "//adm/x", "/pub/.%2E/adm/x",
                                  "/pub/a/../../adm/x", "/pub//../adm/x", "/%61dm/x", "/../../adm/x"])
def test_route_and_forwarded_path_are_the_same(forward, ups, path):
    taken = raw(forward, request("GET", path))
    assert ups["pub"].requests == []
    if path == "/../../adm/x":
        assert taken.status == 400
    else:
        assert (taken.status, taken.body) == (200, b"adm")
        assert ups["adm"].targets() == ["/adm/x"]


@pytest.mark.parametrize("path, seen", [
    ("/pub/a%2Fb", "/pub/a%2Fb"), ("/pub/a%2fb", "/pub/a%2Fb"), ("/pub/%7Eme", "/pub/~me"), ("/pub/a%20b", "/pub/a%20b"),
    ("/pub/x?a=%2e%2e/&b=//", "/pub/x?a=%2e%2e/&b=//"), ("/pub?", "/pub?"), ("/pub/", "/pub/"), ("/pub", "/pub"),
    ("/pub/a%2f.b", "/pub/a%2F.b"), ("/pub/a;b=c", "/pub/a;b=c"), ("/pub/%25", "/pub/%25"), ("/pub/.", "/pub/"),
    ("/strip/a", "/a"), ("/strip", "/"), ("/strip/", "/"), ("/strip?q=1", "/?q=1"), ("/strip/a%2Fb?c", "/a%2Fb?c"),
    ("http://t.test/pub/x?y", "/pub/x?y"),
])
def test_the_forwarded_target_is_normalised_once(forward, ups, path, seen):
    assert raw(forward, request("GET", path)).status == 200
    assert ups["pub"].targets() == [seen]


@pytest.mark.case("TGT-01")
def test_absolute_form_is_forwarded_with_its_authority_as_host(forward, ups):
    taken = raw(forward, request("GET", "http://a.test/pub/x", host="b.test"))
    if taken.status == 200:
        assert ups["pub"].requests[0]["Host"] == "a.test"
    else:
        assert taken.status == 400 and ups["pub"].requests == []


@pytest.mark.parametrize("host", ["a.test.", "A.test.:8080"])
def test_a_final_dot_of_host_goes_to_the_upstream(serve, ups, host):
    server = serve(FORWARD.replace("path = /pub", "path = /pub\nhost = a.test"), **ups)
    assert raw(server, request("GET", "/pub/x", host=host)).status == 200
    assert ups["pub"].requests[0]["Host"] == host


@pytest.mark.case("TGT-03")
def test_options_of_a_path_is_forwarded(forward, ups):
    with forward.connect() as client:
        assert client.ask("OPTIONS", "/pub/x").status == 200
    assert [taken.method for taken in ups["pub"].requests] == ["OPTIONS"]


@pytest.mark.case("TGT-08")
def test_fields_named_by_connection_stop_here(serve, origin):
    up = origin(answering())
    server = serve(FORWARD, pub=up, adm=up)
    with server.connect() as client:
        client.send(b"GET /pub/a HTTP/1.1\r\nHost: t.test\r\nConnection: close, X-Hop, X-Forwarded-For, Host, Content-Length\r\n"
                    b"X-Hop: 1\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\nTE: gzip\r\nUpgrade: foo\r\n\r\n")
        assert client.response().status == 200
        client.expect_end()
    taken = up.requests[0]
    for name in ("X-Hop", "Keep-Alive", "Proxy-Connection", "TE", "Upgrade"):
        assert name not in taken.fields, taken
    assert taken["Host"] == "t.test" and taken["X-Forwarded-For"] == "127.0.0.1"
    assert "close" not in (taken["Connection"] or "")


@pytest.mark.case("TGT-08")
def test_content_length_named_by_connection_keeps_the_framing(forward, ups):
    with forward.connect() as client:
        assert client.ask("POST", "/pub/a", "Connection: Content-Length", body=b"abc").status == 200
    assert ups["pub"].requests[0].body == b"abc"


@pytest.mark.case("TGT-10")
def test_a_thousand_forwarded_heads_are_whole(forward, ups):
    with forward.connect() as client:
        for number in range(1000):
            fields = [f"X-N{i}: {'v' * (i * 7 % 60)}" for i in range(number % 40)]
            body = b"%d" % number * (number % 5)
            taken = client.ask("POST", f"/pub/{number}", "X-Forwarded-For: 9.9.9.9", "X-Forwarded-Proto: gopher", *fields, body=body)
            assert taken.status == 200, number
    assert len(ups["pub"].requests) == 1000
    for number, taken in enumerate(ups["pub"].requests):
        assert taken.target == f"/pub/{number}" and taken.body == b"%d" % number * (number % 5)
        assert taken["X-Forwarded-For"] == "127.0.0.1" and taken["X-Forwarded-Proto"] == "http"
        assert len([name for name, _ in taken.fields.lines if name.startswith("X-N")]) == number % 40
