"""Chunked bodies that some server somewhere read in its own way, as in odd_requests.py: refused with a status, or one
body. A route that does not read bodies may have answered before it comes to the fault."""

from talk.odd_requests import HIDDEN, TE, Odd, post

END = b"0\r\n\r\n"


def bad(body, *statuses):
    return Odd(post(TE, then=body + HIDDEN), *(statuses or (400,)))


def good(body, decoded):
    return Odd(post(TE, then=body), body=decoded)


def sizes(**lines):
    return {f"size-{name.replace('_', '-')}": bad(line + b"\r\nabc\r\n" + END) for name, line in lines.items()}


SIZES = sizes(
    blank_first=b" 3", tab_first=b"\t3", blank_last=b"3 ", tab_last=b"3\t", blanks_last=b"3   ", blank_inside=b"0 3", underscore=b"0_3",
    hex_prefix=b"0x3", hex_prefix_upper=b"0X3",
    plus=b"+3", minus=b"-3", minus_zero=b"-0", minus_huge=b"-ffffffffffffffff", point=b"3.0", comma=b"3,3", quoted=b"\"3\"", h_suffix=b"3h",
    not_hex=b"g", word=b"three", empty=b"",
    vt=b"\x0b3", vt_last=b"3\x0b", ff=b"3\x0c", nel=b"3\x85", nbsp=b"3\xa0", nul=b"3\x00", nul_first=b"\x003", cr=b"\r3", cr_last=b"3\r",
    fullwidth=b"\xef\xbc\x93", colon=b"3:a",
    equals=b"3=a", slash=b"3/3", hash=b"3#", percent=b"%33", bom=b"\xef\xbb\xbf3", escape=b"3\x1b", only_extension=b";a", lf_first=b"\n3",
    lf_last=b"3\n", two_lf=b"3\n\n",
    dollar=b"$3", paren=b"(3)", two_numbers=b"3 3", zero_blank=b"0 ", minus_one=b"-1",
)

ENDS = {
    "end-lf": bad(b"3\r\nabc\r\n0\r\n\n"), "end-lf-lf": bad(b"3\r\nabc\r\n0\n\n"), "end-lf-crlf": bad(b"3\r\nabc\r\n0\n\r\n"),
    "end-cr": bad(b"3\r\nabc\r\n0\r\r\n"),
    "end-cr-x": bad(b"3\r\nabc\r\n0\r\n\rX"), "end-size-cr-x": bad(b"3\rXabc\r\n" + END), "data-lf": bad(b"3\r\nabc\n" + END),
    "data-cr": bad(b"3\r\nabc\r" + END),
    "data-none": bad(b"3\r\nabc" + END), "data-lf-cr": bad(b"3\r\nabc\n\r" + END), "data-crcr": bad(b"3\r\nabc\r\r" + END),
    "data-nul": bad(b"3\r\nabc\x00\x00" + END),
    "data-blank": bad(b"3\r\nabc \r\n" + END), "data-short": bad(b"5\r\nabc\r\n" + END), "data-long": bad(b"2\r\nabc\r\n" + END),
    "data-two-crlf": bad(b"3\r\nabc\r\n\r\n" + END),
    "end-hidden-in-data": good(b"5\r\n0\r\n\r\n\r\n" + END, b"0\r\n\r\n"), "end-minus": bad(b"3\r\nabc\r\n-0\r\n\r\n"),
    "end-blank": bad(b"3\r\nabc\r\n0 \r\n\r\n"),
    "end-zeros": good(b"3\r\nabc\r\n00000000\r\n\r\n", b"abc"), "end-extension": good(b"3\r\nabc\r\n0;a=b\r\n\r\n", b"abc"),
    "end-at-once": good(END, b""),
}

