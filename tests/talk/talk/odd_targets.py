"""Targets that some server somewhere resolved in its own way: of requests to a server that forwards /pub to one upstream
and /adm to another, and serves the host u.test by itself."""

# Each leads out of /pub for somebody who decodes once more, takes a backslash for a slash, or cuts parameters off.
ESCAPES = [
    b"/pub/..%2fadm/x", b"/pub/..%2Fadm/x", b"/pub/%2e%2e%2fadm/x", b"/pub/%2e%2e%2Fadm/x", b"/pub/.%2e%2fadm/x",
    b"/pub/a%2f..%2f..%2fadm/x", b"/pub/a/..%2f..%2fadm/x",
    b"/pub%2f..%2fadm/x", b"/pub%2F../adm/x", b"/pub/..%5cadm/x", b"/pub/..%5Cadm/x", b"/pub/%2e%2e%5cadm/x", b"/pub/a%5c..%5c..%5cadm/x",
    b"/pub/..\\adm/x", b"/pub\\..\\adm/x", b"\\adm\\x",
    b"/pub/..;/adm/x", b"/pub/..;a=b/adm/x", b"/pub/%2e%2e;/adm/x", b"/pub/..;%2fadm/x", b"/pub/.%2e;x/adm/x", b"/pub/a/..;/..;/adm/x",
    b"/pub/%00/../adm/x", b"/pub/..%00/adm/x",
    b"/pub/x%00", b"/pub/%", b"/pub/%2", b"/pub/%2g", b"/pub/%%32e/adm", b"/pub/%u002e%u002e/adm/x", b"/pub/\xc0\xae\xc0\xae/adm/x",
    b"/pub/\xe2\x80\xa5/adm/x",
    b"/pub/x#/../adm/x", b"/pub#", b"/pub/../../adm/x", b"/pub/../../../adm/x", b"/..", b"/../pub/x", b"/%2e%2e/adm/x", b"/./../adm/x",
    b"//../adm/x", b"/pub/../..", b"pub/x", b"../adm/x", b"%2fpub/x",
    b"?/pub", b"./pub", b";/pub/x", b"*", b"**", b"/pub/x\x7f", b"/pub/x\x01", b"/pub/x\x80", b"/pub/\"x\xff\"",
]

# target, upstream, target as forwarded
SAME = [
    (b"/pub/../adm/x", "adm", "/adm/x"), (b"/pub/./../adm/x", "adm", "/adm/x"), (b"/pub/%2e%2e/adm/x", "adm", "/adm/x"),
    (b"//adm/x", "adm", "/adm/x"), (b"/pub/%2E%2E/%61dm/x", "adm", "/adm/x"),
    (b"///pub///..///adm///x", "adm", "/adm/x"), (b"/pub/a/b/../../../adm/x", "adm", "/adm/x"), (b"/adm/../pub/../adm/x", "adm", "/adm/x"),
    (b"/adm/%2e/x", "adm", "/adm/x"),
    (b"/adm/..%2e/x", "adm", "/adm/.../x"), (b"/pub/.../x", "pub", "/pub/.../x"), (b"/pub/..a/x", "pub", "/pub/..a/x"),
    (b"/pub/a../x", "pub", "/pub/a../x"), (b"/pub/.;/x", "pub", "/pub/.;/x"),
    (b"/pub/;../x", "pub", "/pub/;../x"), (b"/pub/;/x", "pub", "/pub/;/x"), (b"/pub/a;b/x", "pub", "/pub/a;b/x"),
    (b"/pub/%252e%252e/adm", "pub", "/pub/%252e%252e/adm"),
    (b"/pub/%252e%252e%252fadm", "pub", "/pub/%252e%252e%252fadm"), (b"/pub/..%252fadm", "pub", "/pub/..%252fadm"),
    (b"/pub/%c0%ae%c0%ae/adm", "pub", "/pub/%C0%AE%C0%AE/adm"),
    (b"/pub/%c0%af..%c0%af", "pub", "/pub/%C0%AF..%C0%AF"), (b"/pub/%e0%80%ae/x", "pub", "/pub/%E0%80%AE/x"),
    (b"/pub/a%5cb", "pub", "/pub/a%5Cb"), (b"/pub/%3f%23", "pub", "/pub/%3F%23"),
    (b"/pub/%0d%0aX:%201", "pub", "/pub/%0D%0AX:%201"), (b"/pub/%20%09", "pub", "/pub/%20%09"),
    (b"/pub/x?/../../adm", "pub", "/pub/x?/../../adm"), (b"/pub/x?a=%2e%2e%2f", "pub", "/pub/x?a=%2e%2e%2f"),
    (b"/pub/x??", "pub", "/pub/x??"), (b"/pub?", "pub", "/pub?"), (b"/pub/x?%00", "pub", "/pub/x?%00"),
    (b"/pub/http://a/../b", "pub", "/pub/http:/b"), (b"/pub/:80", "pub", "/pub/:80"),
    (b"/pub/@adm", "pub", "/pub/@adm"), (b"/pub/[]{}|^`<>\"", "pub", "/pub/[]{}|^`<>\""),
]

