"""Differences that have a reason: (pattern of names, the difference, the reason)."""

STRICT = "refused here alone"
UNSERVED = "not served here alone"

HOST = "a Host that is no authority (RFC 9110 7.2): the others hand it on as it is"
DOTS = "a server that decodes once more, or cuts parameters off, would resolve it to where another route decides"
LINES = "a lone LF, or a control byte, in framing (RFC 9112 2.2, 7.1): others may see another line there"

EXPECTED = [
    ("line-lf-first", STRICT, "an empty line ends with CRLF (RFC 9112 2.2)"),
    ("host-*", STRICT, HOST),
    ("size-*blank*-last", STRICT, "blanks behind a chunk size belong to an extension (RFC 9112 7.1.1)"),
    ("size-tab-last", STRICT, "blanks behind a chunk size belong to an extension (RFC 9112 7.1.1)"),
    ("end-blank", STRICT, "blanks behind a chunk size belong to an extension (RFC 9112 7.1.1)"),
    ("end-lf*", STRICT, LINES),
    ("data-lf", STRICT, LINES),
    ("extension-on-last-lf", STRICT, LINES),
    ("extension-nul", STRICT, LINES),
    ("extension-vt", STRICT, LINES),
    ("extension-del", STRICT, LINES),
    ("extension-*4k", STRICT, "extensions are bounded"),
    ("extension-flood", STRICT, "extensions that no data pays for are bounded"),
    ("size-zeros-*", STRICT, "zeros before a chunk size are bounded as extensions are"),
    ("trailer-*lf*", STRICT, LINES),
    ("trailer-fold", STRICT, "folded lines are refused in trailers as in heads (RFC 9112 5.2)"),
    ("trailer-blank-line", STRICT, "folded lines are refused in trailers as in heads (RFC 9112 5.2)"),
    ("target *..%2[fF]*", STRICT, DOTS),
    ("target *%2[fF]..*", STRICT, DOTS),
    ("target *%2e%2[fF]*", STRICT, DOTS),
    ("target *%2e%2e%2[fF]*", STRICT, DOTS),
    ("target *%5[cC]*", STRICT, DOTS),
    ("target *\\\\*", STRICT, "a raw backslash may stand in no path (RFC 3986 3.3)"),
    ("target *;*", STRICT, DOTS),
    ("absolute *..%2f*", STRICT, DOTS),
    ("absolute ftp:*", STRICT, "only http and https are served"),
    ("absolute ws:*", STRICT, "only http and https are served"),
    ("absolute http*://t.test:* Host: t.test", "host differs from *",
     "the authority of the target counts (RFC 9112 3.2.2); the port is the scheme's own"),
    ("answer length*", UNSERVED, "more than one Content-Length, also of one value, is a sign of two hops that frame otherwise"),
    ("answer coding-and-length", UNSERVED, "two framings at once (RFC 9112 6.3 asks for 502 or one reading)"),
    ("answer coding-1.0", UNSERVED, "Transfer-Encoding in HTTP/1.0 is faulty framing (RFC 9112 6.1)"),
    ("answer coding-*", UNSERVED, "a list with an empty member, which others take for no chunked"),
    ("answer line-*", UNSERVED, "a status line that RFC 9112 4 does not allow"),
    ("answer field-*", UNSERVED, LINES),
    ("answer body-size-blank", UNSERVED, "blanks behind a chunk size belong to an extension (RFC 9112 7.1.1)"),
    ("answer body-data-short", UNSERVED, "a chunk longer than its size, which these pass on before they see it"),
    ("answer body-*-lf", UNSERVED, LINES),
]
