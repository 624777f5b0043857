"""Framing: where a request begins and ends, and what its head may say about that (RFC 9112).

llhttp refuses most of what could be read in two ways: Content-Length beside Transfer-Encoding, line folding,
bare line ends, whitespace before a colon, control characters. The rules here are those that it leaves open. A
proxy in front and this server must agree about every request, so doubtful requests are refused, not repaired.
"""

import re
from typing import Final

from gossamer import problems
from gossamer.problems import Problem

Fields = list[tuple[bytes, bytes]]

MAX_FIELDS: Final = 100
MAX_FIELDS_BYTES: Final = 64 * 1024
MAX_TARGET_BYTES: Final = 8 * 1024
# Bytes of a chunked body that are not its content: sizes, extensions, trailers; and a share of the content.
MAX_OVERHEAD_BYTES: Final = 1_000_000
OVERHEAD_SHARE: Final = 16
_HINT: Final = "Use an HTTP client."
_HOST: Final = re.compile(rb"[\w.~%!$&'()*+;=:\[\]-]*", re.ASCII)
_ABSOLUTE: Final = re.compile(rb"https?://[^/?#@]+(?=[/?]|$)", re.IGNORECASE)


def check_head(version: str, target: bytes | None, fields: Fields) -> Problem | None:
    """Find what is wrong with a head that llhttp accepted; `target` is in its origin form."""
    if version not in ("1.0", "1.1"):
        return malformed(f"The request is HTTP/{version}; send HTTP/1.1.")
    if target is None:
        return malformed("The request's target is not one of this server.")
    size, hosts, codings = 0, [], []
    for name, value in fields:
        size += len(name) + len(value) + 4
        if name == b"host":
            hosts.append(value)
        elif name == b"transfer-encoding":
            codings.append(value)
    if size > MAX_FIELDS_BYTES:
        return fields_too_large()
    return _check_host(version, hosts) or (_check_coding(version, codings) if codings else None)


def origin_form(method: str, target: bytes) -> bytes | None:
    """The path and query of a target (RFC 9112, section 3.2); None when the target is not ours."""
    if b"#" in target:
        return None
    if target.startswith(b"/") or (target == b"*" and method == "OPTIONS"):
        return target
    absolute = _ABSOLUTE.match(target)
    if absolute is None:
        return None
    rest = target[absolute.end() :]
    return rest if rest.startswith(b"/") else b"/" + rest


def body_framing(fields: Fields) -> bytes | None:
    """The field that says how long the body is; None when there is no body."""
    for name, value in fields:
        if name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0 \t")):
            return b"%b: %b\r\n" % (name, value)
    return None


def is_host(value: bytes) -> bool:
    return _HOST.fullmatch(value.strip(b" \t")) is not None


def is_overhead_too_large(overhead: int, content: int) -> bool:
    return overhead > MAX_OVERHEAD_BYTES + content // OVERHEAD_SHARE


def malformed(detail: str) -> Problem:
    return problems.validation_error(detail, hint=_HINT)


def target_too_long() -> Problem:
    return Problem(problems.URI_TOO_LONG, "The request's URL is longer than 8 KiB.")


def fields_too_large() -> Problem:
    return Problem(problems.HEADERS_TOO_LARGE, "The request's headers are larger than 64 KiB.")


def too_many_fields() -> Problem:
    return Problem(problems.HEADERS_TOO_LARGE, f"The request has more than {MAX_FIELDS} header fields.")


def late(what: str, seconds: float) -> Problem:
    return Problem(
        problems.REQUEST_TIMEOUT, f"The request's {what} did not arrive within {seconds:g} seconds."
    )


def _check_host(version: str, hosts: list[bytes]) -> Problem | None:
    if len(hosts) > 1:
        return malformed("The header Host was sent more than once.")
    if not hosts and version == "1.1":
        return malformed("The header Host is missing.")
    if hosts and not is_host(hosts[0]):
        return malformed("The header Host is not a host name.")
    return None


def _check_coding(version: str, codings: list[bytes]) -> Problem | None:
    """Chunked is the only coding that is decoded here, and HTTP/1.0 has none (RFC 9112, section 6.1)."""
    if version == "1.0" or any(coding.strip(b" \t").lower() != b"chunked" for coding in codings):
        return malformed("The only Transfer-Encoding that is understood is chunked, in HTTP/1.1.")
    return None
