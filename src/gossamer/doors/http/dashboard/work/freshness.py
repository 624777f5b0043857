"""How fresh a crawl is and how it is kept so, and the versions of a page with their differences."""

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.crawl.crawl_pages import CrawlPagesEndpoints
from gossamer.doors.http.api.crawl.crawl_refresh import CrawlRefreshEndpoints
from gossamer.doors.http.api.crawl.crawls import CrawlsEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.dashboard.monitors.difference import ShownRow, shown_rows
from gossamer.doors.http.dashboard.work.crawl import ONE
from gossamer.doors.http.dashboard.work.crawl_list import CRAWLS
from gossamer.doors.http.dashboard.work.struct_form import StructField, fields_of, read_struct
from gossamer.problems import Problem
from gossamer.web.crawl.refresh.refresh_change import RefreshChange
from gossamer.web.crawl.spec import CrawlOptions
from gossamer.web.monitors.diff.writing import hunks

PAGE: Final = f"{ONE}/pages/{{page}}"
CHANGED: Final = tuple(RefreshChange.__struct_fields__)


class VersionsShown(msgspec.Struct):
    """Which versions a page compares, and how it shows their difference."""

    before: str = ""
    after: str = ""
    view: Literal["inline", "side"] = "inline"


class FreshnessPages(Struct, frozen=True):
    dashboard: Dashboard
    crawls: CrawlsEndpoints
    pages: CrawlPagesEndpoints
    refreshing: CrawlRefreshEndpoints

    async def show(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        crawl = await self.crawls.get_crawl(exchange, id)
        return self.dashboard.render(
            exchange,
            "work/crawl_freshness.html",
            here="crawls",
            crawl=crawl,
            crawl_title=crawl.name or (crawl.seeds[0] if crawl.seeds else id),
            form=form,
            fields=[(field, _value(crawl.options, field)) for field in _fields()],
        )

    async def change(self, exchange: Exchange, form: Form, id: str) -> Response:
        given = read_struct(CrawlOptions, Form({name: form[name] for name in CHANGED}))
        body = RefreshChange(**{name: getattr(given, name) for name in CHANGED})
        await self.refreshing.change_crawl(exchange, id, body)
        return self._see(id, "crawl-freshness-changed")

    async def refresh(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.refreshing.refresh_crawl(exchange, id)
        return self._see(id, "crawl-refreshing")

    async def compare(self, exchange: Exchange, id: str, page: str, query: VersionsShown) -> Response:
        shown = await self.pages.get_page(exchange, id, page)
        versions = (await self.refreshing.list_versions(exchange, id, page)).versions
        after = _number(query.after) or versions[0].number
        before = _number(query.before) or max(1, after - 1)
        rows, problem = await self._difference(exchange, id, page, before, after)
        return self.dashboard.render(
            exchange,
            "work/page_versions.html",
            here="crawls",
            page=shown,
            versions=versions,
            chosen=Form({"before": str(before), "after": str(after), "view": query.view}),
            view=query.view,
            rows=rows,
            problem=problem,
        )

    async def _difference(
        self, exchange: Exchange, crawl_id: str, page_id: str, before: int, after: int
    ) -> tuple[list[list[ShownRow]], Problem | None]:
        """Lines that changed, in groups with some lines around them."""
        if before == after:
            return [], None
        try:
            _, found = await self.refreshing.compare(exchange, crawl_id, page_id, before, after)
        except Problem as problem:
            if problem.kind is problems.NOT_FOUND:
                raise
            return [], problem
        return [shown_rows(hunk.rows) for hunk in hunks(found.rows, noisy=True)], None

    def _see(self, crawl_id: str, notice: str) -> Response:
        return self.dashboard.see(f"{CRAWLS}/{crawl_id}/freshness", notice=notice)

    def routes(self) -> list[Route]:
        page, form = self.dashboard.page, self.dashboard.form
        here: dict[str, Any] = {"show": self.show}
        return [
            page(f"{ONE}/freshness", self.show, "How fresh a crawl is"),
            form(f"{ONE}/freshness", self.change, "Keep a crawl fresh, or change how", **here),
            form(f"{ONE}/refresh", self.refresh, "Visit the pages of a crawl again", control=False, **here),
            page(f"{PAGE}/versions", self.compare, "The versions of a stored page"),
        ]


def _fields() -> list[StructField]:
    return [field for name, field in fields_of(CrawlOptions).items() if name in CHANGED]


def _value(options: Any, field: StructField) -> str:
    return str(getattr(options, field.name))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None
