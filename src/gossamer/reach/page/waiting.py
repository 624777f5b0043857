"""Decides when a page is complete, so that it is read neither too early nor too late.

A page is done as soon as one of these conditions holds, in this order:

    selector   the element that the caller waits for exists
    ready      `window.prerenderReady` is true; while it is false, nothing else counts
    static     there is no script and no pending request, so nothing can change any more
    quiet      no request is pending that content may depend on, and neither the network nor the document has
               changed for a while: a tenth of a second if no timer, animation, worker or socket could still
               add something, else half a second; and no short timer or new worker is pending

Time that merely passes is not waited for in a page that nobody sees. Such a page is `due` when nothing
happens until a timer that is due soon, or until the end of an animation: no request, worker, socket or idle
callback is under way, and the document has been still for a tenth of a second. Then it gets that at once, and
a frame. A callback that is run early and sets itself again for the same moment has looked at the clock: it
gets its time.

A `restless` document keeps changing long after the network is quiet. It is read as it is, and so is one that
is not done after `MAX_SECONDS`. There are two exceptions, which may take all of the visit's time: a page that
is still an empty shell (`shell`) that may yet be filled, and a document that is still arriving. Parts further
down that load when they are seen are made visible, and their requests may take as long too.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Literal, TypeVar

import msgspec
from msgspec import Struct

from gossamer.reach.browser.cdp import NOTHING, CdpRefused
from gossamer.reach.page.shell import GIVEN, PageContent
from gossamer.reach.page.tab import WORLD, Tab, script
from gossamer.reach.page.traffic import PageTraffic
from gossamer.reach.page.visit import Awaited, render_failed
from gossamer.web.render.request import RenderErrorCode

T = TypeVar("T")
How = Literal["selector", "ready", "static", "quiet", "restless", "due", "silent", "unready"]
GrowWindow = Callable[[int, float], Awaitable[None]]  # to a height in pixels, by a deadline
MAX_SECONDS: Final = 10.0  # for most pages
MAX_GROWTHS: Final = 2  # some pages get longer whenever their end is seen
RETRY_SECONDS: Final = 0.05  # between two attempts on a page that changes documents
BOUNDS: Final = {
    "short": 100,  # milliseconds, like the others without a comment
    "long": 500,
    "patience": 2000,
    "restless": 3000,
    "soon": 1000,
    "tick": 20,
    "together": 100,  # timers due within so long are run early together
    "exact": 5,  # timers due within so long are due at the same moment
    "steps": 20,  # times that timers and animations are hastened
    "latest": 200,  # that an idle callback runs, idle or not
    "replaced": 10,  # times
    "deepest": 3,  # timers set by timers
    "words": 40,  # letters; an element with this many is already filled
}


class _World(msgspec.Struct, rename="camel"):
    execution_context_id: int


class _Value(msgspec.Struct):
    value: msgspec.Raw = msgspec.Raw(b"null")


class _Evaluated(msgspec.Struct, rename="camel"):
    result: _Value
    exception_details: msgspec.Raw = NOTHING


class LiveDocument:
    """Runs our scripts in the page, in an isolated world that the page's scripts cannot touch."""

    def __init__(self, tab: Tab, traffic: PageTraffic, secret: str) -> None:
        self._tab = tab
        self._traffic = traffic
        self._names = (f"{secret}-asked", f"{secret}-told")
        self._world: tuple[str, int] | None = None  # the loader of its document, and the id of its context

    def instrumentation(self, max_errors: int, max_error_chars: int) -> str:
        """The script to run before any script of the page."""
        given = [*self._names, {**BOUNDS, "most": max_errors, "longest": max_error_chars}]
        return f"({script('instrument')})(...{msgspec.json.encode(given).decode()})"

    async def run(self, name: str, deadline: float, *given: object) -> msgspec.Raw:
        """Call one of our functions in the current document. Raises `CdpRefused` if that is replaced."""
        shown = self._traffic.answer
        calling = asyncio.create_task(self._call(name, deadline, given))
        replaced = asyncio.create_task(
            self._traffic.until(lambda: self._traffic.answer is not shown, deadline)
        )
        try:
            # If the document is replaced, the browser may never answer the call.
            await asyncio.wait((calling, replaced), return_when=asyncio.FIRST_COMPLETED)
            if not calling.done() and replaced.result():
                raise CdpRefused("the document was replaced")
            return await calling
        finally:
            for task in (calling, replaced):
                task.cancel()
            await asyncio.gather(calling, replaced, return_exceptions=True)

    async def _call(self, name: str, deadline: float, given: tuple[object, ...]) -> msgspec.Raw:
        arguments = [{"value": value} for value in (*self._names, *given)]
        answer = await self._tab.session.ask(
            _Evaluated,
            "Runtime.callFunctionOn",
            deadline,
            functionDeclaration=script(name),
            executionContextId=await self._context(deadline),
            arguments=arguments,
            awaitPromise=True,
            returnByValue=True,
        )
        if answer.exception_details is not NOTHING:
            raise CdpRefused("the page broke off what was asked of it")
        return answer.result.value

    async def _context(self, deadline: float) -> int:
        shown = self._traffic.answer.loader if self._traffic.answer else ""
        if self._world is None or self._world[0] != shown:
            world = await self._tab.session.ask(
                _World, "Page.createIsolatedWorld", deadline, frameId=self._tab.frame, worldName=WORLD
            )
            self._world = shown, world.execution_context_id
        return self._world[1]


