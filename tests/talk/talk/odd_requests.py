"""Requests that some server somewhere read in its own way, and what is right: tables by name, used by the conversations,
the comparison with other proxies (tests/differential) and, as files, by the fuzz corpora.

@@ in the bytes stands for the target. What follows a request in these bytes is HIDDEN: it must never be answered.
"""

HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: t.test\r\n\r\n"
CHUNKED_HIDDEN = b"26\r\n" + HIDDEN + b"\r\n0\r\n\r\n"
TE = b"Transfer-Encoding: chunked"


class Odd:
    """Refused with one of `statuses`, or, without any, served as one request whose body is `body`."""

    def __init__(self, data, *statuses, body=b""):
        self.data, self.statuses, self.body = data, statuses, body

    def to(self, target):
        return self.data.replace(b"@@", target.encode() if isinstance(target, str) else target)


def get(*lines, line=b"GET @@ HTTP/1.1", host=b"Host: t.test", then=b""):
    return b"\r\n".join([line, *([host] if host is not None else []), *lines]) + b"\r\n\r\n" + then


def post(*lines, then=b"", **more):
    return get(*lines, line=b"POST @@ HTTP/1.1", then=then, **more)


def refused_heads(**lines):
    return {name.replace("_", "-"): Odd(get(line, b"X-B: 2", then=HIDDEN), 400) for name, line in lines.items()}


FOLDS = {
    **refused_heads(
        fold_length_next=b"X-A: one\r\n Content-Length: 38",
        fold_tabs=b"X-A: one\r\n\t\ttwo",
        fold_twice=b"X-A: one\r\n two\r\n three",
        fold_empty_value=b"X-A:\r\n one",
        fold_of_blanks_then_blank=b"X-A: one\r\n    ",
        fold_by_vt=b"X-A: one\r\n\x0bX-C: 1",
        fold_by_ff=b"X-A: one\r\n\x0cX-C: 1",
        fold_by_nbsp=b"X-A: one\r\n\xa0X-C: 1",
        fold_by_nel=b"X-A: one\r\n\x85X-C: 1",
        fold_by_lf=b"X-A: one\n two",
        fold_by_cr=b"X-A: one\r two",
        fold_by_cr_blank_lf=b"X-A: one\r \ntwo: 2",
        fold_by_nul=b"X-A: one\r\n\x00X-C: 1",
    ),
    "fold-first-line": Odd(get(b"X-A: 1", line=b"GET @@ HTTP/1.1\r\n X-C: 1", then=HIDDEN), 400),
    "fold-request-line": Odd(get(line=b"GET @@\r\n HTTP/1.1", then=HIDDEN), 400),
    "fold-host": Odd(get(host=b"Host:\r\n t.test", then=HIDDEN), 400),
    "fold-length": Odd(post(b"Content-Length:\r\n 3", then=b"abc" + HIDDEN), 400),
    "fold-length-digits": Odd(post(b"Content-Length: 3\r\n 8", then=HIDDEN), 400),
    "fold-coding": Odd(post(b"Transfer-Encoding:\r\n chunked", then=CHUNKED_HIDDEN), 400),
    "fold-coding-word": Odd(post(b"Transfer-Encoding: chu\r\n nked", then=CHUNKED_HIDDEN), 400),
    "fold-last-line": Odd(get(b"X-A: 1\r\n ", then=HIDDEN), 400),
}

