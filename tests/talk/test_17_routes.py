"""Routes that ask for more than host and path, captures in rewrite and in to, and upstreams by weight."""
import pytest

from talk.checks import check, one_fault, faults_of, write
from talk.client import request
from talk.ports import free_port
from talk.server import run
from talk.upstream import answer, answering

HEAD = """
[server]
loops = 1
[listener main]
bind = $bind
"""
AAA = "a" * 40


def text_of(lines):
    """For a server's text, in which a dollar is doubled."""
    return "\n".join(lines).replace("$", "$$") + "\n"


def route(name, *lines, handler="respond"):
    return text_of([f"[route {name}]", f"handler = {handler}", *(["body = " + name] if handler == "respond" else []), *lines])


def upstreams(**addresses):
    return "".join(f"[upstream {name}]\nserver = {address}\n" for name, address in addresses.items())


def asked(client, target="/", *fields, method="GET"):
    """The route that answered, or the status."""
    client.send(request(method, target, *fields))
    taken = client.response(method)
    return taken.body.decode() if taken.status == 200 and method != "HEAD" else taken.status


# ---- conditions


HEADERS = [
    ("X-Beta", ["X-Beta: 1"], True), ("X-Beta", ["x-bETA:"], True), ("X-Beta", ["X-Bet: 1", "X-Betaa: 1"], False),
    ("!X-Beta", ["X-BETA: 1"], False), ("!X-Beta", [], True),
    ("X-Beta=a=b", ["x-beta: a=b"], True), ("X-Beta=a=b", ["X-Beta: A=b"], False), ("X-Beta=a", ["X-Beta: a b"], False),
    ("X-Beta=a", ["X-Beta: 0", "X-Beta: a", "X-Beta: 1"], True), ("X-Beta=a", ["X-Beta: 0, a"], False),
    ("X-Beta=", ["X-Beta:"], True), ("X-Beta=", [], False),
    ("!X-Beta=a", ["X-Beta: 0", "X-Beta: a"], False), ("!X-Beta=a", ["X-Beta: 0", "X-Beta: 1"], True), ("!X-Beta=a", [], True),
    ("Cookie~(^|; )canary=1(;|$)", ["Cookie: a=b; canary=1"], True), ("Cookie~(^|; )canary=1(;|$)", ["Cookie: a=b; canary=10"], False),
    ("Cookie~canary", ["Cookie: x", "Cookie: y; canary=1"], True), ("Cookie~canary", [], False),
    ("!Cookie~canary", ["Cookie: x", "Cookie: y; canary=1"], False), ("!Cookie~canary", ["Cookie: y"], True),
    ("!Cookie~canary", [], True),
    ("Host=t.test", [], True), ("Host~^other", [], False), ("Connection", ["Connection: keep-alive"], True),
]


def test_if_header_in_every_form(serve):
    cases = {form: index for index, form in enumerate(dict.fromkeys(form for form, _, _ in HEADERS))}
    text = "".join(route(f"yes{index}", f"path = = /{index}", f"if_header = {form}") for form, index in cases.items())
    with serve(HEAD + text + route("no", "path = /")).connect() as client:
        for form, fields, holds in HEADERS:
            wanted = f"yes{cases[form]}" if holds else "no"
            assert asked(client, f"/{cases[form]}", *fields) == wanted, (form, fields)


QUERIES = [
    ("debug", "debug", True), ("debug", "a&debug=0", True), ("debug", "%64ebug=", True), ("debug", "Debug&debugg&a=debug", False),
    ("debug", "", False), ("!debug", "debug", False), ("!debug", "a=debug", True), ("!debug", "", True),
    ("q=a b&c", "q=a+b%26c", True), ("q=a b&c", "q=a%20b%26c", True), ("q=a b&c", "q=a%2bb%26c", False),
    ("q=a b&c", "q=a+b&c", False), ("q=a b&c", "q=1&q=a+b%26c&q=2", True), ("q=", "q", True), ("q=", "q=1", False),
    ("q=50%", "q=50%", True), ("q=50%", "q=50%25", True), ("q=%zz", "q=%zz", True),
    ("!q=a", "q=b&q=%61", False), ("!q=a", "q=b", True), ("!q=a", "", True),
    ("id~^[0-9]+ x$", "id=12+x", True), ("id~^[0-9]+ x$", "id=%312%20x", True), ("id~^[0-9]+ x$", "id=12%2bx", False),
    ("id~^[0-9]+ x$", "id=a&id=1+x", True), ("!id~^[0-9]+$", "id=1", False), ("!id~^[0-9]+$", "id=a", True),
    ("!id~^[0-9]+$", "", True), ("id~^[0-9]+ x$", "id=1+x%0a", False),
]


