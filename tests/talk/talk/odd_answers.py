"""Answers of an upstream that some proxy somewhere read in its own way, by name. An upstream sends `data` and then ends
its side unless `stays` is said.

refused   502, and nothing of the answer
cut       a head that is right, a body that is not: 502, or the client sees that it did not end
served    status and body
"""


class Answer:
    def __init__(self, data, kind, status=200, body=b"abc", method="GET", stays=False):
        self.data, self.kind, self.status, self.body, self.method, self.stays = data, kind, status, body, method, stays


def head(*lines, line=b"HTTP/1.1 200 OK", then=b"abc"):
    return b"\r\n".join([line, *lines]) + b"\r\n\r\n" + then


def refused(*lines, **more):
    return Answer(head(*lines, **more), "refused")


def served(*lines, status=200, body=b"abc", method="GET", stays=True, **more):
    return Answer(head(*lines, **more), "served", status, body, method, stays)


LENGTH, TE = b"Content-Length: 3", b"Transfer-Encoding: chunked"
CHUNKED_ABC = b"3\r\nabc\r\n0\r\n\r\n"
STRAY = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"

LENGTHS = {
    f"length-{name}": refused(b"Content-Length: " + value)
    for name, value in (
        ("plus", b"+3"), ("minus", b"-3"), ("underscore", b"3_0"), ("hex", b"0x3"), ("blank-inside", b"3 3"), ("empty", b""),
        ("semicolon", b"3;"), ("2-64-plus-3", b"18446744073709551619"),
        ("2-63", b"9223372036854775808"), ("vt", b"\x0b3"), ("nbsp", b"3\xa0"), ("nel", b"\x853"), ("nul", b"3\x00"), ("word", b"three"),
        ("list-differs", b"3, 4"), ("list-equal", b"3, 3"),
        ("comma", b"3,"), ("point", b"3.0"), ("exponent", b"3e0"), ("quoted", b"\"3\""),
    )
}
LENGTHS |= {
    "lengths-equal": refused(LENGTH, LENGTH), "lengths-differ": refused(LENGTH, b"Content-Length: 4"),
    "lengths-three": refused(LENGTH, LENGTH, LENGTH),
    "lengths-case": refused(LENGTH, b"CONTENT-LENGTH: 4"), "length-blank-before-colon": refused(b"Content-Length : 3"),
    "length-fold": served(b"Content-Length:\r\n 3"),
    "length-fold-digits": refused(b"Content-Length: 3\r\n 0"), "length-leading-zeros": served(b"Content-Length: 003"),
}

CODINGS = {
    f"coding-{name}": refused(b"Transfer-Encoding: " + value, then=CHUNKED_ABC)
    for name, value in (
        ("gzip", b"gzip"), ("identity", b"identity"), ("gzip-chunked", b"gzip, chunked"), ("twice", b"chunked, chunked"),
        ("chunked-gzip", b"chunked, gzip"), ("unknown", b"foo"),
        ("empty", b""), ("comma-first", b",chunked"), ("comma-last", b"chunked,"), ("vt", b"\x0bchunked"), ("nbsp", b"\xa0chunked"),
        ("nel", b"chunked\x85"), ("x", b"xchunked"), ("quoted", b"\"chunked\""),
        ("parameter", b"chunked;a=b"), ("nul", b"chunked\x00"), ("identity-chunked", b"identity, chunked"),
    )
}
CODINGS |= {
    "coding-and-length": refused(TE, LENGTH, then=CHUNKED_ABC), "length-and-coding": refused(LENGTH, TE, then=CHUNKED_ABC),
    "coding-lines": refused(TE, TE, then=CHUNKED_ABC),
    "coding-line-identity": refused(TE, b"Transfer-Encoding: identity", then=CHUNKED_ABC),
    "coding-1.0": refused(TE, line=b"HTTP/1.0 200 OK", then=CHUNKED_ABC),
    "coding-blank-before-colon": refused(b"Transfer-Encoding : chunked", then=CHUNKED_ABC),
    "coding-fold": served(b"Transfer-Encoding:\r\n chunked", then=CHUNKED_ABC),
    "coding-case": served(b"tRANSFER-eNCODING: cHUNKED", then=CHUNKED_ABC),
    "coding-nominated": served(TE, b"Connection: Transfer-Encoding", then=CHUNKED_ABC, stays=True),
}

