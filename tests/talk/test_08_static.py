"""Static files: what is served, from where never, conditions, ranges, and files that change while they are served."""
import ctypes
import email.utils
import os
import socket
import time

import pytest

from talk.client import Client, Closed, request
from talk.process import cpu_share
from talk.settings import allow

CONF = """
[server]
loops = 2
[listener main]
bind = $bind
[route ok]
path = = /ok
handler = respond
body = ok
[route site]
path = /
handler = static
root = $root
[route sub]
path = /sub/
handler = static
root = $root/dir
index = main.txt index.html
"""

OLD = 1_600_000_000  # a date long past, so that it is a strong validator
TEN = b"0123456789"


def put(path, data, mtime=OLD):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (mtime, mtime))
    return path


@pytest.fixture(scope="module")
def site(root):
    put(root / "ten.bin", TEN)
    put(root / "empty.bin", b"")
    put(root / "index.html", b"<p>home")
    put(root / "dir/index.html", b"<p>dir")
    put(root / "dir/main.txt", b"main")
    put(root / "dir/a b~(1).txt", b"odd name")
    put(root / "dir/café.txt", b"utf-8")
    put(root / "page.html", b"<p>page")
    (root / "bare").mkdir()
    for name in ("a.css", "a.js", "a.json", "a.png", "a.svg", "a.txt", "a.wasm", "a.pdf", "a.unknownext", "noext", "A.HTML", "a.woff2"):
        put(root / "types" / name, b"x")
    return root


@pytest.fixture(scope="module")
def server(serve_module, site):
    return serve_module(CONF, root=site)


@pytest.fixture
def client(server):
    with server.connect() as client:
        yield client


# ---- files and types


def test_a_file_is_served_with_its_validators(client):
    answer = client.get("/ten.bin")
    assert (answer.status, answer.body) == (200, TEN)
    assert answer["Last-Modified"] == email.utils.formatdate(OLD, usegmt=True)
    assert answer["ETag"][0] == answer["ETag"][-1] == '"'
    assert answer["Accept-Ranges"] == "bytes"


def test_head_has_the_fields_of_get(client):
    got, head = client.get("/ten.bin"), client.ask("HEAD", "/ten.bin")
    for name in ("Content-Length", "Content-Type", "ETag", "Last-Modified", "Accept-Ranges"):
        assert head[name] == got[name], name
    assert head.body == b""
    client.expect_open()


@pytest.mark.parametrize("name, type_", [
    ("a.css", "text/css"), ("a.js", "text/javascript"), ("a.json", "application/json"), ("a.png", "image/png"),
    ("a.svg", "image/svg+xml"), ("a.txt", "text/plain"), ("a.wasm", "application/wasm"), ("a.pdf", "application/pdf"),
    ("A.HTML", "text/html"), ("a.woff2", "font/woff2"),
])
def test_types_by_extension(client, name, type_):
    assert client.get(f"/types/{name}")["Content-Type"].split(";")[0] == type_


@pytest.mark.parametrize("name", ["a.unknownext", "noext"])
def test_unknown_types_are_octets_or_unnamed(client, name):
    assert client.get(f"/types/{name}")["Content-Type"] in (None, "application/octet-stream")


def test_text_says_utf_8(client):
    assert client.get("/page.html")["Content-Type"].replace(" ", "").lower() == "text/html;charset=utf-8"


@pytest.mark.parametrize("path, body", [("/", b"<p>home"), ("/dir/", b"<p>dir"), ("/sub/", b"main"), ("/sub/index.html", b"<p>dir"),
                                        ("/dir/a%20b~(1).txt", b"odd name"), ("/dir/caf%C3%A9.txt", b"utf-8"), ("/ten%2Ebin", TEN),
                                        ("/ten.bin?query", TEN), ("/dir/../ten.bin", TEN)])
def test_paths_find_their_files(client, path, body):
    answer = client.get(path)
    assert (answer.status, answer.body) == (200, body)


def test_a_directory_without_its_slash_is_redirected_with_the_query(client):
    answer = client.get("/dir?x=1")
    assert answer.status in (301, 302, 307, 308)
    assert answer["Location"] in ("/dir/?x=1", "http://t.test/dir/?x=1")


