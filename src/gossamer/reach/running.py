"""A running browser: the process, the conversation with it, and a tab that is ready for the next visit.

It serves one visit at a time. Beside what pages cost a browser costs little, and several are as quick as one;
so whatever a page does to its browser, it does to nobody else, and a browser in doubt is ended.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Protocol

import msgspec

from gossamer.reach.cdp import Connection, Gone, Refused, Wire
from gossamer.reach.tab import TOO_HEAVY, Tab

CLOSE_SECONDS: Final = 3.0  # until a page that does not let go of its tab loses the browser
OPEN_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 1.0  # between two looks at the memory of a browser at work
LOOK_VISITS: Final = 10  # between two looks at what visits left; a look costs as much as a fortieth of a page
PING_SECONDS: Final = 2.0

End = Literal["worn", "idle", "died", "hung", "memory", "closed"]  # why a browser was ended


class Engine(Wire, Protocol):
    """What a browser is, wherever it runs."""

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
        self, engine: Engine, *, context: Mapping[str, Any], most_bytes: int, clock: Callable[[], float]
    ) -> None:
        self.visits = 0
        self.idle_since = clock()
        self.end: End | None = None  # why it is of no more use
        self._engine = engine
        self._connection = Connection(engine)
        self._context = context
        self._most_bytes = most_bytes
        self._clock = clock
        self._spare: asyncio.Task[Tab] | None = None
        self._tab: Tab | None = None  # of the visit that is under way
        self._closing: set[asyncio.Task[None]] = set()
        self._connection.listen(self._on_event)

    @property
    def gone(self) -> bool:
        return self._connection.gone

    def warm(self) -> None:
        """Have a tab ready before somebody needs it."""
        if self._spare is None:
            self._spare = asyncio.create_task(self._open_tab())
            self._spare.add_done_callback(_noticed)

    async def _open_tab(self) -> Tab:
        deadline = self._clock() + OPEN_SECONDS
        if self.visits == 0:
            browser = self._connection.browser
            await browser.tell(
                "Target.setDiscoverTargets", deadline, discover=True, filter=[{"type": "page"}]
            )
        return await Tab.open(self._connection, deadline, **self._context)

    async def tab(self, deadline: float) -> Tab:
        """For one visit. Gone if the browser has none to give."""
        self.warm()
        spare = self._spare
        assert spare is not None  # noqa: S101  (made by `warm`)
        try:
            async with asyncio.timeout_at(deadline):
                # Who gives up waiting leaves it to the next: cut off, it would not know what to close.
                tab = await asyncio.shield(spare)
        except (Refused, Gone, TimeoutError) as error:
            if not spare.done():
                raise  # the visit's time is up, not the browser's
            self.end = "hung" if isinstance(error, TimeoutError) else "died"
            raise Gone from error
        self._spare = None
        self._tab = tab
        self.visits += 1
        return tab

    async def watch(self, tab: Tab) -> None:
        """While a visit lasts: a page that takes more memory than there is for it loses its browser."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if await self._weighs_too_much():
                tab.give_up(TOO_HEAVY)
                self.end = "memory"
                await self._engine.kill()
                return

    async def clear(self, tab: Tab) -> None:
        """After a visit. What it left behind goes, or the browser does."""
        for task in self._closing:
            task.cancel()
        self._tab = None
        try:
            await tab.close(self._clock() + CLOSE_SECONDS)
        except (TimeoutError, Gone, Refused):
            self.end = self.end or ("died" if self.gone else "hung")
        else:
            if self.visits % LOOK_VISITS == 0 and await self._weighs_too_much():
                self.end = "memory"
        self.idle_since = self._clock()

    async def ping(self) -> None:
        """Raises if it does not answer."""
        await self._connection.browser.tell("Browser.getVersion", self._clock() + PING_SECONDS)

    async def kill(self) -> None:
        if self._spare is not None:
            self._spare.cancel()
        await self._connection.close()
        await self._engine.kill()

    def _on_event(self, method: str, params: msgspec.Raw) -> None:
        """Pop-ups are closed as they open; a headless shell does not let them open to begin with."""
        if method == "Target.targetCreated" and self._tab is not None:
            target = msgspec.json.decode(params, type=_Created).target_info
            if target.opener_id and target.browser_context_id == self._tab.context:
                task = asyncio.create_task(self._close(target.target_id))
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)

    async def _close(self, target: str) -> None:
        with contextlib.suppress(TimeoutError, Gone, Refused):
            await self._connection.browser.tell(
                "Target.closeTarget", self._clock() + CLOSE_SECONDS, targetId=target
            )

    async def _weighs_too_much(self) -> bool:
        return await asyncio.to_thread(self._engine.memory) > self._most_bytes


def _noticed(task: asyncio.Task[Tab]) -> None:
    """What went wrong is found by whoever takes the tab, and by nobody if nobody does."""
    with contextlib.suppress(asyncio.CancelledError):
        task.exception()
