"""Both ends of many tunnels, in a process of its own so that their descriptors are not the test's.

As a program: many.py UPSTREAM_PORT SERVER_PORT COUNT opens them, sends a byte each way through each, says "open", and for
every line it reads does so again; at the end of its input it ends all and says how many ended cleanly.
"""
import resource
import select
import socket
import subprocess
import sys

HEAD = (b"GET /chat HTTP/1.1\r\nHost: t.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nUser-Agent: many\r\nX-Filler: " + b"f" * 400 + b"\r\n\r\n")
REPLY = b"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


class Many:
    """The program, as its parent sees it."""

    def __init__(self, upstream_port, server_port, count):
        self.program = subprocess.Popen([sys.executable, __file__, str(upstream_port), str(server_port), str(count)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.kill()
        self.program.wait()
        self.program.stdout.close()

    def wait(self, within):
        """The next line that it says."""
        assert select.select([self.program.stdout], [], [], within)[0], f"nothing within {within} s"
        return self.program.stdout.readline().strip()

    def again(self):
        self.program.stdin.write("again\n")
        self.program.stdin.flush()

    def end(self):
        self.program.stdin.close()


def read_head(sock):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = sock.recv(4096)
        assert piece, head
        head += piece
    return head


def open_one(listening, server_port):
    client = socket.create_connection(("127.0.0.1", server_port))
    client.settimeout(30)
    client.sendall(HEAD)
    upstream, _ = listening.accept()
    upstream.settimeout(30)
    read_head(upstream)
    upstream.sendall(REPLY)
    assert read_head(client).startswith(b"HTTP/1.1 101 ")
    return client, upstream


def talk(pairs):
    for pair in pairs:
        for a, b in (pair, reversed(pair)):
            a.sendall(b"x")
            assert b.recv(2) == b"x"


def end(pairs):
    clean = 0
    for client, upstream in pairs:
        client.shutdown(socket.SHUT_WR)
        ended = upstream.recv(1) == b""
        upstream.close()
        clean += ended and client.recv(1) == b""
    return clean


def main():
    upstream_port, server_port, count = map(int, sys.argv[1:])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    listening = socket.create_server(("127.0.0.1", upstream_port), backlog=128)
    listening.settimeout(30)
    pairs = [open_one(listening, server_port) for _ in range(count)]
    talk(pairs)
    print("open", flush=True)
    for _ in sys.stdin:
        talk(pairs)
        print("again", flush=True)
    print(end(pairs), flush=True)


if __name__ == "__main__":
    main()
