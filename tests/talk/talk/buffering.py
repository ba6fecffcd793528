"""What the tests of request_buffering and response_buffering share."""
import hashlib
import random
import subprocess

from talk.process import descriptors, nameless_files

CONF = """
[server]
loops = 1
$server
[listener main]
bind = $bind
max_body_size = 1g
$listener
[route health]
path = /healthz
handler = health
[route hold]
path = /hold
handler = work
io_delay = 0s
iterations = 0
run_on = executor
block = $hold
[route up]
path = /
handler = proxy
upstream = app
buffer_dir = $spool
$route
[upstream app]
$servers
queue_timeout = 30s
$upstream
"""

DATA = random.Random(26).randbytes(1 << 20)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def body(mebibytes):
    return DATA * mebibytes


def start(serve, *ups, request=False, response=False, route="", upstream="", server="", listener="", hold="1ms", spool=None, **more):
    """A server with its files in $dir/spool unless said. The options are `on` or left out."""
    made = serve("", start=False, **more)
    made.spool = spool or made.dir / "spool"
    made.spool.mkdir(exist_ok=True)
    options = [route] + ["request_buffering = on"] * request + ["response_buffering = on"] * response
    made.configure(CONF, spool=made.spool, route="\n".join(options), upstream=upstream, server=server, hold=hold,
                   listener=listener, servers="\n".join(f"server = {up}" for up in ups))
    return made.start()


def files(server):
    return nameless_files(server.pid, server.spool)


def count_descriptors(server):
    """Those that it needs with the connection of this question alone."""
    counts = []

    def holds(document):
        counts.append(descriptors(server.pid))
        return document["loops"][0]["connections"] == 1

    server.settle(holds)
    return counts[-1]


def is_at_rest(document):
    """Nothing is in progress but the question itself."""
    loop = document["loops"][0]
    return loop["active_requests"] == 1 and loop["pending_tasks"] == 0


def expect_rest(server, connections=None, count=None):
    """All that buffering held is given back, so that beyond `count` descriptors there are those of `connections` and
    one to an upstream server."""
    def holds(document):
        few = connections is None or document["loops"][0]["connections"] == connections + 1
        few = few and (count is None or descriptors(server.pid) <= count + connections + 1)
        return is_at_rest(document) and few and not files(server)

    document = server.settle(holds)
    for member in document["upstreams"]["app"]:
        assert member["active"] == 0, member
    return document


def small_disk(directory, size):
    """A wrap for Server: its own mounts, with a small file system in that directory; or None and why not."""
    script = f"mount -t tmpfs -o size={size} none {directory} && exec \"$@\""
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", "true"], capture_output=True, text=True)
    if done.returncode:
        return None, f"no mount namespace: {done.stderr.strip() or done.returncode}"
    return ["unshare", "-m", "sh", "-c", script, "sh"], None
