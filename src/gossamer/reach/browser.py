"""The pool of browsers: places for visits, a fair queue for them, and browsers that are replaced in time.

    1  a visit waits for its turn: so many places, callers in turns, a queue of bounded length
    2  it gets a browser to itself: one that is idle, or a new one if there is memory for it
    3  and in it a tab of its own, behind a pass of its own at the proxy
    4  when it ends, however it ends, its tab is closed in the background; the place is free after that
    5  a browser that is worn, too large, hung or dead is ended and replaced

A browser that dies without our doing takes its visit with it. Such a visit is tried once more in another
browser, if half of its time is left; a page whose browser we had to end had its chance, and so does one that
two browsers died under.
"""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import RENDER_FAILED, Problem, Unavailable
from gossamer.reach import chromium, memory
from gossamer.reach.cdp import Gone, Refused
from gossamer.reach.failures import reason_of
from gossamer.reach.proxy import Allowance, Proxy
from gossamer.reach.rendering import Rendering, nothing
from gossamer.reach.running import End, Engine, Running
from gossamer.reach.turns import Full, Turns
from gossamer.reach.visit import Rendered, Step, Visit, failed

START_SECONDS: Final = 15.0
CLOSE_SECONDS: Final = 20.0
PAUSE: Final = 0.02
GRACE: Final = 0.5  # seconds
IDLE_SECONDS: Final = 300.0
LOOK_SECONDS: Final = 5.0  # between two looks at idle browsers
NEEDED: Final = 300_000_000  # bytes that must be left before a visit begins
USUAL_SECONDS: Final = 2.0  # of a visit, before any was measured

Launch = Callable[[float], Awaitable[Engine]]  # before this moment