ABSOLUTE = [
    # target, Host, where it is served (None: 400), Host as forwarded
    (b"http://t.test/pub/x", b"Host: t.test", "pub", "t.test"), (b"HTTP://T.TEST/pub/x", b"Host: t.test", "pub", "T.TEST"),
    (b"http://t.test:80/pub/x", b"Host: t.test", "pub", "t.test:80"),
    (b"http://t.test:/pub/x", b"Host: t.test", "pub", "t.test:"), (b"https://t.test/pub/x", b"Host: t.test", "pub", "t.test"),
    (b"https://t.test:443/pub/x", b"Host: t.test", "pub", "t.test:443"),
    (b"http://t.test/pub/x?a=http://u.test/", b"Host: t.test", "pub", "t.test"),
    (b"http://t.test:8080/pub/x", b"Host: t.test:8080", "pub", "t.test:8080"),
    (b"http://u.test/pub/x", b"Host: t.test", None, None), (b"http://t.test/pub/x", b"Host: u.test", None, None),
    (b"http://t.test:81/pub/x", b"Host: t.test", None, None),
    (b"http://t.test:443/pub/x", b"Host: t.test", None, None), (b"https://t.test:80/pub/x", b"Host: t.test", None, None),
    (b"http://t.test/pub/x", None, None, None),
    (b"http://t.test/pub/x", b"Host:", None, None), (b"http://t.test/pub/x", b"Host: t.test\r\nHost: t.test", None, None),
    (b"ftp://t.test/pub/x", b"Host: t.test", None, None), (b"file:///pub/x", b"Host: t.test", None, None),
    (b"ws://t.test/pub/x", b"Host: t.test", None, None), (b"javascript:alert(1)", b"Host: t.test", None, None),
    (b"http:/pub/x", b"Host: t.test", None, None), (b"http:pub/x", b"Host: t.test", None, None),
    (b"http:///pub/x", b"Host: t.test", None, None), (b"http:////t.test/pub/x", b"Host: t.test", None, None),
    (b"http//t.test/pub/x", b"Host: t.test", None, None), (b"//t.test/pub/x", b"Host: t.test", "404", None),
    (b"t.test/pub/x", b"Host: t.test", None, None), (b"t.test:80", b"Host: t.test", None, None),
    (b"http://user@t.test/pub/x", b"Host: t.test", None, None), (b"http://u:p@t.test/pub/x", b"Host: t.test", None, None),
    (b"http://t.test@u.test/pub/x", b"Host: u.test", None, None),
    (b"http://t.test:x/pub/x", b"Host: t.test", None, None), (b"http://t.test:99999/pub/x", b"Host: t.test", None, None),
    (b"http://t.test:-1/pub/x", b"Host: t.test", None, None),
    (b"http://t.test:00080/pub/x", b"Host: t.test", None, None), (b"http://t.test:80:80/pub/x", b"Host: t.test", None, None),
    (b"http://t.test\\u.test/pub/x", b"Host: t.test", None, None),
    (b"http://t.test\\@u.test/pub/x", b"Host: t.test", None, None), (b"http://t.test#/pub/x", b"Host: t.test", None, None),
    (b"http://t.test;a/pub/x", b"Host: t.test", None, None),
    (b"http://t.test%00/pub/x", b"Host: t.test", None, None), (b"http://t.test,u.test/pub/x", b"Host: t.test", None, None),
    (b"http://[::1/pub/x", b"Host: [::1]", None, None),
    (b"http://t.test/../adm/x", b"Host: t.test", None, None), (b"http://t.test/pub/..%2fadm/x", b"Host: t.test", None, None),
    (b"http://t.test/pub/../adm/x", b"Host: t.test", "adm", "t.test"),
    (b"http://t.test?a", b"Host: t.test", "404", None), (b"http://u.test/x", b"Host: u.test", "other", None),
    (b"http://u.test./x", b"Host: u.test.", "other", None),
]
