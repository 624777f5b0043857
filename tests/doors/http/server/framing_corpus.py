# ruff: noqa: E501 - each request is one line of a table
"""Raw requests whose framing is odd, and what each must lead to.

Every odd request that is refused is followed by bytes that would be a request if the refusal were not the end.
"""

from dataclasses import dataclass

FORGED = "198.51.100.7"  # a client's address that no one has
END = b"\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
FORGING = f"X-Forwarded-For: {FORGED}\r\nForwarded: for={FORGED}\r\nAuthorization: Bearer sk_live_forged\r\n".encode()


@dataclass(frozen=True)
class Row:
    name: str
    sent: bytes
    statuses: tuple[int, ...]
    closes: bool = False


def get(
    fields: bytes = b"", target: bytes = b"/case", version: bytes = b"1.1", host: bytes = b"Host: a\r\n"
) -> bytes:
    return b"GET %b HTTP/%b\r\n%b%b\r\n" % (target, version, host, fields)


def post(fields: bytes, body: bytes = b"", version: bytes = b"1.1") -> bytes:
    return b"POST /case HTTP/%b\r\nHost: a\r\n%b\r\n%b" % (version, fields, body)


def refused(name: str, sent: bytes, status: int = 400) -> Row:
    return Row(name, sent + SMUGGLED, (status,), closes=True)


