"""Capture: a URL in, a picture of the page or a PDF out; from the cache if the request asks for it."""

import time
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.flows.pages.browse import Browsing
from gossamer.flows.pages.caching import (
    Admit,
    CacheKey,
    Caching,
    MadeAnswer,
    admit_always,
    admit_or_pass,
    get_or_make,
    has,
    to_shared,
)
from gossamer.flows.pages.capture_request import CaptureRequest
from gossamer.flows.pages.obtain import cookies_of
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import CONTENT_UNREADABLE, Problem
from gossamer.reach.page.visit import Capture, Print, Screenshot, VisitResult, render_failed
from gossamer.state.cache import Cache
from gossamer.web.documents.image_size import Size, size_of
from gossamer.web.documents.printed_pdf import page_count
from gossamer.web.outcome.outcome import Judgement, Outcome
from gossamer.web.pages.cache_options import CachePart
from gossamer.web.pages.capture_answer import CapturedPage
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.render.request import RenderErrorCode

MAX_CACHED_BYTES: Final = 4_000_000  # a larger capture would take the place of too much else
_JUDGED: Final = ReadingOptions(markdown=False, html=False, links=False)


class CaptureResult(CapturedPage, frozen=True, kw_only=True):
    """A picture or a PDF of a page."""

    media_type: str
    body: bytes
    size: Size | None  # of a picture
    pages: int | None  # of a PDF
    cut: bool  # at the height that was asked for
    captured_at: float  # Unix seconds


class Capturer(Struct, frozen=True):
    browsing: Browsing
    parsers: ParserPool
    cache: Cache
    clock: Callable[[], float] = field(default=time.time)

    async def capture(self, request: CaptureRequest, caller: Caller) -> CaptureResult:
        """Visit the page now."""
        rendered = await self.browsing.visit(request.visit(caller.tenant_id), caller)
        return await self.to_result(request, rendered)

    async def capture_cached(
        self, request: CaptureRequest, caller: Caller, caching: Caching, admit: Admit = admit_always
    ) -> tuple[CaptureResult, CachePart]:
        """From the cache, or captured and kept there. Only a good and small result is kept."""
        common = to_shared(request)
        key = _key(common, caching, caller.tier)

        async def make() -> MadeAnswer:
            await admit_or_pass(admit)
            made = await self.capture(common, caller)
            good = made.outcome is Outcome.OK and len(made.body) <= MAX_CACHED_BYTES
            return MadeAnswer(msgspec.msgpack.encode(made), made.captured_at, good)

        captured, part = await get_or_make(
            self.cache, caching, key, CaptureResult, make, patience=request.seconds
        )
        return replace(captured, url=request.address.href), part

    async def has(self, request: CaptureRequest, caching: Caching) -> bool:
        return await has(self.cache, caching, _key(to_shared(request), caching))

    async def to_result(self, request: CaptureRequest, rendered: VisitResult) -> CaptureResult:
        """The result of a visit, and whether it shows the page that was asked for."""
        page, capture = rendered.page, rendered.capture or Capture(b"")
        title, judgement = await self._judge(page)
        return CaptureResult(
            url=request.address.href,
            final_url=page.final_url,
            status=page.status,
            outcome=judgement.outcome,
            reason=judgement.reason,
            title=title,
            media_type=request.media_type,
            body=capture.body,
            size=_size(capture) if isinstance(request.capture, Screenshot) else None,
            pages=page_count(capture.body) if isinstance(request.capture, Print) else None,
            cut=capture.cut,
            missing_scripts=capture.missing_scripts,
            captured_at=self.clock(),
            elapsed_ms=page.elapsed_ms,
            actions=rendered.actions,
            cookies=cookies_of(rendered),
        )

    async def _judge(self, page: Page) -> tuple[str, Judgement]:
        """A page that is too much work to read is judged by its status alone."""
        try:
            reading = await self.parsers.read(page, _JUDGED)
        except Problem as problem:
            if problem.kind is not CONTENT_UNREADABLE:
                raise
            return "", Judgement(Outcome.OK if page.status < 400 else Outcome.ERROR, "unread")
        return reading.title, reading.judgement


def _key(request: CaptureRequest, caching: Caching, tier: str = "") -> CacheKey:
    return CacheKey.of(request.endpoint, caching.tenant, request.parameters(), (request.seconds, tier))


def _size(capture: Capture) -> Size:
    try:
        return size_of(capture.body)
    except ValueError as error:
        raise render_failed(
            RenderErrorCode.WORKER_ERROR, f"What the browser gave is no picture: {error}"
        ) from None
