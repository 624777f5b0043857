"""SyncClient: the same calls for programs that do not use asyncio.

Every call is declared once, by `Client`. It runs on an event loop in a thread that belongs to the client.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, Unpack

from gossamer.client.calls.memory import MemoryCalls
from gossamer.client.client import Client
from gossamer.client.options import RefreshKeywords
from gossamer.client.runs import BatchRun, CrawlRun, LongRun
from gossamer.web.crawl.crawl_answer import ShownCrawl
from gossamer.web.crawl.graph.graph_answer import (
    ExportFormat,
    GraphAnswer,
    GraphFormat,
    GraphPart,
    GraphSection,
)
from gossamer.web.crawl.refresh.shown_version import ShownVersion, VersionFormat
from gossamer.web.crawl.shown_page import ShownPage
from gossamer.web.memory.memory_entry import MemoryEntry
from gossamer.web.pages.batch_result import BatchResult

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound=LongRun[Any])
S = TypeVar("S")
C = TypeVar("C")
_END: Any = object()


class LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gossamer", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the result. Whatever interrupts the wait cancels the work."""
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("The client is closed.")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError as error:
            raise RuntimeError("The client was closed during the call.") from error
        except BaseException:
            future.cancel()
            raise

    @property
    def is_closed(self) -> bool:
        return self._loop.is_closed()

    def close(self) -> None:
        self.run(self._finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _finish(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()


class BlockingCalls(Protocol[C]):
    """What has the calls of a client, and waits for each."""

    client: C
    loop: "LoopThread"


def _blocking(
    call: Callable[Concatenate[C, P], Awaitable[T]],
) -> Callable[Concatenate[BlockingCalls[C], P], T]:
    @wraps(call)
    def wait(self: BlockingCalls[C], /, *arguments: P.args, **options: P.kwargs) -> T:
        async def work() -> T:
            return await call(self.client, *arguments, **options)

        return self.loop.run(work())

    return wait


def _blocking_run(
    call: Callable[Concatenate[Client, P], R], shape: "Callable[[LoopThread, R], S]"
) -> Callable[Concatenate["SyncClient", P], S]:
    @wraps(call)
    def begin(self: "SyncClient", /, *arguments: P.args, **options: P.kwargs) -> S:
        return shape(self.loop, call(self.client, *arguments, **options))

    return begin


def _controlling(call: Callable[[R], Coroutine[Any, Any, T]]) -> "Callable[[SyncRun[R, Any]], T]":
    @wraps(call)
    def wait(self: "SyncRun[R, Any]") -> T:
        return self.loop.run(call(self.run))

    return wait


def each_of(loop: LoopThread, results: AsyncGenerator[T]) -> Iterator[T]:
    try:
        while (result := loop.run(anext(results, _END))) is not _END:
            yield result
    finally:
        loop.run(results.aclose())


class SyncRun(Generic[R, T]):
    """Long work whose results arrive one after the other."""

    def __init__(self, loop: LoopThread, run: R) -> None:
        self.loop = loop
        self.run = run

    def __enter__(self) -> Self:
        self.loop.run(self.run.start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.loop.run(self.run.__aexit__(kind, error, traceback))

    def __iter__(self) -> Iterator[T]:
        return each_of(self.loop, aiter(self.run))

    @property
    def id(self) -> str:
        """Empty until the work has begun."""
        return self.run.id


class SyncCrawlRun(SyncRun[CrawlRun, ShownPage]):
    """A crawl: its pages as they are stored, and its control."""

    status = _controlling(CrawlRun.status)
    pause = _controlling(CrawlRun.pause)
    resume = _controlling(CrawlRun.resume)
    stop = _controlling(CrawlRun.stop)
    delete = _controlling(CrawlRun.delete)
    refresh = _controlling(CrawlRun.refresh)

    def change(self, **options: Unpack[RefreshKeywords]) -> ShownCrawl:
        """Keep it fresh, or change how."""
        return self.loop.run(self.run.change(**options))

    def versions(self, page_id: str) -> list[ShownVersion]:
        """What a page was, newest first."""
        return self.loop.run(self.run.versions(page_id))

    def version(self, page_id: str, number: int, *, format: VersionFormat = "markdown") -> bytes:  # noqa: A002
        """The content of a version."""
        return self.loop.run(self.run.version(page_id, number, format=format))

    def diff(self, page_id: str, before: int, after: int | None = None) -> str:
        """What changed from a version to a later one, by default the newest, as a unified diff."""
        return self.loop.run(self.run.diff(page_id, before, after))

    def stored(self) -> Iterator[ShownPage]:
        """The pages that are stored by now."""
        return each_of(self.loop, self.run.stored())

    def guide(self, *, full: bool = False) -> str:
        """The llms.txt of the site, once the crawl is over."""
        return self.loop.run(self.run.guide(full=full))

    def graph(self, section: GraphSection = "pages", **options: Any) -> GraphAnswer:
        """How its pages are linked; the options are those of `CrawlRun.graph`."""
        return self.loop.run(self.run.graph(section, **options))

    def graph_file(self, format: GraphFormat = "csv", part: GraphPart = "links") -> Iterator[bytes]:  # noqa: A002
        """The graph as a file for other programs, piece by piece."""
        return each_of(self.loop, self.run.graph_file(format, part))

    def export(self, format: ExportFormat = "wacz") -> Iterator[bytes]:  # noqa: A002
        """All stored pages as a WARC or WACZ file, piece by piece."""
        return each_of(self.loop, self.run.export(format))


class SyncBatchRun(SyncRun[BatchRun, BatchResult]):
    """Many pages: the result for each URL, in the order of the list."""

    status = _controlling(BatchRun.status)
    delete = _controlling(BatchRun.delete)


class SyncMemory:
    """What agents remember, for programs that wait for each call."""

    def __init__(self, client: MemoryCalls, loop: LoopThread) -> None:
        self.client = client
        self.loop = loop

    overview = _blocking(MemoryCalls.overview)
    get = _blocking(MemoryCalls.get)
    get_many = _blocking(MemoryCalls.get_many)
    put = _blocking(MemoryCalls.put)
    put_many = _blocking(MemoryCalls.put_many)
    put_page = _blocking(MemoryCalls.put_page)
    restore = _blocking(MemoryCalls.restore)
    list = _blocking(MemoryCalls.list)
    versions = _blocking(MemoryCalls.versions)
    search = _blocking(MemoryCalls.search)
    delete = _blocking(MemoryCalls.delete)
    delete_namespace = _blocking(MemoryCalls.delete_namespace)
    delete_everything = _blocking(MemoryCalls.delete_everything)
    load = _blocking(MemoryCalls.load)

    def export(self, namespace: str | None = None) -> Iterator[MemoryEntry]:
        """All entries with their values."""
        return each_of(self.loop, self.client.export(namespace))


class SyncClient:
    """The web, for programs that wait for each call. Threads may share it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.loop = LoopThread()
        self.memory = SyncMemory(client.memory, self.loop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self.loop.is_closed:
            return
        try:
            self.loop.run(self.client.close())
        finally:
            self.loop.close()

    fetch = _blocking(Client.fetch)
    extract = _blocking(Client.extract)
    search = _blocking(Client.search)
    map = _blocking(Client.map)
    screenshot = _blocking(Client.screenshot)
    pdf = _blocking(Client.pdf)
    render = _blocking(Client.render)
    audit = _blocking(Client.audit)
    crawls = _blocking(Client.crawls)
    import_crawl = _blocking(Client.import_crawl)
    add_schedule = _blocking(Client.add_schedule)
    schedules = _blocking(Client.schedules)
    schedule = _blocking(Client.schedule)
    change_schedule = _blocking(Client.change_schedule)
    pause_schedule = _blocking(Client.pause_schedule)
    resume_schedule = _blocking(Client.resume_schedule)
    run_schedule = _blocking(Client.run_schedule)
    schedule_runs = _blocking(Client.schedule_runs)
    remove_schedule = _blocking(Client.remove_schedule)
    preview_timing = _blocking(Client.preview_timing)
    webhooks = _blocking(Client.webhooks)
    webhook = _blocking(Client.webhook)
    add_webhook = _blocking(Client.add_webhook)
    change_webhook = _blocking(Client.change_webhook)
    remove_webhook = _blocking(Client.remove_webhook)
    webhook_secret = _blocking(Client.webhook_secret)
    rotate_webhook = _blocking(Client.rotate_webhook)
    test_webhook = _blocking(Client.test_webhook)
    webhook_events = _blocking(Client.webhook_events)
    webhook_deliveries = _blocking(Client.webhook_deliveries)
    webhook_delivery = _blocking(Client.webhook_delivery)
    retry_webhook_delivery = _blocking(Client.retry_webhook_delivery)
    retry_webhook = _blocking(Client.retry_webhook)
    add_monitor = _blocking(Client.add_monitor)
    monitors = _blocking(Client.monitors)
    monitor = _blocking(Client.monitor)
    change_monitor = _blocking(Client.change_monitor)
    snooze_monitor = _blocking(Client.snooze_monitor)
    check_monitor = _blocking(Client.check_monitor)
    remove_monitor = _blocking(Client.remove_monitor)
    monitor_changes = _blocking(Client.monitor_changes)
    monitor_checks = _blocking(Client.monitor_checks)
    monitor_change = _blocking(Client.monitor_change)
    try_rules = _blocking(Client.try_rules)
    add_site = _blocking(Client.add_site)
    sites = _blocking(Client.sites)
    site = _blocking(Client.site)
    change_site = _blocking(Client.change_site)
    prove_site = _blocking(Client.prove_site)
    recache_site = _blocking(Client.recache_site)
    site_bots = _blocking(Client.site_bots)
    site_rules = _blocking(Client.site_rules)
    replace_site_rules = _blocking(Client.replace_site_rules)
    try_site_rules = _blocking(Client.try_site_rules)
    make_site_hook = _blocking(Client.make_site_hook)
    site_hook = _blocking(Client.site_hook)
    remove_site_hook = _blocking(Client.remove_site_hook)
    compare_site = _blocking(Client.compare_site)
    site_comparison = _blocking(Client.site_comparison)
    remove_site = _blocking(Client.remove_site)
    crawl = _blocking_run(Client.crawl, SyncCrawlRun)
    crawl_with_id = _blocking_run(Client.crawl_with_id, SyncCrawlRun)
    batch = _blocking_run(Client.batch, SyncBatchRun)
