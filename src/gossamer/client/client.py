"""Client: every call of the library, over whichever transport."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeVar, Unpack

from gossamer.client.calls.monitors import MonitorCalls
from gossamer.client.calls.rendering import RenderedPage, render_page
from gossamer.client.calls.schedules import ScheduleCalls
from gossamer.client.calls.sites import SiteCalls
from gossamer.client.calls.webhooks import WebhookCalls
from gossamer.client.options import (
    AuditKeywords,
    BatchKeywords,
    CrawlKeywords,
    ExtractKeywords,
    FetchKeywords,
    MapKeywords,
    PdfKeywords,
    RenderKeywords,
    ScreenshotKeywords,
    SearchKeywords,
    body_of,
)
from gossamer.client.runs import BatchRun, CrawlRun
from gossamer.web.crawl.crawl_answer import CrawlLine, CrawlList, ImportResult
from gossamer.web.crawl.progress import CrawlState
from gossamer.web.pages.capture_answer import PdfAnswer, ScreenshotAnswer
from gossamer.web.pages.map_request import MapAnswer
from gossamer.web.pages.read_result import FetchAnswer
from gossamer.web.search.search_answer import SearchAnswer

if TYPE_CHECKING:  # what takes long to import is imported by the calls that need it
    from gossamer.client.calls.memory import MemoryCalls
    from gossamer.web.audit.audit_answer import AuditAnswer
    from gossamer.web.pages.extract_request import ExtractAnswer

T = TypeVar("T")
Content = Literal["markdown", "text", "html"]


class Client(ScheduleCalls, MonitorCalls, WebhookCalls, SiteCalls):
    """The web, as a Gossamer server or the engine in this process shows it.

    `async with` closes it. Calls may run at the same time. Options are those of the HTTP API, in the spelling
    of Python; an option that does not exist is a `TypeError`.
    """

    @cached_property
    def memory(self) -> "MemoryCalls":
        """What agents remember: values and pages by key."""
        from gossamer.client.calls.memory import MemoryCalls

        return MemoryCalls(self.transport, self.patience)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await asyncio.shield(self.transport.close())

    async def fetch(self, url: str, **options: Unpack[FetchKeywords]) -> FetchAnswer:
        """A page as clean content. Formats that were not asked for are absent, which is false."""
        body = {"url": url, **body_of("fetch", FetchKeywords, options)}
        return await self.ask("POST", "/fetch", FetchAnswer, body)

    async def extract(self, url: str, **options: Unpack[ExtractKeywords]) -> "ExtractAnswer":
        """Data that fits a schema, and where each value came from."""
        from gossamer.web.pages.extract_request import ExtractAnswer

        body = {"url": url, **body_of("extract", ExtractKeywords, options)}
        return await self.ask("POST", "/extract", ExtractAnswer, body)

    async def search(self, query: str, **options: Unpack[SearchKeywords]) -> SearchAnswer:
        """Pages for a question, the best first."""
        body = {"query": query, **body_of("search", SearchKeywords, options)}
        return await self.ask("POST", "/search", SearchAnswer, body)

    async def map(self, url: str, **options: Unpack[MapKeywords]) -> MapAnswer:
        """The addresses of a site's pages."""
        body = {"url": url, **body_of("map", MapKeywords, options)}
        return await self.ask("POST", "/map", MapAnswer, body)

    async def screenshot(self, url: str, **options: Unpack[ScreenshotKeywords]) -> ScreenshotAnswer:
        """A picture of a page: `image` is the file."""
        body = {"url": url, **body_of("screenshot", ScreenshotKeywords, options)}
        return await self.ask("POST", "/screenshot", ScreenshotAnswer, body)

    async def pdf(self, url: str, **options: Unpack[PdfKeywords]) -> PdfAnswer:
        """A page on paper: `pdf` is the file."""
        body = {"url": url, **body_of("pdf", PdfKeywords, options)}
        return await self.ask("POST", "/pdf", PdfAnswer, body)

    async def render(self, url: str, **options: Unpack[RenderKeywords]) -> RenderedPage:
        """The HTML of a page as a browser has made it, without scripts; from the cache if it is there."""
        return await render_page(self, {"url": url, **body_of("render", RenderKeywords, options)})

    async def audit(self, url: str, **options: Unpack[AuditKeywords]) -> "AuditAnswer":
        """What search engines and agents see of a page or, with `max_pages`, of a site: the report."""
        from gossamer.client.calls.auditing import audit_page

        return await audit_page(self, {"url": url, "options": body_of("audit", AuditKeywords, options)})

    def batch(self, urls: Iterable[str], *, keep: bool = False, **options: Unpack[BatchKeywords]) -> BatchRun:
        """Up to a thousand pages: `async for` gets the result for each. `keep`: even if its block is left."""
        return BatchRun(self, tuple(urls), body_of("batch", BatchKeywords, options), keep=keep)

    def crawl(
        self,
        seeds: str | Sequence[str],
        *,
        content: Content | None = None,
        keep: bool = False,
        **options: Unpack[CrawlKeywords],
    ) -> CrawlRun:
        """One or more sites: `async for` gets the pages as they are stored, with `content` in this form.
        `keep`: go on even if its block is left."""
        begin = [seeds] if isinstance(seeds, str) else list(seeds)
        body = {"seeds": begin, **body_of("crawl", CrawlKeywords, options)}
        return CrawlRun(self, body, content=content, keep=keep)

    def crawl_with_id(self, id: str, *, content: Content | None = None) -> CrawlRun:  # noqa: A002
        """A crawl that has begun earlier."""
        return CrawlRun(self, {}, id=id, content=content, keep=True)

    async def crawls(self, *, status: CrawlState | None = None, limit: int = 20) -> list[CrawlLine]:
        """Crawls, the newest first."""
        query = {} if status is None else {"status": str(status)}
        return await self.list_rows("/api/crawls", CrawlList, lambda page: page.crawls, limit, query)

    async def import_crawl(
        self, file: str | PathLike[str] | bytes, *, name: str = "", partial: bool = False
    ) -> ImportResult:
        """A WARC or WACZ file as a crawl, whose pages can be read, searched and audited. It is sent in
        pieces, and waited for. `partial`: keep what a damaged file has before the damage."""
        from gossamer.client.calls.importing import import_file

        whole = file if isinstance(file, bytes) else Path(file)
        return await import_file(self, whole, name=name, partial=partial)
