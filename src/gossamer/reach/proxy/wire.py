"""Parses the targets of proxy requests, and writes heads and the proxy's own answers."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from gossamer import problems
from gossamer.problems import INVALID_URL, Problem
from gossamer.reach.http.failures import reason_of
from gossamer.web.url.url import Url

REFUSED: Final = b"gossamer-refused"  # the field with the reason; only our own answers have it
REALM: Final = b'Basic realm="gossamer", charset="UTF-8"'
ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"

Fields = list[tuple[bytes, bytes]]

# RFC 9110, 7.6.1: fields for one connection only, including the credentials for the proxy.
_HOP_BY_HOP: Final = frozenset(
    (
        b"connection keep-alive proxy-authenticate proxy-authentication-info proxy-authorization"
        b" proxy-connection te trailer transfer-encoding upgrade"
    ).split()
)
_REPLACED: Final = frozenset((b"host", b"expect", b"content-length"))  # we write these ourselves
_CONNECT: Final = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^\[\]@/\\?#:]+):([0-9]{1,5})")
_ABSOLUTE: Final = re.compile(rb"(?i:http)://([^/?#\\@]+)([/?][^#]*)?")
_PHRASES: Final = {
    400: b"Bad Request",
    403: b"Forbidden",
    407: b"Proxy Authentication Required",
    431: b"Request Header Fields Too Large",
    502: b"Bad Gateway",
    503: b"Service Unavailable",
    504: b"Gateway Timeout",
}
_STATUSES: Final = {
    problems.INVALID_URL.code: 403,
    problems.FETCH_TIMEOUT.code: 504,
    problems.SERVICE_UNAVAILABLE.code: 503,
}


class RequestTarget(NamedTuple):
    """Where a request goes: the canonical host and the path, which is empty for a tunnel."""

    host: str
    port: int
    path: bytes = b""


def tunnel_target(written: bytes) -> RequestTarget:
    """`host:port`, as CONNECT has it."""
    found = _CONNECT.fullmatch(written)
    if found is None:
        raise malformed("CONNECT names no host and port")
    return _place(written)


def absolute_target(written: bytes) -> RequestTarget:
    """`http://host/path`. Requests to https come as a tunnel."""
    found = _ABSOLUTE.fullmatch(written)
    if found is None:
        raise malformed("the request is not for an http:// address")
    path = found[2] or b"/"
    return _place(found[1])._replace(path=path if path.startswith(b"/") else b"/" + path)


def _place(authority: bytes) -> RequestTarget:
    """Parse as a browser does, so that the dialled address is the one that was judged."""
    try:
        url = Url.parse(f"http://{authority.decode('ascii')}/")
    except UnicodeDecodeError:
        raise malformed("the host is not ASCII") from None
    if url.path != "/" or url.query or not url.port:
        raise malformed("the host cannot be read")
    return RequestTarget(url.host, url.port)


def malformed(why: str) -> Problem:
    detail = f"The proxy was asked in a way it does not know: {why}"
    return Problem(INVALID_URL, detail, details={"reason": "malformed"})


def end_to_end(fields: Fields, *more: bytes) -> Fields:
    """The fields that go on to the other end."""
    named = b",".join(values(fields, b"connection")).lower()
    dropped = {token.strip() for token in named.split(b",")} | _HOP_BY_HOP | set(more)
    return [field for field in fields if field[0].lower() not in dropped]


def values(fields: Fields, wanted: bytes) -> list[bytes]:
    return [value for name, value in fields if name.lower() == wanted]


def request_head(method: bytes, target: RequestTarget, fields: Fields, framing: Fields) -> bytes:
    authority = target.host if target.port == 80 else f"{target.host}:{target.port}"
    kept = end_to_end(fields, *_REPLACED)
    return head(
        b"%b %b HTTP/1.1" % (method, target.path), [(b"Host", authority.encode("ascii")), *kept, *framing]
    )


def head(first: bytes, fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join((first, b"\r\n", *(b"%b: %b\r\n" % field for field in fields), b"\r\n"))


def challenge(*, close: bool) -> bytes:
    return _answer(407, [(b"proxy-authenticate", REALM)], b"Only visits under way may pass.\n", close)


def refusal(reason: str, status: int, detail: str, *, close: bool) -> bytes:
    """An answer of the proxy itself, with a reason that the visit can read."""
    return _answer(status, [(REFUSED, reason.encode("ascii"))], f"{detail}\n".encode(), close)


def status_of(problem: Problem) -> int:
    return 400 if reason_of(problem) == "malformed" else _STATUSES.get(problem.kind.code, 502)


def _answer(status: int, fields: Fields, body: bytes, close: bool) -> bytes:
    common: Fields = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"connection", b"close" if close else b"keep-alive"),
    ]
    return head(b"HTTP/1.1 %d %b" % (status, _PHRASES[status]), fields + common) + body