@pytest.mark.parametrize("path, status", [("/none", 404), ("/dir/none", 404), ("/ten.bin/", 404), ("/ten.bin/x", 404), ("/bare/", 403),
                                          ("/dir%2Findex.html", 404), ("/types/a.txt%00", 400), ("/x" * 2500, 404)])
def test_what_is_not_there_is_not_served(client, path, status):
    assert client.get(path).status in {status, 404 if status == 403 else status}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_files_are_only_read(client, method):
    answer = client.ask(method, "/ten.bin", body=b"")
    assert answer.status == 405
    assert {"GET", "HEAD"} <= {part.strip() for part in answer["Allow"].split(",")}


# ---- conditions


def etag_of(client, path="/ten.bin"):
    return client.get(path)["ETag"]


@pytest.mark.case("STA-06")
@pytest.mark.parametrize("fields, status", [
    (["If-None-Match: {etag}"], 304), (["If-None-Match: W/{etag}"], 304), (['If-None-Match: "nope"'], 200), (["If-None-Match: *"], 304),
    (['If-None-Match: "a", W/{etag}, "b"'], 304), (['If-None-Match: "a,b", {etag}'], 304), (['If-None-Match: "a"', "If-None-Match: {etag}"], 304),
    (['If-None-Match: "nope"', "If-Modified-Since: {future}"], 200), (["If-None-Match: {etag}", "If-Modified-Since: {past}"], 304),
    (["If-Modified-Since: {date}"], 304), (["If-Modified-Since: {future}"], 304), (["If-Modified-Since: {past}"], 200),
    (["If-Modified-Since: yesterday"], 200), (["If-Modified-Since: 1600000000"], 200),
    (["If-Match: {etag}"], 200), (["If-Match: *"], 200), (['If-Match: "nope"'], 412), (["If-Match: W/{etag}"], 412),
    (["If-Unmodified-Since: {date}"], 200), (["If-Unmodified-Since: {past}"], 412),
    (["If-Match: {etag}", "If-Unmodified-Since: {past}"], 200),
])
def test_conditions(client, fields, status):
    values = {"etag": etag_of(client), "date": email.utils.formatdate(OLD, usegmt=True),
              "past": email.utils.formatdate(OLD - 1, usegmt=True), "future": email.utils.formatdate(OLD + 10**6, usegmt=True)}
    answer = client.get("/ten.bin", *[field.format(**values) for field in fields])
    assert answer.status == status, answer
    if status == 304:
        assert answer["ETag"] == values["etag"] and answer.body == b""
        assert answer["Content-Length"] in (None, "10")
    client.expect_open()


@pytest.mark.parametrize("date", ["Sunday, 13-Sep-20 12:26:40 GMT", "Sun Sep 13 12:26:40 2020"])
def test_obsolete_date_forms_are_understood(client, date):
    assert client.get("/ten.bin", f"If-Modified-Since: {date}").status == 304


# ---- ranges


@pytest.mark.case("STA-01")
@pytest.mark.parametrize("path, range_, status, length, content_range", [
    ("/empty.bin", None, 200, 0, None), ("/empty.bin", "bytes=-5", 200, 0, None),
    ("/empty.bin", "bytes=0-", (200, 416), None, None), ("/empty.bin", "bytes=0-0", (200, 416), None, None),
    ("/ten.bin", "bytes=-0", 416, None, "bytes */10"), ("/ten.bin", "bytes=10-", 416, None, "bytes */10"),
    ("/ten.bin", "bytes=9-", 206, 1, "bytes 9-9/10"), ("/ten.bin", "bytes=0-0", 206, 1, "bytes 0-0/10"),
    ("/ten.bin", "bytes=0-", 206, 10, "bytes 0-9/10"), ("/ten.bin", "bytes=2-5", 206, 4, "bytes 2-5/10"),
    ("/ten.bin", "bytes=5-99", 206, 5, "bytes 5-9/10"), ("/ten.bin", "bytes=-3", 206, 3, "bytes 7-9/10"),
    ("/ten.bin", "bytes=-99", 206, 10, "bytes 0-9/10"), ("/ten.bin", "bytes=18446744073709551615-", 416, None, "bytes */10"),
    ("/ten.bin", "bytes=0-18446744073709551616", 206, 10, "bytes 0-9/10"), ("/ten.bin", "Bytes=2-5", 206, 4, "bytes 2-5/10"),
    ("/ten.bin", "bytes=5-2", 200, 10, None), ("/ten.bin", "bytes=a-b", 200, 10, None), ("/ten.bin", "bytes=", 200, 10, None),
    ("/ten.bin", "bytes=-", 200, 10, None), ("/ten.bin", "lines=0-1", 200, 10, None), ("/ten.bin", "bytes=1 -3", 200, 10, None),
    ("/ten.bin", "bytes=--3", 200, 10, None), ("/ten.bin", "bytes=+1-3", 200, 10, None),
])
def test_single_ranges(client, path, range_, status, length, content_range):
    answer = client.get(path, *([f"Range: {range_}"] if range_ else []))
    assert answer.status in (status if isinstance(status, tuple) else (status,)), answer
    if length is not None:
        assert len(answer.body) == length and answer["Content-Range"] == content_range
    if answer.status == 206:
        first = int(content_range.split()[1].split("-")[0])
        assert answer.body == TEN[first : first + length]
    if answer.status == 416:
        assert answer["Content-Range"] == f"bytes */{0 if 'empty' in path else 10}"
        assert answer.framing in ("length", "chunked")
    client.expect_open()


