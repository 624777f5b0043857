"""The routes of Crawl4AI's server that its clients use."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import perf_counter
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.relay import Relay, RelayedApi, relaying_route
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.core.streaming import Streaming
from gossamer.doors.http.dropin.crawl4ai.configs import BrowserPart, Crawl4aiRequest, CrawlConfig, CrawlerPart
from gossamer.doors.http.dropin.crawl4ai.dialect import CRAWL4AI
from gossamer.doors.http.dropin.crawl4ai.extraction import schema_of
from gossamer.doors.http.dropin.crawl4ai.results import ResultsThatFit, complete, result_of
from gossamer.doors.http.dropin.shared.pages import RelayedPage, page_of_line, read_pages, start_batch
from gossamer.problems import Problem, validation_error

SECONDS: Final = 100.0  # for the pages of one request
STREAM_SECONDS: Final = 840.0  # for those of a stream
JOB_PAGES: Final = 100  # of a job's results that are asked for at once
NDJSON: Final = "application/x-ndjson"
_RUNNING: Final = ("queued", "running")
_FORMATS: Final = ("raw", "fit", "bm25")


class MarkdownBody(Struct, kw_only=True):
    """The body of `/md`."""

    url: str
    f: Literal["raw", "fit", "bm25", "llm"] = "fit"
    q: str | None = None
    c: str | None = "0"  # a number of the cache: 0 is none


class HtmlBody(Struct, kw_only=True):
    """The body of `/html`."""

    url: str


class TokenBody(Struct, kw_only=True):
    """The body of `/token`. Its clients have no other place for a key."""

    email: Annotated[str, Meta(pattern=r"^[\x21-\x7e]{1,300}$")]


class Crawl4aiDoor(Struct, frozen=True):
    relay: Relay

    async def crawl(self, exchange: Exchange, body: Crawl4aiRequest) -> Response:
        started = perf_counter()
        config = _checked(body)
        api = self.relay.acting_for(exchange)
        results = await exchange.unless_gone(_collect(api, body.urls, config))
        seconds = round(perf_counter() - started, 3)
        exchange.repeat_relayed("server_processing_time_s")
        return answer({"success": True, "results": results, "server_processing_time_s": seconds})

    async def stream(self, exchange: Exchange, body: Crawl4aiRequest) -> Response:
        config = _checked(body)
        api = self.relay.acting_for(exchange)
        lines = _lines(api, body.urls, config)
        first = await exchange.unless_gone(anext(lines))  # while the status can still tell of a problem
        return Streaming(_after(first, lines), media_type=NDJSON)

    async def start_job(self, exchange: Exchange, body: Crawl4aiRequest) -> Response:
        config = _checked(body)
        if config.crawler.screenshot or config.crawler.pdf or config.extraction is not None:
            raise validation_error(
                "A job reads pages, and takes no pictures, PDFs or data.", hint="Ask /crawl or /crawl/stream."
            )
        api = self.relay.acting_for(exchange)
        return answer({"task_id": await start_batch(api, body.urls, config.page_request())})

    async def show_job(self, exchange: Exchange, id: str) -> Response:
        api = self.relay.acting_for(exchange)
        here = f"/batch/fetch/{quote(id, safe='')}"
        batch = await api.ask("GET", here)
        running = batch["status"] in _RUNNING
        state = "processing" if running else "completed" if batch["status"] == "done" else "failed"
        shown: dict[str, Any] = {"task_id": id, "status": state, "created_at": batch["createdAt"]}
        if state == "completed":
            shown["result"] = {"success": True, "results": await _job_results(api, here)}
        elif state == "failed":
            shown["error"] = batch["error"] or batch["status"]
        return answer(shown)

    async def get_markdown(self, exchange: Exchange, body: MarkdownBody) -> Response:
        if body.f not in _FORMATS:
            raise validation_error("The filter llm is not supported.", hint="Use raw or fit.")
        asked = {"mainContent": body.f != "raw", "render": "auto", "cache": body.c not in (None, "", "0")}
        page = await self._fetch(exchange, body.url, asked)
        exchange.repeat_relayed()
        shown = {"url": body.url, "filter": body.f, "query": body.q, "cache": body.c}
        return answer({**shown, "markdown": page["content"], "success": True})

    async def get_html(self, exchange: Exchange, body: HtmlBody) -> Response:
        asked = {"formats": ["html"], "mainContent": False, "render": "auto"}
        page = await self._fetch(exchange, body.url, asked)
        return answer({"html": page["html"], "url": body.url, "success": True})

    async def hand_out_token(self, exchange: Exchange, body: TokenBody) -> Response:
        """The key itself is the token: it may stand in place of the email."""
        given = exchange.header(b"authorization")
        sent = {} if given else {"authorization": f"Bearer {body.email}"}
        await self.relay.acting_for(exchange, sent).ask("GET", "/api/keys")
        key = given.partition(" ")[2] if given else body.email
        return answer({"email": body.email, "access_token": key, "token_type": "bearer"})

    async def show_schema(self, exchange: Exchange) -> Response:
        parts = {"browser": BrowserPart, "crawler": CrawlerPart}
        return answer({name: msgspec.to_builtins(shape()) for name, shape in parts.items()})

    async def _fetch(self, exchange: Exchange, url: str, asked: dict[str, Any]) -> Any:
        api = self.relay.acting_for(exchange)
        address = url if "://" in url else f"https://{url}"
        return await exchange.unless_gone(api.ask("POST", "/fetch", {"url": address, **asked}))

    def routes(self) -> list[Route]:
        def route(method: str, path: str, handler: Any, summary: str, deadline: float | None = None) -> Route:
            return relaying_route(CRAWL4AI, method, path, handler, summary, deadline=deadline)

        return [
            route("POST", "/crawl", self.crawl, "Read pages", SECONDS + 20),
            route("POST", "/crawl/stream", self.stream, "Read pages, a line each", STREAM_SECONDS + 60),
            route("POST", "/crawl/job", self.start_job, "Read pages as a job"),
            route("GET", "/crawl/job/{id}", self.show_job, "Show a job and its pages"),
            route("POST", "/md", self.get_markdown, "Read a page as Markdown", 90.0),
            route("POST", "/html", self.get_html, "Read a page as clean HTML", 90.0),
            route("POST", "/token", self.hand_out_token, "Use a key"),
            route("GET", "/schema", self.show_schema, "Show the options"),
        ]


def _checked(body: Crawl4aiRequest) -> CrawlConfig:
    try:
        config = CrawlConfig.of(body)
        if config.extraction is not None:
            schema_of(config.extraction)
    except RecursionError:
        raise validation_error("The configuration is nested too deeply.") from None
    return config


async def _collect(api: RelayedApi, urls: tuple[str, ...], config: CrawlConfig) -> list[msgspec.Raw]:
    async with aclosing(read_pages(api, urls, config.page_request(), SECONDS)) as pages:
        results = ResultsThatFit()
        async for page in pages:
            results.add(await complete(api, page, config))
        return results.encoded


async def _lines(api: RelayedApi, urls: tuple[str, ...], config: CrawlConfig) -> AsyncGenerator[bytes]:
    """Each page, and then the end. A problem with the whole request is raised only before the first page."""
    done = 0
    try:
        async with aclosing(read_pages(api, urls, config.page_request(), STREAM_SECONDS)) as pages:
            async for page in pages:
                yield _line(await complete(api, page, config))
                done += 1
    except Problem as problem:
        if not done:
            raise
        for url in urls[done:]:
            yield _line(result_of(RelayedPage(url, {}, problem.detail), config))
    yield _line({"status": "completed"})


async def _after(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    async with aclosing(rest):
        yield first
        async for line in rest:
            yield line


def _line(value: Any) -> bytes:
    return msgspec.json.encode(value) + b"\n"


async def _job_results(api: RelayedApi, here: str) -> list[msgspec.Raw]:
    results = ResultsThatFit()
    cursor: int | None = 0
    config = CrawlConfig(BrowserPart(), CrawlerPart())
    while cursor is not None:
        part = await api.ask("GET", f"{here}/results?cursor={cursor}&limit={JOB_PAGES}")
        for line in part["results"]:
            results.add(result_of(page_of_line(line), config))
        cursor = part["nextCursor"]
    return results.encoded
