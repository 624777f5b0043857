"""Static pages. A caller that still has the current one gets a 304."""

import hashlib
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.core.exchange import Exchange

HTML: Final = "text/html; charset=utf-8"
BRIEFLY: Final = "public, max-age=300"
FOREVER: Final = "public, max-age=31536000, immutable"
SECURITY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


class HtmlPage(Struct, frozen=True):
    body: bytes
    media_type: str
    digest: str
    cache: str

    @classmethod
    def of(cls, body: bytes, media_type: str, cache: str = BRIEFLY) -> "HtmlPage":
        return cls(body, media_type, hashlib.sha256(body).hexdigest()[:32], cache)

    def answer(self, exchange: Exchange) -> Response:
        headers = {"ETag": f'"{self.digest}"', "Cache-Control": self.cache, "Vary": "Accept"}
        if self.media_type == HTML:
            headers["Content-Security-Policy"] = SECURITY
        if self._known_to(exchange):  # a browser replaces its stored headers by those of a 304
            return Response(status_code=304, headers=headers)
        return Response(self.body, headers={**headers, "Content-Type": self.media_type})

    def _known_to(self, exchange: Exchange) -> bool:
        tags = [tag.strip() for tag in (exchange.header(b"if-none-match") or "").split(",")]
        return "*" in tags or f'"{self.digest}"' in [tag.removeprefix("W/") for tag in tags]


class RenderedPages(dict[str, HtmlPage]):
    """Pages by name. Each is rendered when it is first asked for: all of them take a second of computing."""

    def __init__(self, render: Callable[[str], HtmlPage]) -> None:
        super().__init__()
        self._render = render

    def __missing__(self, name: str) -> HtmlPage:
        page = self[name] = self._render(name)
        return page


def prefers_json(accept: str) -> bool:
    """Whether an `Accept` header (RFC 9110 §12.5.1) prefers JSON to HTML."""
    weights = dict(_weight(item) for item in accept.lower().split(","))
    anything = weights.get("*/*", 0.0)
    json = weights.get("application/json", weights.get("application/*", anything))
    html = weights.get("text/html", weights.get("text/*", anything))
    return json > html


def asks_for_page(accept: str) -> bool:
    """Whether an `Accept` header names HTML, as browsers do, and does not prefer JSON."""
    return "text/html" in accept.lower() and not prefers_json(accept)


def _weight(item: str) -> tuple[str, float]:
    media_range, *parameters = (part.strip() for part in item.split(";"))
    quality = next((p[2:] for p in parameters if p.startswith("q=")), "1")
    try:
        return media_range, float(quality)
    except ValueError:
        return media_range, 0.0