async def find(document: LiveDocument, traffic: PageTraffic, selector: str, deadline: float) -> None:
    """Wait for an element until the deadline."""
    if await _observe(traffic, lambda: _look(document, selector, deadline), deadline) is None:
        detail = "The element that was waited for did not appear"
        raise render_failed(
            RenderErrorCode.RENDER_TIMEOUT, detail, selector=selector, awaited=Awaited.SELECTOR
        )


class _Course(Struct):
    """How far the waiting for a page has come."""

    begun: float  # before this nothing counts as still
    hasten: bool  # whether timers and animations may have their end early
    due: int = -1  # how much traffic there had been when only those were left to wait for


async def settle(
    document: LiveDocument,
    traffic: PageTraffic,
    deadline: float,
    end: float,
    grow_window: GrowWindow | None = None,
    *,
    hasten: bool,
) -> Awaited | None:
    """Wait until the page is done. If the deadline comes first, return what the page was waiting for, which
    may be examined until `end`."""
    now = asyncio.get_running_loop().time
    cap, grown, since = min(deadline, now() + MAX_SECONDS), 0, deadline
    course = _Course(now(), hasten)
    while True:
        how = await _observe(traffic, partial(_attempt, document, traffic, cap, course), cap)
        if how in ("ready", "static"):
            return None
        content = await _observe(traffic, partial(_measure, document, end), end)
        if content is None:  # the page does not answer any more
            return _find_awaited(traffic, content)
        is_calm = how in ("quiet", "due")
        if is_calm and grow_window is not None and content.lowest and grown < MAX_GROWTHS:
            since, grown = now(), grown + 1
            await grow_window(content.lowest, end)
            course = _Course(now(), hasten)
        elif how == "due" and now() < cap:
            continue
        elif now() < deadline and (
            traffic.arriving
            or traffic.expects_since(since)  # because the window was grown
            or _will_be_filled(content, traffic, now(), deadline)
        ):
            cap = deadline
        elif how == "quiet" and now() < deadline:
            return Awaited.CONTENT if content.is_late else None
        else:
            return _find_awaited(traffic, content)


async def _observe(traffic: PageTraffic, look: Callable[[], Awaitable[T | None]], cap: float) -> T | None:
    """Repeat `look` until it returns something, on whichever document is current; None when time is up."""
    now = asyncio.get_running_loop().time
    while now() < cap:
        shown = traffic.answer
        try:
            seen = await look()
        except TimeoutError:
            return None
        except CdpRefused:
            if traffic.answer is shown:  # the document was not replaced: do not retry at once
                await asyncio.sleep(RETRY_SECONDS)
            continue
        if seen is not None:
            return seen
    return None


async def _attempt(document: LiveDocument, traffic: PageTraffic, cap: float, course: _Course) -> How | None:
    """Look once. Returns None if there was new traffic meanwhile."""
    if not await traffic.until(lambda: traffic.parsed, cap):
        raise TimeoutError
    how = await _look(document, None, cap, immediate=True)
    if how == "silent":
        if not await traffic.until(traffic.idle, cap):
            raise TimeoutError
        before = traffic.moves
        how = await _look(
            document,
            None,
            cap,
            calm=not traffic.live,
            plain=traffic.scripts == 0,
            quiet=1000 * (asyncio.get_running_loop().time() - max(course.begun, traffic.moved)),
            hasten=course.hasten,
            step=course.due == before,
        )
        if how != "ready" and (traffic.moves != before or not traffic.idle()):
            return None
        course.due = before if how == "due" else -1
    elif how == "unready":
        how = await _look(document, None, cap)
    return how


async def _look(document: LiveDocument, selector: str | None, cap: float, **seen: float) -> How:
    usual = {"calm": False, "plain": False, "immediate": False, "quiet": 0, "hasten": False, "step": False}
    given = {"selector": selector, **usual, **seen, **BOUNDS}
    raw = await document.run("settle", cap, given)
    how: How = msgspec.json.decode(raw, type=How)
    return how


async def _measure(document: LiveDocument, deadline: float) -> PageContent:
    return msgspec.json.decode(await document.run("content", deadline, GIVEN), type=PageContent)


def _will_be_filled(content: PageContent, traffic: PageTraffic, now: float, deadline: float) -> bool:
    return content.is_shell and content.may_be_filled(
        deadline - now, expected=traffic.expects(), live=traffic.live, calm=now - traffic.stirred
    )


def _find_awaited(traffic: PageTraffic, content: PageContent | None) -> Awaited:
    if traffic.arriving:
        return Awaited.DOCUMENT
    if content is not None and not content.ready:
        return Awaited.PRERENDER_READY
    if traffic.expects():
        return Awaited.NETWORK
    return Awaited.CONTENT if content is not None and content.is_shell else Awaited.STILLNESS
