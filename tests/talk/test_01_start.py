"""Starting: the command line, checks of a configuration, exit codes, clear faults."""
import os
import re
import socket
import subprocess

import pytest

from talk import settings
from talk.checks import HELLO, check, faults_of, one_fault, write
from talk.client import Client
from talk.ports import free_port
from talk.process import children
from talk.server import run
from talk.settings import allow


# ---- the command line


def test_help_lists_every_option_and_exits_0():
    done = run("-h")
    assert done.returncode == 0
    for option in ("-c", "-t", "-T", "-o", "-v", "-h"):
        assert re.search(rf"(^|[\s\[|]){option}\b", done.stdout, re.M), (option, done.stdout)


def test_version_is_one_line_that_names_the_program():
    done = run("-v")
    assert done.returncode == 0
    assert re.fullmatch(r"mlserve \d+\.\d+\.\d+\S*\n", done.stdout.split("\n")[0] + "\n"), done.stdout


@pytest.mark.parametrize("arguments", [["-Z"], ["-c"], ["-o"], ["stray"]], ids=" ".join)
def test_wrong_usage_exits_2_with_a_line_on_stderr(arguments):
    done = run(*arguments)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stdout == "" and done.stderr.strip()


def test_help_config_lists_options_with_their_defaults():
    done = run("--help-config")
    assert done.returncode == 0
    for name in ("loops", "dispatch", "bind", "handler", "shutdown_timeout", "keepalive_timeout", "iterations"):
        assert re.search(rf"\b{name}\b", done.stdout), name
    assert "least-load" in done.stdout and "8m" in done.stdout


def test_help_config_of_one_section_shows_only_that():
    done = run("--help-config", "upstream")
    assert done.returncode == 0
    assert re.search(r"\bconnect_timeout\b", done.stdout)
    assert not re.search(r"\bdispatch\b", done.stdout)


def test_help_config_of_an_unknown_section_is_wrong_usage():
    done = run("--help-config", "listner")
    assert done.returncode == 2, done.returncode
    assert "listner" in done.stderr


# ---- -t, -T and -o


def test_a_good_configuration_passes_the_check(tmp_path):
    done = check(tmp_path, HELLO.replace("$bind", "127.0.0.1:0"))
    assert (done.returncode, done.stderr) == (0, ""), (done.returncode, done.stderr)


