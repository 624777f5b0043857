"""The frontier over HTTP, for admins: list, add, recover and clear the URLs of a crawl."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.crawl.crawl_shapes import (
    EXAMPLE_COUNTS,
    EXAMPLE_ID,
    MAX_BODY,
    CrawlId,
    same_fields,
)
from gossamer.doors.http.api.crawl.crawls import asked_crawl, crawl_of
from gossamer.doors.http.api.crawl.host_names import HostName, host_names
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.flows.crawl.managing.control import CrawlControl
from gossamer.flows.crawl.seeds import Seeder, UrlsAdded
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.frontier import Frontier, FrontierUrl
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.progress import CrawlCounts, CrawlState, UrlState

MAX_ADDED: Final = 1_000
MAX_LISTED: Final = 1_000
HIGH: Final = 3

Priority = Literal[1, 2, 3]


class FrontierQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which crawl."""

    crawl: Annotated[CrawlId | None, Meta(description="A crawl; by default your default crawl.")] = None


class UrlQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which URLs of which crawl."""

    crawl: Annotated[CrawlId | None, Meta(description="A crawl; by default your default crawl.")] = None
    status: Annotated[UrlState | None, Meta(description="Only URLs in this state.")] = None
    host: Annotated[
        HostName | None, Meta(description="Only URLs of this host: `name:port`, or a name alone.")
    ] = None
    cursor: Annotated[
        Annotated[str, Meta(max_length=64)] | None, Meta(description="The `nextCursor` of the page before.")
    ] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="URLs in a page.")] = 100


class NewUrls(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """URLs to add to a crawl."""

    urls: Annotated[
        list[str],
        Meta(
            min_length=1,
            max_length=MAX_ADDED,
            description="A text that is no URL, or one that is not allowed, is refused by itself.",
        ),
    ]
    crawl: Annotated[
        CrawlId | None,
        Meta(description="A crawl; by default your default crawl, which the first of them begin."),
    ] = None


class AddedUrls(NewUrls, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """URLs to add to a crawl, and how urgent they are."""

    priority: Annotated[
        Priority | None,
        Meta(description="3 is high, 1 is low; by default it depends on what the URL looks like."),
    ] = None


class FrontierStats(msgspec.Struct, rename="camel"):
    """How many URLs a crawl has in each state."""

    crawl_id: str
    status: CrawlState
    counts: CrawlCounts


class ShownUrl(msgspec.Struct, rename="camel"):
    """A URL of a crawl."""

    url_hash: Annotated[str, Meta(description="SHA-256 of the URL; the `pageId` when it is stored.")]
    url: str
    host: Annotated[str, Meta(description="With its port.")]
    status: UrlState
    priority: Annotated[int, Meta(description="3 is high, 1 is low.")]
    depth: Annotated[int, Meta(description="Links away from a seed.")]
    attempt: Annotated[int, Meta(description="How many attempts were started.")]
    reason: Annotated[str | None, Meta(description="Why it was blocked, or failed.")]
    due_at: Annotated[str, Meta(description="It is not fetched before.")]
    added_at: str
    updated_at: str


class UrlList(msgspec.Struct, rename="camel"):
    """URLs of a crawl, in the order of their hashes."""

    crawl_id: str
    urls: list[ShownUrl]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class Recovered(msgspec.Struct, rename="camel"):
    """How many URLs will be fetched again."""

    recovered: Annotated[int, Meta(description="URLs that a lost worker had taken.")]


class Cleared(msgspec.Struct, rename="camel"):
    """How many URLs will not be fetched any more."""

    crawl_id: str
    removed: Annotated[int, Meta(description="URLs that were pending.")]
    left: Annotated[
        int, Meta(description="URLs that still are pending, because time ran out or they are new. Ask again.")
    ]


class FrontierEndpoints(Struct, frozen=True):
    crawls: Crawls
    frontier: Frontier
    seeder: Seeder
    control: CrawlControl

    async def get_frontier_stats(self, exchange: Exchange, query: FrontierQuery) -> FrontierStats:
        crawl = await asked_crawl(self.crawls, exchange, query.crawl)
        return FrontierStats(crawl.id, crawl.state, crawl.counts)

    async def list_urls(self, exchange: Exchange, query: UrlQuery) -> UrlList:
        crawl = await asked_crawl(self.crawls, exchange, query.crawl)
        hosts = None if query.host is None else host_names(query.host)
        found = await self.frontier.listing(
            crawl.id, state=query.status, hosts=hosts, after=query.cursor, limit=query.limit + 1
        )
        page = found[: query.limit]
        return UrlList(
            crawl.id,
            [_to_api(url) for url in page],
            page[-1].url_hash if len(found) > query.limit else None,
        )

    async def add_urls(self, exchange: Exchange, body: AddedUrls) -> Response:
        return await self._add(exchange, body, body.priority)

    async def add_seeds(self, exchange: Exchange, body: NewUrls) -> Response:
        return await self._add(exchange, body, HIGH)

    async def recover_urls(self, exchange: Exchange) -> Recovered:
        return Recovered(await self.control.recover(exchange.caller, exchange.actor))

    async def clear_frontier(self, exchange: Exchange, query: FrontierQuery) -> Cleared:
        crawl = await asked_crawl(self.crawls, exchange, query.crawl)
        return Cleared(crawl.id, *await self.control.clear(crawl, exchange.actor))

    async def _add(self, exchange: Exchange, body: NewUrls, priority: int | None) -> Response:
        async def remember(connection: AsyncConnection, added: UrlsAdded) -> None:
            await exchange.remember(connection, answer(added))

        by = exchange.actor
        if body.crawl is None:
            return answer(
                await self.seeder.add_default_urls(
                    exchange.caller, body.urls, by, priority=priority, remember=remember
                )
            )
        crawl = await crawl_of(self.crawls, exchange, body.crawl)
        return answer(await self.seeder.add_urls(crawl, body.urls, by, priority=priority, remember=remember))

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.ADMIN, "tag": "Frontier"}
        adding: dict[str, Any] = {
            **common,
            "description": "URLs that the crawl has already stay as they are. A crawl that was done goes on.",
            "answers": UrlsAdded,
            "max_body_bytes": MAX_BODY,
            "problems": (problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
            "example": UrlsAdded(EXAMPLE_ID, 1, 0, []),
        }
        return [
            Route(
                method="GET",
                path="/api/frontier/stats",
                handler=self.get_frontier_stats,
                summary="Count the URLs of a crawl",
                problems=(problems.NOT_FOUND,),
                example=FrontierStats(EXAMPLE_ID, "running", EXAMPLE_COUNTS),
                **common,
            ),
            Route(
                method="GET",
                path="/api/frontier/urls",
                handler=self.list_urls,
                summary="List the URLs of a crawl",
                problems=(problems.NOT_FOUND,),
                example=UrlList(EXAMPLE_ID, [_EXAMPLE], None),
                **common,
            ),
            Route(
                method="POST",
                path="/api/frontier/add",
                handler=self.add_urls,
                summary="Add URLs to a crawl",
                example_body=AddedUrls(urls=["https://example.com/"], priority=2),
                **adding,
            ),
            Route(
                method="POST",
                path="/api/frontier/seed",
                handler=self.add_seeds,
                summary="Add URLs to a crawl, before all others",
                policies=("seed-injection",),
                example_body=NewUrls(urls=["https://example.com/"]),
                **adding,
            ),
            Route(
                method="POST",
                path="/api/frontier/recover",
                handler=self.recover_urls,
                summary="Give back the URLs of lost workers",
                description="Workers do this by themselves. A living worker keeps its URLs.",
                example=Recovered(12),
                **common,
            ),
            Route(
                method="DELETE",
                path="/api/frontier",
                handler=self.clear_frontier,
                summary="Remove all pending URLs of a crawl",
                description="Runs for at most 20 seconds; `left` says how many URLs remain.",
                problems=(problems.NOT_FOUND,),
                example=Cleared(EXAMPLE_ID, 38, 0),
                **common,
            ),
        ]


def _to_api(url: FrontierUrl) -> ShownUrl:
    times = {name: timestamps.from_ms(getattr(url, name)) for name in ("due_at", "added_at", "updated_at")}
    changed: dict[str, Any] = {"status": url.state, "reason": url.reason or None, **times}
    return ShownUrl(**same_fields(ShownUrl, url) | changed)


_EXAMPLE: Final = ShownUrl(
    url_hash="100680ad546ce6a577f42f52df33b4cfdca756859e664b8d7de329b150d09ce9",
    url="https://example.com/",
    host="example.com:443",
    status="pending",
    priority=3,
    depth=0,
    attempt=0,
    reason=None,
    due_at="2026-01-01T12:00:00.000Z",
    added_at="2026-01-01T12:00:00.000Z",
    updated_at="2026-01-01T12:00:00.000Z",
)