CORPUS = (
    # Understood, and what follows is the next request. Nothing is at these addresses.
    Row("a plain request", get(), (404,)),
    Row("two at once", get() + get(), (404, 404)),
    Row("empty lines before it", b"\r\n\r\n" + get(), (404,)),
    Row("a body with a length", post(b"Content-Length: 5\r\n", b"GET /"), (404,)),
    Row("a body of chunks", post(CHUNKED, b"5\r\nGET /\r\n0" + END), (404,)),
    Row("a chunk extension", post(CHUNKED, b'5;a="b"\r\nGET /\r\n0;c' + END), (404,)),
    Row("trailers that forge the client", post(CHUNKED, b"1\r\na\r\n0\r\n" + FORGING + b"\r\n"), (404,)),
    Row("trailers that forge the host", post(CHUNKED, b"1\r\na\r\n0\r\nHost: b\r\n\r\n"), (404,)),
    Row("a head that forges the client", get(f"X-Forwarded-For: {FORGED}\r\n".encode()), (404,)),
    Row("underscores in a name", get(f"X_Forwarded_For: {FORGED}\r\n".encode()), (404,)),
    Row("absolute form", get(target=b"http://b/case"), (404,)),
    Row("absolute form without a path", get(target=b"http://b?x"), (200,)),
    Row("two slashes", get(target=b"//case"), (404,)),
    Row("a body on a GET", get(b"Content-Length: 3\r\n") + b"abc", (404,)),
    Row("an upgrade", get(b"Connection: Upgrade\r\nUpgrade: h2c\r\n"), (404,)),
    Row(
        "an upgrade with a body",
        post(b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: %d\r\n" % len(SMUGGLED), SMUGGLED),
        (404,),
    ),
    Row(
        "an upgrade with chunks",
        post(
            b"Connection: Upgrade\r\nUpgrade: a\r\n" + CHUNKED,
            b"%x\r\n%b\r\n0\r\n\r\n" % (len(SMUGGLED), SMUGGLED),
        ),
        (404,),
    ),
    Row(
        "websocket",
        get(
            b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YQ==\r\n"
        ),
        (404,),
    ),
    Row(
        "an expectation that is not waited for",
        post(b"Expect: 100-continue\r\nContent-Length: %d\r\n" % len(SMUGGLED), SMUGGLED),
        (404,),
    ),
    # Understood, and the last one.
    Row("HTTP/1.0", get(version=b"1.0") + SMUGGLED, (404,), closes=True),
    Row("HTTP/1.0 without a host", get(version=b"1.0", host=b"") + SMUGGLED, (404,), closes=True),
    Row("close", get(b"Connection: close\r\n") + SMUGGLED, (404,), closes=True),
    Row(
        "an expectation whose body does not come",
        post(b"Expect: 100-continue\r\nContent-Length: 99\r\n") + SMUGGLED,
        (404,),
        closes=True,
    ),
    # Refused, and what follows is not looked at.
    refused("no host", get(host=b"")),
    refused("two hosts", get(host=b"Host: a\r\nHost: a\r\n")),
    refused("two different hosts", get(host=b"Host: a\r\nHost: b\r\n")),
    refused("a host that is none", get(host=b"Host: a/b\r\n")),
    refused("a host with a user", get(host=b"Host: a@b\r\n")),
    refused("two hosts in one", get(host=b"Host: a, b\r\n")),
    refused("a length and chunks", post(b"Content-Length: 5\r\n" + CHUNKED, b"0\r\n\r\n")),
    refused("chunks and a length", post(CHUNKED + b"Content-Length: 5\r\n", b"0\r\n\r\n")),
    refused("two lengths that differ", post(b"Content-Length: 3\r\nContent-Length: 4\r\n", b"abc")),
    refused("the same length twice", post(b"Content-Length: 3\r\nContent-Length: 3\r\n", b"abc")),
    refused("a list of lengths", post(b"Content-Length: 3, 3\r\n", b"abc")),
    refused("a length with a sign", post(b"Content-Length: +3\r\n", b"abc")),
    refused("a negative length", post(b"Content-Length: -3\r\n", b"abc")),
    refused("a hexadecimal length", post(b"Content-Length: 0x3\r\n", b"abc")),
    refused("a length of too many digits", post(b"Content-Length: 99999999999999999999999\r\n", b"abc")),
    refused("a length without digits", post(b"Content-Length: \r\n", b"")),
    refused("chunked, then identity", post(b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n")),
    refused("identity, then chunked", post(b"Transfer-Encoding: identity, chunked\r\n", b"0\r\n\r\n")),
    refused("gzip, then chunked", post(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n")),
    refused("xchunked", post(b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n")),
    refused("identity", post(b"Transfer-Encoding: identity\r\n", b"")),
    refused("chunked twice", post(CHUNKED + CHUNKED, b"0\r\n\r\n")),
    refused("chunked in quotes", post(b'Transfer-Encoding: "chunked"\r\n', b"0\r\n\r\n")),
    refused("chunked after a vertical tab", post(b"Transfer-Encoding: \x0bchunked\r\n", b"0\r\n\r\n")),
    refused("an empty coding beside a length", post(b"Transfer-Encoding:\r\nContent-Length: 3\r\n", b"abc")),
    refused("chunks in HTTP/1.0", post(CHUNKED, b"0\r\n\r\n", version=b"1.0")),
    refused("a folded line", get(b"X: a\r\n b\r\n")),
    refused("a folded coding", post(b"Transfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n")),
    refused("a space before the first field", get(host=b" X: a\r\nHost: a\r\n")),
    refused("bare line feeds", b"GET /case HTTP/1.1\nHost: a\n\n"),
    refused("one bare line feed", get(b"X: a\nTransfer-Encoding: chunked\r\n")),
    refused("a bare carriage return", get(b"X: a\rTransfer-Encoding: chunked\r\n")),
    refused("a space before the colon", post(b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n")),
    refused("a space in a name", get(b"X Y: a\r\n")),
    refused("no colon", get(b"X\r\n")),
    refused("no name", get(b": a\r\n")),
    refused("NUL in a value", get(b"X: a\0b\r\n")),
    refused("NUL in a name", get(b"X\0: a\r\n")),
    refused("a control character in a value", get(b"X: a\x01b\r\n")),
    refused("a fragment", get(target=b"/case#b")),
    refused("a target without a slash", get(target=b"case")),
    refused("a user in the target", get(target=b"http://u@b/case")),
    refused("another scheme", get(target=b"ftp://b/case")),
    refused("a control character in the target", get(target=b"/case\x01")),
    refused("NUL in the target", get(target=b"/case\0")),
    refused("a tunnel", b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"),
    refused("HTTP/2 by prior knowledge", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    refused("HTTP/2.0", get(version=b"2.0")),
    refused("HTTP/1.2", get(version=b"1.2")),
    refused("another method", b"FOO /case HTTP/1.1\r\nHost: a\r\n\r\n"),
    refused("a long target", get(target=b"/" + b"a" * 9_000), 414),
    refused("a large field", get(b"X: %b\r\n" % (b"a" * 70_000)), 431),
    refused("large fields", get(b"".join(b"X-%d: %b\r\n" % (n, b"a" * 1_000) for n in range(70))), 431),
    refused("many fields", get(b"".join(b"X-%d: a\r\n" % n for n in range(101))), 431),
)

# The same of bodies, at an endpoint that reads them: what is wrong is found while it is read.
_ECHO = b"POST /test/echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
_WORDS = b'{"text": "a"}'
BODIES = (
    Row("chunks", _ECHO + CHUNKED + b"\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(_WORDS), _WORDS), (200,)),
    Row("chunks of one byte", _ECHO + CHUNKED + b"\r\n" + b"".join(b"1\r\n%c\r\n" % byte for byte in _WORDS) + b"0\r\n\r\n", (200,)),
    Row("an upgrade", _ECHO + b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: %d\r\n\r\n%b" % (len(_WORDS), _WORDS), (200,)),
    Row("an expectation", _ECHO + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n%b" % (len(_WORDS), _WORDS), (100, 200)),
    refused("a chunk that is longer than it says", _ECHO + CHUNKED + b"\r\n1\r\n{}\r\n0\r\n\r\n"),
    refused("a size with 0x", _ECHO + CHUNKED + b"\r\n0x2\r\n{}\r\n0\r\n\r\n"),
    refused("a size with a sign", _ECHO + CHUNKED + b"\r\n+2\r\n{}\r\n0\r\n\r\n"),
    refused("a size that overflows", _ECHO + CHUNKED + b"\r\n10000000000000002\r\n{}\r\n0\r\n\r\n"),
    refused("a size and a space", _ECHO + CHUNKED + b"\r\n2 \r\n{}\r\n0\r\n\r\n"),
    refused("chunks with bare line feeds", _ECHO + CHUNKED + b"\r\n2\n{}\n0\n\n"),
    refused("a line feed in an extension", _ECHO + CHUNKED + b"\r\n2;a\nb\r\n{}\r\n0\r\n\r\n"),
    refused("a folded trailer", _ECHO + CHUNKED + b"\r\n2\r\n{}\r\n0\r\nX: a\r\n b\r\n\r\n"),
    refused("a length in the trailers", _ECHO + CHUNKED + b"\r\n2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n"),
)  # fmt: skip
