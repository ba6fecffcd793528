"""Which server of an upstream group answers: every policy, weights, backups, drain, sticky cookies, slow start."""
import collections
import re

from talk.client import Closed, request
from talk.groups import conf
from talk.upstream import answer, answering


def named(name):
    """Answers with its name."""
    return answering(lambda taken: answer(200, name.encode()))


def group(serve, origin, count, *more, parameters=(), trusted="10.0.0.0/8"):
    """A server with `count` upstreams named a, b, c...; `parameters` of each stand behind its address."""
    ups = [origin(named("abcdefgh"[i])) for i in range(count)]
    lines = [f"server = {up} {parameters[i] if i < len(parameters) else ''}".rstrip() for i, up in enumerate(ups)]
    return ups, serve(conf(*lines, *more, listener=f"trusted_proxies = {trusted}"))


def ask(server, count, *fields, target="/"):
    with server.connect() as client:
        return "".join(client.get(target, *fields).body.decode() for _ in range(count))


def test_least_requests_goes_to_the_server_with_fewest_in_progress(serve, origin):
    """A held request counts; the idle server gets what comes, though the other one has more weight."""

    def holding(link):
        link.request()
        link.wait_end()

    slow, fast = origin(holding), origin(named("b"))
    server = serve(conf(f"server = {slow} weight=2", f"server = {fast}", "retries = 0"))
    first = server.connect()
    first.send(request("GET", "/"))  # the first turn is the heavier one's
    slow.next_request()
    assert ask(server, 10) == "b" * 10


def test_round_robin_takes_turns_by_weight(serve, origin):
    _, server = group(serve, origin, 3, "balance = round-robin", parameters=("weight=3",))
    assert collections.Counter(ask(server, 50)) == {"a": 30, "b": 10, "c": 10}


def test_two_choices_uses_every_server(serve, origin):
    _, server = group(serve, origin, 3, "balance = two-choices")
    counts = collections.Counter(ask(server, 90))
    assert set(counts) == set("abc") and min(counts.values()) > 5, counts


def test_two_choices_heeds_weights_also_when_all_are_idle(serve, origin):
    _, server = group(serve, origin, 2, "balance = two-choices", parameters=("weight=1", "weight=3"))
    counts = collections.Counter(ask(server, 200))
    # Half of the pairs are twice the same, but for a few looks more.
    assert counts["a"] > 20 and counts["b"] > 80, counts


def server_of_each(bodies_of, servers):
    """Asks by one key after the other until as many servers have answered (which keys are whose hangs on the servers'
    ports); each key has one. Returns the keys' bodies."""
    seen = {}
    for key in range(1000):
        bodies = bodies_of(key)
        assert len(set(bodies)) == 1, (key, bodies)
        seen[key] = bodies[0]
        if len(set(seen.values())) == servers:
            return seen
    raise AssertionError(f"only {set(seen.values())} answered 1000 keys")


def test_hash_of_the_uri_keeps_each_address_at_its_server(serve, origin):
    _, server = group(serve, origin, 4, "balance = hash:uri")
    seen = server_of_each(lambda key: ask(server, 2, target=f"/p/{key}?q={key}"), 4)
    assert all(ask(server, 1, target=f"/p/{key}?q={key}") == body for key, body in seen.items())
    # The query is a part of it.
    server_of_each(lambda key: ask(server, 1, target=f"/p?{key}"), 4)


def test_hash_of_a_header_or_cookie(serve, origin):
    _, by_header = group(serve, origin, 4, "balance = hash:header=X-User")
    _, by_cookie = group(serve, origin, 4, "balance = hash:cookie=sid")
    for server, field in ((by_header, "x-user: %d"), (by_cookie, "Cookie: a=b; sid=%d; sid2=9")):
        server_of_each(lambda key, server=server, field=field: ask(server, 3, field % key), 4)
        # Without it: turns.
        assert len(set(ask(server, 8))) == 4


