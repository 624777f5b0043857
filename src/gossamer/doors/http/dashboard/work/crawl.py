"""One crawl: how far it is, what it has stored, what it could not fetch, and how to control it."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.crawl.crawl_events import CrawlEventsEndpoints
from gossamer.doors.http.api.crawl.crawl_pages import AnyPageQuery, CrawlPagesEndpoints
from gossamer.doors.http.api.crawl.crawl_stats import MAX_MINUTES, SeriesQuery, StatsEndpoints
from gossamer.doors.http.api.crawl.crawls import CrawlsEndpoints
from gossamer.doors.http.api.crawl.frontier import FrontierEndpoints, UrlQuery
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links, to_query
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.dashboard.work.crawl_list import CRAWLS
from gossamer.doors.http.dashboard.work.struct_form import fields_of
from gossamer.doors.http.dashboard.work.words import TRAP_KINDS, WAITS, explain
from gossamer.web.crawl.crawl_answer import ShownCrawl, ShownOptions
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.outcome.outcome_counts import OutcomeCounts

Change = Callable[[Exchange, str], Awaitable[Any]]  # of a crawl, by its id
ONE: Final = f"{CRAWLS}/{{id}}"
LISTED: Final = 50
POINTS: Final = 60  # of the chart, at most
URL_STATES: Final = {
    "failed": "Failed",
    "blocked": "Blocked",
    "pending": "Pending",
    "in_progress": "In progress",
    "completed": "Answered",
}


class CrawlPagesShown(msgspec.Struct):
    """Which pages of a crawl are listed."""

    outcome: str = ""
    status_code: str = ""
    host: str = ""
    contains: str = ""
    cursor: str = ""


class CrawlUrlsShown(msgspec.Struct):
    """Which URLs of a crawl are listed."""

    status: str = "failed"
    host: str = ""
    cursor: str = ""


class CrawlPages(Struct, frozen=True):
    dashboard: Dashboard
    crawls: CrawlsEndpoints
    pages: CrawlPagesEndpoints
    events: CrawlEventsEndpoints
    stats: StatsEndpoints
    frontier: FrontierEndpoints

    async def show(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        crawl = await self.events.find_progress(exchange, id)
        age = _minutes_since(crawl, self.stats.clock())
        step = _step(age)
        span = SeriesQuery(id, _minutes(step), step)
        series = await self.stats.get_timeseries(exchange, span)
        return self._render(
            exchange,
            "work/crawl.html",
            crawl,
            form=form,
            span=span,
            series=[point.fetched for point in series.points],
            outcomes=OutcomeCounts.total(point.outcomes for point in series.points),
            age=age,
            success=_success(crawl),
            options=_options(crawl.options),
            waits=WAITS,
            trap_kinds=TRAP_KINDS,
        )

    async def show_pages(self, exchange: Exchange, id: str, query: CrawlPagesShown) -> Response:
        crawl = await self.crawls.get_crawl(exchange, id)
        chosen = filters(query)
        found = await self.pages.find_pages(exchange, to_query(AnyPageQuery, chosen, crawl=id, limit=LISTED))
        here = f"{CRAWLS}/{id}/pages"
        return self._render(
            exchange,
            "work/crawl_pages.html",
            crawl,
            pages=found.pages,
            query=query,
            outcomes=[outcome.value for outcome in Outcome],
            **list_links(here, chosen, found.next_cursor),
        )

    async def show_urls(self, exchange: Exchange, id: str, query: CrawlUrlsShown) -> Response:
        crawl = await self.crawls.get_crawl(exchange, id)
        chosen = filters(query)
        found = await self.frontier.list_urls(exchange, to_query(UrlQuery, chosen, crawl=id, limit=LISTED))
        here = f"{CRAWLS}/{id}/urls"
        return self._render(
            exchange,
            "work/crawl_urls.html",
            crawl,
            urls=found.urls,
            query=query,
            states=URL_STATES,
            explain=explain,
            **list_links(here, chosen, found.next_cursor),
        )

    async def ask_to_stop(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        return await self._ask(exchange, id, form, "stop")

    async def ask_to_delete(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        return await self._ask(exchange, id, form, "delete")

    async def pause(self, exchange: Exchange, form: Form, id: str) -> Response:
        return await self._change(exchange, id, self.crawls.pause_crawl, "crawl-paused")

    async def resume(self, exchange: Exchange, form: Form, id: str) -> Response:
        return await self._change(exchange, id, self.crawls.resume_crawl, "crawl-resumed")

    async def stop(self, exchange: Exchange, form: Form, id: str) -> Response:
        return await self._change(exchange, id, self.crawls.stop_crawl, "crawl-stopped")

    async def delete(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.crawls.delete_crawl(exchange, id)
        return self.dashboard.see(CRAWLS, notice="crawl-deleting")

    async def _ask(self, exchange: Exchange, crawl_id: str, form: Form, action: str) -> Response:
        """The second step before something that cannot be undone."""
        crawl = await self.crawls.get_crawl(exchange, crawl_id)
        return self._render(exchange, "work/crawl_confirm.html", crawl, form=form, action=action)

    async def _change(self, exchange: Exchange, crawl_id: str, change: Change, notice: str) -> Response:
        await change(exchange, crawl_id)
        return self.dashboard.see(f"{CRAWLS}/{crawl_id}", notice=notice)

    def _render(self, exchange: Exchange, template: str, crawl: ShownCrawl, **context: Any) -> Response:
        title = crawl.name or (crawl.seeds[0] if crawl.seeds else crawl.crawl_id)
        return self.dashboard.render(
            exchange, template, here="crawls", crawl=crawl, crawl_title=title, **context
        )

    def routes(self) -> list[Route]:
        page, form = self.dashboard.page, self.dashboard.form
        return [
            page(ONE, self.show, "A crawl"),
            page(f"{ONE}/pages", self.show_pages, "The pages of a crawl"),
            page(f"{ONE}/urls", self.show_urls, "The URLs of a crawl"),
            form(f"{ONE}/pause", self.pause, "Pause a crawl", show=self.show),
            form(f"{ONE}/resume", self.resume, "Resume a crawl", show=self.show),
            page(f"{ONE}/stop", self.ask_to_stop, "Ask before a crawl is stopped"),
            form(f"{ONE}/stop", self.stop, "Stop a crawl", show=self.ask_to_stop),
            page(f"{ONE}/delete", self.ask_to_delete, "Ask before a crawl is deleted"),
            form(f"{ONE}/delete", self.delete, "Delete a crawl", show=self.ask_to_delete),
        ]


def _success(crawl: ShownCrawl) -> float | None:
    """The share of the URLs that were answered."""
    ended = crawl.counts.completed + crawl.counts.failed
    return crawl.counts.completed / ended if ended else None


def _minutes_since(crawl: ShownCrawl, now: float) -> int:
    begun = datetime.fromisoformat(crawl.started_at or crawl.created_at)
    return int((datetime.fromtimestamp(now, UTC) - begun).total_seconds() / 60) + 1


def _step(age: int) -> int:
    """Minutes for each bar of the chart, so that it begins with the crawl."""
    return max(1, -(-min(age, MAX_MINUTES) // POINTS))


def _minutes(step: int) -> int:
    return min(step * POINTS, MAX_MINUTES)


def _options(options: ShownOptions) -> list[tuple[str, str]]:
    """The options in force, as they are shown: what they are called in the form, and their values."""
    return [(field.label, _text(getattr(options, name))) for name, field in fields_of(type(options)).items()]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    return "the server's" if value is None else str(value)
