"""The list of crawls, and the form that starts one."""

from typing import Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.crawl.crawl_preview import CrawlPreview, CrawlPreviewEndpoints
from gossamer.doors.http.api.crawl.crawl_shapes import MAX_BODY, CrawlQuery
from gossamer.doors.http.api.crawl.crawls import CrawlsEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links, to_query
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.dashboard.work.struct_form import fields_of, read_struct
from gossamer.doors.http.dashboard.work.words import SCOPE, explain
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.db.connection import AsyncConnection
from gossamer.web.crawl.spec import NewCrawl

CRAWLS: Final = "/app/crawls"
NEW: Final = "/app/crawls/new"
LISTED: Final = 50
STATES: Final = {
    "": "All",
    "running": "Running",
    "paused": "Paused",
    "done": "Done",
    "canceled": "Stopped",
}
FIRST: Final = ("seeds", "name", "scope", "max_pages", "render")  # the options that most crawls choose


class CrawlsShown(msgspec.Struct):
    """Which crawls the page lists."""

    status: str = ""
    cursor: str = ""


class NewCrawlQuery(msgspec.Struct):
    """What a link to the form proposes."""

    url: str = ""


class CrawlListPages(Struct, frozen=True):
    dashboard: Dashboard
    crawls: CrawlsEndpoints
    previews: CrawlPreviewEndpoints

    async def show(self, exchange: Exchange, query: CrawlsShown) -> Response:
        chosen = filters(query)
        found = await self.crawls.list_crawls(exchange, to_query(CrawlQuery, chosen, limit=LISTED))
        return self.dashboard.render(
            exchange,
            "work/crawls.html",
            here="crawls",
            crawls=found.crawls,
            states=STATES,
            query=query,
            **list_links(CRAWLS, chosen, found.next_cursor),
        )

    async def show_new(self, exchange: Exchange, query: NewCrawlQuery) -> Response:
        ticked = {name: "on" for name, field in fields_of(NewCrawl).items() if field.value is True}
        return self._new(exchange, Form({**ticked, "seeds": query.url}) if query.url else NO_FORM)

    async def show_again(self, exchange: Exchange, form: Form) -> Response:
        return self._new(exchange, form)

    async def start(self, exchange: Exchange, form: Form) -> Response:
        new = read_struct(NewCrawl, form)

        async def remember(connection: AsyncConnection, crawl: Crawl) -> None:
            await exchange.remember(connection, self._started(crawl))

        return self._started(
            await self.crawls.seeder.start(
                exchange.caller,
                new.spec,
                exchange.actor,
                name=new.name,
                request_id=exchange.request_id,
                remember=remember,
            )
        )

    async def preview(self, exchange: Exchange, form: Form) -> Response:
        found = await self.previews.preview_crawl(exchange, read_struct(NewCrawl, form))
        return self._new(exchange, form, preview=found)

    def _started(self, crawl: Crawl) -> Response:
        return self.dashboard.see(f"{CRAWLS}/{crawl.id}", notice="crawl-started")

    def _new(self, exchange: Exchange, form: Form, preview: CrawlPreview | None = None) -> Response:
        fields = fields_of(NewCrawl)
        return self.dashboard.render(
            exchange,
            "work/new_crawl.html",
            here="crawls",
            form=form,
            first=[fields[name] for name in FIRST],
            rest=[field for name, field in fields.items() if name not in FIRST],
            preview=preview,
            scope_words=SCOPE,
            explain=explain,
        )

    def routes(self) -> list[Route]:
        page, form = self.dashboard.page, self.dashboard.form
        return [
            page(CRAWLS, self.show, "Crawls"),
            page(NEW, self.show_new, "Start a crawl"),
            form(
                NEW,
                self.start,
                "Start a crawl",
                show=self.show_again,
                control=False,
                max_body_bytes=MAX_BODY,
            ),
            form(
                f"{NEW}/preview",
                self.preview,
                "Preview a crawl",
                show=self.show_again,
                idempotent=False,
                max_body_bytes=MAX_BODY,
            ),
        ]