LINES = {
    f"line-{name}": refused(LENGTH, line=line)
    for name, line in (
        ("two", b"HTTP/1.1 200 OK\r\nHTTP/1.1 200 OK"), ("two-differ", b"HTTP/1.1 404 No\r\nHTTP/1.1 200 OK"), ("099", b"HTTP/1.1 099 X"),
        ("000", b"HTTP/1.1 000 X"), ("1000", b"HTTP/1.1 1000 X"),
        ("20", b"HTTP/1.1 20 OK"), ("2", b"HTTP/1.1 2 OK"), ("none", b"HTTP/1.1"), ("blank", b"HTTP/1.1 "), ("minus", b"HTTP/1.1 -200 OK"),
        ("plus", b"HTTP/1.1 +200 OK"), ("hex", b"HTTP/1.1 0xc8 OK"),
        ("20a", b"HTTP/1.1 20a OK"), ("200ok", b"HTTP/1.1 200OK"), ("point", b"HTTP/1.1 200.0 OK"), ("two-blanks", b"HTTP/1.1  200 OK"),
        ("tab", b"HTTP/1.1\t200 OK"), ("tab-after", b"HTTP/1.1 200\tOK"),
        ("lower", b"http/1.1 200 OK"), ("2.0", b"HTTP/2.0 200 OK"), ("http2", b"HTTP/2 200 OK"), ("0.9", b"HTTP/0.9 200 OK"),
        ("1.10", b"HTTP/1.10 200 OK"), ("01.1", b"HTTP/01.1 200 OK"),
        ("1,1", b"HTTP/1,1 200 OK"), ("icy", b"ICY 200 OK"), ("shttp", b"SHTTP/1.1 200 OK"), ("blank-first", b" HTTP/1.1 200 OK"),
        ("crlf-first", b"\r\nHTTP/1.1 200 OK"), ("lf-first", b"\nHTTP/1.1 200 OK"),
        ("nul", b"HTTP/1.1 200 O\x00K"), ("cr", b"HTTP/1.1 200 O\rK"), ("vt", b"HTTP/1.1\x0b200 OK"), ("fold", b"HTTP/1.1 200 OK\r\n X"),
        ("bom", b"\xef\xbb\xbfHTTP/1.1 200 OK"), ("cr-end", b"HTTP/1.1 200 OK\r"),
        ("request", b"GET / HTTP/1.1"), ("fullwidth", b"HTTP/1.1 \xef\xbc\x92\xef\xbc\x90\xef\xbc\x90"),
    )
}
LINES |= {
    "line-no-reason": served(LENGTH, line=b"HTTP/1.1 200"), "line-empty-reason": served(LENGTH, line=b"HTTP/1.1 200 "),
    "line-reason-latin": served(LENGTH, line=b"HTTP/1.1 200 d\xe9j\xe0"),
    "line-1.0": served(LENGTH, b"Connection: keep-alive", line=b"HTTP/1.0 200 OK"), "line-1.2": served(LENGTH, line=b"HTTP/1.2 200 OK"),
    "line-299": served(LENGTH, line=b"HTTP/1.1 299 X", status=299),
    "line-599": served(LENGTH, line=b"HTTP/1.1 599 X", status=599),
}