def test_if_query_in_every_form(serve):
    cases = {form: index for index, form in enumerate(dict.fromkeys(form for form, _, _ in QUERIES))}
    text = "".join(route(f"yes{index}", f"path = = /{index}", f"if_query = {form}") for form, index in cases.items())
    with serve(HEAD + text + route("no", "path = /")).connect() as client:
        for form, query, holds in QUERIES:
            wanted = f"yes{cases[form]}" if holds else "no"
            assert asked(client, f"/{cases[form]}" + ("?" + query if query else "")) == wanted, (form, query)


def test_all_conditions_must_hold_but_any_method(serve):
    text = route("all", "if_method = GET POST", "if_method = HEAD", "if_header = A", "if_header = !B=1", "if_query = c", "if_query = d~^x")
    with serve(HEAD + text + route("no")).connect() as client:
        assert asked(client, "/?c&d=x", "A: 1") == "all"
        assert asked(client, "/?c&d=x", "A: 1", "B: 2") == "all"
        assert asked(client, "/?c&d=x", "A: 1", "B: 1") == "no"
        assert asked(client, "/?c&d=x") == "no"
        assert asked(client, "/?d=x", "A: 1") == "no"
        assert asked(client, "/?c&d=y", "A: 1") == "no"


def test_if_method_finds_another_route_while_methods_refuses(serve, origin):
    up = origin()
    text = HEAD + route("read", "path = /a", "if_method = GET HEAD") + route("write", "path = /a", "upstream = app", handler="proxy")
    text += route("only", "path = /b", "methods = GET") + route("rest", "path = /") + upstreams(app=up)
    with serve(text).connect() as client:
        assert asked(client, "/a") == "read"
        assert asked(client, "/a", method="HEAD") == 200
        assert asked(client, "/a/x", method="PUT") == "up:/a/x"
        assert up.targets() == ["/a/x"]
        client.send(request("PUT", "/b"))
        refused = client.response("PUT")
        assert (refused.status, refused["Allow"]) == (405, "GET")


def test_a_condition_that_fails_leaves_the_order_of_routes_as_it_is(serve):
    text = HEAD + route("prefix", "path = /x") + route("long", "path = /x/y", "if_query = long")
    text += route("regex", "path = ~ ^/x", "if_header = R") + route("second", "path = ~ ^/x/y", "if_header = S")
    text += route("exact", "path = = /x/y", "if_header = E") + route("exacter", "path = = /x/y", "if_header = F")
    text += route("host", "path = /", "host = h.test", "if_header = H") + route("wild", "path = /", "host = *.test", "if_header = W")
    with serve(text).connect() as client:
        assert asked(client, "/x/y") == "prefix"
        assert asked(client, "/x/y?long") == "long"
        assert asked(client, "/x/y?long", "S: 1") == "second"
        assert asked(client, "/x/y", "S: 1", "R: 1") == "regex"
        assert asked(client, "/x/y", "S: 1", "E: 1") == "exact"
        assert asked(client, "/x/y", "F: 1", "E: 1") == "exact"
        assert asked(client, "/x/y", "F: 1") == "exacter"
        assert asked(client, "/x/y", "F: 1", "W: 1") == "wild"
        client.send(request("GET", "/x/y", "F: 1", "W: 1", "H: 1", host="h.test"))
        assert client.response().body == b"host"
        assert asked(client, "/y", "R: 1") == 404


def test_conditions_hold_for_each_request_of_a_connection_by_itself(serve):
    with serve(HEAD + route("yes", "if_header = A~1", "if_query = q~2") + route("no")).connect() as client:
        pipelined = [("/?q=%32", ["A: 1"]), ("/", []), ("/?q=2", []), ("/", ["A: 1"]), ("/?q=12", ["A: 21"])]
        client.send(b"".join(request("GET", target, *fields) for target, fields in pipelined))
        assert [client.response().body for _ in pipelined] == [b"yes", b"no", b"no", b"no", b"yes"]