def test_check_does_not_bind(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = check(tmp_path, HELLO.replace("$bind", "127.0.0.1:%d" % taken.getsockname()[1]))
    assert done.returncode == 0, done.stderr


def test_effective_configuration_is_complete_and_loads_to_itself(tmp_path):
    first = run("-T", "-c", write(tmp_path, HELLO.replace("$bind", "127.0.0.1:8123")))
    assert first.returncode == 0, first.stderr
    for line in ("loops = 2", "dispatch = least-load", "bind = 127.0.0.1:8123", "handler = respond", "body = hello"):
        assert re.search(rf"^{re.escape(line)}$", first.stdout, re.M), line
    assert re.search(r"^shutdown_timeout = 30s$", first.stdout, re.M)
    second = run("-T", "-c", write(tmp_path, first.stdout, "n.ini"))
    assert (second.returncode, second.stdout) == (0, first.stdout), second.stderr


def test_overrides_replace_and_repeats_add(tmp_path):
    ini = write(tmp_path, HELLO.replace("$bind", "127.0.0.1:8123"))
    done = run("-T", "-c", ini, "-o", "server.loops=3", "-o", "listener.main.bind=127.0.0.1:8124",
               "-o", "listener.main.bind=127.0.0.1:8125", "-o", "route.hello.body=a = b.c")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^loops = 3$", done.stdout, re.M)
    assert re.findall(r"^bind = (.*)$", done.stdout, re.M) == ["127.0.0.1:8124", "127.0.0.1:8125"]
    assert re.search(r"^body = a = b\.c$", done.stdout, re.M)


def test_a_bad_override_is_a_fault_that_names_it(tmp_path):
    ini = write(tmp_path, HELLO.replace("$bind", "127.0.0.1:8123"))
    done = run("-t", "-c", ini, "-o", "server.loops=many")
    assert done.returncode == 1, done.stderr
    assert "loops" in done.stderr and "many" in done.stderr


def test_an_override_that_is_none_is_refused_with_a_line_that_shows_it(tmp_path):
    ini = write(tmp_path, HELLO.replace("$bind", "127.0.0.1:8123"))
    for nonsense in ("nonsense", "server", "=", "server.=3", "server.loops", ".loops=2"):
        done = run("-t", "-c", ini, "-o", nonsense)
        assert done.returncode in (1, 2) and nonsense in done.stderr, (nonsense, done)


def test_an_override_of_an_unknown_key_suggests_the_right_one(tmp_path):
    ini = write(tmp_path, HELLO.replace("$bind", "127.0.0.1:8123"))
    done = run("-t", "-c", ini, "-o", "server.lops=2")
    assert done.returncode == 1, done.stderr
    assert re.search(r"did you mean .*loops", done.stderr)


# ---- faults with their place


@pytest.mark.parametrize("setting, words", [
    ("host = a.test:80", ("host: ", '"a.test:80"', "*.example.com")),
    ("path = /a//b", ("path: ", '"/a//b"', "write /a/b")),
    ("path = = /caf\xe9", ("path: ", "write = /caf%C3%A9")),
    ("methods = get", ("methods: ", "get", "GET, HEAD")),
    ("methods = TRACE", ("methods: ", "TRACE", "GET, HEAD")),
])
def test_a_route_that_no_request_can_match_is_a_fault(tmp_path, setting, words):
    one_fault(tmp_path, f"[route x]\nhandler = respond\n{setting}\n", 3, "[route x] ", *words)


def test_a_route_that_stands_twice_is_a_fault_also_across_files(tmp_path):
    write(tmp_path, "[route b]\nhandler = static\nroot = /\npath = /x/\n", "more.ini")
    lines = faults_of(tmp_path, "[server]\ninclude = more.ini\n[route a]\nhandler = respond\npath = /x\n")
    assert len(lines) == 1 and lines[0].startswith(f"{tmp_path}/more.ini:4: [route b] path: "), lines
    assert f"[route a] at {tmp_path}/m.ini:3 " in lines[0], lines


def test_an_unknown_handler_is_one_fault_with_its_place(tmp_path):
    one_fault(tmp_path, "[route x]\npath = /\nhandler = statik\n", 3, "[route x] handler: ", "statik", "static")


def test_an_unknown_key_is_a_fault_with_a_suggestion(tmp_path):
    line = one_fault(tmp_path, "[server]\nlops = 4\n", 2, "[server] lops: ")
    assert re.search(r"did you mean .*loops.*\?", line), line


def test_an_unknown_section_is_a_fault_with_a_suggestion(tmp_path):
    line = one_fault(tmp_path, "[lisener main]\nbind = 127.0.0.1:0\n", 1, "lisener")
    assert re.search(r"did you mean .*listener.*\?", line), line


def test_every_fault_is_reported_in_one_run_in_order(tmp_path):
    text = """[server]
loops = -1
workerz = 4
[listener main]
bind = nowhere
max_body_size = 10KB
[route x]
path = relative
handler = statik
[route y]
path = /y
handler = proxy
upstream = nobody
"""
    lines = faults_of(tmp_path, text)
    places = [int(re.match(rf"{re.escape(str(tmp_path))}/m\.ini:(\d+): ", line)[1]) for line in lines]
    assert places == sorted(places)
    assert set(places) >= {2, 3, 5, 6, 8, 9, 13}, lines
    assert len(lines) == len(set(lines))


def test_an_unreadable_root_is_a_fault_with_its_place(tmp_path):
    one_fault(tmp_path, f"[route x]\npath = /\nhandler = static\nroot = {tmp_path}/none\n", 4, "[route x] root: ",
              f"{tmp_path}/none")


def test_a_root_that_is_a_file_is_a_fault(tmp_path):
    write(tmp_path, "x", "file")
    one_fault(tmp_path, f"[route x]\npath = /\nhandler = static\nroot = {tmp_path}/file\n", 4, "root")


def test_a_static_route_without_root_is_a_fault(tmp_path):
    lines = faults_of(tmp_path, "[route x]\npath = /\nhandler = static\n")
    assert len(lines) == 1 and "root" in lines[0], lines


def test_a_proxy_route_without_its_upstream_is_a_fault(tmp_path):
    one_fault(tmp_path, "[route x]\npath = /\nhandler = proxy\nupstream = app\n", 4, "[route x] upstream: ", "app")


@pytest.mark.parametrize("server", ["127.0.0.1:0", "127.0.0.1:80 weight=2 weight=3"])
def test_a_server_without_port_or_with_two_weights_is_a_fault(tmp_path, server):
    one_fault(tmp_path, f"[upstream a]\nserver = {server}\n", 2, "[upstream a] server: ")


@pytest.mark.parametrize("accept", ["central", "reuseport", "sharded-ports"])
def test_one_address_for_two_listeners_is_a_fault_that_names_both(tmp_path, accept):
    text = "".join(f"[listener {name}]\nbind = 127.0.0.1:8123\naccept = {accept}\n" for name in "ab")
    one_fault(tmp_path, text, 5, "[listener b] bind: ", "[listener a]", f"{tmp_path}/m.ini:2", "127.0.0.1:8123")
    started = run("-c", write(tmp_path, text))
    assert started.returncode == 1 and "[listener b] bind: " in started.stderr


def test_port_0_is_another_port_each_time(tmp_path):
    done = check(tmp_path, "[listener a]\nbind = 127.0.0.1:0\nbind = 127.0.0.1:0\n[listener b]\nbind = 127.0.0.1:0\n")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_user_is_a_fault(tmp_path):
    one_fault(tmp_path, "[server]\nuser = nobody-of-that-name\n", 2, "[server] user: ", "nobody-of-that-name")


@pytest.mark.case("CFG-01")
@pytest.mark.parametrize("text, line", [
    ("[server]\nloops\n", 2),
    ("[server] loops = 2\n", 1),
    ("[server]\nloops = 2\nloops = 3\n", 3),
    ("[server]\nbind = 127.0.0.1:0\n", 2),
    ("loops = 2\n", 1),
    ("[server\nloops = 2\n", 1),
    (b"[server]\nloops = 2\0\n", 2),
    ("[server]\nloops = 2\n[" + "route " + "x" * 80 + "]\npath = /\nhandler = health\n", 3),
    ("[server]\npid_file = /" + "x" * 5000 + "\n", 2),
    ("[listener a]\nbind = 127.0.0.1:0\n[listener a]\nbind = 127.0.0.1:0\n", 3),
    ("[server]\nloops = 2\nworkerz = 4", 3),
], ids=["no-equals", "text-after-bracket", "repeated", "wrong-section", "no-section", "no-bracket", "nul",
        "long-section", "long-line", "section-twice", "no-last-newline"])
def test_bent_lines_are_faults_with_their_line(tmp_path, text, line):
    assert any(re.search(rf"m\.ini:{line}: ", fault) for fault in faults_of(tmp_path, text))


@pytest.mark.case("CFG-01")
def test_a_byte_order_mark_and_crlf_are_taken_or_named_never_bent(tmp_path):
    text = HELLO.replace("$bind", "127.0.0.1:8123")
    for bent in (b"\xef\xbb\xbf" + text.encode(), text.replace("\n", "\r\n").encode()):
        done = run("-T", "-c", write(tmp_path, bent))
        if done.returncode == 0:
            assert re.search(r"^body = hello$", done.stdout, re.M), done.stdout
        else:
            assert done.returncode == 1 and re.search(r"m\.ini:\d+: ", done.stderr), done.stderr


@pytest.mark.case("CFG-01")
def test_a_fault_in_an_included_file_names_that_file(tmp_path):
    (tmp_path / "conf.d").mkdir()
    write(tmp_path / "conf.d", "[server]\nloops = 2\n", "a.ini")
    write(tmp_path / "conf.d", "[route z]\npath = /z\nhandlr = health\n", "b.ini")
    lines = faults_of(tmp_path, "[server]\ninclude = conf.d/*.ini\n")
    assert any(re.search(r"conf\.d/b\.ini:3: \[route z\] handlr: .*handler", line) for line in lines), lines


def test_an_include_that_matches_nothing_is_fine(tmp_path):
    done = check(tmp_path, "[server]\ninclude = conf.d/*.ini\n")
    assert done.returncode == 0, done.stderr


def test_continued_lines_are_joined_and_comments_end_values(tmp_path):
    text = "[route h]\npath = /h\nhandler = respond\nbody = one\n  two;three\n\tfour ; gone\n# gone\n; gone\n"
    done = run("-T", "-c", write(tmp_path, text))
    assert done.returncode == 0, done.stderr
    assert re.search(r"^body = one two;three four$", done.stdout, re.M), done.stdout


@pytest.mark.case("CFG-03")
@pytest.mark.parametrize("value", ["9223372036854775807s", "-1", "0.5s", "10", "10 s", "1e3", "0x10", "010", "1d", "",
                                   "99999999999999999999h", "5S"])
def test_durations_outside_the_grammar_are_refused(tmp_path, value):
    one_fault(tmp_path, f"[listener m]\nbind = 127.0.0.1:0\nkeepalive_timeout = {value}\n", 3, "keepalive_timeout: ")


@pytest.mark.case("CFG-03")
@pytest.mark.parametrize("value", ["-1", "10KB", "10kib", "10k m", "0x10", "010", "1.5m", "99999999999999999999g", ""])
def test_sizes_outside_the_grammar_are_refused(tmp_path, value):
    one_fault(tmp_path, f"[listener m]\nbind = 127.0.0.1:0\nmax_body_size = {value}\n", 3, "max_body_size: ")


@pytest.mark.case("CFG-03")
@pytest.mark.parametrize("key, value, shown", [
    ("keepalive_timeout", "90s", "90s"), ("keepalive_timeout", "1500ms", "1500ms"), ("keepalive_timeout", "2m", "2m"),
    ("max_body_size", "65536", "64k"), ("max_body_size", "10", "10"), ("max_body_size", "1g", "1g"),
])
def test_accepted_numbers_are_echoed_with_their_worth(tmp_path, key, value, shown):
    """A dump may choose another normal form, but it must be worth the same."""
    units = {"us": 1, "ms": 1000, "s": 10**6, "m": 6 * 10**7, "h": 36 * 10**8}
    sizes = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}

    def worth(text):
        number, unit = re.fullmatch(r"(\d+)([a-z]*)", text).groups()
        return int(number) * (sizes if key == "max_body_size" else units)[unit]

    done = run("-T", "-c", write(tmp_path, f"[listener m]\nbind = 127.0.0.1:0\n{key} = {value}\n"))
    assert done.returncode == 0, done.stderr
    assert worth(re.search(rf"^{key} = (\S+)$", done.stdout, re.M)[1]) == worth(value) == worth(shown)