def test_a_range_on_head_is_ignored_or_described(client):
    head = client.ask("HEAD", "/ten.bin", "Range: bytes=2-5")
    assert (head.status, head["Content-Length"]) in ((200, "10"), (206, "4"))
    client.expect_open()


@pytest.mark.case("STA-03")
@pytest.mark.parametrize("value", ["bytes=" + "0-," * 500, "bytes=" + ",".join(f"{i}-{i}" for i in range(0, 4000, 2)),
                                   "bytes=0-1,3-4", "bytes=" + "0-0," * 7000])
def test_many_ranges_never_amplify(client, site, value):
    put(site / "meg.bin", b"m" * (1 << 20))
    start = time.monotonic()
    client.send(request("GET", "/meg.bin", f"Range: {value}"))
    answer = client.response()
    assert answer.status in (200, 206, 416, 431), answer
    assert len(answer.body) <= (1 << 20) + 4096
    assert time.monotonic() - start < allow(3)


@pytest.mark.case("STA-05")
def test_if_range_needs_an_exact_strong_validator(client, site):
    path = put(site / "resume.bin", TEN)
    etag, date = etag_of(client, "/resume.bin"), email.utils.formatdate(OLD, usegmt=True)
    cases = [(etag, 206), (f"W/{etag}", 200), ('"old"', 200), (etag[:-1] + 'x"', 200), (etag + "x", 200), (date, 206),
             (email.utils.formatdate(OLD - 1, usegmt=True), 200), (email.utils.formatdate(OLD + 1, usegmt=True), 200), (etag[1:-1], 200)]
    for value, status in cases:
        answer = client.get("/resume.bin", "Range: bytes=2-", f"If-Range: {value}")
        assert (answer.status, answer.body) == (status, TEN[2:] if status == 206 else TEN), value
    put(path, b"abcdefghij", OLD + 5)
    answer = client.get("/resume.bin", "Range: bytes=2-", f"If-Range: {etag}")
    assert (answer.status, answer.body) == (200, b"abcdefghij")


@pytest.mark.case("STA-05")
def test_the_date_of_a_file_changed_just_now_is_no_strong_validator(client, site):
    now = int(time.time())
    put(site / "fresh.bin", TEN, now)
    answer = client.get("/fresh.bin", "Range: bytes=2-", f"If-Range: {email.utils.formatdate(now, usegmt=True)}")
    assert (answer.status, answer.body) == (200, TEN)


# ---- big files


@pytest.mark.case("STA-11")
def test_files_beyond_4_gib_have_right_lengths_and_ranges(client, site):
    size = 5 << 30
    with open(site / "huge.bin", "wb") as huge:
        huge.truncate(size)
        for at, mark in ((2**31, b"MARK31"), (2**32, b"MARK32"), (size - 16, b"0123456789abcdef")):
            huge.seek(at)
            huge.write(mark)
    assert client.ask("HEAD", "/huge.bin")["Content-Length"] == str(size)
    for range_, body in (("2147483640-2147483659", b"\0" * 8 + b"MARK31" + b"\0" * 6), ("4294967290-4294967309", b"\0" * 6 + b"MARK32" + b"\0" * 8),
                         ("-16", b"0123456789abcdef")):
        assert client.get("/huge.bin", f"Range: bytes={range_}").body == body
    assert client.get("/huge.bin", "Range: bytes=5368709119-")["Content-Range"] == "bytes 5368709119-5368709119/5368709120"


