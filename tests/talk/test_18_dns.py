"""DNS: the servers that tests talk to do what they are told, and the option that names servers is checked."""
import socket
import time

import pytest

from talk.checks import HELLO, check, one_fault, write
from talk.dns import Dns, ScriptedDns, a, aaaa, ask, cname, srv
from talk.server import run


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
def scripted():
    server = ScriptedDns()
    yield server
    server.close()


def addresses(reply):
    return sorted(record.data for _, record in reply.answers if record.type in ("A", "AAAA"))


# ---- dnsmasq as tests use it


def test_dnsmasq_serves_hosts_aliases_and_services(dns):
    server = dns("host-record=app.test,127.0.0.2,::1,7", "cname=alias.test,app.test",
                 "srv-host=_http._tcp.app.test,app.test,8081,10,3")
    assert addresses(ask(server.address, "app.test")) == ["127.0.0.2"]
    assert addresses(ask(server.address, "app.test", "AAAA", tcp=True)) == ["::1"]
    assert addresses(ask(server.address, "alias.test")) == ["127.0.0.2"]
    (_, record), = ask(server.address, "_http._tcp.app.test", "SRV").answers
    assert tuple(record.data) == (10, 3, 8081, "app.test")
    assert ask(server.address, "nobody.test").code == "NXDOMAIN"
    assert ask(server.address, "example.org").code == "REFUSED"


def test_dnsmasq_changes_its_records_on_the_same_port(dns):
    server = dns("host-record=app.test,127.0.0.2,7")
    (_, record), = ask(server.address, "app.test").answers
    assert (record.data, record.ttl) == ("127.0.0.2", 7)
    server.change("host-record=app.test,127.0.0.3")
    assert addresses(ask(server.address, "app.test")) == ["127.0.0.3"]
    server.set_hosts(web_test=["127.0.0.4", "127.0.0.5"], one_test="127.0.0.6")
    assert addresses(ask(server.address, "web.test")) == ["127.0.0.4", "127.0.0.5"]
    server.set_hosts(web_test="127.0.0.4")
    assert addresses(ask(server.address, "web.test")) == ["127.0.0.4"]
    assert ask(server.address, "one.test").code == "NXDOMAIN"


def test_dnsmasq_can_be_away_for_a_while(dns):
    server = dns("host-record=app.test,127.0.0.2")
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        ask(server.address, "app.test")
    server.start()
    assert addresses(ask(server.address, "app.test")) == ["127.0.0.2"]


# ---- the scripted server


def test_a_scripted_name_has_the_records_it_was_given_last(scripted):
    scripted.set("app.test", a("127.0.0.2", ttl=5), a("127.0.0.3"), aaaa("::1"))
    reply = ask(scripted.address, "APP.test")
    assert addresses(reply) == ["127.0.0.2", "127.0.0.3"]
    assert {record.ttl for _, record in reply.answers} == {5, 60}
    assert addresses(ask(scripted.address, "app.test", "AAAA")) == ["::1"]
    scripted.set("app.test", a("127.0.0.9", ttl=0))
    (_, record), = ask(scripted.address, "app.test").answers
    assert (record.data, record.ttl) == ("127.0.0.9", 0)
    assert ask(scripted.address, "app.test", "AAAA").answers == []
    scripted.remove("app.test")
    assert ask(scripted.address, "app.test").code == "NXDOMAIN"


def test_a_scripted_alias_brings_what_it_points_to(scripted):
    scripted.set("alias.test", cname("app.test", ttl=3))
    scripted.set("app.test", a("127.0.0.2"))
    reply = ask(scripted.address, "alias.test")
    assert [(owner, record.type, record.ttl) for owner, record in reply.answers] == [
        ("alias.test", "CNAME", 3), ("app.test", "A", 60)]


def test_a_scripted_service_can_bring_addresses_along(scripted):
    scripted.set("_http._tcp.app.test", srv(8081, "one.test", priority=1, weight=2),
                 additional=[("one.test", a("127.0.0.2"))])
    reply = ask(scripted.address, "_http._tcp.app.test", "SRV")
    assert [tuple(record.data) for _, record in reply.answers] == [(1, 2, 8081, "one.test")]
    assert [(owner, record.data) for owner, record in reply.additional] == [("one.test", "127.0.0.2")]


