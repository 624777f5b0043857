"""Read: a URL in, what the page says out; from the cache if the request asks for it."""

import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from msgspec import UNSET, Struct, field
from msgspec.structs import replace

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
from gossamer.flows.pages.obtain import Obtained, Obtainer
from gossamer.flows.pages.page_model import PageModel, no_model
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.parsers.ruled_reading import read_by_rule
from gossamer.flows.tenants.admit import Caller
from gossamer.state.cache import Cache
from gossamer.state.search.search_document import MAX_TEXT_CHARS, IndexedDocument
from gossamer.state.search.search_index import SearchIndex
from gossamer.web.content.marked import new_boundary
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page import Page
from gossamer.web.pages.page_request import ATTEMPTS, PageRequest
from gossamer.web.pages.read_result import ReadReply, ReadResult
from gossamer.web.pages.reading import Reading
from gossamer.web.sites.rule_set import NO_RULE, PageRule
from gossamer.web.url.url import Url, is_tracked

INDEXED_CHARS: Final = 2 * MAX_TEXT_CHARS  # of a page's text, which searches look through


FindRule = Callable[[Caller, Url], Awaitable[PageRule]]


class Reader(Struct, frozen=True):
    obtainer: Obtainer
    parsers: ParserPool
    cache: Cache
    index: SearchIndex | None = None
    model: PageModel | None = None
    find_rule: FindRule | None = None  # what a site or the operator wants to be kept and dropped
    clock: Callable[[], float] = field(default=time.time)
    boundary: Callable[[], str] = field(default=new_boundary)

    async def read(self, request: PageRequest, caller: Caller, attempts: int = ATTEMPTS) -> ReadResult:
        """Fetch or render the page, and read it."""
        if request.summary and self.model is None:
            raise no_model("A summary needs a language model, and none takes part here.", "Leave it out.")
        options = request.reading_options(INDEXED_CHARS)
        await self.parsers.check_selectors(options)
        rule = await self._rule_of(request, caller)

        async def read(page: Page) -> Reading:
            return await read_by_rule(self.parsers, page, options, rule)

        obtained = await self.obtainer.obtain(
            request, caller, read, lambda reading: reading.needs_browser, attempts
        )
        reading = obtained.made
        result = _to_result(request, obtained, self.clock())
        if request.is_public and not rule.selects and result.outcome is Outcome.OK:
            self._index(caller, result, reading)
        return await self._add_summary(request, result)

    async def read_cached(
        self,
        request: PageRequest,
        caller: Caller,
        caching: Caching,
        admit: Admit = admit_always,
        attempts: int = ATTEMPTS,
    ) -> ReadReply:
        """From the cache, or read and kept there. Only a good result is kept."""
        common = to_shared(request)
        rule = await self._rule_of(request, caller)
        key = self._key(common, caching, rule, attempts, caller.tier)

        async def make() -> MadeAnswer:
            await admit_or_pass(admit)
            made = await self.read(common, caller, attempts)
            return MadeAnswer(msgspec.msgpack.encode(made), made.fetched_at, made.is_good)

        read, part = await get_or_make(self.cache, caching, key, ReadResult, make, patience=request.seconds)
        return ReadReply(replace(read, url=request.address.href), part)

    async def has(self, request: PageRequest, caching: Caching, caller: Caller) -> bool:
        rule = await self._rule_of(request, caller)
        return await has(self.cache, caching, self._key(to_shared(request), caching, rule))

    async def _rule_of(self, request: PageRequest, caller: Caller) -> PageRule:
        """A request that says itself what it wants of the page is not told so by a rule."""
        if self.find_rule is None or not request.main_content or request.include or request.exclude:
            return NO_RULE
        return await self.find_rule(caller, request.address)

    def _key(
        self,
        request: PageRequest,
        caching: Caching,
        rule: PageRule,
        attempts: int = ATTEMPTS,
        tier: str = "",
    ) -> CacheKey:
        parameters = request.parameters(self.model.name if self.model else "")
        if rule.selects:
            parameters |= {"keep": rule.keep, "drop": rule.drop}
        return CacheKey.of("fetch", caching.tenant, parameters, (request.seconds, attempts, tier))

    async def _add_summary(self, request: PageRequest, read: ReadResult) -> ReadResult:
        """Only of the page that was asked for, not of one that stands in its place."""
        if not request.summary or self.model is None or not read.llm or read.outcome is not Outcome.OK:
            return read
        said, used = await self.model.summarise(
            url=read.final_url, text=read.llm.text, query=request.llm_query
        )
        return replace(read, summary=said or UNSET, model=used)

    def _index(self, caller: Caller, read: ReadResult, reading: Reading) -> None:
        """Let later searches find the page. The index knows it by its cache form, so a page whose URL has
        parameters that the form leaves out is not indexed: they may have changed what it says."""
        if self.index is None or not caller.tenant_id or is_tracked(Url.parse(read.final_url)):
            return
        document = IndexedDocument(
            url=read.final_url,
            title=read.title,
            description=read.metadata.description or "",
            text=reading.text,
            headings=reading.headings,
            language=read.metadata.language or "",
            seen_at=read.fetched_at,
            published_at=read.metadata.published_at,
        )
        self.index.note(caller.tenant_id, document)


def _to_result(request: PageRequest, obtained: Obtained[Reading], now: float) -> ReadResult:
    wanted, page, reading = set(request.formats), obtained.page, obtained.made
    return ReadResult(
        url=page.url,
        final_url=page.final_url,
        status=page.status,
        media_type=page.media_type,
        via=page.via,
        elapsed_ms=page.elapsed_ms,
        redirects=page.redirects,
        outcome=reading.judgement.outcome,
        reason=reading.judgement.reason,
        kind=reading.kind,
        title=reading.title,
        metadata=reading.metadata,
        words=reading.words,
        fallback=reading.fallback,
        confidence=UNSET if reading.confidence is None else reading.confidence,
        warning=reading.warning or UNSET,
        cut=reading.cut,
        page_count=UNSET if reading.page_count is None else reading.page_count,
        recognised=reading.recognised,
        fetched_at=now,
        markdown=reading.markdown if "markdown" in wanted else UNSET,
        llm=reading.brief or UNSET,
        html=reading.html if "html" in wanted else UNSET,
        raw_html=UNSET if reading.raw_html is None else reading.raw_html,
        text=reading.text if "text" in wanted else UNSET,
        links=reading.links if "links" in wanted else UNSET,
        images=reading.images if "images" in wanted else UNSET,
        actions=obtained.actions,
        cookies=obtained.cookies,
        visit=obtained.visit if request.return_visit else UNSET,
    )