# ---- the start itself


def test_a_missing_file_is_one_line_and_exit_1(tmp_path):
    done = run("-c", tmp_path / "none.ini")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and str(tmp_path / "none.ini") in done.stderr


def test_a_faulty_file_stops_the_start_as_it_stops_the_check(tmp_path):
    ini = write(tmp_path, "[server]\nloops = 0x2\n")
    checked, started = run("-t", "-c", ini), run("-c", ini)
    assert (checked.returncode, started.returncode) == (1, 1)
    assert f"{ini}:2: [server] loops: " in checked.stderr and f"{ini}:2: [server] loops: " in started.stderr


def test_busy_ports_are_named_and_exit_3(tmp_path):
    with socket.socket() as taken, socket.socket() as other:
        for sock in (taken, other):
            sock.bind(("127.0.0.1", 0))
            sock.listen()
        ports = [sock.getsockname()[1] for sock in (taken, other)]
        text = "".join(f"[listener l{port}]\nbind = 127.0.0.1:{port}\n" for port in ports)
        done = run("-c", write(tmp_path, text))
    assert done.returncode == 3, done.stderr
    assert re.search(rf"127\.0\.0\.1:{ports[0]}\b.*[Aa]ddress already in use", done.stderr), done.stderr
    assert len(done.stderr.splitlines()) <= 2, "a line for each thing that is busy, at most"
    assert "READY" not in done.stderr


