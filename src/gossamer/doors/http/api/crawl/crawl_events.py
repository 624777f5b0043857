"""The progress of a crawl over HTTP: as a stream of events, or once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.jobs import MAX_STREAM_SECONDS
from gossamer.doors.http.api.crawl.crawl_page_lines import EXAMPLE_PAGE
from gossamer.doors.http.api.crawl.crawl_shapes import EXAMPLE_CRAWL, same_fields, to_api
from gossamer.doors.http.api.crawl.crawls import crawl_of
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.core.streaming import BEAT, BEAT_SECONDS, EVENTS, MAX_STREAMS, EventStreams
from gossamer.flows.crawl.managing.crawl_feed import CrawlFeed
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.crawl.reading.live_crawl import LiveCrawl, NewestPage
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.crawl_answer import ShownCrawl
from gossamer.web.url.url import digest

ID_CHARS: Final = 16


class ShownBusyHost(msgspec.Struct, rename="camel"):
    """A host, and how much of it is done."""

    host: Annotated[str, Meta(description="With its port.")]
    pending: Annotated[int, Meta(description="URLs that are not fetched yet.")]
    in_progress: Annotated[int, Meta(description="URLs that a worker has taken.")]
    done: Annotated[int, Meta(description="URLs that are completed, failed or blocked.")]


class ShownNewPage(msgspec.Struct, rename="camel"):
    """A page that was stored lately."""

    page_id: str
    url: str
    status_code: Annotated[int | None, Meta(description="`null` if there was no answer.")]
    outcome: Annotated[str, Meta(description="`ok`, or what it is instead of the page.")]
    title: str | None
    at: Annotated[str, Meta(description="When it was stored.")]


class CrawlProgress(ShownCrawl, rename="camel", kw_only=True):
    """A crawl, and what it does now."""

    rate: Annotated[float, Meta(description="Pages a second, over the last minute.")]
    hosts: Annotated[list[ShownBusyHost], Meta(description="Up to ten, the busiest first.")]
    pages: Annotated[list[ShownNewPage], Meta(description="Up to ten, the newest first.")]


class CrawlEventsEndpoints:
    def __init__(self, crawls: Crawls, feed: CrawlFeed) -> None:
        self._crawls = crawls
        self._feed = feed
        self._streams = EventStreams()

    async def get_progress(self, exchange: Exchange, id: str) -> Response:
        crawl = await crawl_of(self._crawls, exchange, id)
        if EVENTS in (exchange.header(b"accept") or ""):
            seen = exchange.header(b"last-event-id") or ""
            return self._streams.start(exchange.caller.key_id, self._stream(crawl.id, seen))
        return answer(await self._look(crawl), headers={"Vary": "Accept"})

    async def find_progress(self, exchange: Exchange, id: str) -> CrawlProgress:
        """The same as JSON, for callers that show it in another way."""
        return await self._look(await crawl_of(self._crawls, exchange, id))

    async def _look(self, crawl: Crawl) -> CrawlProgress:
        live = await self._feed.look(crawl.id)
        return to_progress(live or LiveCrawl(crawl, None, 0.0, (), ()))

    async def _stream(self, crawl_id: str, seen: str) -> AsyncIterator[bytes]:
        """Until the crawl is over. What the client has seen before it reconnected is not sent again."""
        loop = asyncio.get_running_loop()
        until = loop.time() + MAX_STREAM_SECONDS
        async with self._feed.following(crawl_id) as follower:
            while (left := until - loop.time()) > 0 and not follower.has_ended:
                live = await follower.next(min(left, BEAT_SECONDS))
                if live is None:
                    if not follower.has_ended:
                        yield BEAT
                    continue
                data = msgspec.json.encode(to_progress(live))
                if (event_id := digest(data.decode())[:ID_CHARS]) != seen:
                    yield b"id: %b\nevent: progress\ndata: %b\n\n" % (event_id.encode(), data)
                seen = ""

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/crawls/{id}/events",
                handler=self.get_progress,
                needs=Role.USER,
                tag="Crawls",
                summary="Follow the progress of a crawl, or look at it once",
                description=f"With `Accept: {EVENTS}`, a stream of server-sent events `progress`: one a "
                "second at most, when something has changed, until the crawl is over. Each has the whole "
                "progress; a client that reconnects with `Last-Event-ID` gets what is new. A key may have "
                f"{MAX_STREAMS} open streams.",
                parameters={"id": "The crawl's id."},
                opened_by_order=True,
                answers=CrawlProgress,
                also={EVENTS: None},
                deadline=MAX_STREAM_SECONDS + 30,
                problems=(problems.NOT_FOUND,),
                example=_EXAMPLE,
            )
        ]


def to_progress(live: LiveCrawl) -> CrawlProgress:
    return CrawlProgress(
        **_fields(to_api(live.crawl, live.waiting, live.traps)),
        rate=live.rate,
        hosts=[ShownBusyHost(**same_fields(ShownBusyHost, host)) for host in live.hosts],
        pages=[_to_page(page) for page in live.pages],
    )


def _to_page(page: NewestPage) -> ShownNewPage:
    return ShownNewPage(
        page_id=page.url_hash,
        url=page.url,
        status_code=page.status_code,
        outcome=page.outcome,
        title=page.title or None,
        at=timestamps.from_ms(page.crawled_at),
    )


def _fields(crawl: ShownCrawl) -> dict[str, Any]:
    return {name: getattr(crawl, name) for name in ShownCrawl.__struct_fields__}


_EXAMPLE: Final = CrawlProgress(
    **_fields(EXAMPLE_CRAWL),
    rate=3.4,
    hosts=[ShownBusyHost("example.com:443", 38, 12, 214)],
    pages=[
        ShownNewPage(
            EXAMPLE_PAGE.page_id,
            EXAMPLE_PAGE.url,
            EXAMPLE_PAGE.status_code,
            EXAMPLE_PAGE.outcome,
            EXAMPLE_PAGE.title,
            EXAMPLE_PAGE.crawled_at,
        )
    ],
)