NAMES = refused_heads(
    name_nul_first=b"\x00X-A: 1", name_nul=b"X\x00A: 1", name_nul_last=b"X-A\x00: 1",
    name_vt=b"X-A\x0b: 1", name_ff=b"X-A\x0c: 1", name_nel=b"X-A\x85: 1", name_nbsp=b"X-A\xa0: 1", name_utf8=b"X-\xc3\xa4: 1",
    name_cr=b"X-A\r: 1", name_quote=b"\"X-A\": 1", name_bracket=b"X[A]: 1", name_brace=b"X{A}: 1", name_slash=b"X/A: 1",
    name_backslash=b"X\\A: 1", name_comma=b"X,A: 1", name_semicolon=b"X;A: 1", name_equals=b"X=A: 1", name_at=b"X@A: 1",
    name_question=b"X?A: 1", name_less=b"X<A: 1", name_del=b"X\x7fA: 1", name_escape=b"\x1bX: 1",
    name_length_nbsp=b"Content-Length\xa0: 38",
    name_length_nul=b"Content-Length\x00: 38", name_coding_vt=b"Transfer-Encoding\x0b: chunked",
    name_no_colon_coding=b"Transfer-Encoding chunked",
    name_colon_first=b":Transfer-Encoding: chunked", name_second_line_request=b"GET /x HTTP/1.1",
    name_two_blanks=b"Content-Length  : 38", name_bom=b"\xef\xbb\xbfContent-Length: 38",
)

VALUES = {
    **refused_heads(
        value_nul_first=b"X-A: \x00one", value_nul=b"X-A: one\x00two", value_nul_last=b"X-A: one\x00", value_vt=b"X-A: \x0bone",
        value_ff=b"X-A: one\x0c", value_escape=b"X-A: \x1b[2J", value_del=b"X-A: one\x7f", value_cr_first=b"X-A: \rone",
        value_cr_last=b"X-A: one\r", value_backspace=b"X-A: \x08", value_eot=b"X-A: \x04", value_only_nul=b"X-A:\x00",
        value_cr_hides_length=b"X-A: one\rContent-Length: 38",
    ),
    "value-nel": Odd(get(b"X-A: \x85one\x85")),
    "value-nbsp": Odd(get(b"X-A: \xa0one\xa0")),
    "value-colon": Odd(get(b"X-A: : one:two")),
    "value-no-blank": Odd(get(b"X-A:one")),
    "value-tabs": Odd(get(b"X-A:\t\tone\t\ttwo\t ")),
    "value-empty": Odd(get(b"X-A:", b"X-C: \t ")),
    "value-length-inside": Odd(get(b"X-A: Content-Length: 38")),
}