def test_an_address_that_is_not_ours_is_named_and_exits_3(tmp_path):
    done = run("-c", write(tmp_path, "[listener a]\nbind = 192.0.2.1:8080\n"))
    assert done.returncode == 3, done.stderr
    assert "192.0.2.1:8080" in done.stderr


def test_a_busy_port_that_becomes_free_can_be_had(serve):
    server = serve(HELLO)
    second = run("-c", server.ini)
    assert second.returncode == 3 and str(server.port) in second.stderr
    assert server.get("/hello").body == b"hello"
    server.stop()
    again = serve(HELLO, port=server.port)
    assert again.get("/hello").body == b"hello"


def test_the_start_line_says_loops_cpus_strategy_and_addresses(serve):
    server = serve(HELLO)
    cpus = len(os.sched_getaffinity(0))
    match = server.wait_log(r"mlserve (\d+\.\d+\.\d+\S*): 2 loops, (\d+) CPUs? available, accept central, .*listening on (.*)$")
    assert 1 <= int(match[2]) <= cpus
    assert f"127.0.0.1:{server.port}" in match[3]


def test_port_0_is_chosen_and_reported(serve):
    server = serve(HELLO.replace("$bind", "127.0.0.1:0"))
    port = int(server.wait_log(r"listening on .*\b127\.0\.0\.1:(\d+)")[1])
    assert port > 0
    assert server.get("/hello", address=("127.0.0.1", port)).body == b"hello"


