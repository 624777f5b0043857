"""The pool of browsers: a limited number of visits at a time, a fair queue, and replacement of worn browsers.

    1  a visit waits for its turn: the number of places is limited, callers alternate, the queue is bounded
    2  it gets a whole browser: an idle one, or a new one if there is memory for it
    3  it gets a new tab in it, with new credentials at the proxy
    4  when it ends, in any way, its tab is closed in the background; then the place is free
    5  a browser that is worn, too large, hung or dead is ended and replaced

If a browser dies by itself, its visit is tried once more in another browser, provided that half of its time
is left. There is no further attempt if we ended the browser because of the page, if two browsers died, or if
the visit has steps: they may have had effects already.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable, Coroutine
from typing import Any, Final

from gossamer.concurrency.periodic import every
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.observe.traces import span
from gossamer.problems import RENDER_FAILED, Problem, Unavailable
from gossamer.reach.browser.cdp import CdpGone, CdpRefused
from gossamer.reach.browser.launcher import Launcher, NoBrowser
from gossamer.reach.browser.running import End, Running
from gossamer.reach.browser.turns import BrowserTurns, Full
from gossamer.reach.http.failures import reason_of
from gossamer.reach.page.rendering import Rendering, ignore_step
from gossamer.reach.page.visit import Step, Visit, VisitResult, render_failed
from gossamer.reach.proxy.credentials import Allowance
from gossamer.reach.proxy.proxy import Proxy
from gossamer.reach.sandbox import memory
from gossamer.reach.sandbox.fence import Fence
from gossamer.web.render.request import RenderErrorCode

START_SECONDS: Final = 15.0
CLOSE_SECONDS: Final = 20.0
PAUSE: Final = 0.02
GRACE: Final = 0.5  # seconds
IDLE_SECONDS: Final = 300.0
UNVISITED_SECONDS: Final = 30.0  # after which a browser goes that was only started to see whether it can be
REAP_SECONDS: Final = 5.0  # between two checks of idle browsers
NEEDED: Final = 300_000_000  # bytes that must be left before a visit begins
USUAL_SECONDS: Final = 2.0  # of a visit, before any was measured


class Browsers:
    def __init__(
        self,
        proxy: Proxy,
        launcher: Launcher,
        log: Log,
        metrics: Metrics,
        *,
        places: int,
        visits_each: int,
        megabytes_each: int,
        queue: int,
        user_agent: str,
        available: Callable[[], int | None] = memory.available,
    ) -> None:
        self._proxy = proxy
        self._launcher = launcher
        self._log = log
        self._metrics = metrics
        self._turns = BrowserTurns(places, queue)
        self._visits_each = visits_each
        self._max_bytes = megabytes_each * 1_000_000
        self._user_agent = user_agent
        self._available = available
        self._idle: list[Running] = []  # the one used last is at the end
        self._alive: set[Running] = set()
        self._chores: set[asyncio.Task[None]] = set()
        self._seconds = USUAL_SECONDS  # average duration of recent visits
        self._missing_scripts: tuple[str, ...] = ()  # as the last browser reported
        self._is_resting = False  # the last browser worked, and was ended because nobody needed it
        self._closed = False
        self._keeper: asyncio.Task[None] | None = None

    @property
    def has_browser(self) -> bool:
        """Whether a browser runs or can be launched. One that is installed later is found."""
        if self._alive:
            return True
        try:
            self._launcher.demand()
        except NoBrowser:
            return False
        return True

    @property
    def fence(self) -> Fence | None:
        """The layers around the browsers; None if we do not start them."""
        return self._launcher.fence

    async def visit(self, visit: Visit, step: Step | None = None) -> VisitResult:
        """Visit a page. Raises `Problem`. One deadline covers everything."""
        began = asyncio.get_running_loop().time()
        outcome = "cancelled"
        try:
            with span("visit"):
                rendered = await self._visit_in_time(visit, began, step or ignore_step)
            outcome = "ok" if rendered.settled else "unsettled"
            return rendered
        except Problem as problem:
            outcome = reason_of(problem) if problem.kind is RENDER_FAILED else problem.kind.name
            raise
        finally:
            self._metrics.visit(outcome, asyncio.get_running_loop().time() - began)

    async def ping(self) -> None:
        """Raises unless a browser answers or can be launched; one that was ended unvisited has shown it."""
        self._demand_open()
        for browser in list(self._idle):
            with contextlib.suppress(CdpGone, CdpRefused, TimeoutError):
                await browser.ping()
                return
        if self._is_resting:
            self._launcher.demand()
        elif not self._alive:
            self._put_back(await self._start(self._now() + START_SECONDS))

    async def missing_scripts(self) -> tuple[str, ...]:
        """The scripts that the browsers have no font for. Each browser is asked once, while it is idle."""
        for browser in list(self._idle):
            if browser.missing_scripts is None:
                with contextlib.suppress(CdpGone, CdpRefused, TimeoutError):
                    await browser.check_fonts()
            self._missing_scripts = browser.missing_scripts or ()
        return self._missing_scripts

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

    async def _visit_in_time(self, visit: Visit, began: float, step: Step) -> VisitResult:
        """Bound the steps that do not have the visit's deadline themselves, such as the callback."""
        try:
            async with asyncio.timeout_at(began + visit.timeout + GRACE):
                return await self._visit(visit, began, step)
        except TimeoutError:
            raise render_failed(
                RenderErrorCode.RENDER_TIMEOUT, f"The page was not done in {visit.timeout:g} seconds"
            ) from None

    async def _visit(self, visit: Visit, began: float, step: Step) -> VisitResult:
        deadline = began + visit.timeout
        if not self._alive:
            self._launcher.demand()
        await step("Waiting for a browser", 5)
        for last in (False, True):
            await self._wait_for_turn(visit.caller, deadline)
            try:
                return await self._visit_once(visit, began, deadline, step)
            except CdpGone:
                self._demand_open()
                if last or visit.actions or self._now() > began + visit.timeout / 2:
                    break
        raise render_failed(
            RenderErrorCode.WORKER_ERROR, "The browser ended while the page was being rendered"
        )

    async def _wait_for_turn(self, caller: str, deadline: float) -> None:
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

    async def _visit_once(self, visit: Visit, began: float, deadline: float, step: Step) -> VisitResult:
        """Run the visit in one browser. Its place is given back after everything of it is closed."""
        stack = contextlib.AsyncExitStack()
        try:
            return await self._visit_in_browser(stack, visit, began, deadline, step)
        finally:
            self._run_later(self._clean_up(stack))

    async def _visit_in_browser(
        self, stack: contextlib.AsyncExitStack, visit: Visit, began: float, deadline: float, step: Step
    ) -> VisitResult:
        self._demand_open()
        start = self._now()
        browser = await self._take_browser(deadline)
        stack.push_async_callback(self._release, browser)
        try:
            tab = await browser.take_tab(deadline, drawn=visit.is_seen)
        except TimeoutError:
            raise render_failed(
                RenderErrorCode.RENDER_TIMEOUT, "The browser had no time for the page"
            ) from None
        stack.push_async_callback(browser.clear, tab)
        credentials = self._proxy.admit(
            Allowance(visit.max_bytes, visit.max_requests, tenant=visit.caller), deadline
        )
        stack.callback(credentials.close)
        watching = asyncio.create_task(browser.watch(tab))
        stack.callback(watching.cancel)
        rendering = Rendering(
            tab,
            visit,
            credentials,
            user_agent=self._user_agent,
            queued=start - began,
            deadline=deadline,
        )
        rendered = await rendering.run(step)
        self._seconds += (self._now() - start - self._seconds) / 8
        return rendered

    async def _clean_up(self, stack: contextlib.AsyncExitStack) -> None:
        try:
            await stack.aclose()
        finally:
            self._turns.give_back()
            self._measure()

    # Browsers.

    async def _take_browser(self, deadline: float) -> Running:
        while self._idle:
            browser = self._idle.pop()
            if not browser.gone:
                return browser
            self._run_later(self._end(browser, "died"))
        return await self._start(deadline)

    async def _start(self, deadline: float) -> Running:
        room = self._available()
        if room is not None and room < NEEDED:
            raise Unavailable("browser", "memory is short", retry_after=self._retry_after())
        engine = await self._launcher.launch(min(deadline, self._now() + START_SECONDS))
        if self._closed:
            await engine.kill()
            self._demand_open()
        clock = asyncio.get_running_loop().time
        browser = Running(engine, context=self._launcher.context, max_bytes=self._max_bytes, clock=clock)
        self._alive.add(browser)
        self._is_resting = False
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())
        return browser

    async def _release(self, browser: Running) -> None:
        """Put the browser back among the idle ones, or end it if it is worn or broken."""
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
        self._metrics.count_browser_end(why)
        if why in ("died", "hung", "memory"):
            self._log.warning("browser_ended", "a browser is replaced", why=why, visits=browser.visits)
        await browser.kill()
        self._measure()

    async def _keep(self) -> None:
        await every(REAP_SECONDS, self._reap)

    async def _reap(self) -> None:
        """End dead browsers and those that were idle for long, but keep one that was visited or is remote."""
        for browser in list(self._idle):
            idle = self._now() - browser.idle_since
            if browser.gone:
                await self._end(browser, "died")
            elif self.fence is not None and not browser.visits and idle > UNVISITED_SECONDS:
                self._is_resting = len(self._alive) == 1
                await self._end(browser, "idle")
            elif len(self._alive) > 1 and idle > IDLE_SECONDS:
                await self._end(browser, "idle")

    # Helpers.

    def _run_later(self, chore: Coroutine[Any, Any, None]) -> None:
        """Run a chore in the background that must be done even if the visit was cancelled."""
        task = asyncio.create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)

    def _demand_open(self) -> None:
        if self._closed:
            raise Unavailable("browser", "it is being closed")

    def _measure(self) -> None:
        self._metrics.browsers(len(self._alive), self._turns.busy, self._turns.waiting)

    def _retry_after(self) -> int:
        """Seconds until the visits that wait now will have been served."""
        seconds = self._seconds * (self._turns.waiting + 1) / self._turns.places
        return max(1, min(60, math.ceil(seconds)))

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
