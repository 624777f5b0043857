"""Client: every call of the library, over whichever transport."""

import asyncio
import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Unpack
from urllib.parse import quote, urlencode

import msgspec

from gossamer.client import scheduling
from gossamer.client.calls import monitoring
from gossamer.client.calls.rendering import RenderedPage, render_page
from gossamer.client.errors import GossamerError, raise_for, unreadable
from gossamer.client.options import (
    AuditKeywords,
    BatchKeywords,
    CrawlKeywords,
    ExtractKeywords,
    FetchKeywords,
    MapKeywords,
    MonitorChangeKeywords,
    MonitorKeywords,
    PdfKeywords,
    RenderKeywords,
    ScheduleKeywords,
    ScreenshotKeywords,
    SearchKeywords,
    TrialKeywords,
    body_of,
)
from gossamer.client.retrying import IDEMPOTENCY_KEY, Patience
from gossamer.client.runs import BatchRun, CrawlRun
from gossamer.client.site_calls import SiteCalls
from gossamer.client.transport import Call, Reply, Transport
from gossamer.client.webhooks import WebhookCalls
from gossamer.web.crawl.crawl_answer import CrawlLine, CrawlList, ShownImport
from gossamer.web.crawl.progress import CrawlState
from gossamer.web.pages.capture_answer import PdfAnswer, ScreenshotAnswer
from gossamer.web.pages.map_request import MapAnswer
from gossamer.web.pages.read_result import FetchAnswer
from gossamer.web.search.search_answer import SearchAnswer

if TYPE_CHECKING:  # what takes long to import is imported by the calls that need it
    from gossamer.client.memory import MemoryClient
    from gossamer.web.audit.audit_answer import AuditAnswer
    from gossamer.web.monitors.monitor_answer import (
        ChangeLine,
        CheckLine,
        MonitorAccepted,
        MonitorLine,
        ShownChange,
        ShownMonitor,
        TrialAnswer,
    )
    from gossamer.web.pages.extract_request import ExtractAnswer
    from gossamer.web.schedules.schedule_answer import NextRun, ScheduleLine, ShownRun, ShownSchedule

T = TypeVar("T")
Content = Literal["markdown", "text", "html"]


