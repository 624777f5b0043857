"""Crawls over HTTP: begun, watched, paused, resumed and stopped."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.crawl_shapes import (
    EXAMPLE_CRAWL,
    EXAMPLE_LINE,
    LARGEST_BODY,
    CrawlList,
    CrawlQuery,
    NewCrawl,
    ShownCrawl,
    line,
    shown,
)
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.jobs import tenant_seen_by
from gossamer.doors.http.routing import Route
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.problems import Problem
from gossamer.reach.dial import Dialer
from gossamer.state import crawls as table
from gossamer.state.crawls import Crawl, Crawls, Spec
from gossamer.state.tenants import Role


class CrawlsFace:
    def __init__(self, crawls: Crawls, dialer: Dialer, delay: float) -> None:
        """`delay` is what everybody keeps who is not an admin, at least."""
        self._crawls = crawls
        self._dialer = dialer
        self._delay = delay

    async def create_crawl(self, exchange: Exchange, body: NewCrawl) -> Response:
        spec = body.spec(exchange.caller.tier)
        self._refuse_haste(exchange, spec)
        urls = seeds_of(spec, self._dialer)
        async with self._crawls.database.write() as connection:
            crawl = await table.add(
                connection,
                exchange.caller.tenant_id,
                spec,
                name=body.name,
                request_id=exchange.request_id,
                urls=urls,
            )
            accepted = answer(shown(crawl), 202, {"Location": f"/api/crawls/{crawl.id}"})
            await exchange.remember(connection, accepted)
        return accepted

    async def list_crawls(self, exchange: Exchange, query: CrawlQuery) -> CrawlList:
        found = await self._crawls.listing(
            tenant_seen_by(exchange.caller), before=query.cursor, limit=query.limit + 1, state=query.status
        )
        page = found[: query.limit]
        return CrawlList([line(crawl) for crawl in page], page[-1].id if len(found) > query.limit else None)

    async def get_crawl(self, exchange: Exchange, id: str) -> ShownCrawl:
        crawl = await crawl_of(self._crawls, exchange, id)
        return shown(crawl, await self._crawls.waiting(crawl))

    async def pause_crawl(self, exchange: Exchange, id: str) -> ShownCrawl:
        return await self._turned(exchange, id, self._crawls.pause)

    async def resume_crawl(self, exchange: Exchange, id: str) -> ShownCrawl:
        return await self._turned(exchange, id, self._crawls.resume)

    async def stop_crawl(self, exchange: Exchange, id: str) -> ShownCrawl:
        return await self._turned(exchange, id, self._crawls.cancel)

    async def _turned(
        self, exchange: Exchange, crawl_id: str, turn: Callable[[str], Awaitable[Any]]
    ) -> ShownCrawl:
        """A crawl that is over, or already as it is wanted, stays as it is."""
        crawl = await crawl_of(self._crawls, exchange, crawl_id)
        await turn(crawl.id)
        return shown(await crawl_of(self._crawls, exchange, crawl_id))

    def _refuse_haste(self, exchange: Exchange, spec: Spec) -> None:
        if spec.delay is not None and spec.delay < self._delay and exchange.caller.role is not Role.ADMIN:
            raise Problem(
                problems.FORBIDDEN,
                f"A delay of less than {self._delay:g} s between two requests to a host is for admins.",
                hint="Leave `delay` out.",
            )

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Crawls"}
        one: dict[str, Any] = {
            **common,
            "parameters": {"id": "The crawl's id."},
            "problems": (problems.NOT_FOUND,),
            "example": EXAMPLE_CRAWL,
        }
        return [
            Route(
                method="POST",
                path="/api/crawls",
                handler=self.create_crawl,
                summary="Crawl one or more sites",
                description="Politely: robots.txt is obeyed, a host is asked by one worker at a time and not "
                "faster than its delay, whoever crawls it.",
                status=202,
                answers=ShownCrawl,
                problems=(problems.INVALID_URL,),
                largest_body=LARGEST_BODY,
                example_body=NewCrawl(seeds=["https://example.com/"], max_pages=500),
                example=EXAMPLE_CRAWL,
                **common,
            ),
            Route(
                method="GET",
                path="/api/crawls",
                handler=self.list_crawls,
                summary="List your crawls, newest first",
                example=CrawlList([EXAMPLE_LINE], None),
                **common,
            ),
            Route(
                method="GET",
                path="/api/crawls/{id}",
                handler=self.get_crawl,
                summary="How far a crawl is",
                **one,
            ),
            Route(
                method="POST",
                path="/api/crawls/{id}/pause",
                handler=self.pause_crawl,
                summary="Pause a crawl",
                description="What is being fetched is still stored; nothing else is begun.",
                **one,
            ),
            Route(
                method="POST",
                path="/api/crawls/{id}/resume",
                handler=self.resume_crawl,
                summary="Let a crawl that is paused go on",
                **one,
            ),
            Route(
                method="POST",
                path="/api/crawls/{id}/stop",
                handler=self.stop_crawl,
                summary="Stop a crawl for good",
                description="What has been stored stays. Your default crawl cannot be stopped, only paused.",
                **{**one, "problems": (problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY)},
            ),
        ]


async def crawl_of(crawls: Crawls, exchange: Exchange, crawl_id: str) -> Crawl:
    """The crawl, if the caller may see it."""
    crawl = await crawls.get(crawl_id)
    tenant = tenant_seen_by(exchange.caller)
    if crawl is None or (tenant is not None and crawl.tenant_id != tenant):
        raise Problem(problems.NOT_FOUND, "There is no crawl with this id.")
    return crawl


async def asked_crawl(crawls: Crawls, exchange: Exchange, crawl_id: str | None) -> Crawl:
    """The crawl that is named, or the caller's default one."""
    if crawl_id is None:
        return await crawls.default(exchange.caller.tenant_id)
    return await crawl_of(crawls, exchange, crawl_id)
