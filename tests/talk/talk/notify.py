"""The service manager's end of sd_notify: a datagram socket that tells what a server said, in order."""
import os
import select
import socket
import time

from talk.wire import deadline_in


class NotifySocket:
    def __init__(self, path):
        """`path`: a file name, or @NAME for the abstract namespace."""
        self.path = str(path)
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind("\0" + self.path[1:] if self.path.startswith("@") else self.path)
        self.messages = []  # each datagram as a dictionary

    def close(self):
        self.sock.close()
        if not self.path.startswith("@"):
            os.unlink(self.path)

    def _receive(self):
        text = self.sock.recv(8192).decode()
        self.messages.append(dict(line.partition("=")[::2] for line in text.splitlines() if line))

    def poll(self):
        """Takes what has come so far."""
        while select.select([self.sock], [], [], 0)[0]:
            self._receive()
        return self.messages

    def wait(self, key, value=None, within=15, pidfd=None):
        """Waits for a datagram with that key (and value), also among those already here; None: the process of
        `pidfd` ended first."""
        deadline, looked_at = deadline_in(within), 0
        while True:
            for message in self.messages[looked_at:]:
                if key in message and value in (None, message[key]):
                    return message
            looked_at = len(self.messages)
            left = deadline - time.monotonic()
            assert left > 0, f"no {key}={value or '...'} within {within} s; got {self.messages}"
            watched = [self.sock] + ([pidfd] if pidfd is not None else [])
            ready = select.select(watched, [], [], left)[0]
            if self.sock in ready:
                self._receive()
            elif ready:
                return None