LINES = {
    name: Odd(get(line=line, then=HIDDEN), *statuses)
    for name, line, *statuses in (
        ("line-vt", b"GET\x0b@@\x0bHTTP/1.1", 400), ("line-ff", b"GET @@\x0cHTTP/1.1", 400), ("line-nbsp", b"GET @@\xa0HTTP/1.1", 400),
        ("line-nul-method", b"GET\x00 @@ HTTP/1.1", 400), ("line-nul-target", b"GET @@\x00 HTTP/1.1", 400),
        ("line-nul-version", b"GET @@ HTTP/1.1\x00", 400), ("line-cr-end", b"GET @@ HTTP/1.1\r", 400),
        ("line-tab-end", b"GET @@ HTTP/1.1\t", 400),
        ("line-version-01.1", b"GET @@ HTTP/01.1", 400), ("line-version-1.01", b"GET @@ HTTP/1.01", 400),
        ("line-version-1.", b"GET @@ HTTP/1.", 400),
        ("line-version-1", b"GET @@ HTTP/1", 400), ("line-version--1.1", b"GET @@ HTTP/-1.1", 400),
        ("line-version-+1.1", b"GET @@ HTTP/+1.1", 400),
        ("line-version-blank", b"GET @@ HTTP /1.1", 400), ("line-version-lower", b"GET @@ Http/1.1", 400),
        ("line-version-99", b"GET @@ HTTP/99.1", 400, 505),
        ("line-version-1.a", b"GET @@ HTTP/1.a", 400), ("line-version-hex", b"GET @@ HTTP/0x1.1", 400),
        ("line-version-https", b"GET @@ HTTPS/1.1", 400),
        ("line-two-targets", b"GET @@ /hidden HTTP/1.1", 400), ("line-colon", b"GET: @@ HTTP/1.1", 400),
        ("line-proxy-v1", b"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\nGET @@ HTTP/1.1", 400),
        ("line-tls", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        ("line-proxy-v2", b"\r\n\r\n\x00\r\nQUIT\n!\x11\x00\x0c", 400), ("line-socks", b"\x05\x01\x00", 400),
        ("line-smtp", b"EHLO t.test", 400),
        ("line-http2", b"PRI * HTTP/2.0", 505), ("line-bom", b"\xef\xbb\xbfGET @@ HTTP/1.1", 400),
        ("line-blank-first", b" GET @@ HTTP/1.1", 400),
        ("line-cr-first", b"\rGET @@ HTTP/1.1", 400), ("line-lf-first", b"\nGET @@ HTTP/1.1", 400),
    )
}

HOSTS = {
    f"host-{name}": Odd(get(host=b"Host: " + value, then=HIDDEN), 400)
    for name, value in (
        ("empty", b""), ("blanks", b" \t "), ("list", b"t.test,u.test"), ("list-blank", b"t.test u.test"), ("userinfo", b"user@t.test"),
        ("userinfo-password", b"u:p@t.test"), ("at", b"@t.test"), ("uri", b"http://t.test"), ("slash", b"t.test/"),
        ("path", b"t.test/hidden"),
        ("query", b"t.test?a"), ("fragment", b"t.test#a"), ("backslash", b"t.test\\u.test"), ("port-65536", b"t.test:65536"),
        ("port-minus", b"t.test:-1"), ("port-plus", b"t.test:+80"), ("port-blank", b"t.test: 80"), ("port-hex", b"t.test:0x50"),
        ("port-long", b"t.test:0000080"), ("two-ports", b"t.test:80:80"), ("port-only", b":80"), ("nul", b"t.test\x00u.test"),
        ("percent", b"t%test"), ("percent-nul", b"t.test%00u.test"), ("percent-crlf", b"t.test%0d%0aX:1"), ("list-first-empty", b",t.test"),
        ("quote", b"\"t.test\""), ("angle", b"<t.test>"), ("utf8", b"t\xc3\xa4.test"), ("nbsp", b"t.test\xa0"),
        ("zone", b"[fe80::1%25eth0]"), ("zone-raw", b"[fe80::1%eth0]"), ("v4-in-brackets", b"[127.0.0.1]"), ("empty-brackets", b"[]"),
        ("bracket-tail", b"[::1]u.test"), ("bracket-port", b"[::1]:x"), ("pipe", b"t.test|u"), ("caret", b"t^test"),
        ("backtick", b"t`test"),
    )
}
HOSTS |= {
    "host-none": Odd(get(host=None, then=HIDDEN), 400),
    "host-twice": Odd(get(b"Host: t.test", then=HIDDEN), 400),
    "host-twice-differs": Odd(get(b"Host: u.test", then=HIDDEN), 400),
    "host-twice-case": Odd(get(b"HOST: t.test", then=HIDDEN), 400),
    "host-twice-empty": Odd(get(b"Host:", then=HIDDEN), 400),
    "host-twice-1.0": Odd(get(b"Host: u.test", line=b"GET @@ HTTP/1.0", then=HIDDEN), 400),
    "host-bad-1.0": Odd(get(host=b"Host: u@t.test", line=b"GET @@ HTTP/1.0", then=HIDDEN), 400),
    "host-blank-before-colon": Odd(get(host=b"Host : t.test", then=HIDDEN), 400),
    "host-case": Odd(get(host=b"hOsT: T.TEST")),
    "host-port-0": Odd(get(host=b"Host: t.test:0")),
    "host-port-65535": Odd(get(host=b"Host: t.test:65535")),
    "host-underscore": Odd(get(host=b"Host: a_b.test")),
}


def lengths(*values, then=b"abc" + HIDDEN):
    return Odd(post(*[b"Content-Length: " + value for value in values], then=then), 400)


LENGTHS = {
    f"length-{name}": lengths(value)
    for name, value in (
        ("vt", b"\x0b3"), ("vt-last", b"3\x0b"), ("ff", b"3\x0c"), ("nel", b"\x853"), ("nel-last", b"3\x85"), ("nbsp", b"\xa03"),
        ("nbsp-last", b"3\xa0"),
        ("nul", b"3\x00"), ("cr", b"3\r"), ("exponent", b"3e0"), ("hex", b"0x03"), ("octal", b"0o3"), ("binary", b"0b11"),
        ("quoted", b"\"3\""), ("list", b"3,3"),
        ("list-differs", b"3, 38"), ("list-first-empty", b",3"), ("list-last-empty", b"3,"), ("comma", b","), ("plus", b"+3"),
        ("minus-zero", b"-0"), ("point", b"3."),
        ("fraction", b"3.0"), ("underscore", b"3_8"), ("apostrophe", b"3'8"), ("tab-inside", b"3\t8"), ("semicolon", b"3;a=b"),
        ("paren", b"(3)"),
        ("fullwidth", b"\xef\xbc\x93"), ("superscript", b"\xb3"), ("word", b"three"), ("chunked", b"chunked"), ("escape", b"%33"),
        ("slash", b"3/3"),
        ("2-64", b"18446744073709551616"), ("2-64-plus-3", b"18446744073709551619"), ("2-63", b"9223372036854775808"),
        ("2-32-plus-3-digits-after", b"4294967299x"),
    )
}
LENGTHS |= {
    "length-twice-equal": lengths(b"3", b"3"),
    "length-twice-differ": lengths(b"3", b"38"),
    "length-twice-differ-swapped": lengths(b"38", b"3"),
    "length-three-times": lengths(b"3", b"3", b"3"),
    "length-zero-and-3": lengths(b"0", b"3"),
    "length-twice-spelled": lengths(b"3", b"03"),
    "length-twice-one-empty": lengths(b"3", b""),
    "length-twice-case": Odd(post(b"Content-Length: 3", b"CONTENT-LENGTH: 3", then=b"abc" + HIDDEN), 400),
    "length-far-apart": Odd(post(b"Content-Length: 3", *[b"X-%d: y" % i for i in range(20)], b"Content-Length: 41", then=b"abc" + HIDDEN),
     400),
    "length-twice-1.0": Odd(get(b"Content-Length: 3", b"Content-Length: 41", line=b"POST @@ HTTP/1.0", then=b"abc" + HIDDEN), 400),
    "length-leading-zeros": Odd(post(b"Content-Length: 003", then=b"abc"), body=b"abc"),
    "length-tabs": Odd(post(b"Content-Length: \t 3 ", then=b"abc"), body=b"abc"),
    "length-no-blank": Odd(post(b"Content-Length:3", then=b"abc"), body=b"abc"),
    "length-0": Odd(post(b"Content-Length: 0")),
    "length-on-get": Odd(get(b"Content-Length: 3", then=b"abc"), body=b"abc"),
    "length-on-get-is-request": Odd(get(b"Content-Length: 38", then=HIDDEN), body=HIDDEN),
}


def codings(*values, then=CHUNKED_HIDDEN, more=()):
    return Odd(post(*[b"Transfer-Encoding: " + value for value in values], *more, then=then), 400, 501)


CODINGS = {
    f"coding-{name}": codings(value)
    for name, value in (
        ("identity", b"identity"), ("identity-chunked", b"identity, chunked"), ("chunked-identity", b"chunked, identity"),
        ("gzip-chunked", b"gzip, chunked"),
        ("twice", b"chunked, chunked"), ("twice-tight", b"chunked,chunked"), ("deflate-chunked", b"deflate,chunked"),
        ("unknown-chunked", b"foo, chunked"),
        ("vt", b"\x0bchunked"), ("vt-last", b"chunked\x0b"), ("ff", b"\x0cchunked"), ("nel", b"\x85chunked"), ("nel-last", b"chunked\x85"),
        ("nbsp", b"\xa0chunked"),
        ("nbsp-last", b"chunked\xa0"), ("nul", b"chunked\x00"), ("cr", b"chunked\r"), ("quote", b"'chunked'"),
        ("parameter", b"chunked;a=b"), ("semicolon", b"chunked;"),
        ("blank-inside", b"chunked foo"), ("tab-inside", b"chunked\tfoo"), ("x", b"x-chunked"), ("short", b"chunke"), ("long", b"chunkedd"),
        ("trailers", b"trailers"),
        ("dotless", b"chun\xc4\xb1ked"), ("kelvin", b"chun\xe2\x84\xaaed"), ("slash", b"chunked/1"), ("hyphen", b"chunked-"),
        ("word", b"tchunked"),
        ("semicolon-list", b"gzip; chunked"), ("bracket", b"[chunked]"), ("colon", b": chunked"), ("number", b"38"), ("close", b"close"),
    )
}
CODINGS |= {
    "coding-two-lines": codings(b"chunked", b"chunked"),
    "coding-line-gzip": codings(b"gzip", b"chunked"),
    "coding-line-identity-after": codings(b"chunked", b"identity"),
    "coding-line-empty-after": codings(b"chunked", b""),
    "coding-line-empty-before": codings(b"", b"chunked"),
    "coding-line-x-after": codings(b"chunked", b"x"),
    "coding-and-length-equal": codings(b"chunked", then=b"3\r\nabc\r\n0\r\n\r\n", more=[b"Content-Length: 13"]),
    "coding-and-empty-length": codings(b"chunked", more=[b"Content-Length:"]),
    "coding-and-bad-length": codings(b"chunked", more=[b"Content-Length: x"]),
    "coding-bad-and-length": codings(b"xchunked", then=b"abc" + HIDDEN, more=[b"Content-Length: 3"]),
    "coding-empty-and-length": codings(b"", then=b"abc" + HIDDEN, more=[b"Content-Length: 3"]),
    "coding-identity-and-length": codings(b"identity", then=b"abc" + HIDDEN, more=[b"Content-Length: 3"]),
    "coding-case-and-length": Odd(post(b"tRANSFER-eNCODING: cHUNKED", b"cONTENT-lENGTH: 3", then=CHUNKED_HIDDEN), 400),
    "coding-1.0": Odd(get(TE, line=b"POST @@ HTTP/1.0", then=CHUNKED_HIDDEN), 400),
    "coding-1.0-get": Odd(get(TE, b"Connection: keep-alive", line=b"GET @@ HTTP/1.0", then=CHUNKED_HIDDEN), 400),
    "coding-case": Odd(post(b"tRANSFER-eNCODING: cHUNKED", then=b"3\r\nabc\r\n0\r\n\r\n"), body=b"abc"),
    "coding-blanks": Odd(post(b"Transfer-Encoding: \t chunked \t ", then=b"3\r\nabc\r\n0\r\n\r\n"), body=b"abc"),
    "coding-no-blank": Odd(post(b"Transfer-Encoding:chunked", then=b"3\r\nabc\r\n0\r\n\r\n"), body=b"abc"),
    "coding-on-get": Odd(get(TE, then=b"3\r\nabc\r\n0\r\n\r\n"), body=b"abc"),
    "coding-on-get-is-request": Odd(get(TE, then=CHUNKED_HIDDEN), body=HIDDEN),
    "coding-nominated": Odd(post(TE, b"Connection: Transfer-Encoding", then=CHUNKED_HIDDEN), body=HIDDEN),
    "coding-te-trailers": Odd(post(TE, b"TE: trailers", b"Connection: TE", then=CHUNKED_HIDDEN), body=HIDDEN),
}

HEADS = FOLDS | NAMES | VALUES | LINES | HOSTS | LENGTHS | CODINGS
