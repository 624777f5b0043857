"""Crawls over HTTP: start, list, show, pause, resume and stop."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.job_shapes import EXAMPLE_DELETION, ShownJob, accept
from gossamer.doors.http.api.admin.jobs import tenant_seen_by
from gossamer.doors.http.api.crawl.crawl_shapes import (
    EXAMPLE_CRAWL,
    EXAMPLE_LINE,
    MAX_BODY,
    CrawlQuery,
    to_api,
    to_line,
)
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import OrderTerms, Route
from gossamer.flows.crawl.managing.control import CrawlControl
from gossamer.flows.crawl.refreshing.refresher import CrawlRefresher
from gossamer.flows.crawl.seeds import Seeder
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.webhooks.subscribing import PreparedWebhook, WebhookSubscriber
from gossamer.problems import Problem
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.pay.orders import OrderKind
from gossamer.state.tenants.activity import Actor
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.crawl_answer import CrawlList, ShownCrawl
from gossamer.web.crawl.spec import NewCrawl
from gossamer.web.webhooks.webhook import LongWork


class CrawlsEndpoints(Struct, frozen=True):
    crawls: Crawls
    seeder: Seeder
    control: CrawlControl
    deleter: Deleter
    subscriber: WebhookSubscriber
    refresher: CrawlRefresher

    async def create_crawl(self, exchange: Exchange, body: NewCrawl) -> Response:
        webhook = await self.subscriber.prepare(body.webhook, exchange.caller)

        async def remember(connection: AsyncConnection, crawl: Crawl) -> None:
            await self.subscriber.subscribe(connection, webhook, LongWork.CRAWL, crawl.id, crawl.tenant_id)
            await exchange.remember(connection, _to_accepted(crawl, webhook))

        crawl = await self.seeder.start(
            exchange.caller,
            body.spec,
            exchange.actor,
            name=body.name,
            request_id=exchange.request_id,
            remember=remember,
        )
        return _to_accepted(crawl, webhook)

    async def list_crawls(self, exchange: Exchange, query: CrawlQuery) -> CrawlList:
        found = await self.crawls.listing(
            tenant_seen_by(exchange.caller), before=query.cursor, limit=query.limit + 1, state=query.status
        )
        page = found[: query.limit]
        return CrawlList(
            [to_line(crawl) for crawl in page], page[-1].id if len(found) > query.limit else None
        )

    async def get_crawl(self, exchange: Exchange, id: str) -> ShownCrawl:
        crawl = await crawl_of(self.crawls, exchange, id)
        traps, freshness = await self.crawls.traps(crawl), await self.refresher.count(crawl)
        return to_api(crawl, await self.crawls.waiting(crawl), traps, freshness)

    async def pause_crawl(self, exchange: Exchange, id: str) -> ShownCrawl:
        return await self._change(exchange, id, self.control.pause)

    async def resume_crawl(self, exchange: Exchange, id: str) -> ShownCrawl:
        return await self._change(exchange, id, self.control.resume)

    async def stop_crawl(self, exchange: Exchange, id: str) -> ShownCrawl:
        return await self._change(exchange, id, self.control.stop)

    async def delete_crawl(self, exchange: Exchange, id: str) -> Response:
        deletion = Deletion(DeletionKind.CRAWL, id)
        job = await self.deleter.accept(deletion, tenant_seen_by(exchange.caller), exchange.actor)
        if job is None:
            raise _unknown()
        return accept(job)

    async def _change(
        self, exchange: Exchange, crawl_id: str, change: Callable[[Crawl, Actor], Awaitable[bool]]
    ) -> ShownCrawl:
        """A crawl that is over, or already in that state, stays as it is."""
        crawl = await crawl_of(self.crawls, exchange, crawl_id)
        await change(crawl, exchange.actor)
        return to_api(await crawl_of(self.crawls, exchange, crawl_id))

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Crawls"}
        one: dict[str, Any] = {
            **common,
            "parameters": {"id": "The crawl's id."},
            "problems": (problems.NOT_FOUND,),
            "opened_by_order": True,
            "example": EXAMPLE_CRAWL,
        }
        return [
            Route(
                method="POST",
                path="/api/crawls",
                handler=self.create_crawl,
                price=_price,
                order=OrderTerms(
                    kind=OrderKind.CRAWL,
                    prices=("crawl", "crawl-rendered"),
                    pages=lambda body: body.max_pages,
                    subject="crawlId",
                    job=None,
                    location="/api/crawls/{id}",
                ),
                summary="Crawl one or more sites",
                description="Crawls politely: it obeys robots.txt, and one worker at a time asks a host, no "
                "faster than its delay allows, however many crawls want it.",
                status=202,
                answers=ShownCrawl,
                problems=(problems.INVALID_URL, problems.QUOTA_EXCEEDED),
                max_body_bytes=MAX_BODY,
                example_body=NewCrawl(seeds=("https://example.com/",), max_pages=500),
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
                summary="Show how far a crawl is",
                **one,
            ),
            Route(
                method="POST",
                path="/api/crawls/{id}/pause",
                handler=self.pause_crawl,
                control=True,
                summary="Pause a crawl",
                description="Pages that are being fetched are still stored; no others are fetched.",
                **one,
            ),
            Route(
                method="POST",
                path="/api/crawls/{id}/resume",
                handler=self.resume_crawl,
                control=True,
                summary="Resume a paused crawl",
                **one,
            ),
            Route(
                method="POST",
                path="/api/crawls/{id}/stop",
                handler=self.stop_crawl,
                control=True,
                summary="Stop a crawl for good",
                description="Stored pages stay.",
                **one,
            ),
            Route(
                method="DELETE",
                path="/api/crawls/{id}",
                handler=self.delete_crawl,
                control=True,
                summary="Delete a crawl, with everything that it has stored",
                description="It is stopped, and is in no list from then on. The job removes its URLs, pages, "
                "their content, its counts, and its pages in the search index, except those that were read "
                "again since or that another crawl of yours has stored. Reports of audits stay.",
                status=202,
                answers=ShownJob,
                **{**one, "example": EXAMPLE_DELETION},
            ),
        ]


def _to_accepted(crawl: Crawl, webhook: PreparedWebhook | None) -> Response:
    shown = to_api(crawl)
    if webhook is not None:
        shown.webhook = webhook.accepted
    return answer(shown, 202, {"Location": f"/api/crawls/{crawl.id}"})


async def crawl_of(crawls: Crawls, exchange: Exchange, crawl_id: str) -> Crawl:
    """The crawl, if the caller may see it."""
    crawl = await crawls.get(crawl_id)
    tenant = tenant_seen_by(exchange.caller)
    if crawl is None or (tenant is not None and crawl.tenant_id != tenant):
        raise _unknown()
    return crawl


def _price(body: NewCrawl | None) -> str:
    """For each page that it may store. A caller who may get a browser pays for one."""
    return "crawl-rendered" if body is not None and body.may_render else "crawl"


def _unknown() -> Problem:
    return Problem(problems.NOT_FOUND, "There is no crawl with this id.")


async def asked_crawl(crawls: Crawls, exchange: Exchange, crawl_id: str | None) -> Crawl:
    """The crawl that is named, or the caller's default one."""
    if crawl_id is not None:
        return await crawl_of(crawls, exchange, crawl_id)
    crawl = await crawls.default(exchange.caller.tenant_id)
    if crawl is None:
        raise Problem(
            problems.NOT_FOUND,
            "You have no default crawl: it begins with the first URLs that are added without `crawl`.",
            hint="Name a crawl with `crawl`, or add URLs with POST /api/frontier/seed.",
        )
    return crawl
