"""The playground: try what Gossamer does with a URL, and copy the call for a program."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.pages.caching import CacheQuery
from gossamer.doors.http.api.pages.capture import CaptureEndpoints
from gossamer.doors.http.api.pages.extract import ExtractEndpoints
from gossamer.doors.http.api.pages.fetch import FetchEndpoints, FetchQuery
from gossamer.doors.http.api.pages.search import SearchEndpoints, SearchRequest
from gossamer.doors.http.core.decoding import decode_body
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core import formats
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.doors.http.dashboard.start import results
from gossamer.doors.http.dashboard.start.calls import VIEWPORTS, ApiCall, PlaygroundTask, to_call
from gossamer.doors.http.dashboard.start.results import MAX_SHOWN_CHARS, PlaygroundResult
from gossamer.doors.http.dashboard.start.schemas import EXAMPLES
from gossamer.doors.http.layers.limiting import within_limits
from gossamer.flows.pages.capture_request import PdfRequest, ScreenshotRequest
from gossamer.flows.pay.quotes import Prices
from gossamer.flows.render.serve import Queued, RenderService
from gossamer.problems import INVALID_SELECTOR, INVALID_VIEWPORT
from gossamer.reach.services import llm
from gossamer.settings.values import Money
from gossamer.state.pages.cached_page import PageHit
from gossamer.web.pages.extract_request import ExtractRequest
from gossamer.web.pages.page_request import MAX_TIMEOUT, PageRequest
from gossamer.web.render.request import RenderRequest

T = TypeVar("T")

PATH: Final = "/app/playground"
JSON: Final = "application/json"
_UTF8_BYTES: Final = 4  # of a character, at most
_FIELD_PROBLEMS: Final = {
    "viewport": INVALID_VIEWPORT,
    "selector": INVALID_SELECTOR,
    "include": INVALID_SELECTOR,
    "waitForSelector": INVALID_SELECTOR,
}


class PlaygroundQuery(msgspec.Struct):
    """What the form begins with, so that other pages can lead here."""

    url: str = ""
    do: str = ""
    query: str = ""


class PlaygroundPages(Struct, frozen=True):
    dashboard: Dashboard
    fetching: FetchEndpoints
    capturing: CaptureEndpoints
    extracting: ExtractEndpoints
    searching: SearchEndpoints
    render_service: RenderService
    prices: Prices
    takes_payments: bool

    async def show(self, exchange: Exchange, query: PlaygroundQuery) -> Response:
        begun = {name: text for name, text in msgspec.structs.asdict(query).items() if text}
        form = Form({**begun, "cache": "on"}) if begun else NO_FORM
        return self._page(exchange, form)

    async def show_refused(self, exchange: Exchange, form: Form) -> Response:
        return self._page(exchange, form)

    async def submit(self, exchange: Exchange, form: Form) -> Response:
        call = to_call(form)
        result = await self._run(exchange, call)
        exchange.outcome = result.outcome or exchange.outcome
        return self._page(exchange, form, result)

    def _page(self, exchange: Exchange, form: Form, result: PlaygroundResult | None = None) -> Response:
        chosen = form.get("do", PlaygroundTask.FETCH)
        return self.dashboard.render(
            exchange,
            "start/playground.html",
            here="playground",
            form=form,
            chosen=chosen if chosen in list(PlaygroundTask) else PlaygroundTask.FETCH,
            viewports=[
                (name, f"{name}, {width} \N{MULTIPLICATION SIGN} {height}")
                for name, (width, height) in VIEWPORTS.items()
            ],
            examples=EXAMPLES,
            result=result,
            cost=self._cost(result.call) if result else "",
        )

    async def _run(self, exchange: Exchange, call: ApiCall) -> PlaygroundResult:
        _ask_as_program(exchange, call.accept)
        if call.task is PlaygroundTask.RENDER:
            return await self._render(exchange, call)
        if call.task in (PlaygroundTask.SCREENSHOT, PlaygroundTask.PDF):
            response = await self._capture(exchange, call)
            return results.captured(call, response.headers, bytes(response.body), exchange.elapsed_ms())
        response = await self._answer(exchange, call)
        shown: Mapping[str, Any] = msgspec.json.decode(response.body)
        cache = response.headers["x-cache-status"]
        if call.task is PlaygroundTask.FETCH:
            return results.fetched(call, shown, cache, f"{self.dashboard.assets.base}/reading.css")
        if call.task is PlaygroundTask.EXTRACT:
            return results.extracted(call, shown, cache)
        return results.found(call, shown, cache, exchange.elapsed_ms())

    async def _answer(self, exchange: Exchange, call: ApiCall) -> Response:
        if call.task is PlaygroundTask.FETCH:
            return await self.fetching.fetch(exchange, _body(call, PageRequest), FetchQuery())
        if call.task is PlaygroundTask.EXTRACT:
            return await self.extracting.extract_data(exchange, _body(call, ExtractRequest), CacheQuery())
        return await self.searching.search_web(exchange, _body(call, SearchRequest), CacheQuery())

    async def _capture(self, exchange: Exchange, call: ApiCall) -> Response:
        if call.task is PlaygroundTask.PDF:
            return await self.capturing.print_pdf(exchange, _body(call, PdfRequest), CacheQuery())
        return await self.capturing.take_screenshot(exchange, _body(call, ScreenshotRequest), CacheQuery())

    async def _render(self, exchange: Exchange, call: ApiCall) -> PlaygroundResult:
        asking = self.render_service.ask(
            exchange.caller, _body(call, RenderRequest), exchange.request_id, None, exchange.admit_work
        )
        got = await within_limits(exchange, None, exchange.unless_gone(asking))
        if isinstance(got, Queued):
            return PlaygroundResult(call, job_id=got.job.job_id)
        exchange.cache_hit = not got.is_new
        page = got.page
        facts = [
            ("Status", str(page.status)),
            ("Time", formats.duration(exchange.elapsed_ms())),
            ("Cache", results.cache_words("MISS" if got.is_new else "HIT")),
            ("Rendered in", formats.duration(page.render_ms)),
            ("Size", formats.size(page.size)),
        ]
        return results.rendered(call, await _read_html(got), facts, url=page.final_url)

    def _cost(self, call: ApiCall) -> str:
        if not self.takes_payments or not call.price:
            return "Free with a key."
        full, cached = Money(self.prices.full(call.price)), Money(self.prices.cached(call.price))
        return f"Free with a key. Without one {full}, or {cached} from the cache."

    def routes(self) -> list[Route]:
        return [
            self.dashboard.page(PATH, self.show, "Playground"),
            self.dashboard.form(
                PATH,
                self.submit,
                "Try a call",
                show=self.show_refused,
                control=False,  # it counts as the work that it is
                idempotent=False,  # sent again, it runs again
                deadline=MAX_TIMEOUT / 1000 + llm.SECONDS + 30,
            ),
        ]


def _body(call: ApiCall, shape: type[T]) -> T:
    """Decoded as the API decodes it, so that a refusal says the same."""
    return decode_body(JSON, msgspec.json.encode(call.body), shape, _FIELD_PROBLEMS)


def _ask_as_program(exchange: Exchange, accept: str) -> None:
    """The endpoints answer by the headers of a request. Those of a browser ask for a page."""
    headers = [(b"accept", accept.encode())]
    headers += [(name, value) for name, value in exchange.scope["headers"] if name != b"accept"]
    exchange.scope = {**exchange.scope, "headers": headers}


async def _read_html(hit: PageHit) -> str:
    """As much of a rendered page as is shown."""
    wanted = MAX_SHOWN_CHARS * _UTF8_BYTES
    if hit.stream is None:
        html = await asyncio.to_thread(hit.page.html)
        return html[:wanted].decode(errors="replace")
    parts: list[bytes] = []
    size = 0
    async with aclosing(hit.identity()) as chunks:
        async for chunk in chunks:
            parts.append(chunk)
            size += len(chunk)
            if size >= wanted:
                break
    return b"".join(parts)[:wanted].decode(errors="replace")
