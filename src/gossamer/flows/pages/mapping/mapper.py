"""SiteMapper: a site in, the addresses of its pages out, within a deadline.

    known      pages that the tenant has read or crawled before
    page       the page that was named, and its links
    sitemap    the sitemaps that robots.txt names, or the one at the usual address; an index names more
    page       a few more pages, if all of that is little

Each step adds to what the ones before have found. When the time is over, what was found is the answer.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from gossamer import problems
from gossamer.flows.pages.caching import (
    Admit,
    CacheKey,
    Caching,
    MadeAnswer,
    admit_always,
    admit_or_pass,
    get_or_make,
    has,
)
from gossamer.flows.pages.mapping.known import KnownPages
from gossamer.flows.pages.mapping.polite import (
    NotFetched,
    PoliteFetcher,
    PoliteRound,
    Refusal,
    reason_of,
)
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Problem, Unavailable, validation_error
from gossamer.reach.net.dial import Dialer
from gossamer.state.cache import Cache
from gossamer.web.crawl.priority import priority_of
from gossamer.web.crawl.scope import Scope
from gossamer.web.crawl.site_links import FoundLink, SiteLinks, rank
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.html.links import Link
from gossamer.web.pages.cache_options import CachePart
from gossamer.web.pages.map_request import (
    MAX_LINKS,
    MapEnd,
    MapLink,
    MapRequest,
    MapResult,
    MapSource,
    SourceKind,
)
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.robots.sitemap import Entries
from gossamer.web.search.words import words
from gossamer.web.url.url import Url, shared_url

MAX_SITEMAPS: Final = 50  # files
MAX_SITEMAP_BYTES: Final = 20_000_000  # of one, as it is sent
MAX_PAGE_BYTES: Final = 5_000_000
MAX_MORE_PAGES: Final = 10
FEW: Final = 50  # links: with fewer, more pages are read
MAX_ANSWER_CHARS: Final = 8_000_000  # of all links of an answer
TURN: Final = 100  # links that are added before others get their turn; each takes about 50 µs
USUAL_SITEMAP: Final = "/sitemap.xml"
NO_ENTRIES: Final = Entries(())
SHOWN_CHARS: Final = 200  # of an address that is none
OK: Final = 200
ERROR: Final = 400
MISSING: Final = frozenset((404, 410))
_READ: Final = ReadingOptions(main_content=False, markdown=False, html=False, max_text=0)


class SiteMapper(Struct, frozen=True):
    polite: PoliteFetcher
    known: KnownPages
    parsers: ParserPool
    dialer: Dialer
    cache: Cache
    clock: Callable[[], float] = msgspec.field(default=time.time)

    def check(self, request: MapRequest) -> None:
        """Raises `Problem` for a request that cannot be served, before anything is done for it."""
        url = request.address
        self.dialer.admit(url.host, url.port)
        if request.search is not None and not words(request.search, 1):
            raise validation_error("`search` has no words.", hint="Leave it out, or name some.")

    async def map(self, request: MapRequest, caller: Caller) -> MapResult:
        """Raises `Problem` if nothing was found because the site cannot be reached."""
        run = _MapRun(self, request, caller.tenant_id)
        is_over = False
        try:
            async with asyncio.timeout(request.seconds):
                await run.run()
        except TimeoutError:
            is_over = True
        if run.failure is not None and not run.links:
            raise run.failure
        # Ranking many links takes long: in a thread, others get their turns.
        return await asyncio.to_thread(run.result, self.clock(), is_over=is_over)

    async def map_cached(
        self, request: MapRequest, caller: Caller, caching: Caching, admit: Admit = admit_always
    ) -> tuple[MapResult, CachePart]:
        """From the cache, or mapped and kept there. A map that lacks something is not kept."""
        common = replace(request, url=shared_url(request.address).href)

        async def make() -> MadeAnswer:
            await admit_or_pass(admit)
            made = await self.map(common, caller)
            good = bool(made.links) and made.end in ("done", "limit")
            return MadeAnswer(msgspec.msgpack.encode(made), made.at, good)

        key = _key(common, caching)
        return await get_or_make(self.cache, caching, key, MapResult, make, patience=request.seconds)

    async def has(self, request: MapRequest, caching: Caching) -> bool:
        common = replace(request, url=shared_url(request.address).href)
        return await has(self.cache, caching, _key(common, caching))


@dataclass(slots=True)
class _MapRun:
    """One map while it is being made."""

    mapper: SiteMapper
    request: MapRequest
    tenant: str
    links: SiteLinks = field(init=False)
    sources: list[MapSource] = field(default_factory=list)
    failure: Problem | None = None  # why the site could not be read at all
    is_short: bool = False  # something was left unread, because one call reads only so much
    _round: PoliteRound = field(init=False)
    _passed: set[str] = field(default_factory=set)  # keys of pages that were read, or must not be followed
    _has_sitemap: bool = False
    _lacks: bool = False  # something that had to be read could not be

    def __post_init__(self) -> None:
        room = MAX_LINKS if self.request.search else self.request.limit
        scope = _scope(self.request, self.request.address)
        self.links = SiteLinks(scope, self.request.ignore_query, room)
        self._round = self.mapper.polite.begin(self.request.seconds)

    async def run(self) -> None:
        start = self.request.address
        try:
            site = await self._enter(start)
        except Problem as problem:
            self.failure, self._lacks = problem, True
            await self._add_known(start)
            return
        if self.request.sitemap != "skip":
            await self._read_sitemaps(site)
        await self._add_known(start)
        if self.request.sitemap != "only":
            await self._read_more_pages()

    async def _enter(self, start: Url) -> Url:
        """Read the first page. Its redirect may lead to another host, which then belongs to the site too.
        Raises `Problem` if the site cannot be reached."""
        file = start.join("/robots.txt")
        try:
            rules = await self._round.rules_of(start)
        except Problem as problem:
            self._note("robots", file, problem=reason_of(problem))
            raise
        self._note("robots", file, problem=Refusal.RULES_UNKNOWN if rules.unknown else "")
        if rules.unknown:
            raise _rules_unknown(file)
        if self.request.sitemap == "only":
            return start
        page = await self._read_page(start)
        self._lacks = page is None
        return start if page is None else Url.parse(page.final_url)

    # The pages.

    async def _read_page(self, url: Url) -> Page | None:
        """None if it cannot be read. What is not there any more is no page of the site."""
        self._passed.add(self.links.key(url))
        try:
            page = await self._round.fetch(url, MAX_PAGE_BYTES)
            if page.status >= ERROR:
                if page.status in MISSING:
                    self.links.drop(url)
                self._note("page", url, problem=f"status_{page.status}")
                return None
            self._widen(Url.parse(page.final_url))
            reading = await self.mapper.parsers.read(page, _READ)
        except Unavailable:
            raise
        except (NotFetched, Problem) as error:
            self._note("page", url, problem=reason_of(error))
            self.failure = self.failure or (error if isinstance(error, Problem) else None)
            return None
        final = Url.parse(page.final_url)
        self._passed.add(self.links.key(final))
        self.links.describe(final, reading.title, reading.metadata.description or "")
        silent = "nofollow" in (reading.metadata.robots or "").lower()
        self._note("page", url, await self._add_links(final, reading.links, silent=silent))
        return page

    def _widen(self, final: Url) -> None:
        """The site is also where its first page is."""
        if not self.links and self.links.scope.admits(final, 0):
            self.links.scope = _scope(self.request, self.request.address, final)

    async def _add_links(self, page: Url, links: tuple[Link, ...], *, silent: bool) -> int:
        found = 0
        for number, link in enumerate(links):
            if key := self.links.add(link.url, link.text, base=page):
                found += 1
                if silent or "nofollow" in link.rel:
                    self._passed.add(key)
            if number % TURN == TURN - 1:
                await asyncio.sleep(0)
        return found

    async def _read_more_pages(self) -> None:
        """If there are few links: the pages that look best, until there are more."""
        for _ in range(MAX_MORE_PAGES):
            if len(self.links) >= FEW or self.links.is_full or (following := self._next_page()) is None:
                break
            await self._read_page(following)
        if not self._has_sitemap and self._next_page() is not None:
            self.is_short = True

    def _next_page(self) -> Url | None:
        waiting = [link.url for link in self.links if self.links.key(link.url) not in self._passed]
        return max(waiting, key=lambda url: priority_of(url, 1), default=None)

    # The sitemaps.

    async def _read_sitemaps(self, site: Url) -> None:
        named = (await self._round.rules_of(site)).robots.sitemaps
        waiting = deque(dict.fromkeys(named or (USUAL_SITEMAP,)))
        known = set(waiting)
        for _ in range(MAX_SITEMAPS):
            if not waiting or self.links.is_full:
                break
            entries = await self._read_sitemap(site, waiting.popleft(), is_named=bool(named))
            if entries.is_index:
                waiting.extend(url for url in dict.fromkeys(entries.urls) if url not in known)
                known.update(entries.urls)
        self.is_short = self.is_short or bool(waiting)
        self._lacks = self._lacks or any(one.problem for one in self.sources if one.kind == "sitemap")

    async def _read_sitemap(self, site: Url, reference: str, *, is_named: bool) -> Entries:
        """What is not at the usual address, and what there is no sitemap, is no problem."""
        try:
            url = site.join(reference)
        except Problem as problem:
            self.sources.append(MapSource("sitemap", reference[:SHOWN_CHARS], problem=reason_of(problem)))
            return NO_ENTRIES
        try:
            page = await self._round.fetch(url, MAX_SITEMAP_BYTES)
            if page.status != OK:
                if is_named or page.status not in MISSING:
                    self._note("sitemap", url, problem=f"status_{page.status}")
                return NO_ENTRIES
            entries = await self.mapper.parsers.read_sitemap(page)
        except Unavailable:
            raise
        except (NotFetched, Problem) as error:
            self._note("sitemap", url, problem=reason_of(error))
            return NO_ENTRIES
        if is_named or entries.entries:
            found = 0 if entries.is_index else await self._add_entries(url, entries)
            self._note("sitemap", url, found, entries.problem)
            self._has_sitemap = self._has_sitemap or found > 0
        return entries

    async def _add_entries(self, sitemap: Url, entries: Entries) -> int:
        found = 0
        for number, entry in enumerate(entries.entries):
            found += bool(self.links.add(entry.url, entry.headline, base=sitemap))
            if number % TURN == TURN - 1:
                await asyncio.sleep(0)
        return found

    # What is known here.

    async def _add_known(self, start: Url) -> None:
        subdomains = self.request.include_subdomains
        try:
            pages = await self.mapper.known.find(self.tenant, start, subdomains=subdomains)
        except Unavailable as away:
            self.sources.append(MapSource("known", problem=reason_of(away)))
            self._lacks = True
            return
        found = 0
        for number, page in enumerate(pages):
            found += bool(self.links.add(page.final_url, page.title, page.description))
            if number % TURN == TURN - 1:
                await asyncio.sleep(0)
        self.sources.append(MapSource("known", links=found))

    # The answer.

    def _note(self, kind: SourceKind, url: Url, links: int = 0, problem: str = "") -> None:
        self.sources.append(MapSource(kind, url.href, links, problem))

    def result(self, now: float, *, is_over: bool) -> MapResult:
        chosen = list(self.links)
        if self.request.search is not None:
            chosen = rank(chosen, self.request.search)
        shown, is_cut = _bound(chosen[: self.request.limit])
        end: MapEnd = "done"
        if is_over:
            end = "timeout"
        elif self._lacks:
            end = "source"
        elif is_cut or self.is_short or self.links.is_cut or len(chosen) > self.request.limit:
            end = "limit"
        return MapResult(tuple(shown), len(self.links), end, tuple(self.sources), now)


def _scope(request: MapRequest, *places: Url) -> Scope:
    seeds = tuple(place.href for place in places)
    return Scope.of(CrawlSpec(seeds=seeds, scope="domain" if request.include_subdomains else "host"))


def _rules_unknown(file: Url) -> Problem:
    return Problem(
        problems.FETCH_FAILED,
        "The robots.txt of the site cannot be fetched, so nothing else of it may be.",
        hint="Try again later.",
        details={"url": file.href, "reason": Refusal.RULES_UNKNOWN.value},
    )


def _bound(links: list[FoundLink]) -> tuple[list[MapLink], bool]:
    """As many as an answer has room for, and whether some had to stay out."""
    shown: list[MapLink] = []
    room = MAX_ANSWER_CHARS
    for link in links:
        room -= len(link.url.href) + len(link.title) + len(link.description)
        if room < 0:
            return shown, True
        shown.append(MapLink(link.url.href, link.title or UNSET, link.description or UNSET))
    return shown, False


def _key(request: MapRequest, caching: Caching) -> CacheKey:
    parameters = {
        "url": request.url,
        "search": request.search,
        "limit": request.limit,
        "sitemap": request.sitemap,
        "subdomains": request.include_subdomains,
        "ignoreQuery": request.ignore_query,
    }
    return CacheKey.of("map", caching.tenant, parameters, (request.timeout,))