# A /dev of its own for the server, in which log is the socket $1; the rest are commands.
PRIVATE_DEV = """mkdir "$0/dev" && mount --rbind /dev "$0/dev" && mount -t tmpfs none /dev && ln -s "$0/log" /dev/log &&
for name in null urandom random; do : >/dev/$name && mount --bind "$0/dev/$name" /dev/$name || exit; done; exec "$@\""""


def test_log_lines_go_to_syslog(serve):
    server = serve(HELLO + "[log]\nerror = syslog\n", start=False)
    private = ["unshare", "-m", "sh", "-c", PRIVATE_DEV, str(server.dir)]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
        daemon.bind(str(server.dir / "log"))
        tried = subprocess.run([*private, "true"], capture_output=True, text=True)
        if tried.returncode:
            pytest.skip(f"no private /dev/log can be had: {tried.stderr.strip()}")
        (server.dir / "dev").rmdir()
        server.wrap = private
        server.start()
        daemon.settimeout(allow(10))
        while b"listening on" not in (line := daemon.recv(8192)):
            pass
    assert re.fullmatch(rb"<30>[A-Z][a-z]{2} [ 123]\d \d\d:\d\d:\d\d mlserve\[%d\]: mlserve .*" % server.pid, line), line
    assert "listening on" not in server.log and not (server.dir / "syslog").exists()


def test_log_lines_that_no_syslog_takes_go_to_stderr(serve):
    if os.path.exists("/dev/log"):
        pytest.skip("this machine has a /dev/log")
    server = serve(HELLO + "[log]\nerror = syslog\n")
    server.wait_log(r" info: mlserve .* listening on ")
    assert not (server.dir / "syslog").exists()


