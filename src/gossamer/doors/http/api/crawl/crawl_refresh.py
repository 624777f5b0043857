"""Crawls that are kept fresh, over HTTP: how, visits now, and the versions of a page."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.crawl.crawl_pages import CONFINED, ContentQuery, CrawlPagesEndpoints
from gossamer.doors.http.api.crawl.crawl_shapes import EXAMPLE_CRAWL, EXAMPLE_ID, to_api
from gossamer.doors.http.api.crawl.crawls import crawl_of
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.crawl.refreshing.refresher import CrawlRefresher
from gossamer.flows.pages.encoding import bounded
from gossamer.problems import Problem
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.refresh.page_versions import PageVersion
from gossamer.state.tenants.tenants import Role
from gossamer.web.crawl.crawl_answer import ShownCrawl
from gossamer.web.crawl.refresh.freshness import QueuedRefresh
from gossamer.web.crawl.refresh.refresh_change import RefreshChange
from gossamer.web.crawl.refresh.shown_version import PageVersionList, ShownVersion
from gossamer.web.monitors.diff.text_diff import TextDiff
from gossamer.web.monitors.diff.writing import unified

_DIFF: Final = "text/plain; charset=utf-8"


class VersionDiffQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which versions to compare."""

    to: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="A version; by default the newest.")
    ] = None


class CrawlRefreshEndpoints(Struct, frozen=True):
    crawls: Crawls
    pages: CrawlPagesEndpoints
    refresher: CrawlRefresher

    async def change_crawl(self, exchange: Exchange, id: str, body: RefreshChange) -> ShownCrawl:
        crawl = await crawl_of(self.crawls, exchange, id)
        await self.refresher.change(crawl, body, exchange.caller, exchange.actor)
        changed = await crawl_of(self.crawls, exchange, id)
        return to_api(changed, freshness=await self.refresher.count(changed))

    async def refresh_crawl(self, exchange: Exchange, id: str) -> QueuedRefresh:
        crawl = await crawl_of(self.crawls, exchange, id)
        return QueuedRefresh(crawl.id, await self.refresher.refresh(crawl, exchange.caller, exchange.actor))

    async def list_versions(self, exchange: Exchange, id: str, page: str) -> PageVersionList:
        found = await self.refresher.versions(await self.pages.find_page(exchange, id, page))
        return PageVersionList([_to_api(version) for version in found])

    async def get_version(
        self, exchange: Exchange, id: str, page: str, number: str, query: ContentQuery
    ) -> Response:
        row = await self.pages.find_page(exchange, id, page)
        content = await self.refresher.content(row, _number(number), query.format or "markdown")
        return Response(bounded(content.body), headers={**CONFINED, "Content-Type": content.media_type})

    async def diff_version(
        self, exchange: Exchange, id: str, page: str, number: str, query: VersionDiffQuery
    ) -> Response:
        before = _number(number)
        after, found = await self.compare(exchange, id, page, before, query.to)
        text = unified(found.rows, old_name=f"version {before}", new_name=f"version {after}")
        return Response(bounded(text.encode()), headers={**CONFINED, "Content-Type": _DIFF})

    async def compare(
        self, exchange: Exchange, crawl_id: str, page_id: str, before: int, after: int | None
    ) -> tuple[int, TextDiff]:
        """What changed from a version to a later one, by default the newest, and which that is."""
        row = await self.pages.find_page(exchange, crawl_id, page_id)
        newest = after or (await self.refresher.versions(row))[0].number
        return newest, await self.refresher.diff(row, before, newest)

    def routes(self) -> list[Route]:
        common: dict[str, Any] = {"needs": Role.USER, "tag": "Crawls"}
        one: dict[str, Any] = {**common, "parameters": {"id": "The crawl's id."}}
        page: dict[str, Any] = {
            **common,
            "parameters": {"id": "The crawl's id.", "page": "The page's id."},
            "problems": (problems.NOT_FOUND,),
            "opened_by_order": True,
        }
        version: dict[str, Any] = {
            **page,
            "parameters": {**page["parameters"], "number": "The version's number."},
            "problems": (problems.NOT_FOUND, problems.CONTENT_UNREADABLE, problems.CONTENT_TOO_LARGE),
        }
        return [
            Route(
                method="PATCH",
                path="/api/crawls/{id}",
                handler=self.change_crawl,
                control=True,
                summary="Keep a crawl fresh, or change how",
                description="A crawl that is done then goes on: pages that are due are visited again, "
                "each as often as it changes, with conditional requests and within the budget of its host.",
                problems=(problems.NOT_FOUND, problems.QUOTA_EXCEEDED, problems.UNPROCESSABLE_ENTITY),
                example_body=RefreshChange(refresh="auto", refresh_budget=500),
                example=EXAMPLE_CRAWL,
                **one,
            ),
            Route(
                method="POST",
                path="/api/crawls/{id}/refresh",
                handler=self.refresh_crawl,
                summary="Visit the pages of a crawl again now",
                description="The crawl is done and kept fresh. Up to 1,000 pages that gain most, due or not, "
                "as far as the budget of the day allows.",
                problems=(problems.NOT_FOUND, problems.QUOTA_EXCEEDED, problems.UNPROCESSABLE_ENTITY),
                example=QueuedRefresh(EXAMPLE_ID, 120),
                **one,
            ),
            Route(
                method="GET",
                path="/api/crawls/{id}/pages/{page}/versions",
                handler=self.list_versions,
                summary="List the versions of a page, newest first",
                description="A crawl that is kept fresh keeps the last 20. Any other page has one.",
                example=PageVersionList([EXAMPLE_VERSION]),
                **page,
            ),
            Route(
                method="GET",
                path="/api/crawls/{id}/pages/{page}/versions/{number}",
                handler=self.get_version,
                summary="Get the content of a version",
                description="Its main content, or the body as it was fetched.",
                media_type="text/markdown",
                also=dict.fromkeys(("text/plain", "text/html", "*/*")),
                **version,
            ),
            Route(
                method="GET",
                path="/api/crawls/{id}/pages/{page}/versions/{number}/diff",
                handler=self.diff_version,
                summary="Compare a version with a later one",
                description="A unified diff of their Markdown.",
                media_type="text/plain",
                **version,
            ),
        ]


EXAMPLE_VERSION: Final = ShownVersion(
    number=2,
    change="changed",
    stored_at="2026-01-03T12:00:00.000Z",
    status_code=200,
    title="Example Domain",
    content_length=1_256,
    has_content=True,
)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise Problem(problems.NOT_FOUND, "The page has no such version.")
    return int(text)


def _to_api(version: PageVersion) -> ShownVersion:
    return ShownVersion(
        number=version.number,
        change=version.change,
        stored_at=timestamps.from_ms(version.crawled_at),
        status_code=version.status_code,
        title=version.title,
        content_length=version.content_length,
        has_content=version.blob is not None,
    )
