"""Where a crawl begins: starting one, and adding URLs to one.

URLs that name no crawl go to the tenant's default crawl, which the first of them begin. It follows links on
the hosts of the URLs that were added to it, up to a number of pages. When it is full or stopped, the next
URLs begin another one.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from gossamer import problems
from gossamer.flows.crawl.refreshing import fresh_schedule
from gossamer.flows.render.render_capacity import RenderCapacity
from gossamer.flows.sites.rule_finder import RuleFinder
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, Quotas, quota_tier_of
from gossamer.problems import Busy, Problem
from gossamer.reach.net.dial import Dialer
from gossamer.state.crawl import crawl_counts, new_urls
from gossamer.state.crawl import crawls as table
from gossamer.state.crawl.crawl_counts import CrawlsGone
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.crawl.new_urls import HIGH, NewUrl
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.priority import priority_of
from gossamer.web.crawl.scope import place_of
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.crawl.traps.session_ids import SESSION_NAMES, path_without_session
from gossamer.web.sites.site_rule import check_rules
from gossamer.web.url.sent_headers import check_headers
from gossamer.web.url.url import MAX_URL_CHARS, TRACKING, Tracking, Url, crawl_form, digest

MAX_DEFAULT_HOSTS: Final = 1_000  # of one default crawl; for further ones another begins
ATTEMPTS: Final = 10  # to find or begin a default crawl while others do the same

Remember = Callable[[AsyncConnection, Any], Awaitable[None]]  # in the transaction that writes the result


class RefusedUrl(Struct, frozen=True, rename="camel"):
    """A URL that was not added."""

    url: Annotated[str, Meta(description="Its first 2,048 characters.")]
    reason: Annotated[str, Meta(description="As in the problem `invalid-url`: `invalid_url_format`, …")]
    message: str


class UrlsAdded(Struct, frozen=True, rename="camel"):
    """What became of URLs that were to be added to a crawl."""

    crawl_id: Annotated[
        str | None, Meta(description="The crawl; `null` if there is none, because every URL was refused.")
    ]
    added: int
    known: Annotated[int, Meta(description="URLs that the crawl had already.")]
    refused: list[RefusedUrl]


class GivenUrls(Struct, frozen=True):
    """The URLs of a request, each once."""

    urls: list[NewUrl]
    refused: list[RefusedUrl]
    number: int  # that was given, with repetitions


class PreparedCrawl(Struct, frozen=True):
    """A crawl that may begin: with all rules that it follows, and its seeds."""

    spec: CrawlSpec
    urls: list[NewUrl]
    rules_sealed: str


async def _forget(connection: AsyncConnection, result: object) -> None:
    """The default `Remember`: writes nothing else."""


class Seeder(Struct, frozen=True):
    crawls: Crawls
    dialer: Dialer
    capacity: RenderCapacity
    quotas: Quotas
    rules: RuleFinder
    min_delay: float  # seconds; only admins may ask for less
    default_pages: int  # that a default crawl stores at most

    async def start(
        self,
        caller: Caller,
        spec: CrawlSpec,
        by: Actor,
        *,
        name: str = "",
        request_id: str = "",
        remember: Remember = _forget,
    ) -> Crawl:
        """Start a crawl. Raises `Problem` for what cannot be done, or not by this caller."""
        prepared = await self.prepare(caller, spec)
        async with self.crawls.database.write() as connection:
            crawl = await self.begin(connection, caller, prepared, by, name=name, request_id=request_id)
            await remember(connection, crawl)
        return crawl

    async def prepare(self, caller: Caller, spec: CrawlSpec) -> "PreparedCrawl":
        """Before the transaction of `begin`: raises `Problem` for what cannot be done."""
        self.check(caller, spec)
        seeds_of(spec, self.dialer)  # before the rules, which need seeds that are URLs
        ruled = await self.rules.for_crawl(caller, spec)
        fresh_schedule.check_refresh(caller, ruled, is_private=ruled.is_private)
        if spec.rendering == "always":
            await self.capacity.demand()
        await self.quotas.check(caller, Quota.PAGES, Quota.BYTES)
        return PreparedCrawl(ruled, seeds_of(ruled), await self.rules.seal(caller.tenant_id, ruled))

    async def begin(
        self,
        connection: AsyncConnection,
        caller: Caller,
        prepared: "PreparedCrawl",
        by: Actor,
        *,
        name: str = "",
        request_id: str = "",
    ) -> Crawl:
        """Write a crawl that was prepared. Raises `Problem` if the tenant has as many as it may."""
        await self.quotas.reserve_crawl(connection, caller)
        spec = prepared.spec
        crawl = await table.add(
            connection,
            caller.tenant_id,
            spec,
            tier=caller.tier,
            quota_tier=quota_tier_of(caller),
            name=name,
            request_id=request_id,
            urls=prepared.urls,
            rules_sealed=prepared.rules_sealed,
        )
        if spec.keeps_fresh:
            await fresh_schedule.add(connection, self.quotas, caller, crawl.id)
        await _record(connection, crawl, Action.CRAWL_STARTED, by, spec.seeds[0] if spec.seeds else "")
        return crawl

    async def add_urls(
        self,
        crawl: Crawl,
        texts: Sequence[str],
        by: Actor,
        *,
        priority: int | None = None,
        remember: Remember = _forget,
    ) -> UrlsAdded:
        """Add URLs to a crawl. Raises `Problem` if it takes no more; a bad URL is refused by itself."""
        _check_takes_more(crawl)
        given = self._sort_out(texts, crawl.spec, priority)
        try:
            async with self.crawls.database.write() as connection:
                return await _add(connection, crawl, given, by, remember)
        except CrawlsGone as gone:
            raise Problem(problems.NOT_FOUND, "The crawl was deleted.") from gone

    async def add_default_urls(
        self,
        caller: Caller,
        texts: Sequence[str],
        by: Actor,
        *,
        priority: int | None = None,
        remember: Remember = _forget,
    ) -> UrlsAdded:
        """Add URLs to the caller's default crawl, and begin it if there is none that takes them."""
        spec = await self.rules.for_crawl(caller, CrawlSpec(max_pages=self.default_pages))
        sealed = await self.rules.seal(caller.tenant_id, spec)
        given = self._sort_out(texts, spec, priority)
        if not given.urls:
            return UrlsAdded(None, 0, 0, given.refused)
        for _ in range(ATTEMPTS):
            try:
                async with self.crawls.database.write() as connection:
                    begun = PreparedCrawl(spec, given.urls, sealed)
                    crawl = await self._find_default(connection, caller, begun, by)
                    if crawl is not None:
                        return await _add(connection, crawl, given, by, remember)
            except CrawlsGone:
                continue  # it was deleted just now
        raise Busy("crawls", "the default crawl changes too often")

    async def _find_default(
        self, connection: AsyncConnection, caller: Caller, new: PreparedCrawl, by: Actor
    ) -> Crawl | None:
        """The default crawl, or a new one; None if it has to be looked for again, in another transaction,
        since crawls are locked last."""
        crawl = await table.find_default(connection, caller.tenant_id)
        if crawl is not None:
            if _takes_more(crawl) and len(_grow(crawl.spec, new.urls).seeds) <= MAX_DEFAULT_HOSTS:
                return crawl
            await table.retire_default(connection, crawl.id)
            return None
        begun = await table.add_default(
            connection,
            caller.tenant_id,
            _grow(new.spec, new.urls),
            tier=caller.tier,
            request_id=by.request_id,
            rules_sealed=new.rules_sealed,
        )
        if begun is not None:
            await _record(connection, begun, Action.CRAWL_STARTED, by, "default")
        return begun

    def check(self, caller: Caller, spec: CrawlSpec) -> None:
        """Raises `Problem` for options that this caller cannot have."""
        check_headers(spec.headers)
        check_rules(spec.rules, "")
        fresh_schedule.check_refresh(caller, spec, is_private=spec.is_private)
        self.quotas.check_crawl_pages(caller, spec.max_pages)
        check_delays(caller, [spec.delay, *(rule.delay for rule in spec.rules)], self.min_delay)

    def _sort_out(self, texts: Sequence[str], spec: CrawlSpec, priority: int | None) -> GivenUrls:
        """Each URL once, and those that cannot be fetched."""
        urls: dict[str, NewUrl] = {}
        refused: list[RefusedUrl] = []
        for text in texts:
            try:
                url = Url.parse(text)
                self.dialer.admit(url.host, url.port)
            except Problem as problem:
                refused.append(RefusedUrl(text[:MAX_URL_CHARS], problem.reason or "", problem.detail))
            else:
                new = new_url(url, spec, priority=priority)
                urls[new.url_hash] = new
        return GivenUrls(list(urls.values()), refused, len(texts))


