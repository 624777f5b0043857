"""A page: the answer to a request for a URL, fetched or rendered."""

import re
from functools import cached_property, lru_cache
from typing import Final, Literal

from msgspec import Struct

from gossamer.web.html.charset import charset_of, decode
from gossamer.web.html.sanitise import is_light

ESSENCE: Final = re.compile(r"[\w.+!#$&^-]+/[\w.+!#$&^-]+")
BINARY: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
SNIFFED_BYTES: Final = 512
SIGNATURES: Final = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"<?xml", "application/xml"),
    (b"<", "text/html"),
    (b"{", "application/json"),
)


class Hop(Struct, frozen=True):
    """A redirect on the way: the URL that was requested, and the status of its answer."""

    url: str
    status: int


class Page(Struct, frozen=True, kw_only=True, dict=True, weakref=True):
    url: str  # as it was asked for
    final_url: str  # after redirects
    status: int
    headers: tuple[tuple[str, str], ...]  # names in lower case, in the order they came
    body: bytes  # decoded from its content coding
    media_type: str  # `text/html`; guessed where the target does not say
    charset: str
    redirects: tuple[Hop, ...] = ()
    set_cookies: tuple[tuple[str, str], ...] = ()  # of redirects: their URL, and a `Set-Cookie` field
    via: Literal["fetch", "render"] = "fetch"
    wire_bytes: int = 0  # of the body, as it was sent
    connect_ms: int = 0  # 0 on a connection that was open already
    first_byte_ms: int = 0
    elapsed_ms: int = 0  # of everything, redirects and retries included

    @cached_property
    def text(self) -> str:
        return decode(self.body, self.charset)

    @cached_property
    def is_light(self) -> bool:
        """Whether it is parsed in milliseconds, even if it is hostile."""
        return is_light(self.text)

    def header(self, name: str) -> str | None:
        """The first value of a header; `name` is in lower case."""
        return next((value for known, value in self.headers if known == name), None)


def describe(content_type: str | None, body: bytes) -> tuple[str, str]:
    """Media type and charset of a body: as the target says, else by its first bytes."""
    media_type = essence(content_type or "") or sniff(body)
    if is_text(media_type):
        return media_type, charset_of(body, content_type or "")
    return media_type, "utf-8"


@lru_cache(maxsize=1024)
def essence(content_type: str) -> str:
    match = ESSENCE.match(content_type.strip())
    return match[0].lower() if match else ""


@lru_cache(maxsize=1024)
def is_text(media_type: str) -> bool:
    kind, _, name = media_type.partition("/")
    return (
        kind == "text"
        or name.endswith(("+xml", "+json"))
        or name
        in ("json", "xml", "javascript", "ecmascript", "x-javascript", "x-www-form-urlencoded", "unknown")
    )


def sniff(body: bytes) -> str:
    start = body[:SNIFFED_BYTES].lstrip(b"\xef\xbb\xbf\t\n\r\x0c ")
    for signature, media_type in SIGNATURES:
        if start.startswith(signature):
            return media_type
    return "application/octet-stream" if BINARY.search(start) else "text/plain"
