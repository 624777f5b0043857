"""Page: something that is always the same. It is sent whole, or not at all when the caller still has it."""

import hashlib
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from gossamer.doors.http.exchange import Exchange

HTML: Final = "text/html; charset=utf-8"
BRIEFLY: Final = "public, max-age=300"
FOREVER: Final = "public, max-age=31536000, immutable"
_SECURITY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True)
class Page:
    body: bytes
    media_type: str
    digest: str
    cache: str

    @classmethod
    def of(cls, body: bytes, media_type: str, cache: str = BRIEFLY) -> "Page":
        return cls(body, media_type, hashlib.sha256(body).hexdigest()[:32], cache)

    def answer(self, exchange: Exchange) -> Response:
        headers = {"ETag": f'"{self.digest}"', "Cache-Control": self.cache, "Vary": "Accept"}
        if self.media_type == HTML:
            headers["Content-Security-Policy"] = _SECURITY
        if self._known_to(exchange):  # a browser puts the headers of a 304 over those that it kept
            return Response(status_code=304, headers=headers)
        return Response(self.body, headers={**headers, "Content-Type": self.media_type})

    def _known_to(self, exchange: Exchange) -> bool:
        tags = [tag.strip() for tag in (exchange.header(b"if-none-match") or "").split(",")]
        return "*" in tags or f'"{self.digest}"' in [tag.removeprefix("W/") for tag in tags]


def prefers_json(accept: str) -> bool:
    """Whether an `Accept` header (RFC 9110 §12.5.1) likes JSON better than HTML."""
    weights = dict(_weight(item) for item in accept.lower().split(","))
    anything = weights.get("*/*", 0.0)
    json = weights.get("application/json", weights.get("application/*", anything))
    html = weights.get("text/html", weights.get("text/*", anything))
    return json > html


def _weight(item: str) -> tuple[str, float]:
    media_range, *parameters = (part.strip() for part in item.split(";"))
    quality = next((p[2:] for p in parameters if p.startswith("q=")), "1")
    try:
        return media_range, float(quality)
    except ValueError:
        return media_range, 0.0