def check_delays(caller: Caller, delays: Iterable[float | None], least: float) -> None:
    """Raises `Problem` for a delay that only admins may ask for."""
    if caller.role is not Role.ADMIN and any(delay is not None and delay < least for delay in delays):
        raise Problem(
            problems.FORBIDDEN,
            f"A delay of less than {least:g} s between two requests to a host is for admins.",
            hint="Leave `delay` out.",
        )


async def _add(
    connection: AsyncConnection,
    crawl: Crawl,
    given: GivenUrls,
    by: Actor,
    remember: Remember,
) -> UrlsAdded:
    added = await new_urls.add(connection, crawl.id, given.urls, now=None)
    if crawl.is_default:
        await _widen(connection, crawl.id, given.urls)
    if added:
        await _record(connection, crawl, Action.SEEDS_ADDED, by, f"{added:,} URLs")
    known = given.number - len(given.refused) - added
    result = UrlsAdded(crawl.id, added, known, given.refused)
    await remember(connection, result)
    return result


async def _widen(connection: AsyncConnection, crawl_id: str, urls: Sequence[NewUrl]) -> None:
    """Let the crawl follow links on the hosts of these URLs."""
    await crawl_counts.lock_all(connection, [crawl_id])
    crawl = await table.get(connection, crawl_id)  # as it is under the lock
    if crawl is not None and (grown := _grow(crawl.spec, urls)) != crawl.spec:
        await table.set_seeds(connection, crawl_id, grown.seeds)


