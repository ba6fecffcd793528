"""rewrite_location and rewrite_cookie_path: addresses of the upstream in its answers, as the client sees them."""
import pytest

from talk.client import request
from talk.config import config
from talk.upstream import answer, answering

CONF = config(server=("loops = 1",), listener=("$listener",), more="""
[route up]
path = /
handler = proxy
upstream = app
$route
[upstream app]
server = $up
""")
BOTH = "rewrite_location = on\nrewrite_cookie_path = on"


@pytest.fixture
def ask(serve, origin):
    """ask(fields of the answer, options of the route): the answer to GET /api/x."""

    def ask(fields, route, *more, listener="", **how):
        up = origin(answering(lambda taken: answer(302, b"", *fields)))
        server = serve(CONF, up=up, route=route, listener=listener)
        with server.connect() as client:
            return client.ask("GET", "/api/x", *more, **how)

    return ask


@pytest.mark.parametrize("prefix, location, becomes", [
    ("/api", "/login?a=b", "/api/login?a=b"), ("/api/", "/", "/api/"), ("/api", "http://t.test/y", "http://t.test/api/y"),
    ("/api", "https://T.test:443", "http://t.test/api/"), ("/api", "http://t.test:80/y#f", "http://t.test/api/y#f"), ("/api", "http://other.test/y", "="),
    ("/api", "//t.test/y", "//t.test/api/y"), ("/api", "//other.test/y", "="), ("/api", "//t.test.evil/y", "="), ("/api", "y", "="), ("/api", "/a b", "="), ("", "/login", "="), ("", "https://t.test/y", "http://t.test/y"),
])
def test_locations_are_rewritten(ask, prefix, location, becomes):
    route = "rewrite_location = on" + (f"\nstrip_prefix = {prefix}" if prefix else "")
    taken = ask((f"Location: {location}", f"content-location: {location}", "X-Location: /login"), route)
    wanted = location if becomes == "=" else becomes
    assert taken["Location"] == wanted and taken["Content-Location"] == wanted and taken["X-Location"] == "/login"


def test_the_host_that_we_sent_becomes_the_clients(ask):
    route = "rewrite_location = on\nstrip_prefix = /api\nupstream_host = app.internal:9001"
    taken = ask(("Location: https://app.internal:9001/y", "Content-Location: http://t.test/y"), route, host="site.test:8080")
    assert taken["Location"] == "http://site.test:8080/api/y" and taken["Content-Location"] == "http://t.test/y"


def test_the_servers_own_address_becomes_the_clients(serve, origin):
    up = origin(answering(lambda taken: answer(302, b"", f"Location: http://{taken.link.upstream}/y")))
    server = serve(CONF, up=up, route="rewrite_location = on\nstrip_prefix = /api", listener="")
    with server.connect() as client:
        assert client.get("/api/x")["Location"] == "http://t.test/api/y"


@pytest.mark.parametrize("trusted", [True, False])
def test_what_a_trusted_proxy_was_asked_is_the_clients_view(ask, trusted):
    taken = ask(("Location: http://t.test/y",), "rewrite_location = on", "X-Forwarded-Proto: https", "X-Forwarded-Host: shop.test",
                listener="trusted_proxies = 127.0.0.1" if trusted else "")
    assert taken["Location"] == ("https://shop.test/y" if trusted else "http://t.test/y")


def test_what_a_trusted_proxy_says_must_be_an_address(ask):
    taken = ask(("Location: http://t.test/y",), "rewrite_location = on", "X-Forwarded-Proto: https, http", "X-Forwarded-Host: a, b",
                listener="trusted_proxies = 127.0.0.1")
    assert taken["Location"] == "http://t.test/y"


def test_a_client_of_http_1_0_without_host_keeps_absolute_locations(ask):
    taken = ask(("Location: http://app.test/y", "Content-Location: /y"), "rewrite_location = on\nstrip_prefix = /api\nupstream_host = app.test",
                host=None, version="HTTP/1.0")
    assert taken["Location"] == "http://app.test/y" and taken["Content-Location"] == "/api/y"


def test_cookie_paths_are_rewritten_and_cookies_keep_their_order(ask):
    taken = ask(("Set-Cookie: a=1; Path=/; HttpOnly", "X-A: 1", "set-cookie: b=2", "Set-Cookie: c=3; path=/x", "Set-Cookie: __Host-d=4; Secure; Path=/"),
                "rewrite_cookie_path = on\nstrip_prefix = /api")
    assert taken.fields.all("Set-Cookie") == ["a=1; Path=/api/; HttpOnly", "b=2", "c=3; path=/api/x", "__Host-d=4; Secure; Path=/"]
    assert taken["X-A"] == "1"


@pytest.mark.parametrize("route", ["", "rewrite_location = on", "rewrite_cookie_path = on", BOTH], ids=["off", "location", "cookies", "both"])
def test_each_option_is_off_unless_said(ask, route):
    taken = ask(("Location: /y", "Set-Cookie: a=1; Path=/x"), route + "\nstrip_prefix = /api")
    assert taken["Location"] == ("/api/y" if "location" in route else "/y")
    assert taken["Set-Cookie"] == ("a=1; Path=/api/x" if "cookie" in route else "a=1; Path=/x")


def test_what_connection_names_stays_here_all_the_same(ask):
    taken = ask(("Connection: Set-Cookie", "Set-Cookie: a=1; Path=/x", "Location: /y"), BOTH + "\nstrip_prefix = /api")
    assert "Set-Cookie" not in taken.fields and taken["Location"] == "/api/y"


def test_many_long_values_are_rewritten_whole(serve, origin):
    cookies = [f"Set-Cookie: c{number}={'v' * 700}; Path=/{number}" for number in range(40)]
    up = origin(answering(lambda taken: answer(302, b"", "Location: /" + "l" * 7000, *cookies)))
    with serve(CONF, up=up, route=BOTH + "\nstrip_prefix = /" + "p" * 150, listener="").connect() as client:
        for _ in range(2):
            client.send(request("GET", "/"))
            taken = client.response()
            assert taken["Location"] == "/" + "p" * 150 + "/" + "l" * 7000
            assert taken.fields.all("Set-Cookie")[39] == f"c39={'v' * 700}; Path=/{'p' * 150}/39"
