"""The pages of the page cache: find pages, see one, render, warm, and clear."""

from typing import Final, get_args
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.render.cached_pages import CachedPageList, CachedPagesEndpoints, CachedPagesQuery
from gossamer.doors.http.api.render.page_cache import (
    CacheCleared,
    CacheClearQuery,
    CacheStatus,
    CacheStatusQuery,
    PageCacheEndpoints,
)
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, given, list_links
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.layers.limiting import within_limits
from gossamer.problems import Problem, validation_error
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.job import Job
from gossamer.state.pages.cached_page import PageHit
from gossamer.web.render.request import MAX_WARM_PAGES, MAX_WARM_URLS, Bot, RenderRequest, WarmRequest

HERE: Final = "/app/cache"
BOTS: Final = tuple((bot, "Any visitor" if bot == "default" else bot.capitalize()) for bot in get_args(Bot))
MAX_COUNTED: Final = 100  # pages that the question before clearing counts; beyond it says "more than"
# What a variant's name has after the bot, and how a query says the same.
_MARKS: Final = (("mobile", "device", "mobile"), ("scripts", "scripts", "on"))


class CachePageQuery(msgspec.Struct):
    """Which cached pages to show."""

    search: str = ""
    site: str = ""
    prefix: str = ""
    cursor: str = ""


class CachedUrlQuery(msgspec.Struct):
    """One page, in one variant."""

    url: str = ""
    bot: str = "default"
    scripts: str = ""
    device: str = "desktop"


class ClearQuery(msgspec.Struct):
    """What may be cleared."""

    url: str = ""
    prefix: str = ""


class ProposedQuery(msgspec.Struct):
    """The address that a form begins with."""

    url: str = ""