def _grow(spec: CrawlSpec, urls: Sequence[NewUrl]) -> CrawlSpec:
    """The spec with one more seed for each host that it lacks."""
    seeds = {place_of(spec.scope, Url.parse(seed)): seed for seed in spec.seeds}
    for new in urls:
        seeds.setdefault(place_of(spec.scope, Url.parse(new.url)), new.url)
    return replace(spec, seeds=tuple(seeds.values()))


async def _record(connection: AsyncConnection, crawl: Crawl, action: Action, by: Actor, detail: str) -> None:
    await activity.record(connection, ActivityEntry(crawl.tenant_id, action, crawl.id, by, detail))


def _takes_more(crawl: Crawl) -> bool:
    return crawl.state != "canceled" and crawl.counts.pages < crawl.spec.max_pages


def _check_takes_more(crawl: Crawl) -> None:
    if crawl.state == "canceled":
        raise Problem(problems.UNPROCESSABLE_ENTITY, "The crawl was stopped; nothing can be added to it.")
    if crawl.counts.pages >= crawl.spec.max_pages:
        raise Problem(
            problems.UNPROCESSABLE_ENTITY,
            f"The crawl has stored all of its {crawl.spec.max_pages:,} pages.",
            hint="Begin another one, or leave `crawl` out.",
        )


def new_url(url: Url, spec: CrawlSpec, *, depth: int = 0, priority: int | None = None) -> NewUrl:
    """A URL of a crawl: identified by its crawl form, fetched as it was written."""
    level = priority_of(url, depth) if priority is None else priority
    return NewUrl(url.href.partition("#")[0], digest(_form(url, spec)), url.site, depth, level)


def _form(url: Url, spec: CrawlSpec) -> str:
    keeps_slash = not spec.ignore_trailing_slash
    if spec.traps == "off":
        return crawl_form(url, tracking_of(spec.ignored_at(url)), keep_slash=keeps_slash)
    path = path_without_session(url.path)
    here = url if path == url.path else url.at(path, url.query)
    return crawl_form(here, visitors_of(spec.ignored_at(url)), keep_slash=keeps_slash)


def seeds_of(spec: CrawlSpec, dialer: Dialer | None = None) -> list[NewUrl]:
    """The seeds, each once. Raises `Problem` for one that is no URL, or that the dialer does not admit."""
    seeds: dict[str, NewUrl] = {}
    for text in spec.seeds:
        url = Url.parse(text)
        if dialer is not None:
            dialer.admit(url.host, url.port)
        seed = new_url(url, spec, priority=HIGH)
        seeds.setdefault(seed.url_hash, seed)
    return list(seeds.values())


@lru_cache(maxsize=64)
def tracking_of(more: tuple[str, ...]) -> Tracking:
    """The parameters that track visitors, and those that a crawl ignores as well."""
    return _union(TRACKING, Tracking.of(more))


@lru_cache(maxsize=64)
def visitors_of(more: tuple[str, ...]) -> Tracking:
    """The same, and those that name the session of a visitor."""
    return _union(tracking_of(more), SESSION_NAMES)


def _union(one: Tracking, other: Tracking) -> Tracking:
    return Tracking(one.names | other.names, one.prefixes + other.prefixes)