FIELDS = {
    f"field-{name}": refused(line, LENGTH)
    for name, line in (
        ("no-colon", b"nonsense"), ("no-name", b": v"), ("blank-in-name", b"X A: 1"), ("blank-before-colon", b"X-A : 1"),
        ("tab-before-colon", b"X-A\t: 1"), ("nul-name", b"X\x00A: 1"), ("nul-value", b"X-A: a\x00b"),
        ("cr-value", b"X-A: a\rb"), ("cr-splits", b"X-A: a\rSet-Cookie: b=c"), ("lf-splits", b"X-A: a\nSet-Cookie: b=c"),
        ("vt-value", b"X-A: \x0b"), ("nel-name", b"X-A\x85: 1"), ("nbsp-name", b"X-A\xa0: 1"),
        ("quote-name", b"\"X-A\": 1"), ("del", b"X-A: \x7f"), ("cr-last", b"X-A: 1\r"), ("lf-only", b"X-A: 1\nX-B: 2"),
        ("fold-nul", b"X-A: 1\r\n \x00"), ("fold-cr", b"X-A: 1\r\n a\rb"),
    )
}
FIELDS |= {
    "field-lf-only-head": Answer(b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", "refused"), "field-fold-first": refused(b" X-A: 1", LENGTH),
    "field-ended-by-lf": Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\nabc", "refused"),
    "field-fold": served(b"X-A: 1\r\n 2\r\n\t3", LENGTH), "field-high": served(b"X-A: \x85\xa0\xff", LENGTH),
    "field-empty": served(b"X-A:", LENGTH), "field-fold-blank": served(b"X-A: 1\r\n \t", LENGTH),
}

BARE = {
    "bare-html": Answer(b"<html>0.9</html>", "refused"), "bare-crlf": Answer(b"\r\n\r\n", "refused"),
    "bare-nothing": Answer(b"", "refused"), "bare-tls": Answer(b"\x15\x03\x01\x00\x02\x02\x28", "refused"),
    "bare-ssh": Answer(b"SSH-2.0-OpenSSH_9.2\r\n", "refused"), "bare-http2": Answer(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00", "refused"),
    "bare-h": Answer(b"H", "refused"), "bare-line": Answer(b"HTTP/1.1 200 OK\r\n", "refused"),
    "bare-head": Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n", "refused"),
    "bare-interim": Answer(b"HTTP/1.1 100 Continue\r\n\r\n", "refused"),
    "bare-crlf-tail": Answer(head(LENGTH, then=b"")[:-2] + b"\r", "refused"),
    "bare-zeros": Answer(b"\x00" * 100, "refused"),
    "bare-101": Answer(head(b"Upgrade: foo", b"Connection: upgrade", line=b"HTTP/1.1 101 X"), "refused"),
}

BODILESS = {
    "none-204": served(line=b"HTTP/1.1 204 X", then=b"", status=204, body=b""),
    "none-204-length-0": served(b"Content-Length: 0", line=b"HTTP/1.1 204 X", then=b"", status=204, body=b""),
    "none-204-length": served(LENGTH, line=b"HTTP/1.1 204 X", then=b"", status=204, body=b""),
    "none-204-coding": served(TE, line=b"HTTP/1.1 204 X", then=b"", status=204, body=b""),
    "none-204-body": served(LENGTH, line=b"HTTP/1.1 204 X", status=204, body=b""),
    "none-304-length": served(LENGTH, line=b"HTTP/1.1 304 X", then=b"", status=304, body=b""),
    "none-304-coding": served(TE, line=b"HTTP/1.1 304 X", then=b"", status=304, body=b""),
    "none-304-body": served(LENGTH, line=b"HTTP/1.1 304 X", status=304, body=b""),
    "none-head": served(LENGTH, then=b"", method="HEAD", body=b""), "none-head-coding": served(TE, then=b"", method="HEAD", body=b""),
    "none-head-body": served(LENGTH, method="HEAD", body=b""),
    "none-head-no-framing": served(then=b"", method="HEAD", body=b""),
    "none-interim-length": Answer(b"HTTP/1.1 103 X\r\nContent-Length: 5\r\n\r\n" + head(LENGTH), "served", stays=True),
    "none-interim-coding": Answer(b"HTTP/1.1 103 X\r\nTransfer-Encoding: chunked\r\n\r\n" + head(LENGTH), "served", stays=True),
    "none-100": Answer(b"HTTP/1.1 100 Continue\r\n\r\n" + head(LENGTH), "served", stays=True),
    "none-102-103": Answer(b"HTTP/1.1 102 X\r\n\r\nHTTP/1.1 103 X\r\nLink: </a>\r\n\r\n" + head(LENGTH), "served", stays=True),
    "none-205": served(b"Content-Length: 0", line=b"HTTP/1.1 205 X", then=b"", status=205, body=b""),
    "surplus": Answer(head(LENGTH) + STRAY, "served", stays=True), "surplus-crlf": Answer(head(LENGTH) + b"\r\n", "served", stays=True),
    "surplus-chunked": Answer(head(TE, then=CHUNKED_ABC) + STRAY, "served", stays=True),
    "surplus-204": Answer(head(line=b"HTTP/1.1 204 X", then=b"") + STRAY, "served", status=204, body=b"", stays=True),
    "until-close": served(stays=False), "until-close-1.0": served(line=b"HTTP/1.0 200 OK", stays=False),
    "until-close-empty": served(then=b"", body=b"", stays=False), "length-0": served(b"Content-Length: 0", then=b"", body=b""),
}

BODIES = {
    f"body-{name}": Answer(head(TE, then=body), "cut", stays=stays)
    for name, body, stays in (
        ("size-word", b"xyz\r\nabc\r\n0\r\n\r\n", True), ("size-minus", b"-3\r\nabc\r\n0\r\n\r\n", True),
        ("size-hex", b"0x3\r\nabc\r\n0\r\n\r\n", True), ("size-blank", b"3 \r\nabc\r\n0\r\n\r\n", True),
        ("size-2-64", b"10000000000000003\r\nabc\r\n0\r\n\r\n", True), ("size-lf", b"3\nabc\r\n0\r\n\r\n", True),
        ("size-empty", b"\r\nabc\r\n0\r\n\r\n", True), ("data-long", b"2\r\nabc\r\n0\r\n\r\n", True),
        ("data-short", b"4\r\nabc\r\n0\r\n\r\n", True), ("data-lf", b"3\r\nabc\n0\r\n\r\n", True), ("end-lf", b"3\r\nabc\r\n0\r\n\n", True),
        ("extension-cr", b"3;a\rb\r\nabc\r\n0\r\n\r\n", True),
        ("extension-lf", b"3;a\nb\r\nabc\r\n0\r\n\r\n", True), ("trailer-no-colon", b"3\r\nabc\r\n0\r\nnonsense\r\n\r\n", True),
        ("trailer-fold", b"3\r\nabc\r\n0\r\nX-A: 1\r\n 2\r\n\r\n", True),
        ("trailer-nul", b"3\r\nabc\r\n0\r\nX-A: \x00\r\n\r\n", True), ("cut-boundary", b"3\r\nabc\r\n", False),
        ("cut-inside", b"5\r\nabc", False), ("cut-size", b"3\r\nabc\r\n5", False), ("cut-after-0", b"3\r\nabc\r\n0\r\n", False),
        ("cut-in-trailer", b"3\r\nabc\r\n0\r\nX-A: 1\r\n", False), ("cut-crlf", b"3\r\nabc\r\n0\r\n\r", False), ("nothing", b"", False),
    )
}
BODIES |= {
    "body-length-short": Answer(head(b"Content-Length: 10"), "cut"),
    "body-length-none": Answer(head(b"Content-Length: 10", then=b""), "cut"),
    "body-extension": served(TE, then=b"3;a=\"b\"\r\nabc\r\n0;c\r\n\r\n"),
    "body-trailer": served(TE, then=b"3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"),
    "body-trailer-framing": served(TE, then=b"3\r\nabc\r\n0\r\nContent-Length: 5\r\nTransfer-Encoding: gzip\r\nX-Sum: 1\r\n\r\n"),
    "body-zeros": served(TE, then=b"0003\r\nabc\r\n0000\r\n\r\n"),
}

ANSWERS = LENGTHS | CODINGS | LINES | FIELDS | BARE | BODILESS | BODIES
