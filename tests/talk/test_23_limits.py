"""max_connections of servers, the queue before them, connections that loops share, the budget of retries."""
import threading
import time

from talk.client import Client, Closed, request
from talk.groups import conf
from talk.ports import free_port
from talk.settings import allow
from talk.upstream import answer, answering


class Gate:
    """A script whose requests are answered one by one, when the test says so; `most`: as many were there at once."""

    def __init__(self):
        self.semaphore, self.lock = threading.Semaphore(0), threading.Lock()
        self.most = self.waiting = 0
        self.changed = threading.Condition(self.lock)

    def __call__(self, link):
        try:
            while True:
                link.request(within=60)
                with self.changed:
                    self.waiting += 1
                    self.most = max(self.most, self.waiting)
                    self.changed.notify_all()
                assert self.semaphore.acquire(timeout=allow(30))
                with self.changed:
                    self.waiting -= 1
                link.send(answer(200, b"done"))
        except (Closed, OSError):
            pass

    def await_waiting(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: self.waiting >= count, allow(10)), self.waiting

    def release(self, count=1):
        for _ in range(count):
            self.semaphore.release()


def asking(server, count):
    clients = [server.connect() for _ in range(count)]
    for client in clients:
        client.send(request("GET", "/"))
    return clients


def test_a_server_gets_no_more_connections_than_it_may(serve, origin):
    for loops in (1, 3):
        gate = Gate()
        up = origin(gate)
        server = serve(conf(f"server = {up} max_connections=2", "queue_timeout = 1h", loops=loops))
        clients = asking(server, 9)
        gate.await_waiting(2)
        figures = server.settle(lambda d: sum(l["active_requests"] for l in d["loops"]) >= 10)
        assert figures["upstreams"]["app"][0]["active"] == 2
        gate.release(9)
        for client in clients:
            assert client.response().body == b"done"
        assert gate.most == 2


def test_the_limit_of_the_group_holds_for_each_of_its_servers(serve, origin):
    gates = [Gate(), Gate()]
    ups = [origin(gate) for gate in gates]
    server = serve(conf(f"server = {ups[0]}", f"server = {ups[1]} max_connections=1", "max_connections = 3"))
    clients = asking(server, 6)
    gates[0].await_waiting(3)
    gates[1].await_waiting(1)
    for gate in gates:
        gate.release(6)
    for client in clients:
        assert client.response().status == 200
    assert (gates[0].most, gates[1].most) == (3, 1)


def test_requests_beyond_the_queue_are_refused_at_once(serve, origin):
    gate = Gate()
    up = origin(gate)
    server = serve(conf(f"server = {up}", "max_connections = 1", "queue = 2", "queue_timeout = 1h"))
    clients = asking(server, 3)
    gate.await_waiting(1)
    server.settle(lambda d: sum(l["active_requests"] for l in d["loops"]) >= 4)
    with server.connect() as late:
        refused = late.get("/")
        assert refused.status == 503 and refused["Retry-After"], refused
    gate.release(3)
    assert [client.response().status for client in clients] == [200] * 3


def test_queue_0_lets_nobody_wait(serve, origin):
    gate = Gate()
    up = origin(gate)
    server = serve(conf(f"server = {up}", "max_connections = 1", "queue = 0"))
    first = asking(server, 1)[0]
    gate.await_waiting(1)
    assert server.get("/").status == 503
    gate.release()
    assert first.response().status == 200


def test_a_request_waits_no_longer_than_queue_timeout(serve, origin):
    gate = Gate()
    up = origin(gate)
    server = serve(conf(f"server = {up}", "max_connections = 1", "queue_timeout = 200ms"))
    first = asking(server, 1)[0]
    gate.await_waiting(1)
    late = asking(server, 3)
    for client in late:
        assert client.response().status == 503
    gate.release()
    assert first.response().status == 200
    document = server.settle(lambda d: d["upstreams"]["app"][0]["active"] == 0)
    assert document["upstreams"]["app"][0]["idle"] == 1


def test_a_client_that_leaves_the_queue_gives_its_place_up(serve, origin):
    gate = Gate()
    up = origin(gate)
    server = serve(conf(f"server = {up}", "max_connections = 1", "queue = 1", "queue_timeout = 1h"))
    first = asking(server, 1)[0]
    gate.await_waiting(1)
    gone = asking(server, 1)[0]
    server.settle(lambda d: sum(l["active_requests"] for l in d["loops"]) >= 3)
    gone.reset()
    server.settle(lambda d: sum(l["active_requests"] for l in d["loops"]) == 2)
    waits = asking(server, 1)[0]
    gate.release(2)
    assert first.response().status == 200
    assert waits.response().status == 200