def test_hash_of_the_client_believes_trusted_proxies_only(serve, origin):
    _, server = group(serve, origin, 4, "balance = hash:client-ip")
    assert len(set(ask(server, 10))) == 1
    assert len({ask(server, 1, f"X-Forwarded-For: 192.0.2.{i}") for i in range(20)}) == 1
    _, behind = group(serve, origin, 4, "balance = hash:client-ip", trusted="127.0.0.0/8")
    server_of_each(lambda key: ask(behind, 2, f"X-Forwarded-For: 203.0.113.9, 192.0.{key // 250}.{key % 250}"), 4)


def test_a_backup_serves_only_when_the_others_cannot(serve, origin):
    ups, server = group(serve, origin, 2, parameters=("backup",))
    assert ask(server, 10) == "b" * 10
    ups[1].die()
    assert ask(server, 5) == "a" * 5


def test_a_draining_server_gets_nothing_new(serve, origin):
    ups, server = group(serve, origin, 2, parameters=("drain",))
    assert ask(server, 10) == "b" * 10
    document = server.health()
    assert [up["state"] for up in document["upstreams"]["app"]] == ["draining", "up"] and document["status"] == "ok"


def test_a_group_whose_servers_all_drain_is_told(serve, origin):
    _, server = group(serve, origin, 1, parameters=("drain",))
    assert server.get("/").status == 503
    document = server.health()
    assert document["status"] == "degraded" and "upstream app: no server is up" in document["warnings"], document


def cookie_of(answered):
    value = answered["Set-Cookie"]
    match = re.match(r"srv=([0-9a-f]{16}); Path=/; HttpOnly; SameSite=Lax\Z", value or "")
    assert match, value
    return match[1]


def test_a_sticky_cookie_keeps_a_client_at_its_server(serve, origin):
    _, server = group(serve, origin, 3, "sticky_cookie = srv")
    with server.connect() as client:
        for _ in range(6):
            first = client.get("/")
            id_ = cookie_of(first)
            for _ in range(4):
                again = client.get("/", f"Cookie: x=y; srv={id_}")
                assert again.body == first.body and again["Set-Cookie"] is None
        # One that names no server, or is no id, is replaced.
        for value in ("0" * 16, "zz", id_ + "0", ""):
            assert cookie_of(client.get("/", f"Cookie: srv={value}"))


def test_sticky_clients_of_a_draining_server_stay(serve, origin):
    ups, server = group(serve, origin, 2, "sticky_cookie = srv")
    ids = {}
    with server.connect() as client:
        while len(ids) < 2:
            first = client.get("/")
            ids[first.body.decode()] = cookie_of(first)
    draining = serve(conf(f"server = {ups[0]} drain", f"server = {ups[1]}", "sticky_cookie = srv"))
    assert ask(draining, 5, f"Cookie: srv={ids['a']}") == "a" * 5
    assert ask(draining, 5) == "b" * 5


def test_a_sticky_client_of_a_dead_server_moves_and_is_told(serve, origin):
    ups, server = group(serve, origin, 2, "sticky_cookie = srv")
    with server.connect() as client:
        first = client.get("/")
        gone = ups["ab".index(first.body.decode())]
        gone.die()
        moved = client.get("/", f"Cookie: srv={cookie_of(first)}")
        assert moved.status == 200 and moved.body != first.body
        assert cookie_of(moved) != cookie_of(first)


def test_a_server_that_comes_back_starts_slowly(serve, origin):
    """With slow_start of an hour one that has just recovered gets next to nothing; without it, its half."""
    for line, most in (("slow_start = 1h", 8), ("", 40)):
        broken = [True]

        def moody(link):
            while True:
                try:
                    link.request(within=60)
                except Closed:
                    return
                if broken[0]:
                    return link.reset()
                link.send(answer(200, b"a"))

        up, other = origin(moody), origin(named("b"))
        server = serve(conf(f"server = {up}", f"server = {other}", "balance = round-robin", "eject_errors = 1",
                            "eject_time = 100ms", line))
        with server.connect() as client:
            while "ejected for" not in server.log:
                assert client.get("/").body == b"b"
            broken[0] = False
            bodies = b""
            while b"a" not in bodies:
                bodies = client.get("/").body
            bodies = b"".join(client.get("/").body for _ in range(80))
        server.wait_log("no longer ejected")
        assert 0 <= bodies.count(b"a") <= most and (line or bodies.count(b"a") == most), bodies
