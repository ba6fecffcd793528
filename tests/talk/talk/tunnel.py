"""Tunnels through the proxy: a server with one upstream, scripts that accept an upgrade, and the client's handshake."""
from talk.client import Closed, request
from talk.config import config
from talk.upstream import answer
from talk.wire import deadline_in

CONF = config("ok", "health", server=("loops = 1", "shutdown_timeout = $shutdown"), listener=("bind = unix:$dir/front.sock", "$listener"), more="""
[route up]
path = /
handler = proxy
upstream = app
$route
[upstream app]
server = $up
$upstream
""")
WEBSOCKET = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def switching(*fields, protocol="websocket"):
    return answer(101, b"", f"Upgrade: {protocol}", "Connection: Upgrade", *fields, length=False)


def tunnel_to(play, reply=None):
    """A script that accepts the upgrade and then plays."""

    def script(link):
        try:
            taken = link.request_head(within=60)
        except Closed as closed:
            assert not closed.got
            return
        link.send(reply or switching(f"Sec-WebSocket-Accept: {ACCEPT}", protocol=taken["Upgrade"]))
        play(link)

    return script


def until_end(link):
    """Takes nothing in particular; the tunnel ends by FIN."""
    assert link.wait_end(within=60) == (b"", "FIN")


def echo(link):
    while link.reader.fill(deadline_in(60)):
        link.send(bytes(link.reader.buffer))
        link.reader.buffer.clear()


def make_with(serve, origin):
    """make(script, ...): an upstream that plays the script, or its address, and a started server before it."""

    def make(script, shutdown="30s", listener="", route="", upstream="", **more):
        up = script if isinstance(script, str) else origin(script)
        return up, serve(CONF, up=up, shutdown=shutdown, listener=listener, route=route, upstream=upstream, **more)

    return make


def upgrade(client, *fields, target="/chat"):
    """Sends the request and reads the 101."""
    client.send(request("GET", target, *(fields or WEBSOCKET)))
    return opened(client)


def opened(client):
    taken = client.head(deadline_in(10))
    assert taken.status == 101, taken
    return taken