def test_a_quiet_server_logs_errors_only(serve):
    server = serve(HELLO, arguments=["-q"])
    assert server.get("/hello").body == b"hello"
    server.stop()
    assert server.log == ""


def test_several_binds_of_a_listener_all_serve(serve):
    other = free_port()
    server = serve(HELLO.replace("bind = $bind", "bind = $bind\nbind = 127.0.0.1:$other\nbind = unix:$dir/s.sock"),
                   other=other)
    for address in (("127.0.0.1", server.port), ("127.0.0.1", other), str(server.dir / "s.sock")):
        assert server.get("/hello", address=address).body == b"hello"


def test_ipv6_is_served(serve):
    server = serve(HELLO.replace("$bind", "[::1]:$port"))
    with Client(("::1", server.port)) as client:
        assert client.get("/hello").body == b"hello"


@pytest.mark.parametrize("loops", [1, 2, 5])
def test_loops_of_the_file_are_loops_of_the_health_document(serve, loops):
    health = serve(HELLO.replace("loops = 2", f"loops = {loops}")).health()
    assert (health["loops_configured"], health["loops_running"]) == (loops, loops)
    assert [loop["id"] for loop in health["loops"]] == list(range(loops))


def test_loops_auto_is_the_cpus_that_the_process_may_use(serve):
    server = serve(HELLO.replace("loops = 2", "loops = auto"), preexec=lambda: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]))
    health = server.health()
    assert (health["cpus_available"], health["loops_running"]) == (1, 1)


def test_more_loops_than_cpus_is_warned_of_in_log_and_health(serve):
    loops = len(os.sched_getaffinity(0)) + 3
    server = serve(HELLO.replace("loops = 2", f"loops = {loops}"))
    server.wait_log(r"warn\w*\b.*loops.*CPU")
    health = server.health()
    assert health["status"] == "ok" and any("CPU" in warning for warning in health["warnings"]), health["warnings"]


def test_without_a_file_the_built_in_configuration_serves():
    """Only -o changes the port; what the default file path holds on this machine decides whether this can be tried."""
    listed = run("-T")
    assert listed.returncode == 0, listed.stderr
    if re.search(r"^pid_file = \S", listed.stdout, re.M):
        pytest.skip("a configuration is installed at the default path of this build")
    assert re.search(r"^bind = \S*:8080$", listed.stdout, re.M), listed.stdout


def test_the_built_in_configuration_has_all_its_pages(serve):
    listed = run("-T").stdout
    name = re.search(r"^\[listener (\S+)\]$", listed, re.M)[1]
    server = serve(config=False, start=False, notify=True)
    server.arguments = ["-o", f"listener.{name}.bind=127.0.0.1:{server.port}", "-o", "server.loops=2"]
    server.start()
    welcome = server.get("/")
    assert welcome.status == 200 and welcome["Content-Type"].startswith("text/html") and b"mlserve" in welcome.body
    assert server.health()["loops_running"] == 2
    assert server.get("/livez").status == 200
    assert server.get("/readyz").status == 200
    work = server.get("/work")
    assert work.status == 200 and len(work.body) == 8


def test_the_shipped_configuration_is_valid_and_serves(serve):
    shipped = settings.BUILD / "conf/mlserve.ini"
    if not shipped.exists():
        shipped = settings.SRC / "conf/mlserve.ini"
    assert shipped.exists()
    done = run("-t", "-c", shipped)
    assert done.returncode == 0, done.stderr


def test_started_without_stdin_and_with_closed_descriptors_it_serves(serve):
    server = serve(HELLO, preexec=lambda: os.close(0))
    assert server.get("/hello").body == b"hello"


def test_it_stays_in_the_foreground_and_leaves_no_children(serve):
    server = serve(HELLO)
    assert children(server.pid) == []
    assert server.is_running()