@pytest.mark.parametrize("condition, target, fields", [
    ("if_header = X~^(a+)+$", "/", [f"X: {AAA}b"]),
    ("if_header = !X~^(a+)+$", "/", [f"X: {AAA}b"]),
    ("if_query = q~^(a+)+$", f"/?q=%61{AAA}b", []),
    ("if_query = !q~^(a+)+$", f"/?q={AAA}b", []),
])
def test_an_expression_that_gives_up_fails_closed_and_says_where(serve, condition, target, fields):
    server = serve(HEAD + route("locked", condition) + route("open"))
    with server.connect() as client:
        assert asked(client, target, *fields) == 500
        server.wait_log(rf"route locked: {condition.split()[0]}: regular expression came to no result: match limit exceeded")
        assert asked(client) == ("locked" if "!" in condition else "open")


FORMS = "allowed: NAME, NAME=VALUE or NAME~REGEX, with ! in front for not"


@pytest.mark.parametrize("line, words", [
    ("if_header = =x", ['if_header: "=x" names no header field; ' + FORMS]),
    ("if_header = !", ['if_header: "!" names no header field; ' + FORMS]),
    ("if_header = X Y=1", ['if_header: "X Y=1" names no header field; ' + FORMS]),
    ("if_header = !!X", ['if_header: "!!X" names no header field; ' + FORMS]),
    ("if_header = (X)~a", ['if_header: "(X)~a" names no header field; ' + FORMS]),
    ("if_header = X= a", ['if_header: "X= a" begins its value with a blank', "write X=a"]),
    ("if_header = X~", ['if_header: "X~" has no regular expression behind ~; allowed: NAME~REGEX, or NAME for any value']),
    ("if_header = X~a(b", ["if_header: regular expression is wrong at byte 3: "]),
    ("if_query = ~x", ['if_query: "~x" names no parameter; ' + FORMS]),
    ("if_query = a b=1", ['if_query: "a b=1" names no parameter; ' + FORMS]),
    ("if_query = a&b", ['if_query: "a&b" names no parameter; ' + FORMS]),
    ("if_query = a~[", ["if_query: regular expression is wrong at byte 1: "]),
    ("if_method = GET FLY", ["if_method: FLY is no method that is known; they are in upper case; allowed: methods such as GET HEAD"]),
    ("if_method = TRACE", ["if_method: TRACE is a method that is served nowhere; allowed: methods such as GET HEAD"]),
])
def test_bad_conditions_are_faults_with_their_line(tmp_path, line, words):
    one_fault(tmp_path, f"[route a]\nhandler = respond\npath = /\n{line}\n", 4, "[route a] ", *words)


def test_a_route_that_conditions_leave_nothing_to_is_a_fault(tmp_path):
    text = "[route a]\nhandler = respond\nif_header = X\n[route b]\nhandler = respond\nif_header = {}\n"
    one_fault(tmp_path, text.format("x\nif_query = q"), 4, "[route b] path: is never reached: [route a] at ", "no condition that this one has not")
    done = check(tmp_path, text.format("!X"))
    assert done.returncode == 0, done.stderr


# ---- rewrite


REWRITES = [
    (r"~ ^/old/([^/]*)/(.*)", "/new/$2/x/$1", "/old/a/b/c?q=%20+1", "/new/b/c/x/a?q=%20+1"),
    (r"~ ^/u/(?<user>\w+)/(?<page>\d+)$", "/${page}/of/${user}", "/u/ann/12", "/12/of/ann"),
    (r"~ ^/opt(/x)?(/y)?", "/o$2$1", "/opt/y", "/o/y"),  # unset groups are empty
    (r"~ ^/d/(.)", "/$$1$1$$", "/d/a", "/$1a$"),
    (r"~ ^/esc/(.*)", "/e/$1", "/esc/%41%2f%20%c3%a9%7e", "/e/A%2F%20%C3%A9~"),
    (r"~ ^/slash(.*)", "/s/$1", "/slash/q", "/s/q"),  # no empty segments
    (r"~ ^/dots/(.*)", "/v/.$1/..y", "/dots/q", "/v/.q/..y"),
    (r"~ ^/half/(.)(.*)", "/h/$141", "/half/%2F", "/h/A"),  # an escape that comes of it is decoded
    (r"~ ^/whole(/.*)", "$1", "/whole/a/b", "/a/b"),
    (r"~ ^/const", "/fixed/path", "/const/x?y", "/fixed/path?y"),
    (r"/prefix/", "/fixed$$", "/prefix/a?b", "/fixed$?b"),
    (r"= /exact", "/index.php", "/exact", "/index.php"),
]