def test_first_come_first_served(serve, origin):
    gate = Gate()
    up = origin(gate)
    server = serve(conf(f"server = {up}", "max_connections = 1", "queue_timeout = 1h"))
    clients = []
    for number in range(6):
        client = server.connect()
        client.send(request("GET", f"/{number}"))
        clients.append(client)
        if number == 0:
            gate.await_waiting(1)
        server.settle(lambda d: sum(l["active_requests"] for l in d["loops"]) == number + 2)
    gate.release(6)
    for client in clients:
        client.response()
    assert up.targets() == [f"/{number}" for number in range(6)]


def test_an_idle_connection_of_another_loop_is_taken_over(serve, origin):
    """One request after the other, each on another loop, well apart: all on one upstream connection."""
    up = origin()
    server = serve(conf(f"server = {up}", loops=4))
    loops, clients = set(), [server.connect() for _ in range(8)]
    for client in clients * 2:
        answered = client.get("/")
        assert answered.status == 200
        loops.add(answered["X-Mlserve-Loop"])
        time.sleep(0.01)  # a loop that has just used its only connection keeps it
    assert len(loops) == 4
    assert len(up.links) == 1


def test_idle_connections_of_other_loops_do_not_use_up_the_limit(serve, origin):
    gate = Gate()
    up = origin(gate)
    server = serve(conf(f"server = {up}", "max_connections = 8", "queue_timeout = 1h", loops=2))
    clients = {"0": [], "1": []}
    gate.release(100)
    while min(len(of) for of in clients.values()) < 8:
        client = server.connect()
        clients[client.get("/")["X-Mlserve-Loop"]].append(client)
    while gate.semaphore.acquire(blocking=False):
        pass
    for loop in "01010":
        for client in clients[loop][:8]:
            client.send(request("GET", "/"))
        gate.await_waiting(8)
        gate.release(8)
        for client in clients[loop][:8]:
            assert client.response().status == 200
    assert gate.most <= 8


def test_counts_are_right_after_thousands_of_requests_from_all_loops(serve, origin):
    """Limits, takeover and the queue together, under load from many clients."""
    up = origin(answering(lambda taken: answer(200, b"x")))
    server = serve(conf(f"server = {up}", "max_connections = 3", "queue = 1000", "queue_timeout = 1h", loops=3))
    statuses = []

    def work():
        with Client(("127.0.0.1", server.port)) as client:
            for _ in range(100):
                statuses.append(client.get("/").status)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.count(200) == 1600, set(statuses)
    document = server.settle(lambda d: d["upstreams"]["app"][0]["active"] == 0)
    figures = document["upstreams"]["app"][0]
    assert figures["idle"] <= 3 and figures["failures"] == 0
    assert figures["requests"] == 1600


def test_retries_stay_within_their_budget(serve, origin):
    """An outage of all servers is not multiplied: beyond a few, no more retries than the budget's share."""
    dead = [f"127.0.0.1:{free_port()}" for _ in range(3)]
    lines = [f"server = {at}" for at in dead] + ["retries = 2", "eject_errors = 0"]
    small = serve(conf(*lines, "retry_budget = 10"))
    large = serve(conf(*lines, "retry_budget = 100"))
    counts = []
    for server in (small, large):
        with server.connect() as client:
            for _ in range(100):
                assert client.get("/").status == 502
        counts.append(sum(up["failures"] for up in server.health()["upstreams"]["app"]))
    assert counts[1] == 300
    # 20 at hand, 10 % of 100, 3 a second.
    assert 120 <= counts[0] <= 150, counts


def test_one_that_waits_for_a_certain_server_holds_up_nobody_else(serve, origin):
    """A request that failed at one server waits for the other, which is full; the first goes on serving all loops."""
    gate = Gate()

    def moody(link):
        while True:
            try:
                taken = link.request(within=60)
            except Closed:
                return
            if taken.target == "/bad":
                return link.reset()
            link.send(answer(200, b"fine"))

    full, other = origin(gate), origin(moody)
    server = serve(conf(f"server = {full} max_connections=1", f"server = {other}", "queue_timeout = 1h", "eject_errors = 0",
                        loops=2))
    holder = server.connect()
    holder.send(request("GET", "/hold"))  # the first turn is the first server's
    gate.await_waiting(1)
    picky = server.connect()
    picky.send(request("GET", "/bad"))
    while not any(taken.target == "/bad" for taken in other.requests):
        other.next_request()
    server.settle(lambda d: d["upstreams"]["app"][1]["failures"] >= 1)
    clients = [server.connect() for _ in range(4)]
    begun = time.monotonic()
    for client in clients * 10:
        assert client.get("/").body == b"fine"
    # 40 looks of a slow tick would take two seconds.
    assert time.monotonic() - begun < allow(1)
    gate.release(2)
    assert holder.response().status == 200
    assert picky.response().body == b"done"
