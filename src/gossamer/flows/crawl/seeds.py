"""Where a crawl begins: starting one, and adding URLs to one."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from msgspec import Meta, Struct
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer import problems
from gossamer.flows.render.render_capacity import RenderCapacity
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Problem
from gossamer.reach.net.dial import Dialer
from gossamer.state.crawl import crawls as table
from gossamer.state.crawl import new_urls
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.crawl.new_urls import HIGH, NewUrl
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.priority import priority_of
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.url.sent_headers import check_headers
from gossamer.web.url.url import MAX_URL_CHARS, TRACKING, Tracking, Url, crawl_form, digest

Remember = Callable[[AsyncConnection, Any], Awaitable[None]]  # in the transaction that writes the result


class RefusedUrl(Struct, frozen=True, rename="camel"):
    """A URL that was not added."""

    url: Annotated[str, Meta(description="Its first 2,048 characters.")]
    reason: Annotated[str, Meta(description="As in the problem `invalid-url`: `invalid_url_format`, …")]
    message: str


class UrlsAdded(Struct, frozen=True, rename="camel"):
    """What became of URLs that were to be added to a crawl."""

    crawl_id: str
    added: int
    known: Annotated[int, Meta(description="URLs that the crawl had already.")]
    refused: list[RefusedUrl]


async def _forget(connection: AsyncConnection, result: object) -> None:
    """The default `Remember`: writes nothing else."""


@dataclass(frozen=True, slots=True)
class Seeder:
    crawls: Crawls
    dialer: Dialer
    capacity: RenderCapacity
    min_delay: float  # seconds; only admins may ask for less

    async def start(
        self,
        caller: Caller,
        spec: CrawlSpec,
        *,
        name: str = "",
        request_id: str = "",
        remember: Remember = _forget,
    ) -> Crawl:
        """Start a crawl. Raises `Problem` for what cannot be done, or not by this caller."""
        check_headers(spec.headers)
        self._check_delay(caller, spec)
        urls = seeds_of(spec, self.dialer)
        if spec.render == "always":
            await self.capacity.demand()
        async with self.crawls.database.write() as connection:
            crawl = await table.add(
                connection,
                caller.tenant_id,
                spec,
                tier=caller.tier,
                name=name,
                request_id=request_id,
                urls=urls,
            )
            await remember(connection, crawl)
        return crawl

    async def add_urls(
        self, crawl: Crawl, texts: Sequence[str], priority: int | None, remember: Remember = _forget
    ) -> UrlsAdded:
        """Add URLs to a crawl. Raises `Problem` if it takes no more; a bad URL is refused by itself."""
        _check_takes_more(crawl)
        urls, refused = self._sort_out(texts, crawl.spec, priority)
        async with self.crawls.database.write() as connection:
            added = await new_urls.add(connection, crawl.id, urls, now=None)
            result = UrlsAdded(crawl.id, added, len(texts) - len(refused) - added, refused)
            await remember(connection, result)
        return result

    def _check_delay(self, caller: Caller, spec: CrawlSpec) -> None:
        if spec.delay is not None and spec.delay < self.min_delay and caller.role is not Role.ADMIN:
            raise Problem(
                problems.FORBIDDEN,
                f"A delay of less than {self.min_delay:g} s between two requests to a host is for admins.",
                hint="Leave `delay` out.",
            )

    def _sort_out(
        self, texts: Sequence[str], spec: CrawlSpec, priority: int | None
    ) -> tuple[list[NewUrl], list[RefusedUrl]]:
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
        return list(urls.values()), refused


def _check_takes_more(crawl: Crawl) -> None:
    if crawl.state == "canceled":
        raise Problem(problems.UNPROCESSABLE_ENTITY, "The crawl was stopped; nothing can be added to it.")
    if crawl.counts.pages >= crawl.spec.max_pages:
        raise Problem(
            problems.UNPROCESSABLE_ENTITY,
            f"The crawl has stored all of its {crawl.spec.max_pages:,} pages.",
            hint="Begin another one, or add them to your default crawl.",
        )


def new_url(url: Url, spec: CrawlSpec, *, depth: int = 0, priority: int | None = None) -> NewUrl:
    """A URL of a crawl: identified by its crawl form, fetched as it was written."""
    level = priority_of(url, depth) if priority is None else priority
    tracking = _tracking(spec.ignore_parameters)
    form = crawl_form(url, tracking, keep_slash=not spec.ignore_trailing_slash)
    return NewUrl(url.href.partition("#")[0], digest(form), url.site, depth, level)


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
def _tracking(more: tuple[str, ...]) -> Tracking:
    also = Tracking.of(more)
    return Tracking(TRACKING.names | also.names, TRACKING.prefixes + also.prefixes)
