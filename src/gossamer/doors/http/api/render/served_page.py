"""Answers a request with a rendered page: compressed if the client accepts it, 304 if the client has it."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final

from starlette.responses import Response

from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.negotiation import is_known
from gossamer.doors.http.core.streaming import Streaming
from gossamer.state.pages.cached_page import Location, PageHit

MAX_INLINE_BYTES: Final = 1_000_000  # of HTML; a larger page is decompressed in a thread
HEADERS: Final = {
    "X-Cache": "`HIT` (hot), `COLD`, or `MISS` when it was rendered for this request.",
    "X-Cache-Age": "Seconds since it was rendered.",
    "X-Cache-Location": "`hot` or `cold`.",
    "X-Page-Status": "The page's own status, as it or its server says.",
    "ETag": "Send it as `If-None-Match` to get a 304 while it is the same.",
}
_LISTS: Final = frozenset({"content-language", "link", "x-robots-tag"})
_HTML: Final = "text/html; charset=utf-8"
_GZIP: Final = re.compile(r"(?:^|,)\s*(?:x-)?gzip\s*(?:;\s*q=([0-9.]+)\s*)?(?=,|$)", re.I)
_ANY: Final = re.compile(r"(?:^|,)\s*\*\s*(?:;\s*q=([0-9.]+)\s*)?(?=,|$)")


async def page_answer(
    exchange: Exchange, hit: PageHit, keeps_header: Callable[[str], bool] | None = None
) -> Response:
    """With the page's own headers, or those of them that its site wants."""
    page = hit.page
    exchange.cache_hit = not hit.is_new
    headers = _headers(hit, keeps_header)
    if is_known(exchange.header(b"if-none-match"), page.etag):
        await hit.close()
        return Response(status_code=304, headers=headers)
    headers["Content-Type"] = _HTML
    if takes_gzip(exchange.header(b"accept-encoding")):
        headers["Content-Encoding"] = "gzip"
        if hit.stream is not None:
            return Streaming(_stream(hit, hit.compressed()), headers=headers)
        return Response(page.body, headers=headers)
    if hit.stream is not None:
        headers["Content-Length"] = str(page.size)
        return Streaming(_stream(hit, hit.identity()), headers=headers)
    html = page.html() if page.size <= MAX_INLINE_BYTES else await asyncio.to_thread(page.html)
    return Response(html, headers=headers)


def _headers(hit: PageHit, keeps_header: Callable[[str], bool] | None) -> dict[str, str]:
    page = hit.page
    own = [pair for pair in page.headers if keeps_header is None or keeps_header(pair[0])]
    cold = hit.location is Location.COLD
    return {
        **_merge(own),
        "ETag": f'W/"{page.etag}"',  # one for both codings
        "Vary": "Accept-Encoding",
        "X-Cache": "MISS" if hit.is_new else "COLD" if cold else "HIT",
        "X-Cache-Age": str(int(hit.age)),
        "X-Cache-Location": hit.location.value,
        "X-Page-Status": str(page.status),
        **({"X-Promotion": "async"} if cold else {}),
        **({"X-Cache-Stale": "true"} if hit.stale else {}),
    }


def _merge(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Join lists; of any other repeated header, take the first."""
    merged: dict[str, str] = {}
    for name, value in headers:
        known = merged.get(name)
        if known is None:
            merged[name] = value
        elif name in _LISTS:
            merged[name] = f"{known}, {value}"
    return merged


async def _stream(hit: PageHit, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Close the page also when the client disconnects in the middle."""
    try:
        async for chunk in chunks:
            yield chunk
    finally:
        await asyncio.shield(hit.close())


def takes_gzip(accept_encoding: str | None) -> bool:
    if not accept_encoding:
        return False
    named = _GZIP.search(accept_encoding) or _ANY.search(accept_encoding)
    return named is not None and (named[1] is None or _quality(named[1]) > 0)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