def test_rewrite_sends_another_path_and_the_query_as_it_came(serve, origin):
    up = origin()
    text = HEAD + upstreams(app=up)
    for index, (path, rewrite, _, _) in enumerate(REWRITES):
        text += route(f"r{index}", f"path = {path}", "upstream = app", f"rewrite = {rewrite}", handler="proxy")
    with serve(text).connect() as client:
        for _, rewrite, target, wanted in REWRITES:
            assert asked(client, target) == f"up:{wanted}", (rewrite, target)


def test_a_rewritten_path_that_is_none_is_400_and_goes_nowhere(serve, origin):
    up = origin()
    text = HEAD + upstreams(app=up)
    # Captures of parts of segments can make a dot segment, which would lead out of what the operator wrote.
    cases = [(r"^/up/s-([^/]*)/(.*)", "/pub/$1/$2", "/up/s-../secret"), (r"^/dot/(.*)", "/pub/.$1", "/dot/."), (r"^/bare/(.*)", "$1", "/bare/x"), (r"^/unset/(x)?", "$1", "/unset/"),
             (r"^/half/(.)(.*)", "/$2$1", "/half/%2F"), (r"^/nul/(.)", "/$100", "/nul/%2F")]
    for index, (path, rewrite, _) in enumerate(cases):
        text += route(f"r{index}", f"path = ~ {path}", "upstream = app", f"rewrite = {rewrite}", handler="proxy")
    with serve(text).connect() as client:
        for _, rewrite, target in cases:
            refused = client.get(target, "Accept: application/json")
            assert refused.status == 400 and "rewritten path" in refused.body.decode(), (rewrite, refused)
        assert up.requests == []
        assert asked(client, "/up/s-a/b") == "up:/pub/a/b"


def test_rewrite_keeps_method_body_and_fields(serve, origin):
    up = origin(answering(lambda taken: answer(200, taken.method.encode() + b" " + taken.body)))
    text = HEAD + upstreams(app=up) + route("r", "path = ~ ^/in/(.*)", "upstream = app", "rewrite = /out/$1", handler="proxy")
    with serve(text).connect() as client:
        client.send(request("POST", "/in/x", "X-A: 1", body=b"hello"))
        assert client.response("POST").body == b"POST hello"
    assert (up.requests[0].target, up.requests[0]["X-A"]) == ("/out/x", "1")


def test_another_try_sends_the_rewritten_path_too(serve, origin):
    up = origin()
    text = HEAD + f"[upstream app]\nbalance = round-robin\nserver = 127.0.0.1:{free_port()}\nserver = {up}\n"
    text += route("r", "path = ~ ^/in/(.*)", "upstream = app", "rewrite = /out/$1", handler="proxy")
    server = serve(text)
    with server.connect() as client:
        assert [asked(client, f"/in/{n}") for n in range(4)] == [f"up:/out/{n}" for n in range(4)]
    server.wait_log("upstream app: server .*: ")


def test_captures_are_of_the_route_that_serves(serve, origin):
    up = origin()
    text = HEAD + upstreams(app=up)
    text += route("passed", "path = ~ ^/(.)(.)(.)", "if_header = X~^(n)o$", "upstream = app", "rewrite = /wrong/$3", handler="proxy")
    text += route("serves", "path = ~ ^/a/(.*)", "if_header = X~^(y)(e)(s)$", "upstream = app", "rewrite = /right/$1", handler="proxy")
    text += route("later", "path = ~ ^/(a)", "upstream = app", "rewrite = /later/$1", handler="proxy")
    with serve(text).connect() as client:
        assert asked(client, "/a/b", "X: yes") == "up:/right/b"
        assert asked(client, "/a/b", "X: no") == "up:/wrong/b"
        assert asked(client, "/a/b") == "up:/later/a"


PROXY = "[upstream u]\nserver = 127.0.0.1:1\n[route r]\nhandler = proxy\nupstream = u\n"