@pytest.mark.parametrize("code", ["SERVFAIL", "REFUSED", "NXDOMAIN"])
def test_a_scripted_name_can_fail(scripted, code):
    scripted.set("app.test", code=code)
    reply = ask(scripted.address, "app.test")
    assert (reply.code, reply.answers) == (code, [])


def test_a_scripted_name_can_fail_for_one_family(scripted):
    scripted.set("app.test", a("127.0.0.2"), failing=["AAAA"])
    assert ask(scripted.address, "app.test").code == "NOERROR"
    assert ask(scripted.address, "app.test", "AAAA").code == "SERVFAIL"


def test_a_scripted_name_can_be_silent_and_be_heard_again(scripted):
    scripted.set("app.test", silent=True)
    with pytest.raises(socket.timeout):
        ask(scripted.address, "app.test", within=0.3)
    scripted.set("app.test", a("127.0.0.2"))
    assert addresses(ask(scripted.address, "app.test")) == ["127.0.0.2"]


def test_a_scripted_name_can_be_slow(scripted):
    scripted.set("app.test", a("127.0.0.2"), delay=0.3)
    begin = time.monotonic()
    assert addresses(ask(scripted.address, "app.test")) == ["127.0.0.2"]
    assert time.monotonic() - begin >= 0.3


def test_a_scripted_answer_that_does_not_fit_a_datagram_is_truncated(scripted):
    scripted.set("many.test", *(a(f"127.0.1.{i}") for i in range(40)))
    assert ask(scripted.address, "many.test").truncated
    assert len(ask(scripted.address, "many.test", tcp=True).answers) == 40


def test_the_scripted_server_tells_what_it_was_asked(scripted):
    ask(scripted.address, "one.test")
    ask(scripted.address, "two.test", "SRV", tcp=True)
    scripted.wait_asked("two.test", "SRV")
    assert [(asked.name, asked.type, asked.tcp) for asked in scripted.asked] == [
        ("one.test", "A", False), ("two.test", "SRV", True)]
    assert scripted.count() == 2 and scripted.count("one.test", "A") == 1 and scripted.count("one.test", "SRV") == 0
    with pytest.raises(AssertionError, match="not asked 2 times"):
        scripted.wait_asked("one.test", count=2, within=0.1)


# ---- the option


def with_resolver(value):
    return HELLO.replace("$bind", "127.0.0.1:0").replace("loops = 2", f"loops = 2\nresolver = {value}")


@pytest.mark.parametrize("value", ["auto", "127.0.0.1:53", "[::1]:53", "10.0.0.2:53 [2001:db8::53]:5353"])
def test_servers_are_taken_by_address_and_port(tmp_path, value):
    done = check(tmp_path, with_resolver(value))
    assert (done.returncode, done.stderr) == (0, "")
    effective = run("-T", "-c", write(tmp_path, with_resolver(value))).stdout
    assert f"resolver = {value}" in effective, effective


@pytest.mark.parametrize("value, word", [
    ("dns.example.org:53", "dns.example.org:53"),
    ("127.0.0.1", "127.0.0.1"),
    ("127.0.0.1:53 ::1", "::1"),
    ("127.0.0.1:53 auto", "auto"),
    ("unix:/run/dns.sock", "unix:/run/dns.sock"),
    ("127.0.0.1:0", "127.0.0.1:0"),
    ("127.0.0.1:53,10.0.0.2:53", "127.0.0.1:53,10.0.0.2:53"),
    ("", "empty"),
])
def test_what_is_no_server_is_a_fault_that_names_it(tmp_path, value, word):
    text = with_resolver(value)
    line = 1 + text.splitlines().index(f"resolver = {value}")
    one_fault(tmp_path, text, line, "[server] resolver: ", word)


def test_each_word_that_is_no_server_is_a_fault_of_its_own(tmp_path):
    done = check(tmp_path, with_resolver("one 127.0.0.1:53 two"))
    assert done.returncode == 1
    assert [line.split('"')[1] for line in done.stderr.splitlines()] == ["one", "two"], done.stderr
