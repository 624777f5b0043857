"""Read: a URL in, what the page says out; from the cache where that was asked for."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from string import ascii_lowercase
from typing import Final, Literal, NamedTuple

import msgspec

from gossamer.flows.admit import Caller
from gossamer.flows.caching import Caching, Made, Part, has, keys, through
from gossamer.flows.obtain import Errand, Obtainer, Rendering
from gossamer.flows.workshop import Workshop
from gossamer.state.cache import Cache
from gossamer.state.search_index import Document, SearchIndex
from gossamer.web.brief import BOUNDARY, DEFAULT, Brief
from gossamer.web.kind import Kind
from gossamer.web.links import Link
from gossamer.web.metadata import Metadata
from gossamer.web.outcome import Outcome
from gossamer.web.page import Hop, Page
from gossamer.web.reading import How, Reading
from gossamer.web.url import Url, cache_form

FORMATS: Final = ("markdown", "llm", "html", "rawHtml", "text", "links", "metadata")
# What is read by who shows one of these may not be for others to find.
_CREDENTIALS: Final = frozenset({"authorization", "cookie", "x-api-key"})


def new_boundary() -> str:
    """Letters that nobody can guess, all of one case, so that they always count the same."""
    return "".join(secrets.choice(ascii_lowercase) for _ in range(BOUNDARY))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is asked of a page."""

    url: Url
    how: How = field(default_factory=How)
    formats: tuple[str, ...] = ("markdown", "metadata")
    headers: tuple[tuple[str, str], ...] = ()
    timeout: float = 10.0  # seconds; not part of the key
    attempts: int = 3
    render: Rendering = "never"
    wait_for: str | None = None  # a CSS selector, for the browser
    max_tokens: int = DEFAULT  # of the format `llm`

    def parameters(self) -> dict[str, object]:
        """All that the answer depends on."""
        return {
            "url": cache_form(self.url),
            "formats": sorted(set(self.formats)),
            "mainContent": self.how.main_content,
            "include": list(self.how.include),
            "exclude": list(self.how.exclude),
            "headers": sorted((name.lower(), value) for name, value in self.headers),
            "render": self.render,
            "waitFor": self.wait_for,
            "maxTokens": self._budget,
        }

    @property
    def wanted(self) -> How:
        return replace(self.how, max_tokens=self._budget)

    @property
    def _budget(self) -> int | None:
        return self.max_tokens if "llm" in self.formats else None

    def is_findable(self) -> bool:
        """May it be searched for? Not what is shown to few, and not a part for the whole."""
        whole = not self.how.include and not self.how.exclude
        return whole and all(name.lower() not in _CREDENTIALS for name, _ in self.headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What came of it; what was not asked for is left out."""

    url: str
    final_url: str
    status: int
    media_type: str
    via: Literal["fetch", "render"]
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
    llm: Brief | None = None
    html: str | None = None
    raw_html: str | None = None
    text: str | None = None
    links: tuple[Link, ...] | None = None


class Reply(NamedTuple):
    """A read, and how the cache took part in it."""

    read: Read
    part: Part = Part()


@dataclass(frozen=True, slots=True)
class Reader:
    obtainer: Obtainer
    workshop: Workshop
    cache: Cache
    index: SearchIndex | None = None
    clock: Callable[[], float] = field(default=time.time)
    boundary: Callable[[], str] = field(default=new_boundary)

    async def read(self, wish: Wish, caller: Caller) -> Read:
        """Get it and read it, here and now."""
        how = wish.wanted
        await self.workshop.check(how)
        errand = Errand(
            url=wish.url,
            headers=wish.headers,
            timeout=wish.timeout,
            attempts=wish.attempts,
            render=wish.render,
            wait_for=wish.wait_for,
        )

        async def reading_of(page: Page) -> Reading:
            return await self.workshop.read(page, how)

        page, reading = await self.obtainer.obtain(errand, caller, reading_of, lambda made: made.judgement)
        read = _read(wish, page, reading, self.clock())
        if wish.is_findable() and read.outcome is Outcome.OK:
            self._note(caller, read, reading)
        return read

    async def read_through(self, wish: Wish, caller: Caller, caching: Caching) -> Reply:
        """From the cache, or into it. Only what turned out well is kept."""
        key = _key(wish, caching)

        async def make() -> Made:
            read = await self.read(wish, caller)
            return Made(msgspec.msgpack.encode(read), read.fetched_at, read.outcome is Outcome.OK)

        read, part = await through(self.cache, caching, key, Read, make, patience=wish.timeout)
        return Reply(replace(read, url=wish.url.href), part)

    async def has(self, wish: Wish, caching: Caching) -> bool:
        return await has(self.cache, caching, _key(wish, caching))

    def _note(self, caller: Caller, read: Read, reading: Reading) -> None:
        """For who searches later."""
        if self.index is None or not caller.tenant_id:
            return
        document = Document(
            url=read.final_url,
            title=read.title,
            description=read.metadata.description or "",
            text=reading.text,
            language=read.metadata.language or "",
            seen_at=read.fetched_at,
            published_at=read.metadata.published_at,
        )
        self.index.note(caller.tenant_id, document)


def _key(wish: Wish, caching: Caching) -> tuple[str, str]:
    return keys("fetch", caching.tenant, wish.parameters())


def _read(wish: Wish, page: Page, reading: Reading, now: float) -> Read:
    wanted = set(wish.formats)
    return Read(
        url=page.url,
        final_url=page.final_url,
        status=page.status,
        media_type=page.media_type,
        via=page.via,
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
        llm=reading.brief,
        html=reading.html if "html" in wanted else None,
        raw_html=page.text if "rawHtml" in wanted and reading.kind is not Kind.PDF else None,
        text=reading.text if "text" in wanted else None,
        links=reading.links if "links" in wanted else None,
    )