@pytest.mark.case("STA-11")
def test_more_than_2_gib_are_sent_to_the_last_byte(client, site):
    """One sendfile moves 0x7ffff000 bytes at most."""
    size = (2 << 30) + (64 << 20) + 7
    with open(site / "large.bin", "wb") as large:
        large.truncate(size)
        large.seek(size - 4)
        large.write(b"last")
    client.send(request("GET", "/large.bin") + request("GET", "/ok"))
    head = client.head(time.monotonic() + allow(10))
    assert head["Content-Length"] == str(size)
    left, buffer = size - len(client.reader.buffer), bytearray(1 << 20)
    client.reader.buffer.clear()
    client.sock.settimeout(allow(60))
    while left > 4:
        count = client.sock.recv_into(buffer, min(len(buffer), left - 4))
        assert count, "ended early"
        left -= count
    assert client.reader.exactly(4, time.monotonic() + allow(10)) == b"last"
    assert client.response().body == b"ok"
    (site / "large.bin").unlink()


# ---- nothing outside the root


@pytest.mark.case("STA-13")
@pytest.mark.parametrize("target", [
    "/%2e%2e/%2e%2e/etc/hostname", "/../../../../../../etc/hostname", "/dir/..%2f..%2f..%2fetc/hostname", "/%c0%ae%c0%ae/etc/hostname",
    "/..%00/x", "/dir/%2e%2e%5c%2e%2e%5cx", "/.%2e/.%2e/.%2e/etc/hostname", "/%2e%2e%2f%2e%2e%2fetc%2fhostname", "/dir/%252e%252e/%252e%252e/etc/hostname",
    "//etc/hostname", "/./etc/hostname", "/dir/....//....//etc/hostname", "/..;/etc/hostname", "/\\..\\..\\etc\\hostname", "/etc/hostname",
    "etc/hostname", "../etc/hostname", "/sub/..%2findex.html", "/sub/%2e%2e%2findex.html",
])
def test_no_encoding_leaves_the_root(server, target):
    with Client(("127.0.0.1", server.port)) as client:
        client.send(request("GET", target))
        answer = client.response()
    assert answer.status in (400, 403, 404), answer
    assert socket.gethostname().encode() not in answer.body


@pytest.mark.case("STA-15")
def test_links_out_of_the_root_and_special_files_are_refused_without_blocking(server, site):
    put(site / "inside.txt", b"inside")
    for name, to in (("link", "/etc/hostname"), ("dirlink", "/etc"), ("uplink", ".."), ("in", "inside.txt"), ("gone", "nowhere")):
        (site / name).symlink_to(to)
    os.mkfifo(site / "fifo")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(site / "sock"))
    with server.connect() as client:
        for target in ("/link", "/dirlink/hostname", "/dirlink/", f"/uplink/{site.name}/ten.bin", "/gone", "/fifo", "/sock"):
            start = time.monotonic()
            assert client.get(target).status in (403, 404), target
            assert time.monotonic() - start < allow(1)
            client.expect_open()
        answer = client.get("/in")
        assert answer.status in (403, 404) or answer.body == b"inside"


