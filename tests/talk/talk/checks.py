"""Checks of a configuration by mlserve -t, and what they must find."""
from talk.server import run

HELLO = """
[server]
loops = 2
[listener main]
bind = $bind
[route hello]
path = = /hello
handler = respond
body = hello
[route health]
path = /healthz
handler = health
"""


def write(tmp_path, text, name="m.ini"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def check(tmp_path, text, *more):
    return run("-t", "-c", write(tmp_path, text), *more)


def faults_of(tmp_path, text):
    """The fault lines of a check that must fail."""
    done = check(tmp_path, text)
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert done.stdout == ""
    return done.stderr.splitlines()


def one_fault(tmp_path, text, line, *words):
    """Exactly one fault line, which names file and line and holds these words."""
    lines = faults_of(tmp_path, text)
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"{tmp_path}/m.ini:{line}: "), lines
    for word in words:
        assert word in lines[0], (word, lines)
    return lines[0]