EXTENSIONS = {
    "extension-cr": bad(b"3;a\rb\r\nabc\r\n" + END), "extension-lf": bad(b"3;a\nb\r\nabc\r\n" + END),
    "extension-lf-hides-chunk": bad(b"3;\nxx\r\nabc\r\n" + END),
    "extension-nul": bad(b"3;a\x00b\r\nabc\r\n" + END), "extension-vt": bad(b"3;a\x0bb\r\nabc\r\n" + END),
    "extension-del": bad(b"3;a\x7f\r\nabc\r\n" + END),
    "extension-quoted-crlf": bad(b"3;a=\"\r\n\"\r\nabc\r\n" + END), "extension-quoted-lf": bad(b"3;a=\"\n\"\r\nabc\r\n" + END),
    "extension-cr-last": bad(b"3;a\r\r\nabc\r\n" + END),
    "extension-on-last-lf": bad(b"3\r\nabc\r\n0;a\nX-T: 1\r\n\r\n"),
    "extension-4k": bad(b"3;" + b"k" * 4096 + b"\r\nabc\r\n" + END, 400, 413, 431),
    "extension-1m": bad(b"3" + b";k=v" * (1 << 18) + b"\r\nabc\r\n" + END, 400, 413, 431),
    "extension-flood": bad((b"1;" + b"k" * 1000 + b"\r\nx\r\n") * 2000 + END, 400, 413, 431),
    "size-zeros-5k": bad(b"0" * 5000 + b"3\r\nabc\r\n" + END, 400, 413, 431),
    "size-zeros-1m": bad(b"0" * (1 << 20) + b"3\r\nabc\r\n" + END, 400, 413, 431),
    "extension-blanks-4k": bad(b"3" + b" " * 4096 + b";a\r\nabc\r\n" + END, 400, 413, 431),
    "extension": good(b"3;a\r\nabc\r\n" + END, b"abc"), "extension-value": good(b"3;a=b;c=d\r\nabc\r\n" + END, b"abc"),
    "extension-quoted": good(b"3;a=\"b;c\"\r\nabc\r\n" + END, b"abc"),
    "extension-quoted-escape": good(b"3;a=\"b\\\"c\"\r\nabc\r\n" + END, b"abc"),
    "extension-looks-like-chunk": good(b"3;\"0\"\r\nabc\r\n" + END, b"abc"),
    "extension-blank-before": good(b"3 ;a\r\nabc\r\n" + END, b"abc"),
    "size-zeros": good(b"0000000000000000000000000000000003\r\nabc\r\n" + END, b"abc"),
    "size-upper": good(b"A\r\n0123456789\r\n" + END, b"0123456789"),
}

HUGE = {
    f"huge-{name}": bad(size + b"\r\nabc\r\n" + END, *statuses)
    for name, size, *statuses in (
        ("2-64", b"10000000000000000", 400, 413), ("2-64-plus-3", b"10000000000000003", 400, 413), ("2-63", b"8000000000000000", 400, 413),
        ("2-63-minus-1", b"7fffffffffffffff", 413),
        ("2-32", b"100000000", 413), ("2-32-plus-3", b"100000003", 413), ("2-31", b"80000000", 413), ("minus-1-32", b"ffffffff", 413),
        ("minus-1-64", b"ffffffffffffffff", 400, 413),
        ("40-digits", b"f" * 40, 400, 413), ("300-digits", b"1" * 300, 400, 413),
        ("2-128-plus-3", b"100000000000000000000000000000003", 400, 413),
    )
}

TRAILERS = {
    name: bad(b"3\r\nabc\r\n0\r\n" + lines)
    for name, lines in {
        "trailer-no-colon": b"bad line\r\n\r\n", "trailer-blank-before-colon": b"X-A : 1\r\n\r\n", "trailer-no-name": b": 1\r\n\r\n",
        "trailer-fold": b"X-A: 1\r\n 2\r\n\r\n",
        "trailer-fold-first": b" X-A: 1\r\n\r\n", "trailer-lf": b"X-A: 1\nX-C: 2\r\n\r\n", "trailer-cr": b"X-A: 1\rX-C: 2\r\n\r\n",
        "trailer-nul": b"X-A: \x00\r\n\r\n",
        "trailer-nul-name": b"X\x00A: 1\r\n\r\n", "trailer-vt": b"\x0bX-A: 1\r\n\r\n", "trailer-nel-name": b"X-A\x85: 1\r\n\r\n",
        "trailer-end-lf": b"X-A: 1\r\n\n",
        "trailer-end-lf-lf": b"X-A: 1\n\n", "trailer-end-cr": b"X-A: 1\r\n\rX",
        "trailer-is-request": b"GET /hidden HTTP/1.1\r\nHost: t.test\r\n\r\n", "trailer-del": b"X-A: \x7f\r\n\r\n",
        "trailer-blank-line": b"X-A: 1\r\n \r\n\r\n", "trailer-cr-last": b"X-A: 1\r\r\n\r\n",
    }.items()
}
TRAILERS |= {
    "trailer-10000": bad(b"3\r\nabc\r\n0\r\n" + b"X-A: 1\r\n" * 10000 + b"\r\n", 400, 413, 431),
    "trailer-100k-name": bad(b"3\r\nabc\r\n0\r\n" + b"n" * 100_000 + b": 1\r\n\r\n", 400, 413, 431),
    "trailer": good(b"3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n", b"abc"),
    "trailer-empty-value": good(b"3\r\nabc\r\n0\r\nX-Sum:\r\n\r\n", b"abc"),
    **{f"trailer-{name.decode().lower()}": good(b"3\r\nabc\r\n0\r\n" + name + b": 5\r\nX-Sum: 1\r\n\r\n", b"abc")
       for name in (b"Content-Length", b"Transfer-Encoding", b"Host", b"Authorization", b"Cookie", b"Connection", b"Content-Type",
           b"Expect", b"TE", b"Trailer", b"Via",
                    b"X-Forwarded-For", b"Forwarded", b"Content-Encoding", b"Content-Range", b"Set-Cookie", b"Cache-Control",
                    b"Max-Forwards", b"Range", b"If-Match")},
}

CHUNKS = SIZES | ENDS | EXTENSIONS | HUGE | TRAILERS
