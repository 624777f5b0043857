"""The frontier over HTTP, for admins: what is to be fetched, what was added, what is stuck."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.crawl_shapes import (
    EXAMPLE_COUNTS,
    EXAMPLE_ID,
    LARGEST_BODY,
    CrawlId,
    CrawlState,
    ShownCounts,
    counts,
)
from gossamer.doors.http.crawls import asked_crawl
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.host_names import HostName, host_names
from gossamer.doors.http.routing import Route
from gossamer.flows.crawl.seeds import new_url
from gossamer.problems import Problem
from gossamer.reach.dial import Dialer
from gossamer.state import new_urls
from gossamer.state.crawls import Crawls, Spec
from gossamer.state.frontier import Frontier, FrontierUrl
from gossamer.state.new_urls import NewUrl
from gossamer.state.tenants import Role
from gossamer.web.url import LONGEST, Url

MOST_ADDED: Final = 1_000
MOST_LISTED: Final = 1_000
HIGH: Final = 3

Priority = Literal[1, 2, 3]
UrlState = Literal["pending", "in_progress", "completed", "failed", "blocked"]


class FrontierQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Of which crawl."""

    crawl: Annotated[CrawlId | None, Meta(description="A crawl; without it your default one.")] = None


class UrlQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which URLs of which crawl."""

    crawl: Annotated[CrawlId | None, Meta(description="A crawl; without it your default one.")] = None
    status: Annotated[UrlState | None, Meta(description="Only in this state.")] = None
    host: Annotated[HostName | None, Meta(description="Only of this host: `name:port`, or a name alone.")] = (
        None
    )
    cursor: Annotated[
        Annotated[str, Meta(max_length=64)] | None, Meta(description="Where the page before ended.")
    ] = None
    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED, description="URLs a page.")] = 100


class NewUrls(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What is to be fetched too."""

    urls: Annotated[
        list[str],
        Meta(
            min_length=1,
            max_length=MOST_ADDED,
            description="One that is not a URL, or not allowed, is refused by itself.",
        ),
    ]
    crawl: Annotated[CrawlId | None, Meta(description="A crawl; without it your default one.")] = None


