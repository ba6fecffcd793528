"""Targets that two servers could resolve in two ways: one normalised path decides and is forwarded, or nothing is."""
import pytest

from talk.client import Client
from talk.odd_requests import HIDDEN, get
from talk.odd_targets import ABSOLUTE, ESCAPES, SAME
from talk.upstream import answer, answering

CONF = """
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
[route files]
path = /files
handler = static
root = $dir/root
[route local]
path = /local
handler = respond
body = local
[route secret]
path = /local/secret
handler = respond
status = 403
body = secret
[route other]
path = /
host = u.test
handler = respond
body = other
[upstream pub]
server = $pub
[upstream adm]
server = $adm
"""


class Two:
    def __init__(self, serve, origin):
        self.ups = {name: origin(answering(lambda taken, name=name: answer(200, name.encode()))) for name in ("pub", "adm")}
        self.server = serve(CONF, start=False, **self.ups)
        (self.server.dir / "root").mkdir()
        (self.server.dir / "root" / "f").write_text("file")
        (self.server.dir / "secret").write_text("secret")
        self.server.start()

    def ask(self, target, host=b"Host: t.test", method=b"GET"):
        """The answer, and what reached the upstreams: (name, target, host)."""
        before = {name: len(up.requests) for name, up in self.ups.items()}
        with Client(("127.0.0.1", self.server.port)) as client:
            client.send(get(b"Connection: close", line=method + b" " + target + b" HTTP/1.1", host=host, then=HIDDEN))
            taken = client.response()
            client.expect_end()
        seen = [(name, request.target, request["Host"]) for name, up in self.ups.items() for request in up.requests[before[name]:]]
        return taken, seen


@pytest.fixture(scope="module")
def two(serve_module, origin_module):
    return Two(serve_module, origin_module)


@pytest.mark.case("TGT-06")
@pytest.mark.parametrize("target", ESCAPES, ids=repr)
def test_paths_that_lead_elsewhere_for_others_are_refused(two, target):
    taken, seen = two.ask(target)
    assert seen == []
    assert taken.status == 400, taken


@pytest.mark.case("TGT-06")
@pytest.mark.parametrize("target, name, forwarded", SAME, ids=repr)
def test_the_path_that_decides_is_the_path_that_is_forwarded(two, target, name, forwarded):
    taken, seen = two.ask(target)
    assert (taken.status, taken.body) == (200, name.encode()), taken
    assert seen == [(name, forwarded, "t.test")]


@pytest.mark.case("TGT-06")
@pytest.mark.parametrize("target", [
    b"/local/./secret", b"/local//secret", b"/local/x/../secret", b"/local/%73ecret", b"/local/secret/.", b"/local/secret/x/..",
    b"/local/secret?x", b"/local/%2e/secret", b"//local//secret//", b"http://t.test/local/./secret", b"/adm/../local/secret",
])
def test_a_rule_holds_for_every_spelling_of_its_path(two, target):
    taken, seen = two.ask(target)
    assert (taken.status, taken.body, seen) == (403, b"secret", [])


OUT_OF_FILES = [target.replace(b"/pub", b"/files").replace(b"/adm/x", b"/secret") for target in ESCAPES
                if b"/pub" in target and b"/adm/x" in target]
OUT_OF_FILES += [
    b"/files/../secret", b"/files/%2e%2e/secret", b"/files/....//secret", b"/files/%252e%252e/secret", b"/files/%252e%252e%252fsecret",
    b"/files/%c0%ae%c0%ae/secret", b"/files//../secret",
    b"/files/f/../../secret", b"/files/%5c..%5csecret", b"/files/.%00./secret", b"/files/f%00.txt", b"/files/..%c0%afsecret",
    b"/files/~/secret", b"/files/f/../..;/secret",
]


@pytest.mark.case("TGT-06")
@pytest.mark.parametrize("target", OUT_OF_FILES, ids=repr)
def test_no_spelling_leaves_the_root_of_files(two, target):
    taken, seen = two.ask(target)
    assert taken.status in (400, 404) and b"secret" not in taken.body and seen == []


@pytest.mark.case("TGT-01")
@pytest.mark.parametrize("target, host, where, forwarded", ABSOLUTE, ids=repr)
def test_absolute_targets_agree_with_host_or_are_refused(two, target, host, where, forwarded):
    taken, seen = two.ask(target, host)
    if where is None or where == "404":
        assert taken.status == (404 if where else 400) and seen == [], taken
    else:
        assert (taken.status, taken.body) == (200, where.encode()), taken
        assert [(name, host) for name, _, host in seen] == ([(where, forwarded)] if forwarded else [])


@pytest.mark.case("TGT-03")
@pytest.mark.parametrize("method, target, statuses", [
    (b"OPTIONS", b"*", (200, 204)), (b"OPTIONS", b"http://t.test", (200, 204)), (b"OPTIONS", b"*?x", (400,)), (b"OPTIONS", b"*/x", (400,)),
    (b"OPTIONS", b"**", (400,)), (b"POST", b"*", (400,)), (b"HEAD", b"*", (400,)),
    (b"CONNECT", b"t.test:80", (405,)), (b"CONNECT", b"/pub/x", (400, 405)), (b"CONNECT", b"http://t.test/", (400, 405)),
    (b"CONNECT", b"t.test", (400, 405)), (b"CONNECT", b"t.test:", (400, 405)),
    (b"CONNECT", b"u@t.test:80", (400, 405)), (b"TRACE", b"/pub/x", (405,)), (b"TRACE", b"*", (400, 405)),
])
def test_targets_of_special_methods(two, method, target, statuses):
    before = sum(len(up.requests) for up in two.ups.values())
    with Client(("127.0.0.1", two.server.port)) as client:
        client.send(get(b"Connection: close", line=method + b" " + target + b" HTTP/1.1"))
        assert client.response(method.decode()).status in statuses
    assert sum(len(up.requests) for up in two.ups.values()) == before


@pytest.mark.case("TGT-05")
@pytest.mark.parametrize("host, ok", [
    (b"[2001:db8::1]", True), (b"[2001:db8::1]:8080", True), (b"[::ffff:1.2.3.4]", True), (b"[v1.a:b]", True), (b"[::]", True),
    (b"[2001:db8::1]:", True), (b"2001:db8::1", False), (b"[2001:db8::1", False), (b"2001:db8::1]", False), (b"[2001:db8::1]x", False),
    (b"[2001:db8::1]:8080:1", False), (b"[2001:db8::1::2]", False), (b"[[::1]]", False), (b"[::1%lo]", False), (b"[::1]@t.test", False),
    (b"[ ::1]", False), (b"[::1 ]", False), (b"[:::1]", False), (b"[1.2.3.4]", False), (b"[::g]", False),
])
def test_address_literals_in_host_are_whole_or_refused(two, host, ok):
    taken, seen = two.ask(b"/pub/x", b"Host: " + host)
    assert (taken.status, seen) == ((200, [("pub", "/pub/x", host.decode())]) if ok else (400, [])), taken
