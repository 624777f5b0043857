"""Shoot: a URL in, a picture of the page or a PDF out; from the cache where that was asked for."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from gossamer.flows.admit import Caller
from gossamer.flows.browse import Browsing
from gossamer.flows.caching import Caching, Made, Part, has, keys, through
from gossamer.flows.workshop import Workshop
from gossamer.problems import CONTENT_UNREADABLE, Problem
from gossamer.reach.visit import Capture, Print, Rendered, Shot, Visit, failed
from gossamer.state.cache import Cache
from gossamer.web.outcome import Judgement, Outcome
from gossamer.web.page import Page
from gossamer.web.picture import Size, size_of
from gossamer.web.printed import page_count
from gossamer.web.reading import How
from gossamer.web.url import Url, cache_form

KEPT: Final = 4_000_000  # bytes; what is larger would take the place of too much else


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be captured of which page."""

    url: Url
    capture: Shot | Print = field(default_factory=Shot)
    wait_for: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    timeout: float = 10.0  # seconds; not part of the key

    def visit(self, tenant: str = "") -> Visit:
        return Visit(
            url=self.url,
            caller=tenant,
            timeout=self.timeout,
            wait_for=self.wait_for,
            headers=self.headers,
            capture=self.capture,
        )

    @property
    def endpoint(self) -> str:
        return "screenshot" if isinstance(self.capture, Shot) else "pdf"

    @property
    def media_type(self) -> str:
        return f"image/{self.capture.format}" if isinstance(self.capture, Shot) else "application/pdf"

    def parameters(self) -> dict[str, object]:
        """All that the answer depends on."""
        capture = self.capture
        if isinstance(capture, Shot) and capture.format == "png":
            capture = replace(capture, quality=None)
        return {
            "url": cache_form(self.url),
            "capture": msgspec.to_builtins(capture),
            "waitForSelector": self.wait_for,
            "headers": sorted((name.lower(), value) for name, value in self.headers),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What came of it."""

    url: str
    final_url: str
    status: int
    outcome: Outcome
    reason: str
    title: str
    media_type: str
    body: bytes
    size: Size | None  # of a picture
    pages: int | None  # of a PDF
    cut: bool
    captured_at: float  # Unix seconds
    elapsed_ms: int


@dataclass(frozen=True, slots=True)
class Shooter:
    browsing: Browsing
    workshop: Workshop
    cache: Cache
    clock: Callable[[], float] = field(default=time.time)

    async def shoot(self, wish: Wish, caller: Caller) -> Captured:
        """Here and now."""
        rendered = await self.browsing.visit(wish.visit(caller.tenant_id), caller)
        return await self.captured(wish, rendered)

    async def shoot_through(self, wish: Wish, caller: Caller, caching: Caching) -> tuple[Captured, Part]:
        """From the cache, or into it. Only what turned out well is kept, and nothing large."""

        async def make() -> Made:
            made = await self.shoot(wish, caller)
            good = made.outcome is Outcome.OK and len(made.body) <= KEPT
            return Made(msgspec.msgpack.encode(made), made.captured_at, good)

        key = _key(wish, caching)
        captured, part = await through(self.cache, caching, key, Captured, make, patience=wish.timeout)
        return replace(captured, url=wish.url.href), part

    async def has(self, wish: Wish, caching: Caching) -> bool:
        return await has(self.cache, caching, _key(wish, caching))

    async def captured(self, wish: Wish, rendered: Rendered) -> Captured:
        """What a visit has brought, and whether it shows the page that was asked for."""
        page, capture = rendered.page, rendered.capture or Capture(b"")
        title, judgement = await self._judged(page)
        return Captured(
            url=wish.url.href,
            final_url=page.final_url,
            status=page.status,
            outcome=judgement.outcome,
            reason=judgement.reason,
            title=title,
            media_type=wish.media_type,
            body=capture.body,
            size=_size(capture) if isinstance(wish.capture, Shot) else None,
            pages=page_count(capture.body) if isinstance(wish.capture, Print) else None,
            cut=capture.cut,
            captured_at=self.clock(),
            elapsed_ms=page.elapsed_ms,
        )

    async def _judged(self, page: Page) -> tuple[str, Judgement]:
        """A page that is too much work to read can still be looked at; then its status has to do."""
        try:
            reading = await self.workshop.read(page, How())
        except Problem as problem:
            if problem.kind is not CONTENT_UNREADABLE:
                raise
            return "", Judgement(Outcome.OK if page.status < 400 else Outcome.ERROR, "unread")
        return reading.title, reading.judgement


def _key(wish: Wish, caching: Caching) -> tuple[str, str]:
    return keys(wish.endpoint, caching.tenant, wish.parameters())


def _size(capture: Capture) -> Size:
    try:
        return size_of(capture.body)
    except ValueError as error:
        raise failed("worker_error", f"What the browser gave is no picture: {error}") from None