@pytest.mark.parametrize("lines, words", [
    (["path = ~ ^/(a)", "rewrite = /$2"], ["rewrite: $2 is no group of the path's expression; allowed: groups that it has, as $1 to $9 or ${name}"]),
    (["path = ~ ^/(?<n>a)", "rewrite = /${m}"], ["rewrite: ${m} is no group of the path's expression"]),
    (["path = ~ ^/(a)", "rewrite = /$x"], ['rewrite: "$x" is no capture; allowed: $1 to $9, ${name}, and $$ for a dollar']),
    (["path = /a", "rewrite = /$"], ['rewrite: "$" is no capture; allowed: $1 to $9, ${name}, and $$ for a dollar']),
    (["path = /a", "rewrite = /$1"], ["rewrite: $1 is a capture, but the path of this route is no regular expression; allowed: path = ~ expression"]),
    (["path = = /a", "rewrite = /${n}"], ["rewrite: ${n} is a capture, but the path of this route is no regular expression"]),
    (["path = ~ ^/(a)", "rewrite = b/$1"], ["rewrite: does not begin with /; allowed: a path such as /new/$1"]),
    (["path = ~ ^/(a)", "rewrite = /$1?x=1"], ["rewrite: holds a '?', but the query goes on as it came; allowed: a path, and %3F for a '?' within"]),
    (["path = ~ ^/(a)", "rewrite = /$1/a b"], ["rewrite: holds a byte that a path cannot; allowed: escapes such as %20"]),
    (["path = ~ ^/(a)", "rewrite = /100%$1"], ["rewrite: has a bad escape; allowed: a path, and %25 for '%' itself"]),
    (["path = /a", "rewrite = /a/../b"], ["rewrite: holds a dot segment; allowed: a path without . and .. in it"]),
    (["path = ~ ^/(a)", "rewrite = /./$1"], ["rewrite: holds a dot segment"]),
    (["path = ~ ^/(a)", "rewrite = /%2e%2e/$1"], ["rewrite: holds a dot segment"]),
    (["strip_prefix = /a", "rewrite = /b"], ["rewrite: stands beside strip_prefix; allowed: one of the two"]),
])
def test_bad_rewrites_are_faults_with_their_line(tmp_path, lines, words):
    one_fault(tmp_path, PROXY + "\n".join(lines) + "\n", 7, "[route r] ", *words)


@pytest.mark.parametrize("lines, words", [
    (["path = /api", "strip_prefix = /b"], ["strip_prefix: can cut nothing: no path of this route begins with it"]),
    (["path = /api", "strip_prefix = /ap"], ["strip_prefix: can cut nothing"]),
    (["path = = /a/b", "strip_prefix = /a/b/c"], ["strip_prefix: can cut nothing"]),
    (["path = /", "strip_prefix = /a b"], ["strip_prefix: is no path as requests have it once they are normalised"]),
    (["path = /", "strip_prefix = /a?x"], ["strip_prefix: is no path as requests have it"]),
    (["path = /", "strip_prefix = /a/../b"], ["strip_prefix: is no path as requests have it"]),
    (["path = /", "strip_prefix = a"], ["strip_prefix: does not begin with /"]),
    (["methods = GET HEAD", "if_method = POST PUT"],
     ["if_method: names no method that this route serves; allowed: one of those in Allow: GET, HEAD"]),
])
def test_what_could_never_serve_is_a_fault(tmp_path, lines, words):
    one_fault(tmp_path, PROXY + "\n".join(lines) + "\n", 7, "[route r] ", *words)


@pytest.mark.parametrize("lines", [
    ["path = /api/", "strip_prefix = /api"], ["path = /api/v1", "strip_prefix = /api/"], ["path = /", "strip_prefix = /api"],
    ["path = = /api", "strip_prefix = /api"], ["path = ~ ^/x", "strip_prefix = /y"], ["methods = GET", "if_method = GET POST"]])
