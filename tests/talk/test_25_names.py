"""Upstream servers by name: found through DNS, followed while the names change, kept while DNS fails."""
import struct
import threading
import time

import pytest

from talk.client import request
from talk.dns import Dns, ScriptedDns, a, aaaa, cname, srv
from talk.dns_wire import pack_name
from talk.groups import conf as group_conf
from talk.ports import free_port
from talk.settings import allow
from talk.upstream import answer, answering


def conf(*lines):
    return group_conf(*lines, loops=2, server="resolver = $dns")


@pytest.fixture
def scripted():
    server = ScriptedDns()
    yield server
    server.close()


@pytest.fixture
def dns(tmp_path):
    made = []

    def make(*lines, **more):
        made.append(Dns(tmp_path, *lines, **more))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def places(origin):
    """places(2): upstreams on one port of 127.0.0.2, 127.0.0.3..., which answer with their address; and the port."""

    def make(count, port=None):
        port = port or free_port()
        hosts = [f"127.0.0.{i + 2}" for i in range(count)]
        ups = [origin(answering(lambda taken, host=host: answer(200, host.encode())), host=host, port=port)
               for host in hosts]
        return ups, port

    return make


def servers(server):
    return [up["server"].rpartition(":")[0] for up in server.health()["upstreams"]["app"]]


def settle_servers(server, *wanted, within=20):
    server.settle(lambda d: [up["server"].rpartition(":")[0] for up in d["upstreams"]["app"]] == list(wanted), within)


def bodies(server, count=6):
    with server.connect() as client:
        return {client.get("/").body.decode() for _ in range(count)}


# ---- with dnsmasq


@pytest.mark.case("HLB-01")
def test_requests_follow_a_name_to_its_new_address(serve, dns, places):
    ups, port = places(2)
    ns = dns("host-record=app.test,127.0.0.2", ttl=1)
    server = serve(conf(f"server = app.test:{port}", "resolve_min_ttl = 100ms"), dns=ns)
    assert bodies(server) == {"127.0.0.2"}
    figures = server.health()["upstreams"]["app"][0]
    assert (figures["server"], figures["found_by"]) == (f"127.0.0.2:{port}", f"app.test:{port}")
    ns.change("host-record=app.test,127.0.0.3")
    settle_servers(server, "127.0.0.3")
    assert bodies(server) == {"127.0.0.3"}
    # Its idle connections are retired.
    for link in ups[0].links:
        assert link.ended.wait(allow(10))


def test_a_service_gives_ports_weights_and_priorities(serve, dns, origin):
    ups = [origin(answering(lambda taken, i=i: answer(200, b"%d" % i))) for i in range(3)]
    ports = [int(str(up).rpartition(":")[2]) for up in ups]
    ns = dns(*(f"host-record=n{i}.test,127.0.0.1" for i in range(3)),
             f"srv-host=_http._tcp.app.test,n0.test,{ports[0]},1,30", f"srv-host=_http._tcp.app.test,n1.test,{ports[1]},1,10",
             f"srv-host=_http._tcp.app.test,n2.test,{ports[2]},5,1")
    server = serve(conf("server = srv:_http._tcp.app.test", "balance = round-robin"), dns=ns)
    with server.connect() as client:
        seen = [client.get("/").body for _ in range(40)]
        assert (seen.count(b"0"), seen.count(b"1"), seen.count(b"2")) == (30, 10, 0)
        for up in ups[:2]:
            up.die()
        # The next priority is the backup.
        assert client.get("/").body == b"2"


def test_servers_of_names_and_of_addresses_serve_together(serve, dns, places):
    ups, port = places(3)
    ns = dns("host-record=app.test,127.0.0.2", "host-record=app.test,127.0.0.3")
    server = serve(conf(f"server = app.test:{port}", f"server = 127.0.0.4:{port} weight=2"), dns=ns)
    settle_servers(server, "127.0.0.2", "127.0.0.3", "127.0.0.4")
    assert bodies(server, 20) == {"127.0.0.2", "127.0.0.3", "127.0.0.4"}


@pytest.mark.case("HLB-01")
def test_dns_that_is_away_changes_nothing(serve, dns, places):
    ups, port = places(1)
    ns = dns("host-record=app.test,127.0.0.2", ttl=1)
    server = serve(conf(f"server = app.test:{port}", "resolve_interval = 200ms"), dns=ns)
    assert bodies(server) == {"127.0.0.2"}
    ns.stop()
    server.wait_log(r"upstream app: app.test:\d+: .*; the 1 address found before stays", within=20)
    assert bodies(server) == {"127.0.0.2"}
    ns.start()
    assert bodies(server) == {"127.0.0.2"}


