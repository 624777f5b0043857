"""FetchSpec: one HTTP request, as the fetcher takes it."""

import re
from typing import Final, Literal

from msgspec import Struct

from gossamer.problems import validation_error
from gossamer.web.render.visitor import ANYBODY, Visitor
from gossamer.web.url.sent_headers import HEADER_VALUE
from gossamer.web.url.url import Url

HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Only the HTTP client may set these: they frame the message, or promise what only the client can keep.
RESERVED_HEADERS: Final = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "http2-settings", "keep-alive"}
    | {"proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)

HeaderPairs = tuple[tuple[str, str], ...]


class FetchSpec(Struct, frozen=True, kw_only=True):
    url: Url
    method: Literal["GET", "HEAD"] = "GET"
    headers: HeaderPairs = ()
    timeout: float = 30.0  # seconds for everything: redirects, retries and the pauses between them
    max_bytes: int = 10_000_000  # of the body, both as it is sent and decoded
    max_redirects: int = 5  # with none, a redirect is itself the answer
    attempts: int = 3
    visitor: Visitor = ANYBODY
    head_only: bool = False  # whatever the method, do not wait for the body
    tenant: str = ""  # on whose behalf; it may have proxies of its own

    def __post_init__(self) -> None:
        for name, value in self.headers:
            if not HEADER_NAME.fullmatch(name) or name.lower() in RESERVED_HEADERS:
                raise validation_error(
                    f"The header {name[:100]!r} cannot be set", details={"header": name[:100]}
                )
            if not HEADER_VALUE.fullmatch(value):
                raise validation_error(
                    f"The header {name!r} has a value that cannot be sent",
                    hint="A value is one line without control characters.",
                    details={"header": name},
                )