def test_what_may_serve_is_none(tmp_path, lines):
    done = check(tmp_path, PROXY + "\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr


def test_a_bad_expression_is_told_once_whoever_uses_its_groups(tmp_path):
    one_fault(tmp_path, PROXY + "path = ~ ^/(a\nrewrite = /$1\n", 6, "[route r] path: regular expression is wrong at byte ")


# ---- redirect with captures


REDIRECTS = [
    (r"~ ^/old/([^/]*)/(.*)", "/new/$2/$1", "/old/a/b?q=1", "/new/b/a?q=1"),  # and no rest behind it
    (r"~ ^/far/(?<page>.*)", "https://other.test:8443/$$/${page}", "/far/%41/%2F?", "https://other.test:8443/$/A/%2F?"),
    (r"~ ^/open(.*)", "/$1", "/open/evil.test", "/evil.test"),  # never //evil.test, which would be a host
    (r"~ ^/up/(.*)", "//other.test/$1", "/up/x", "//other.test/x"),
    (r"~ ^/lines/(.*)", "/$1", "/lines/%0d%0aX-Bad:%201", "/%0D%0AX-Bad:%201"),
    (r"~ ^/rest", "/all", "/rest/x", "/all/rest/x"),  # without captures as ever
    (r"/prefix/", "/$$/", "/prefix/x", "/$/x"),
]


def test_redirect_puts_captures_where_they_are_named(serve):
    text = HEAD + "".join(route(f"r{index}", f"path = {path}", f"to = {to}", handler="redirect") for index, (path, to, _, _) in enumerate(REDIRECTS))
    with serve(text).connect() as client:
        for _, to, target, wanted in REDIRECTS:
            taken = client.get(target)
            assert (taken.status, taken["Location"], taken["X-Bad"]) == (308, wanted, None), (to, target)


def test_a_redirect_to_a_dot_segment_is_400(serve):
    server = serve(HEAD + route("r", "path = ~ ^/s-([^/]*)/(.*)", "to = http://other.test/a/$1/$2", handler="redirect"))
    refused = server.get("/s-../b", "Accept: application/json")
    assert refused.status == 400 and "rewritten path" in refused.body.decode()
    assert server.get("/s-a/b")["Location"] == "http://other.test/a/a/b"


@pytest.mark.parametrize("lines, words", [
    (["path = ~ ^/(a)", "to = /$2"], ["to: $2 is no group of the path's expression"]),
    (["path = ~ ^/(a)", "to = /${n}"], ["to: ${n} is no group of the path's expression"]),
    (["path = /a", "to = /b/$1"], ["to: $1 is a capture, but the path of this route is no regular expression"]),
    (["path = /a", "to = /b$"], ['to: "$" is no capture; allowed: $1 to $9, ${name}, and $$ for a dollar']),
    (["path = ~ ^/(a)", "to = http://$1.test/"], ["to: has a '$' in its host; allowed: captures behind the / that follows the host"]),
    (["path = ~ ^/a(.*)", "to = http://b.test$1"], ["to: has a '$' in its host"]),
    (["path = ~ ^/a(.*)", "to = //b.test$1"], ["to: has a '$' in its host"]),
    (["path = ~ ^/(a)", "to = $1"], ["to: is neither a path nor a URL"]),
    (["path = ~ ^/(a)", "to = /%$1"], ["to: has a bad escape"]),
])
def test_bad_captures_in_to_are_faults_with_their_line(tmp_path, lines, words):
    one_fault(tmp_path, "[route r]\nhandler = redirect\n" + "\n".join(lines) + "\n", 4, "[route r] ", *words)


# ---- upstreams by weight


def named(origin, *names, status=200):
    """Upstreams that answer with their names."""
    return {name: origin(answering(lambda taken, name=name: answer(status, name.encode()))) for name in names}


def test_requests_are_split_exactly_and_smoothly_by_weight(serve, origin):
    ups = named(origin, "app", "canary")
    server = serve(HEAD + upstreams(**ups) + route("r", "upstream = app weight=9", "upstream = canary weight=1", handler="proxy"))
    got = []
    for _ in range(4):  # connections do not matter
        with server.connect() as client:
            got += [asked(client) for _ in range(10)]
    assert got == (["app"] * 5 + ["canary"] + ["app"] * 4) * 4
    assert (len(ups["app"].requests), len(ups["canary"].requests)) == (36, 4)


def test_weights_default_to_one_and_each_route_counts_by_itself(serve, origin):
    ups = named(origin, "a", "b", "c")
    text = HEAD + upstreams(**ups) + route("even", "path = /even", "upstream = a", "upstream = b", handler="proxy")
    text += route("odd", "path = /odd", "upstream = a weight=3", "upstream =  b", "upstream = c\tweight=2", handler="proxy")
    text += route("one", "path = /one", "upstream = c weight=7", handler="proxy")
    with serve(text).connect() as client:
        got = {path: [] for path in ("/even", "/odd", "/one")}
        for _ in range(12):
            for path, answers in got.items():
                answers.append(asked(client, path))
    assert got["/even"] == ["a", "b"] * 6
    assert [got["/odd"].count(name) for name in "abc"] == [6, 2, 4] and got["/odd"][:6] == got["/odd"][6:]
    assert got["/one"] == ["c"] * 12


def test_an_upstream_that_fails_has_its_turns_all_the_same(serve, origin):
    ups = named(origin, "good")
    text = HEAD + upstreams(bad=f"127.0.0.1:{free_port()}", **ups) + route("r", "upstream = good weight=2", "upstream = bad", handler="proxy")
    with serve(text).connect() as client:
        assert [asked(client) for _ in range(9)] == ["good", 502, "good"] * 3


def test_split_and_rewrite_and_conditions_go_together(serve, origin):
    ups = {name: origin(answering(lambda taken, name=name: answer(200, name.encode() + taken.target.encode()))) for name in "ab"}
    text = HEAD + upstreams(**ups)
    text += route("beta", "path = ~ ^/x/(.*)", "if_header = Cookie~beta", "upstream = b", "rewrite = /beta/$1", handler="proxy")
    text += route("r", "path = ~ ^/x/(.*)", "upstream = a", "upstream = b", "rewrite = /$1", handler="proxy")
    with serve(text).connect() as client:
        assert [asked(client, "/x/1"), asked(client, "/x/2", "Cookie: beta"), asked(client, "/x/3")] == ["a/1", "b/beta/2", "b/3"]


@pytest.mark.parametrize("line, words", [
    ("upstream = app weight=0", ['upstream: does not know "weight=0"; after the name weight=1..256 is allowed']),
    ("upstream = app weight=257", ['upstream: does not know "weight=257"; after the name weight=1..256 is allowed']),
    ("upstream = app wieght=2", ['upstream: does not know "wieght=2"; after the name weight=1..256 is allowed']),
    ("upstream = app other", ['upstream: does not know "other"; after the name weight=1..256 is allowed']),
    ("upstream = app weight=2 weight=3", ['upstream: repeats weight ("weight=3"); after the name one weight=1..256 is allowed']),
    ("upstream = other weight=2", ["upstream: other stands already among this route's upstreams; allowed: each once, with its weight"]),
    ("upstream = ap weight=2", ["upstream: no [upstream ap]; did you mean [upstream app]?"]),
])
def test_bad_upstreams_of_a_route_are_faults_with_their_line(tmp_path, line, words):
    text = f"[route r]\nhandler = proxy\nupstream = other\n{line}\n[upstream app]\nserver = 127.0.0.1:1\n[upstream other]\nserver = 127.0.0.1:1\n"
    one_fault(tmp_path, text, 4, "[route r] ", *words)


def test_all_faults_of_upstreams_are_told_in_one_run(tmp_path):
    text = "[route r]\nhandler = proxy\nupstream = a weight=x\nupstream = b\nupstream = a\n[upstream a]\nserver = 127.0.0.1:1\n"
    lines = faults_of(tmp_path, text)
    assert [line.split(" ")[0].rsplit(":", 2)[1] for line in lines] == ["3", "4", "5"], lines
    one_fault(tmp_path, "[route r]\nhandler = proxy\n", 1, "[route r] upstream: is missing; allowed: one or more values")


def test_an_override_replaces_the_upstreams_and_more_of_them_add(serve, origin):
    ups = named(origin, "a", "b", "c")
    text = HEAD + upstreams(**ups) + route("r", "upstream = a", "upstream = b", handler="proxy")
    server = serve(text, arguments=["-o", "route.r.upstream=b weight=2", "-o", "route.r.upstream=c"])
    with server.connect() as client:
        assert [asked(client) for _ in range(6)] == ["b", "c", "b"] * 2


def test_the_effective_configuration_shows_every_value_and_loads_again(tmp_path):
    lines = ["if_method = GET HEAD", "if_header = A=b", "if_header = !C~^(d|e)$", "if_query = f", "if_query = g=h i",
             "rewrite = /x/$1/${n}$$", "upstream = a weight=2", "upstream = b"]
    text = "[route r]\nhandler = proxy\npath = ~ ^/(.)(?<n>.)\n" + "\n".join(lines) + "\n" + upstreams(a="127.0.0.1:1", b="127.0.0.1:2")
    shown = run("-T", "-c", write(tmp_path, text))
    assert shown.returncode == 0, shown.stderr
    assert [line for line in lines if line not in shown.stdout.splitlines()] == []
    again = run("-T", "-c", write(tmp_path, shown.stdout))
    assert (again.returncode, again.stdout) == (0, shown.stdout)