def test_a_server_starts_with_names_that_do_not_resolve_and_serves_when_they_do(serve, dns, places):
    ups, port = places(1)
    ns = dns("host-record=other.test,127.0.0.9")
    server = serve(conf(f"server = app.test:{port}"), dns=ns)
    server.wait_log("upstream app: app.test.*it has no server until it resolves")
    answered = server.get("/")
    assert answered.status == 503 and answered["Retry-After"]
    assert server.get("/ok").status == 200
    document = server.health()
    assert document["upstreams"]["app"][0]["state"] == "unresolved" and document["status"] == "degraded"
    ns.change("host-record=app.test,127.0.0.2")
    settle_servers(server, "127.0.0.2")
    assert bodies(server) == {"127.0.0.2"}


def test_checks_and_limits_hold_for_servers_of_names(serve, dns, origin):
    def checked(link):
        link.request()
        link.send(answer(503, b"x"))

    up = origin(checked)
    ns = dns("host-record=app.test,127.0.0.1")
    port = str(up).rpartition(":")[2]
    server = serve(conf(f"server = app.test:{port} max_connections=1", "health_path = /check", "health_interval = 50ms",
                        "health_fall = 2"), dns=ns)
    server.wait_log("server 127.0.0.1:.*: down: failed 2 health checks")
    assert server.get("/").status == 503


# ---- with answers that dnsmasq never gives


@pytest.mark.case("HLB-01")
@pytest.mark.parametrize("what", ["NXDOMAIN", "SERVFAIL", "REFUSED", "empty", "silent"])
def test_the_last_good_addresses_stay_on_every_error(serve, scripted, places, what):
    ups, port = places(1)
    scripted.set("app.test", a("127.0.0.2", ttl=1))
    server = serve(conf(f"server = app.test:{port}", "resolve_interval = 100ms"), dns=scripted.address)
    assert bodies(server) == {"127.0.0.2"}
    if what == "empty":
        scripted.set("app.test")
    elif what == "silent":
        scripted.set("app.test", silent=True)
    else:
        scripted.set("app.test", code=what)
    server.wait_log("the 1 address found before stays", within=30)
    assert bodies(server) == {"127.0.0.2"}
    # Said once, though asked for again.
    scripted.wait_asked(count=scripted.count() + 4, within=30)
    assert server.log.count("found before stays") == 1


@pytest.mark.case("HLB-01")
def test_forty_addresses_all_serve(serve, scripted, origin):
    port = free_port()
    hosts = [f"127.0.1.{i}" for i in range(1, 41)]
    for host in hosts:
        origin(answering(lambda taken, host=host: answer(200, host.encode())), host=host, port=port)
    scripted.set("app.test", *(a(host) for host in hosts))
    server = serve(conf(f"server = app.test:{port}", "balance = round-robin"), dns=scripted.address)
    settle_servers(server, *hosts)
    assert bodies(server, 40) == set(hosts)


@pytest.mark.case("HLB-01")
def test_an_address_family_without_a_route_is_passed_over(serve, scripted, places):
    ups, port = places(1)
    scripted.set("app.test", a("127.0.0.2"), aaaa("2001:db8::1"))
    server = serve(conf(f"server = app.test:{port}", "connect_timeout = 500ms"), dns=scripted.address)
    assert bodies(server, 12) == {"127.0.0.2"}


@pytest.mark.case("HLB-01")
@pytest.mark.parametrize("ttl, lines, least, most", [
    (0, ("resolve_min_ttl = 300ms",), 0.25, 5), (86400, ("resolve_max_ttl = 300ms", "resolve_min_ttl = 100ms"), 0.25, 5),
    (1, (), 0.9, 6), (86400, ("resolve_interval = 300ms",), 0.25, 5)])
def test_a_name_is_asked_for_again_when_its_ttl_ends_within_bounds(serve, scripted, ttl, lines, least, most):
    scripted.set("app.test", a("127.0.0.2", ttl=ttl))
    serve(conf("server = app.test:9", *lines), dns=scripted.address)
    scripted.wait_asked(kind="A", count=3, within=20)
    times = [asked.at for asked in scripted.asked if asked.type == "A"]
    assert times[1] - times[0] >= least
    assert times[2] - times[0] <= allow(2 * most)


