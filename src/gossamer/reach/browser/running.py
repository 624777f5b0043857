"""A running browser: the process, the connection to it, and a tab that is ready for the next page to read.

It serves one visit at a time, so a page can harm only its own visit, and a broken browser can be ended at
once. A browser costs little compared with the pages in it, and several browsers are as quick as one.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Protocol

import msgspec

from gossamer.concurrency.periodic import every
from gossamer.reach.browser.cdp import CdpConnection, CdpGone, CdpRefused, Wire
from gossamer.reach.page import fonts
from gossamer.reach.page.tab import Tab
from gossamer.reach.page.visit import PageTrouble

CLOSE_SECONDS: Final = 3.0  # after which a browser that cannot close a tab is ended
OPEN_SECONDS: Final = 10.0
WATCH_SECONDS: Final = 1.0  # between two measurements of a browser during a visit
WEIGH_VISITS: Final = 10  # between two measurements of an idle browser; one costs a fortieth of a page
PING_SECONDS: Final = 2.0

End = Literal["worn", "idle", "died", "hung", "memory", "closed"]  # why a browser was ended


class Engine(Wire, Protocol):
    """A browser process, here or on another machine."""

    def memory(self) -> int: ...
    async def kill(self) -> None: ...


class _Target(msgspec.Struct, rename="camel"):
    target_id: str
    browser_context_id: str = ""
    opener_id: str = ""


class _Created(msgspec.Struct, rename="camel"):
    target_info: _Target


class Running:
    def __init__(
        self, engine: Engine, *, context: Mapping[str, Any], max_bytes: int, clock: Callable[[], float]
    ) -> None:
        self.visits = 0
        self.idle_since = clock()
        self.end: End | None = None  # why it cannot be used any more
        self._engine = engine
        self._connection = CdpConnection(engine)
        self._context = context
        self._max_bytes = max_bytes
        self._clock = clock
        self.missing_scripts: tuple[str, ...] | None = None  # None until it was asked
        self._spares: dict[bool, asyncio.Task[Tab]] = {}  # by whether they are drawn
        self._has_undrawn = True  # until it refuses one
        self._tab: Tab | None = None  # of the visit that is under way
        self._closing: set[asyncio.Task[None]] = set()
        self._connection.listen(self._on_event)

    @property
    def gone(self) -> bool:
        return self._connection.gone

    def warm(self, *, drawn: bool = False) -> None:
        """Open a tab before the next visit needs it. Most visits only read the page."""
        if drawn not in self._spares:
            self._spares[drawn] = asyncio.create_task(self._open_tab(drawn=drawn))
            self._spares[drawn].add_done_callback(_retrieve_exception)

    async def _open_tab(self, *, drawn: bool) -> Tab:
        deadline = self._clock() + OPEN_SECONDS
        if self.visits == 0:
            browser = self._connection.browser
            await browser.tell(
                "Target.setDiscoverTargets", deadline, discover=True, filter=[{"type": "page"}]
            )
        if self._has_undrawn and not drawn:
            try:
                return await Tab.open(self._connection, deadline, drawn=False, **self._context)
            except CdpRefused:
                self._has_undrawn = False
        return await Tab.open(self._connection, deadline, **self._context)

    async def take_tab(self, deadline: float, *, drawn: bool) -> Tab:
        """Take a tab for one visit. Raises `CdpGone` if the browser cannot open one."""
        kind = drawn and self._has_undrawn  # otherwise all are drawn
        self.warm(drawn=kind)
        spare = self._spares[kind]
        try:
            async with asyncio.timeout_at(deadline):
                # A visit that gives up leaves the tab to the next; a cancelled tab could not be closed.
                tab = await asyncio.shield(spare)
        except (CdpRefused, CdpGone, TimeoutError) as error:
            if not spare.done():
                raise  # the visit's time is up, not the browser's
            self.end = "hung" if isinstance(error, TimeoutError) else "died"
            raise CdpGone from error
        del self._spares[kind]
        self._tab = tab
        self.visits += 1
        return tab

    async def watch(self, tab: Tab) -> None:
        """End the browser if the page of the current visit takes too much memory."""

        async def look() -> bool:
            if not await self._weighs_too_much():
                return True
            tab.give_up(PageTrouble.OUT_OF_MEMORY)
            self.end = "memory"
            await self._engine.kill()
            return False

        await every(WATCH_SECONDS, look)

    async def clear(self, tab: Tab) -> None:
        """Close the tab after a visit. If that fails, mark the browser as broken."""
        for task in self._closing:
            task.cancel()
        self._tab = None
        try:
            await tab.close(self._clock() + CLOSE_SECONDS)
        except (TimeoutError, CdpGone, CdpRefused):
            self.end = self.end or ("died" if self.gone else "hung")
        else:
            if self.visits % WEIGH_VISITS == 0 and await self._weighs_too_much():
                self.end = "memory"
        self.idle_since = self._clock()

    async def ping(self) -> None:
        """Raises if it does not answer."""
        await self._connection.browser.tell("Browser.getVersion", self._clock() + PING_SECONDS)

    async def check_fonts(self) -> None:
        """Find out which scripts it has no font for. Raises if it does not answer."""
        deadline = self._clock() + OPEN_SECONDS
        tab = await Tab.open(self._connection, deadline, **self._context)
        try:
            self.missing_scripts = await fonts.missing_in(tab, deadline)
        finally:
            await tab.close(self._clock() + CLOSE_SECONDS)

    async def kill(self) -> None:
        for spare in self._spares.values():
            spare.cancel()
        await self._connection.close()
        await self._engine.kill()

    def _on_event(self, method: str, params: msgspec.Raw) -> None:
        """Close pop-ups as they open. A headless shell does not open them at all."""
        if method == "Target.targetCreated" and self._tab is not None:
            target = msgspec.json.decode(params, type=_Created).target_info
            if target.opener_id and target.browser_context_id == self._tab.context:
                task = asyncio.create_task(self._close(target.target_id))
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)

    async def _close(self, target: str) -> None:
        with contextlib.suppress(TimeoutError, CdpGone, CdpRefused):
            await self._connection.browser.tell(
                "Target.closeTarget", self._clock() + CLOSE_SECONDS, targetId=target
            )

    async def _weighs_too_much(self) -> bool:
        return await asyncio.to_thread(self._engine.memory) > self._max_bytes


def _retrieve_exception(task: asyncio.Task[Tab]) -> None:
    """The error is raised when the tab is taken. If it is never taken, asyncio must not log it."""
    with contextlib.suppress(asyncio.CancelledError):
        task.exception()
