"""Read: a URL in, what the page says out; from the cache where that was asked for."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from gossamer.flows.caching import Caching, Made, keys, through
from gossamer.flows.workshop import Workshop
from gossamer.reach.fetch import Ask, Fetcher
from gossamer.state.cache import Cache
from gossamer.web.kind import Kind
from gossamer.web.links import Link
from gossamer.web.metadata import Metadata
from gossamer.web.outcome import Outcome
from gossamer.web.page import Hop, Page
from gossamer.web.reading import How, Reading
from gossamer.web.url import Url, cache_form

FORMATS: Final = ("markdown", "html", "rawHtml", "text", "links", "metadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is asked of a page."""

    url: Url
    how: How = field(default_factory=How)
    formats: tuple[str, ...] = ("markdown", "metadata")
    headers: tuple[tuple[str, str], ...] = ()
    timeout: float = 10.0  # seconds; not part of the key
    attempts: int = 3

    def parameters(self) -> dict[str, object]:
        """All that the answer depends on."""
        return {
            "url": cache_form(self.url),
            "formats": sorted(set(self.formats)),
            "mainContent": self.how.main_content,
            "include": list(self.how.include),
            "exclude": list(self.how.exclude),
            "headers": sorted((name.lower(), value) for name, value in self.headers),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What came of it; what was not asked for is left out."""

    url: str
    final_url: str
    status: int
    media_type: str
    kind: Kind
    outcome: Outcome
    reason: str
    title: str
    metadata: Metadata
    fetched_at: float  # Unix seconds
    elapsed_ms: int
    redirects: tuple[Hop, ...]
    words: int
    fallback: bool
    cut: bool
    page_count: int | None = None
    markdown: str | None = None
    html: str | None = None
    raw_html: str | None = None
    text: str | None = None
    links: tuple[Link, ...] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A read, and how the cache took part in it."""

    read: Read
    hit: bool = False
    since: float | None = None  # Unix seconds; None where nothing was kept
    until: float | None = None
    key: str = ""  # as it is shown


@dataclass(frozen=True, slots=True)
class Reader:
    fetcher: Fetcher
    workshop: Workshop
    cache: Cache
    clock: Callable[[], float] = field(default=time.time)

    async def read(self, wish: Wish) -> Read:
        """Fetch and read, here and now."""
        await self.workshop.check(wish.how)
        page = await self.fetcher.fetch(
            Ask(url=wish.url, headers=wish.headers, timeout=wish.timeout, attempts=wish.attempts)
        )
        return _read(wish, page, await self.workshop.read(page, wish.how), self.clock())

    async def read_through(self, wish: Wish, caching: Caching) -> Reply:
        """From the cache, or into it. Only what turned out well is kept."""
        key = keys("fetch", caching.tenant, wish.parameters())

        async def make() -> Made:
            read = await self.read(wish)
            return Made(msgspec.msgpack.encode(read), read.fetched_at, read.outcome is Outcome.OK)

        read, part = await through(self.cache, caching, key, Read, make, patience=wish.timeout)
        return Reply(replace(read, url=wish.url.href), part.hit, part.since, part.until, part.key)


def _read(wish: Wish, page: Page, reading: Reading, now: float) -> Read:
    wanted = set(wish.formats)
    return Read(
        url=page.url,
        final_url=page.final_url,
        status=page.status,
        media_type=page.media_type,
        kind=reading.kind,
        outcome=reading.judgement.outcome,
        reason=reading.judgement.reason,
        title=reading.title,
        metadata=reading.metadata,
        fetched_at=now,
        elapsed_ms=page.elapsed_ms,
        redirects=page.redirects,
        words=reading.words,
        fallback=reading.fallback,
        cut=reading.cut,
        page_count=reading.page_count,
        markdown=reading.markdown if "markdown" in wanted else None,
        html=reading.html if "html" in wanted else None,
        raw_html=page.text if "rawHtml" in wanted and reading.kind is not Kind.PDF else None,
        text=reading.text if "text" in wanted else None,
        links=reading.links if "links" in wanted else None,
    )
