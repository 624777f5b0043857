"""EngineParts: the parts of `app.py` that an engine in this process uses."""

from collections.abc import Collection
from typing import Protocol

from starlette.types import ASGIApp

from gossamer.doors.worker.worker import Worker
from gossamer.flows.crawl.indexing import Indexing
from gossamer.flows.crawl.worker import CrawlWorker
from gossamer.flows.pages.read import Reader
from gossamer.flows.render.serve import RenderService
from gossamer.flows.upkeep.watch import Watch
from gossamer.observe.logs import Log
from gossamer.state.db.database import Database
from gossamer.state.pages.page_cache import PageCache
from gossamer.state.tenants.usage import Usage
from gossamer.state.wakeups.wakeups import Wakeups


class EngineParts(Protocol):
    log: Log
    database: Database
    reader: Reader
    indexing: Indexing
    page_cache: PageCache
    render_service: RenderService
    usage: Usage
    watch: Watch
    wakeups: Wakeups

    def embedded_app(self) -> ASGIApp: ...

    def worker(self, kinds: Collection[str] = ...) -> Worker: ...

    def crawl_worker(self) -> CrawlWorker: ...

    async def open_proxy(self) -> None: ...

    async def close(self) -> None: ...