class AddedUrls(NewUrls, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What is to be fetched too, and how urgently."""

    priority: Annotated[
        Priority | None, Meta(description="3 is high, 1 is low; without it by what the URL looks like.")
    ] = None


class RefusedUrl(msgspec.Struct, rename="camel"):
    """A URL that was not added."""

    url: Annotated[str, Meta(description="Its first 2,048 characters.")]
    reason: Annotated[str, Meta(description="As in the problem `invalid-url`: `invalid_url_format`, …")]
    message: str


class UrlsAdded(msgspec.Struct, rename="camel"):
    """What became of them."""

    crawl_id: str
    added: int
    known: Annotated[int, Meta(description="Those that the crawl had already.")]
    refused: list[RefusedUrl]


class FrontierStats(msgspec.Struct, rename="camel"):
    """How much there is to do, and how much is done."""

    crawl_id: str
    status: CrawlState
    counts: ShownCounts


class ShownUrl(msgspec.Struct, rename="camel"):
    """A URL of a crawl."""

    url_hash: Annotated[str, Meta(description="SHA-256 of the URL; the `pageId` when it is stored.")]
    url: str
    host: Annotated[str, Meta(description="With its port.")]
    status: UrlState
    priority: Annotated[int, Meta(description="3 is high, 1 is low.")]
    depth: Annotated[int, Meta(description="Links away from a seed.")]
    attempt: Annotated[int, Meta(description="How often it was begun with.")]
    reason: Annotated[str | None, Meta(description="Why it is blocked, or failed.")]
    due_at: Annotated[str, Meta(description="Not before.")]
    added_at: str
    updated_at: str


class UrlList(msgspec.Struct, rename="camel"):
    """URLs of a crawl, in the order of their hashes."""

    crawl_id: str
    urls: list[ShownUrl]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class Recovered(msgspec.Struct, rename="camel"):
    """What is to be fetched again."""

    recovered: Annotated[int, Meta(description="URLs whose worker was lost.")]


class Cleared(msgspec.Struct, rename="camel"):
    """What is not to be fetched any more."""

    crawl_id: str
    removed: Annotated[int, Meta(description="URLs that were pending.")]
    left: Annotated[
        int, Meta(description="Those that still are: there was no time for them, or they are new. Ask again.")
    ]


class FrontierFace:
    def __init__(self, crawls: Crawls, frontier: Frontier, dialer: Dialer) -> None:
        self._crawls = crawls
        self._frontier = frontier
        self._dialer = dialer

    async def get_frontier_stats(self, exchange: Exchange, query: FrontierQuery) -> FrontierStats:
        crawl = await asked_crawl(self._crawls, exchange, query.crawl)
        return FrontierStats(crawl.id, crawl.state, counts(crawl.counts))

    async def list_urls(self, exchange: Exchange, query: UrlQuery) -> UrlList:
        crawl = await asked_crawl(self._crawls, exchange, query.crawl)
        hosts = None if query.host is None else host_names(query.host)
        found = await self._frontier.listing(
            crawl.id, state=query.status, hosts=hosts, after=query.cursor, limit=query.limit + 1
        )
        page = found[: query.limit]
        return UrlList(
            crawl.id,
            [_shown(url) for url in page],
            page[-1].url_hash if len(found) > query.limit else None,
        )

    async def add_urls(self, exchange: Exchange, body: AddedUrls) -> Response:
        return await self._add(exchange, body, body.priority)

    async def add_seeds(self, exchange: Exchange, body: NewUrls) -> Response:
        return await self._add(exchange, body, HIGH)

    async def recover_urls(self, exchange: Exchange) -> Recovered:
        return Recovered(await self._frontier.recover())

    async def clear_frontier(self, exchange: Exchange, query: FrontierQuery) -> Cleared:
        crawl = await asked_crawl(self._crawls, exchange, query.crawl)
        return Cleared(crawl.id, *await self._frontier.clear(crawl.id))

    async def _add(self, exchange: Exchange, body: NewUrls, priority: int | None) -> Response:
        crawl = await asked_crawl(self._crawls, exchange, body.crawl)
        if crawl.state == "canceled":
            raise Problem(problems.UNPROCESSABLE_ENTITY, "The crawl was stopped; nothing can be added to it.")
        if crawl.counts.pages >= crawl.spec.max_pages:
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                f"The crawl has stored all of its {crawl.spec.max_pages:,} pages.",
                hint="Begin another one, or add them to your default crawl.",
            )
        urls, refused = self._sorted_out(body.urls, crawl.spec, priority)
        async with self._crawls.database.write() as connection:
            added = await new_urls.add(connection, crawl.id, urls, now=None)
            told = answer(UrlsAdded(crawl.id, added, len(body.urls) - len(refused) - added, refused))
            await exchange.remember(connection, told)
        return told

    def _sorted_out(
        self, texts: Sequence[str], spec: Spec, priority: int | None
    ) -> tuple[list[NewUrl], list[RefusedUrl]]:
        """Each once, and those that cannot be fetched."""
        urls: dict[str, NewUrl] = {}
        refused: list[RefusedUrl] = []
        for text in texts:
            try:
                url = Url.parse(text)
                self._dialer.admit(url.host, url.port)
            except Problem as problem:
                details = problem.members.get("details") or {}
                refused.append(RefusedUrl(text[:LONGEST], details.get("reason", ""), problem.detail))
            else:
                new = new_url(url, spec, priority=priority)
                urls[new.url_hash] = new
        return list(urls.values()), refused

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.ADMIN, "tag": "Frontier"}
        adding: dict[str, Any] = {
            **common,
            "description": "What the crawl knows already stays as it is. One that was done goes on.",
            "answers": UrlsAdded,
            "largest_body": LARGEST_BODY,
            "problems": (problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
            "example": UrlsAdded(EXAMPLE_ID, 1, 0, []),
        }
        return [
            Route(
                method="GET",
                path="/api/frontier/stats",
                handler=self.get_frontier_stats,
                summary="How much there is to do",
                problems=(problems.NOT_FOUND,),
                example=FrontierStats(EXAMPLE_ID, "running", EXAMPLE_COUNTS),
                **common,
            ),
            Route(
                method="GET",
                path="/api/frontier/urls",
                handler=self.list_urls,
                summary="The URLs of a crawl",
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
                summary="Add URLs to a crawl that come before all others",
                policies=("seed-injection",),
                example_body=NewUrls(urls=["https://example.com/"]),
                **adding,
            ),
            Route(
                method="POST",
                path="/api/frontier/recover",
                handler=self.recover_urls,
                summary="Give back what lost workers had",
                description="Workers do so by themselves; nothing is taken from one that lives.",
                example=Recovered(12),
                **common,
            ),
            Route(
                method="DELETE",
                path="/api/frontier",
                handler=self.clear_frontier,
                summary="Remove all URLs of a crawl that are pending",
                description="For at most 20 seconds; `left` says how many are for another time.",
                problems=(problems.NOT_FOUND,),
                example=Cleared(EXAMPLE_ID, 38, 0),
                **common,
            ),
        ]


def _shown(url: FrontierUrl) -> ShownUrl:
    return ShownUrl(
        url_hash=url.url_hash,
        url=url.url,
        host=url.host,
        status=url.state,
        priority=url.priority,
        depth=url.depth,
        attempt=url.attempt,
        reason=url.reason or None,
        due_at=moments.stored(url.due_at),
        added_at=moments.stored(url.added_at),
        updated_at=moments.stored(url.updated_at),
    )


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
