"""What a configuration may be read from, and what it may not."""
import os
import re
import socket
import threading
import time

import pytest

from talk.checks import HELLO, one_fault
from talk.server import run
from talk.settings import allow


def test_a_configuration_may_come_from_a_program(tmp_path):
    """mlserve -c <(generator), which takes its time."""
    text = HELLO.replace("$bind", "127.0.0.1:0") + "".join(f"; {'x' * 100}\n" for _ in range(2000))
    reading, writing = os.pipe()

    def write_slowly():
        with os.fdopen(writing, "w") as pipe:
            for at in range(0, len(text), 50000):
                time.sleep(0.05)
                pipe.write(text[at:at + 50000])
                pipe.flush()

    generator = threading.Thread(target=write_slowly, daemon=True)
    generator.start()
    done = run("-T", "-c", f"/dev/fd/{reading}", pass_fds=(reading,))
    generator.join(allow(10))
    os.close(reading)
    assert done.returncode == 0 and re.search(r"^body = hello$", done.stdout, re.M), done.stderr


def test_a_pipe_without_a_writer_is_a_fault_not_a_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = run("-t", "-c", tmp_path / "pipe")
    assert done.returncode == 1 and done.stderr.startswith(f"{tmp_path}/pipe: is a pipe"), done.stderr
    one_fault(tmp_path, "[server]\ninclude = pipe\n", 2, "[server] include: ", f"{tmp_path}/pipe", "is a pipe")


@pytest.mark.parametrize("path, what", [("/", "directory"), ("/dev/null", "device"), ("socket", "socket")])
def test_a_configuration_that_is_no_file_is_a_fault_that_says_what_it_is(tmp_path, path, what):
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "socket"))
    done = run("-t", "-c", tmp_path / path)
    assert (done.returncode, done.stderr) == (1, f"{tmp_path / path}: is a {what}; allowed: a file\n")
