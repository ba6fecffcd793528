"""A server with routes that forward, answer and look at files, for requests that must not be read in two ways."""
import itertools

from talk.client import Client
from talk.upstream import answer, answering

CONF = """
[server]
loops = 2
[listener main]
bind = $bind
max_body_size = 1m
header_timeout = 5s
body_timeout = 1s
[route ok]
path = = /ok
handler = respond
body = ok
[route local]
path = /local
handler = respond
methods = GET HEAD POST
body = local
[route files]
path = /files
handler = static
root = $dir
[route hidden]
path = = /hidden
handler = respond
body = HIDDEN
[route far]
path = /far
handler = proxy
upstream = app
[upstream app]
server = $up
retries = 0
"""

KINDS = ["local", "far", "files"]


def echo(taken):
    """The body behind a mark, and how it was framed."""
    return answer(200, b"far:" + taken.body, f"X-Framing: {taken.framing}")


class Target:
    """One server with its upstream, for all tests of a file. Each test has a target of its own, so that what an earlier
    attack sends late is not taken for this one's."""

    def __init__(self, serve, origin):
        self.upstream = origin(answering(echo, may_be_cut=True))
        self.server = serve(CONF, up=self.upstream)
        self.numbers = itertools.count()

    def path(self, kind):
        number = next(self.numbers)
        if kind == "files":
            (self.server.dir / f"{number}").write_text("file")
        return f"/{kind}/{number}"

    def seen(self, *paths):
        return [taken for taken in self.upstream.requests if taken.target in (*paths, "/hidden")]

    def connect(self):
        return Client(("127.0.0.1", self.server.port))

    def expect_refused(self, data, statuses, split=None):
        """One answer, a refusal, then the end; no request behind it was looked at."""
        with self.connect() as client:
            if split:
                client.send_split(data, split)
            else:
                client.send_while_reading(data)
            taken = client.refused_with(*statuses)
            assert b"HIDDEN" not in taken.body
            return taken

    def expect_body_refused(self, data, statuses, split=None):
        """The same for a fault in a body: a route that does not read bodies may have answered before it was found.
        Then that answer is the only one."""
        with self.connect() as client:
            if split:
                client.send_split(data, split)
            else:
                client.send_while_reading(data)
            taken = client.response()
            assert taken.status in statuses or taken.body in (b"local", b"file") or taken.status == 405, taken
            client.expect_end()

    def expect_nothing_arrived(self, *paths):
        assert self.server.get("/ok").body == b"ok"
        assert self.seen(*paths) == []

    def expect_none_whole(self, *paths):
        """No whole request reached the upstream, what was begun there was cut, and the server still serves."""
        assert self.server.get("/ok").body == b"ok"
        for taken in self.seen(*paths):
            assert taken.link.ended.wait(10) and not taken.is_whole, taken

    def expect_served(self, data, kind, path, body):
        """One answer to one request, and the connection serves the next one."""
        with self.connect() as client:
            client.send(data)
            taken = client.response()
            assert taken.status == 200 or (kind == "files" and taken.status == 405), taken
            if kind == "far":
                assert taken.body == b"far:" + body, taken
                assert [seen.body for seen in self.seen(path)] == [body]
            if not taken.keeps_open:  # an error need not read on
                assert kind == "files"
                client.expect_end()
                return
            client.expect_open()
            assert not client.reader.buffer