@pytest.mark.case("HLB-01")
def test_an_alias_that_points_elsewhere_is_followed(serve, scripted, places):
    ups, port = places(2)
    scripted.set("one.test", a("127.0.0.2", ttl=600))
    scripted.set("two.test", a("127.0.0.3", ttl=600))
    scripted.set("app.test", cname("one.test", ttl=1))
    server = serve(conf(f"server = app.test:{port}"), dns=scripted.address)
    assert bodies(server) == {"127.0.0.2"}
    scripted.set("app.test", cname("two.test", ttl=1))
    settle_servers(server, "127.0.0.3")


@pytest.mark.case("HLB-01")
def test_a_request_in_progress_at_a_removed_server_is_finished(serve, scripted, origin):
    gate = threading.Event()

    def slow(link):
        link.request()
        assert gate.wait(allow(20))
        link.send(answer(200, b"late"))
        link.wait_end()

    port = free_port()
    up = origin(slow, host="127.0.0.2", port=port)
    origin(answering(lambda taken: answer(200, b"new")), host="127.0.0.3", port=port)
    scripted.set("app.test", a("127.0.0.2", ttl=1))
    server = serve(conf(f"server = app.test:{port}"), dns=scripted.address)
    client = server.connect()
    client.send(request("GET", "/"))
    up.next_request()
    scripted.set("app.test", a("127.0.0.3", ttl=1))
    settle_servers(server, "127.0.0.3")
    assert server.get("/").body == b"new"
    gate.set()
    assert client.response().body == b"late"
    # Its connection is not kept.
    assert up.links[0].ended.wait(allow(10))


@pytest.mark.case("EVL-03")
def test_a_resolver_that_never_answers_holds_up_its_own_requests_only(serve, scripted):
    scripted.set("app.test", silent=True)
    server = serve(conf("server = app.test:9", "connect_timeout = 700ms"), dns=scripted.address)
    clients = [server.connect() for _ in range(20)]
    begun = time.monotonic()
    for client in clients:
        client.send(request("GET", "/"))
    with server.connect() as other:
        for _ in range(50):
            asked = time.monotonic()
            assert other.get("/ok").status == 200
            assert time.monotonic() - asked < allow(0.4)
    for client in clients:
        assert client.response().status == 504
    assert 0.6 <= time.monotonic() - begun < allow(4)


@pytest.mark.case("EVL-03")
def test_requests_wait_for_the_first_lookup_and_are_served(serve, scripted, places):
    ups, port = places(1)
    scripted.set("app.test", a("127.0.0.2"), delay=0.5)
    server = serve(conf(f"server = app.test:{port}", "connect_timeout = 20s"), dns=scripted.address)
    with server.connect() as client:
        assert client.get("/").body == b"127.0.0.2"


def test_localhost_needs_no_dns(serve, scripted, origin):
    up = origin()
    port = str(up).rpartition(":")[2]
    server = serve(conf(f"server = localhost:{port}"), dns=scripted.address)
    assert server.get("/x").body == b"up:/x"
    assert scripted.asked == []


def test_a_malformed_answer_is_not_believed_in_part(serve, scripted, places):
    """The first record is fine, the second is cut short: nothing is taken from it, and what was found before stays."""
    ups, port = places(1)
    name = "_http._tcp.app.test"
    scripted.set("one.test", a("127.0.0.2"))
    scripted.set(name, srv(port, "one.test", weight=0, ttl=1))
    server = serve(conf(f"server = srv:{name}", "resolve_interval = 100ms"), dns=scripted.address)
    assert bodies(server) == {"127.0.0.2"}
    record = b"\xc0\x0c" + struct.pack("!HHIH", 33, 1, 1, 6 + len(pack_name("two.test"))) + struct.pack("!HHH", 0, 0, port)
    short = b"\xc0\x0c" + struct.pack("!HHIH", 33, 1, 1, 4) + b"\0\0\0\0"
    scripted.set("two.test", a("127.0.0.3"))
    scripted.set(name, raw=struct.pack("!HHHHH", 0x8180, 1, 2, 0, 0) + pack_name(name) + struct.pack("!HH", 33, 1)
                 + record + pack_name("two.test") + short)
    server.wait_log("srv:.*; the 1 address found before stays")
    assert bodies(server) == {"127.0.0.2"}
