"""EmbeddedEngine: a transport to the service in this process, whose parts open when a call needs them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final

import msgspec

from gossamer.client.transport import Call, Reply, StreamedReply
from gossamer.doors.embedded.owner import reading
from gossamer.doors.embedded.parts import EngineParts
from gossamer.doors.http.core.in_process import InProcess
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.upkeep import upkeep

# What begins with these is done by a worker, and may be done by a browser.
_WORK: Final = ("/batch/", "/audits", "/api/render", "/api/crawls", "/api/jobs")
_JSON: Final = "application/json"
_BROWSING: Final = ("/screenshot", "/pdf", "/fetch/pro")
_LINES: Final = "/memory/import"  # its body is many lines of JSON


Acting = Callable[[EngineParts], AbstractAsyncContextManager[Caller]]  # on whose behalf calls are made


class EmbeddedEngine:
    """Acts for the owner of the machine, who has no limits. A plain fetch opens the search index and nothing
    else, and where there can be no database it works without one."""

    def __init__(
        self, build: Callable[[], EngineParts], acting: Acting = reading, *, works: bool = True
    ) -> None:
        """`works`: whether it runs long work itself, or leaves it to other processes."""
        self._build = build
        self._acting = acting
        self._works = works
        self._opening = asyncio.Lock()
        self._opened = AsyncExitStack()
        self._parts: EngineParts | None = None
        self._reached: InProcess | None = None
        self._has_browser = False
        self._is_working = False
        self._is_closed = False

    async def send(self, call: Call) -> Reply:
        return await (await self._reach(call)).send(call)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamedReply]:
        async with (await self._reach(call)).stream(call) as streamed:
            yield streamed

    async def close(self) -> None:
        async with self._opening:
            self._is_closed = True
            await self._opened.aclose()

    async def _reach(self, call: Call) -> InProcess:
        async with self._opening:
            if self._is_closed:
                raise RuntimeError("The client is closed.")
            if self._parts is None:
                self._parts = self._build()
                self._opened.push_async_callback(self._parts.close)
            parts = self._parts
            if self._reached is None:
                caller = await self._opened.enter_async_context(self._acting(parts))
                self._reached = InProcess(parts.embedded_app(), caller)
            works = self._works and call.method == "POST" and call.path.startswith(_WORK)
            if not self._has_browser and (works or _may_browse(call)):
                await parts.open_proxy()
                self._has_browser = True
            if works and not self._is_working:
                await self._opened.enter_async_context(_working(parts))
                self._is_working = True
            return self._reached


@asynccontextmanager
async def _working(parts: EngineParts) -> AsyncIterator[None]:
    """Run the workers, and tell webhooks what they do. At the end, work that takes long stays where it is,
    for the next process."""
    stop = asyncio.Event()
    workers = [
        asyncio.create_task(parts.worker().run(stop)),
        asyncio.create_task(parts.crawl_worker().run(stop)),
    ]
    telling = asyncio.create_task(parts.watch.webhooks.run(parts.wakeups))
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*workers, return_exceptions=True)
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        await parts.watch.webhooks.deliver_last()
        await upkeep.settle_crawled(parts.indexing, parts.log)
        await parts.render_service.close()
        await upkeep.settle_pages(parts.page_cache, parts.usage, parts.log)
        await parts.page_cache.close()


def _may_browse(call: Call) -> bool:
    """Whether the call may need a browser: by its address, or because its body asks for one."""
    if call.path.startswith(_BROWSING):
        return True
    if call.path.startswith(_LINES) or call.headers.get("Content-Type", _JSON) != _JSON:  # a file
        return False
    asked: Any = msgspec.json.decode(call.body) if call.body else None
    if not isinstance(asked, dict):
        return False
    return asked.get("render", "never") != "never" or bool(asked.get("actions"))