class Browsers:
    def __init__(
        self,
        proxy: Proxy,
        binary: Path | None,
        log: Log,
        metrics: Metrics,
        *,
        places: int,
        visits_each: int,
        megabytes_each: int,
        queue: int,
        user_agent: str,
        launch: Launch | None = None,
        context: Mapping[str, Any] | None = None,
        available: Callable[[], int | None] = memory.available,
    ) -> None:
        self._proxy = proxy
        self._launch = launch or partial(_launched, binary, proxy)
        self._context = context or {}  # what every browser context is made with
        self._log = log
        self._metrics = metrics
        self._turns = Turns(places, queue)
        self._visits_each = visits_each
        self._most_bytes = megabytes_each * 1_000_000
        self._user_agent = user_agent
        self._available = available
        self._idle: list[Running] = []  # the one used last is at the end
        self._alive: set[Running] = set()
        self._chores: set[asyncio.Task[None]] = set()
        self._seconds = USUAL_SECONDS  # that a visit takes, lately
        self._closed = False
        self._keeper: asyncio.Task[None] | None = None

    async def visit(self, visit: Visit, step: Step | None = None) -> Rendered:
        """What came of it; a `Problem` if nothing did. One deadline covers everything."""
        began = asyncio.get_running_loop().time()
        outcome = "cancelled"
        try:
            rendered = await self._in_time(visit, began, step or nothing)
            outcome = "ok" if rendered.settled else "unsettled"
            return rendered
        except Problem as problem:
            outcome = reason_of(problem) if problem.kind is RENDER_FAILED else problem.kind.name
            raise
        finally:
            self._metrics.visit(outcome, asyncio.get_running_loop().time() - began)

    async def ping(self) -> None:
        """That there is a browser, or can be."""
        self._demand_open()
        for browser in list(self._idle):
            with contextlib.suppress(Gone, Refused, TimeoutError):
                await browser.ping()
                return
        if not self._alive:
            self._put_back(await self._start(self._now() + START_SECONDS))

    async def close(self) -> None:
        self._closed = True
        if self._keeper is not None:
            self._keeper.cancel()
        await asyncio.gather(*(self._end(browser, "closed") for browser in list(self._alive)))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                while self._turns.busy or self._chores:  # noqa: ASYNC110 - visits end by themselves now
                    await asyncio.sleep(PAUSE)

    # A visit.

    async def _in_time(self, visit: Visit, began: float, step: Step) -> Rendered:
        """What is within has the visit's deadline; this is for what has none, as whoever is told of steps."""
        try:
            async with asyncio.timeout_at(began + visit.timeout + GRACE):
                return await self._visit(visit, began, step)
        except TimeoutError:
            raise failed("render_timeout", f"The page was not done in {visit.timeout:g} seconds") from None

    async def _visit(self, visit: Visit, began: float, step: Step) -> Rendered:
        deadline = began + visit.timeout
        await step("Waiting for a browser", 5)
        for last in (False, True):
            await self._turn(visit.caller, deadline)
            try:
                return await self._once(visit, began, deadline, step)
            except Gone:
                self._demand_open()
                if last or self._now() > began + visit.timeout / 2:
                    break
        raise failed("worker_error", "The browser ended while the page was being rendered")

    async def _turn(self, caller: str, deadline: float) -> None:
        self._demand_open()
        try:
            async with asyncio.timeout_at(deadline):
                await self._turns.take(caller)
        except (Full, TimeoutError):
            raise Unavailable(
                "browser", "too many pages are waiting", retry_after=self._retry_after()
            ) from None
        finally:
            self._measure()

    async def _once(self, visit: Visit, began: float, deadline: float, step: Step) -> Rendered:
        """The visit in one browser. The place is given back when nothing of it is left."""
        stack = contextlib.AsyncExitStack()
        try:
            return await self._in_browser(stack, visit, began, deadline, step)
        finally:
            self._later(self._afterwards(stack))

    async def _in_browser(
        self, stack: contextlib.AsyncExitStack, visit: Visit, began: float, deadline: float, step: Step
    ) -> Rendered:
        self._demand_open()
        start = self._now()
        browser = await self._browser(deadline)
        stack.push_async_callback(self._release, browser)
        try:
            tab = await browser.tab(deadline)
        except TimeoutError:
            raise failed("render_timeout", "The browser had no time for the page") from None
        stack.push_async_callback(browser.clear, tab)
        admitted = self._proxy.admit(Allowance(visit.max_bytes, visit.max_requests), deadline)
        stack.callback(admitted.close)
        watching = asyncio.create_task(browser.watch(tab))
        stack.callback(watching.cancel)
        rendering = Rendering(
            tab,
            visit,
            admitted,
            user_agent=self._user_agent,
            queued=start - began,
            deadline=deadline,
        )
        rendered = await rendering.run(step)
        self._seconds += (self._now() - start - self._seconds) / 8
        return rendered

    async def _afterwards(self, stack: contextlib.AsyncExitStack) -> None:
        try:
            await stack.aclose()
        finally:
            self._turns.give_back()
            self._measure()

    # Browsers.

    async def _browser(self, deadline: float) -> Running:
        while self._idle:
            browser = self._idle.pop()
            if not browser.gone:
                return browser
            self._later(self._end(browser, "died"))
        return await self._start(deadline)

    async def _start(self, deadline: float) -> Running:
        room = self._available()
        if room is not None and room < NEEDED:
            raise Unavailable("browser", "memory is short", retry_after=self._retry_after())
        engine = await self._launch(min(deadline, self._now() + START_SECONDS))
        if self._closed:
            await engine.kill()
            self._demand_open()
        clock = asyncio.get_running_loop().time
        browser = Running(engine, context=self._context, most_bytes=self._most_bytes, clock=clock)
        self._alive.add(browser)
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())
        return browser

    async def _release(self, browser: Running) -> None:
        """Back among the idle, if it is still good for something."""
        if browser.end is None and browser.visits >= self._visits_each:
            browser.end = "worn"
        if browser.end is not None or browser.gone or self._closed:
            await self._end(browser, browser.end or "died")
        else:
            self._put_back(browser)

    def _put_back(self, browser: Running) -> None:
        browser.warm()
        self._idle.append(browser)
        self._measure()

    async def _end(self, browser: Running, why: End) -> None:
        if browser not in self._alive:
            return
        self._alive.discard(browser)
        if browser in self._idle:
            self._idle.remove(browser)
        self._metrics.browser_ended(why)
        if why in ("died", "hung", "memory"):
            self._log.warning("browser_ended", "a browser is replaced", why=why, visits=browser.visits)
        await browser.kill()
        self._measure()

    async def _keep(self) -> None:
        """The dead are buried, and who has had nothing to do for long goes; the last one stays."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for browser in list(self._idle):
                if browser.gone:
                    await self._end(browser, "died")
                elif len(self._alive) > 1 and self._now() - browser.idle_since > IDLE_SECONDS:
                    await self._end(browser, "idle")

    # Odds.

    def _later(self, chore: Coroutine[Any, Any, None]) -> None:
        """What must be done though nobody waits for it, and whoever asked may be gone."""
        task = asyncio.create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)

    def _demand_open(self) -> None:
        if self._closed:
            raise Unavailable("browser", "it is being closed")

    def _measure(self) -> None:
        self._metrics.browsers(len(self._alive), self._turns.busy, self._turns.waiting)

    def _retry_after(self) -> int:
        """Seconds until those who wait now will have been served."""
        seconds = self._seconds * (self._turns.waiting + 1) / self._turns.places
        return max(1, min(60, math.ceil(seconds)))

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


async def _launched(binary: Path | None, proxy: Proxy, deadline: float) -> Engine:
    if binary is None:
        raise Unavailable("browser", "no Chromium was found on this machine", retry_after=60)
    return await chromium.launch(binary, proxy, deadline=deadline)