@pytest.mark.case("STA-15")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device node")
def test_a_device_is_refused(server, site):
    try:
        os.mknod(site / "null", 0o666 | 0o020000, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("no right to make a device node here")
    assert server.get("/null").status in (403, 404)


def without_override():
    """Makes file modes hold for root too: the server cannot get CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH back."""
    if os.geteuid() == 0:
        for capability in (1, 2):
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.case("STA-15")
def test_an_unreadable_file_or_directory_is_403(serve, tmp_path):
    put(tmp_path / "secret", b"s").chmod(0)
    put(tmp_path / "closed/f", b"f")
    (tmp_path / "dir").mkdir()
    (tmp_path / "closed").chmod(0)
    server = serve(CONF, root=tmp_path, preexec=without_override)
    try:
        for target in ("/secret", "/closed/f", "/closed/"):
            assert server.get(target).status == 403, target
        assert server.get("/ok").body == b"ok"
    finally:
        (tmp_path / "closed").chmod(0o755)


@pytest.mark.case("STA-10")
@pytest.mark.parametrize("path", ["/uevent_seqnum", "/mm/transparent_hugepage/enabled", "/profiling"])
def test_a_file_whose_size_is_a_lie_ends_short_or_right_at_once(serve, path):
    """stat says 4096 bytes."""
    if not os.path.exists(f"/sys/kernel{path}"):
        pytest.skip(f"there is no /sys/kernel{path} here")
    with open(f"/sys/kernel{path}", "rb") as file:
        content = file.read()
    server = serve(CONF.replace("$root", "/sys/kernel").replace("/sys/kernel/dir", "/sys/kernel"))
    start = time.monotonic()
    with server.connect() as client:
        try:
            answer = client.get(path, within=5)
            assert answer.status in (403, 404) or answer.body == content
        except Closed as closed:
            assert closed.got == content
    assert time.monotonic() - start < allow(2)
    assert server.get("/ok").body == b"ok"
    assert cpu_share(server.pid, 0.5) < 0.2


# ---- files that change


def test_a_changed_file_is_seen_by_the_next_request(client, site):
    path = put(site / "changing.txt", b"one")
    for number in range(20):
        body = b"n%d" % number
        path.write_bytes(body)
        assert client.get("/changing.txt").body == body
        fresh = put(site / "fresh.tmp", b"r%d" % number)
        fresh.rename(path)
        assert client.get("/changing.txt").body == b"r%d" % number
    path.unlink()
    assert client.get("/changing.txt").status == 404
    put(path, b"back")
    assert client.get("/changing.txt").body == b"back"


def test_a_change_of_same_size_and_second_changes_the_tag(client, site):
    path = put(site / "tag.txt", b"aaa", OLD)
    before = etag_of(client, "/tag.txt")
    put(site / "tag.tmp", b"bbb", OLD).rename(path)
    os.utime(path, ns=(OLD * 10**9 + 5000, OLD * 10**9 + 5000))
    answer = client.get("/tag.txt", f"If-None-Match: {before}")
    assert (answer.status, answer.body) == (200, b"bbb")


def test_a_new_directory_and_a_new_index_are_seen(client, site):
    assert client.get("/later/").status == 404
    put(site / "later/index.html", b"now")
    assert client.get("/later/").body == b"now"


def test_a_symlinked_root_that_is_swapped_serves_the_new_tree(serve, tmp_path):
    for name in ("v1", "v2"):
        put(tmp_path / name / "f.txt", name.encode())
        (tmp_path / name / "dir").mkdir()
    (tmp_path / "current").symlink_to("v1")
    server = serve(CONF, root=tmp_path / "current")
    with server.connect() as client:
        assert client.get("/f.txt").body == b"v1"
        (tmp_path / "next").symlink_to("v2")
        (tmp_path / "next").rename(tmp_path / "current")
        assert client.get("/f.txt").body == b"v2"


@pytest.mark.case("STA-08")
@pytest.mark.parametrize("change", ["shrink", "rename-over", "append"])
def test_a_file_that_changes_while_it_is_sent(server, site, change):
    size = 64 << 20
    path = put(site / f"moving-{change}.bin", b"m" * size)
    with server.connect(receive_buffer=65536) as client:
        client.send(request("GET", f"/{path.name}") + request("GET", "/ok"))
        head = client.head(time.monotonic() + allow(10))
        assert head["Content-Length"] == str(size)
        client.reader.exactly(1 << 20, time.monotonic() + allow(10))
        if change == "shrink":
            os.truncate(path, 2 << 20)
        elif change == "rename-over":
            put(site / "other.tmp", b"o" * 100).rename(path)
        else:
            with open(path, "ab") as more:
                more.write(b"more")
        if change == "shrink":
            data, _ = client.rest()
            assert len(data) < size - (1 << 20) and b"HTTP/1.1" not in data
        else:
            assert client.reader.exactly(size - (1 << 20), time.monotonic() + allow(30)) == b"m" * (size - (1 << 20))
            assert client.response().body == b"ok"
    assert server.get("/ok").body == b"ok"
    path.unlink()