class Client(SiteCalls, WebhookCalls):
    """The web, as a Gossamer server or the engine in this process shows it.

    `async with` closes it. Calls may run at the same time. Options are those of the HTTP API, in the spelling
    of Python; an option that does not exist is a `TypeError`.
    """

    def __init__(self, transport: Transport, patience: Patience | None = None) -> None:
        self.transport = transport
        self.patience = patience or Patience()

    @cached_property
    def memory(self) -> "MemoryClient":
        """What agents remember: values and pages by key."""
        from gossamer.client.memory import MemoryClient

        return MemoryClient(self)

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
        found: list[CrawlLine] = []
        query: dict[str, str] = {} if status is None else {"status": status}
        while len(found) < limit:
            query["limit"] = str(min(limit - len(found), 100))
            page = await self.ask("GET", f"/api/crawls?{urlencode(query)}", CrawlList)
            found += page.crawls
            if page.next_cursor is None:
                break
            query["cursor"] = page.next_cursor
        return found

    async def add_schedule(
        self, task: Mapping[str, Any], timing: Mapping[str, Any], *, name: str = "", paused: bool = False
    ) -> "ShownSchedule":
        """Start a crawl, batch or audit again and again: `task` is the body of its endpoint with `kind`, and
        `timing` has `cron` or `every`."""
        return await scheduling.add(self, {"task": task, "timing": timing, "name": name, "paused": paused})

    async def schedules(self, *, kind: str | None = None, limit: int = 50) -> "list[ScheduleLine]":
        """Schedules, the newest first."""
        return await scheduling.list_all(self, kind, limit)

    async def schedule(self, id: str) -> "ShownSchedule":  # noqa: A002
        """A schedule, with its next runs."""
        return await scheduling.ask_one(self, "GET", id)

    async def change_schedule(self, id: str, **changes: Unpack[ScheduleKeywords]) -> "ShownSchedule":  # noqa: A002
        """Change its `task`, `timing` or `name`; the rest stays."""
        return await scheduling.ask_one(self, "PATCH", id, body=changes)

    async def pause_schedule(self, id: str) -> "ShownSchedule":  # noqa: A002
        return await scheduling.ask_one(self, "POST", id, "/pause")

    async def resume_schedule(self, id: str) -> "ShownSchedule":  # noqa: A002
        return await scheduling.ask_one(self, "POST", id, "/resume")

    async def run_schedule(self, id: str) -> "ShownRun":  # noqa: A002
        """Start it now; its next runs stay as they are planned."""
        return await scheduling.run(self, id)

    async def schedule_runs(self, id: str, *, limit: int = 50) -> "list[ShownRun]":  # noqa: A002
        """What became of its runs, the newest first."""
        return await scheduling.list_runs(self, id, limit)

    async def remove_schedule(self, id: str) -> "ShownSchedule":  # noqa: A002
        """Delete it with its history. What it has started stays."""
        return await scheduling.ask_one(self, "DELETE", id)

    async def preview_timing(self, timing: Mapping[str, Any], *, count: int = 10) -> "list[NextRun]":
        """When a schedule with this timing would run."""
        return await scheduling.preview(self, {"timing": timing, "count": count})

    async def import_crawl(self, file: str | PathLike[str] | bytes, *, name: str = "") -> ShownImport:
        """A WARC or WACZ file as a crawl, whose pages can be read, searched and audited."""
        body = file if isinstance(file, bytes) else await asyncio.to_thread(Path(file).read_bytes)
        path = f"/api/crawls/import?{urlencode({'name': name})}"
        headers = {"Accept": "application/json", "Content-Type": "application/octet-stream"}
        reply = await self.transport.send(Call("POST", path, headers, body))
        raise_for(reply)
        return decoded(reply, ShownImport)

    async def add_monitor(
        self, watch: Mapping[str, Any], **options: Unpack[MonitorKeywords]
    ) -> "ShownMonitor":
        """Watch something: `watch` is `{"kind": "page", "url": …}`, or a list, a crawl or a search."""
        return await monitoring.add(
            self, {"watch": watch, **body_of("add_monitor", MonitorKeywords, options)}
        )

    async def monitors(self, *, limit: int = 50) -> "list[MonitorLine]":
        """Monitors, the newest first."""
        return await monitoring.list_all(self, limit)

    async def monitor(self, id: str) -> "ShownMonitor":  # noqa: A002
        return await monitoring.ask_one(self, "GET", id)

    async def change_monitor(self, id: str, **changes: Unpack[MonitorChangeKeywords]) -> "ShownMonitor":  # noqa: A002
        """Change, pause, resume or mute it; the rest stays."""
        body = body_of("change_monitor", MonitorChangeKeywords, changes)
        return await monitoring.ask_one(self, "PATCH", id, body=body)

    async def snooze_monitor(self, id: str, duration: str = "1d") -> "ShownMonitor":  # noqa: A002
        """Tell nothing for `2h` or `3d`; `0s` ends it."""
        return await monitoring.ask_one(self, "POST", id, "/snooze", {"for": duration})

    async def check_monitor(self, id: str) -> "MonitorAccepted":  # noqa: A002
        """Queue a check."""
        return await monitoring.check(self, id)

    async def remove_monitor(self, id: str) -> "ShownMonitor":  # noqa: A002
        """Delete it with its history."""
        return await monitoring.ask_one(self, "DELETE", id)

    async def monitor_changes(self, id: str, *, limit: int = 50) -> "list[ChangeLine]":  # noqa: A002
        """What it has found, the newest first."""
        return await monitoring.list_changes(self, id, limit)

    async def monitor_checks(self, id: str, *, limit: int = 50) -> "list[CheckLine]":  # noqa: A002
        """What became of its last checks: why it fired, and why not."""
        return await monitoring.list_checks(self, id, limit)

    async def monitor_change(
        self,
        id: str,  # noqa: A002
        change_id: str,
        *,
        format: Literal["json", "unified", "markdown"] = "json",  # noqa: A002
    ) -> "ShownChange":
        """A change with its difference."""
        return await monitoring.get_change(self, id, change_id, format)

    async def try_rules(
        self, before: Mapping[str, Any], after: Mapping[str, Any], **options: Unpack[TrialKeywords]
    ) -> "TrialAnswer":
        """What a monitor would say about two pages, each `{"url": …}`, `{"html": …}` or `{"text": …}`."""
        body = body_of("try_rules", TrialKeywords, options)
        return await monitoring.try_rules(self, {"before": before, "after": after, **body})

    async def ask(self, method: str, path: str, answers: type[T], body: Any = None) -> T:
        """Any call of the API: the answer, decoded."""
        reply = await self.send(method, path, body)
        return decoded(reply, answers)

    async def send(
        self, method: str, path: str, body: Any = None, *, accept: str = "application/json"
    ) -> Reply:
        """Any call of the API. A POST has a key, so that the server does it once however often it is sent."""
        headers = {"Accept": accept}
        if method == "POST":
            headers[IDEMPOTENCY_KEY] = secrets.token_urlsafe(24)
        sent = b"" if body is None else msgspec.json.encode(body)
        reply = await self.transport.send(Call(method, path, headers, sent))
        raise_for(reply)
        return reply

    async def job_error(self, job_id: str, otherwise: str) -> GossamerError:
        """Why a job has failed."""
        job = await self.ask("GET", f"/api/jobs/{quote(job_id, safe='')}", FailedJob)
        problem = job.problem
        if problem is None:
            return GossamerError(job.error or otherwise, code="JOB_FAILED")
        reason = {"reason": problem.reason} if problem.reason else {}
        return GossamerError(problem.message, code=problem.code, hint=problem.hint, details=reason)


def decoded(reply: Reply, answers: type[T]) -> T:
    try:
        return msgspec.json.decode(reply.body, type=answers)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise unreadable(reply, str(error)) from error


class FailureOfJob(msgspec.Struct, rename="camel"):
    """Why a job has failed."""

    code: str
    message: str
    hint: str
    reason: str | None = None


class FailedJob(msgspec.Struct, rename="camel"):
    """What is needed of a job that has failed."""

    error: str | None = None
    problem: FailureOfJob | None = None