class CachePages(Struct, frozen=True):
    dashboard: Dashboard
    cached: CachedPagesEndpoints
    cache: PageCacheEndpoints
    upgrade_url: str

    async def show_list(self, exchange: Exchange, query: CachePageQuery) -> Response:
        chosen = filters(query, action=HERE)
        try:
            found = await self.cached.list_cached_pages(exchange, chosen.to(CachedPagesQuery))
        except Problem as problem:
            chosen, found = chosen.refused(problem), CachedPageList([], None)
        return self.dashboard.render(
            exchange,
            "records/cache.html",
            here="cache",
            found=found,
            form=chosen,
            filters=chosen,
            filtered=bool(given(chosen)),
            page_of=_page_href,
            **list_links(HERE, chosen, found.next_cursor),
        )

    async def show_page(self, exchange: Exchange, query: CachedUrlQuery) -> Response:
        filters = Form(msgspec.structs.asdict(query), action=exchange.path)
        found: CacheStatus | None = None
        if query.url:
            asked = Form({"url": query.url, "bot": query.bot, "device": query.device})
            try:
                wanted = asked.to(CacheStatusQuery, keepScripts=query.scripts == "on")
                found = await self.cache.get_cache_status(exchange, wanted)
            except Problem as problem:
                filters = filters.refused(problem)
        return self.dashboard.render(
            exchange,
            "records/cache_page.html",
            here="cache",
            form=filters,
            filters=filters,
            found=found,
            bots=BOTS,
        )

    async def show_render(
        self, exchange: Exchange, query: ProposedQuery | None = None, form: Form = NO_FORM
    ) -> Response:
        proposed = query.url if query is not None else ""
        return self.dashboard.render(
            exchange, "records/cache_render.html", here="cache", form=form, bots=BOTS, proposed=proposed
        )

    async def render(self, exchange: Exchange, form: Form) -> Response:
        """A page that is fresh is shown; otherwise the job that renders it is."""

        async def remember(connection: AsyncConnection, job: Job) -> None:
            await exchange.remember(connection, self._see_job(job, "render-queued"))

        request = _without_marks(form).to(RenderRequest, keepScripts=form.is_on("keepScripts"))
        asking = self.cache.render_service.ask(exchange.caller, request, exchange.request_id, remember)
        outcome = await within_limits(exchange, self.upgrade_url or None, asking)
        if isinstance(outcome, PageHit):
            await outcome.close()
            href = _page_href(request.url, request.variant)
            return self.dashboard.see(href, notice="page-cached")
        return self._see_job(outcome.job, "render-failed" if outcome.job.status.is_over else "render-queued")

    async def show_warm(self, exchange: Exchange, form: Form = NO_FORM) -> Response:
        limits = {"pages": MAX_WARM_PAGES, "urls": MAX_WARM_URLS}
        return self.dashboard.render(
            exchange, "records/cache_warm.html", here="cache", form=form, bots=BOTS, limits=limits
        )

    async def warm(self, exchange: Exchange, form: Form) -> Response:
        async def remember(connection: AsyncConnection, job: Job) -> None:
            await exchange.remember(connection, self._see_job(job, "warming"))

        urls = form.lines("urls")
        typed = _without_marks(form, "urls")
        request = typed.to(WarmRequest, urls=urls, keepScripts=form.is_on("keepScripts"))
        if bool(request.urls) == bool(request.sitemap):
            raise validation_error("Give either a sitemap or a list of addresses.")
        job = await self.cache.warmer.queue(exchange.caller, request, exchange.actor, remember)
        return self._see_job(job, "warming")

    async def show_clear(
        self, exchange: Exchange, query: ClearQuery | None = None, form: Form = NO_FORM
    ) -> Response:
        """Ask what to clear; then show what that would be, and ask again."""
        chosen = query or ClearQuery(form["url"], form["prefix"])
        wanted = Form(msgspec.structs.asdict(chosen))
        matching: CachedPageList | CacheStatus | None = None
        if form.problem is None and (chosen.url or chosen.prefix):
            try:
                matching = await self._matching(exchange, chosen)
            except Problem as problem:
                form = Form(wanted.values, problem, exchange.path)
        return self.dashboard.render(
            exchange,
            "records/cache_clear.html",
            here="cache",
            form=form,
            wanted=wanted,
            matching=matching,
            most=MAX_COUNTED,
        )

    async def _matching(self, exchange: Exchange, chosen: ClearQuery) -> CachedPageList | CacheStatus:
        """The pages that would go: those at or below a prefix, or the one page in its default variant."""
        if chosen.url and chosen.prefix:
            raise validation_error("Give an address or a prefix, not both.")
        if chosen.prefix:
            query = CachedPagesQuery(prefix=chosen.prefix, limit=MAX_COUNTED)
            return await self.cached.list_cached_pages(exchange, query)
        return await self.cache.get_cache_status(exchange, CacheStatusQuery(url=chosen.url))

    async def clear(self, exchange: Exchange, form: Form) -> Response:
        chosen = CacheClearQuery(url=form["url"] or None, prefix=form["prefix"] or None)
        answered = await self.cache.clear_cache(exchange, chosen)
        cleared = msgspec.json.decode(bytes(answered.body), type=CacheCleared)
        return self.dashboard.render(
            exchange, "records/cache_cleared.html", here="cache", cleared=cleared, wanted=form
        )

    def _see_job(self, job: Job, notice: str) -> Response:
        return self.dashboard.see(f"/app/jobs/{job.job_id}", notice=notice)

    def routes(self) -> list[Route]:
        page, form = self.dashboard.page, self.dashboard.form
        render, warm, clear = f"{HERE}/render", f"{HERE}/warm", f"{HERE}/clear"
        return [
            page(HERE, self.show_list, "Cached pages"),
            page(f"{HERE}/page", self.show_page, "Whether a page is cached"),
            page(render, self.show_render, "Render a page"),
            form(render, self.render, "Render a page", show=self.show_render, control=False),
            page(warm, self.show_warm, "Warm the cache"),
            form(warm, self.warm, "Warm the cache", show=self.show_warm, control=False),
            page(clear, self.show_clear, "Clear pages"),
            form(clear, self.clear, "Clear pages", show=self.show_clear),
        ]


def _page_href(url: str, variant: str) -> str:
    """The address of the page about one cached page."""
    bot, *marks = variant.split("+")
    query = {"url": url, "bot": bot, **{name: value for mark, name, value in _MARKS if mark in marks}}
    return f"{HERE}/page?{urlencode(query)}"


def _without_marks(form: Form, *others: str) -> Form:
    """The form without its checkbox, which is given apart because it is "on", and without these fields."""
    return Form({name: text for name, text in form.values.items() if name not in ("keepScripts", *others)})
