"""Waiting: how long a page is given until it is read, so that it is complete and no moment is wasted.

A page is done when one of these is so, in this order:

    selector   the element that the caller waits for is there
    ready      `window.prerenderReady` is true; while it is false, nothing else counts
    static     no script, and nothing under way: what was parsed is all there will be
    quiet      no request under way that content may wait for, and the document unchanged for a while: a tenth
               of a second where no timer, animation, worker or socket could still bring something, else half
               a second; and no short timer or new worker that is still to have its say

`restless` is a document that goes on changing with the network long quiet, and is not waited for; neither is
one that uses up the time there is. Both are read as they stand.
"""

import asyncio
from typing import Final, Literal

import msgspec

from gossamer.reach.cdp import NOTHING, Refused
from gossamer.reach.tab import WORLD, Tab, script
from gossamer.reach.traffic import Traffic
from gossamer.reach.visit import failed

How = Literal["selector", "ready", "static", "quiet", "restless", "silent", "unready"]
CAP: Final = 10.0  # seconds; a selector may take all the time there is
AGAIN: Final = 0.05  # seconds between looks at a page that is changing documents
BOUNDS: Final = {
    "short": 100,  # milliseconds, as all that do not say otherwise
    "long": 500,
    "patience": 2000,
    "restless": 3000,
    "soon": 1000,
    "tick": 20,
    "replaced": 10,  # times
    "deepest": 3,  # timers set by timers
}


class _World(msgspec.Struct, rename="camel"):
    execution_context_id: int


class _Value(msgspec.Struct):
    value: msgspec.Raw = msgspec.Raw(b"null")


class _Evaluated(msgspec.Struct, rename="camel"):
    result: _Value
    exception_details: msgspec.Raw = NOTHING


class Document:
    """The page as our own code sees it: from a world that the page's code cannot touch."""

    def __init__(self, tab: Tab, traffic: Traffic, secret: str) -> None:
        self._tab = tab
        self._traffic = traffic
        self._names = (f"{secret}-asked", f"{secret}-told")
        self._world: tuple[str, int] | None = None  # of which document, and its number

    def doorkeeper(self, most_errors: int, longest_error: int) -> str:
        """What is run before anything of the page's."""
        given = [*self._names, {**BOUNDS, "most": most_errors, "longest": longest_error}]
        return f"({script('doorkeeper')})(...{msgspec.json.encode(given).decode()})"

    async def run(self, name: str, deadline: float, *given: object) -> msgspec.Raw:
        """Call a function of ours in the document that is shown. Refused if that is being replaced."""
        shown = self._traffic.answer
        calling = asyncio.create_task(self._call(name, deadline, given))
        replaced = asyncio.create_task(
            self._traffic.until(lambda: self._traffic.answer is not shown, deadline)
        )
        try:
            # A document that goes may take what it was asked with it, and the browser then says nothing.
            await asyncio.wait((calling, replaced), return_when=asyncio.FIRST_COMPLETED)
            if not calling.done() and replaced.result():
                raise Refused("the document was replaced")
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
            raise Refused("the page broke off what was asked of it")
        return answer.result.value

    async def _context(self, deadline: float) -> int:
        shown = self._traffic.answer.loader if self._traffic.answer else ""
        if self._world is None or self._world[0] != shown:
            world = await self._tab.session.ask(
                _World, "Page.createIsolatedWorld", deadline, frameId=self._tab.frame, worldName=WORLD
            )
            self._world = shown, world.execution_context_id
        return self._world[1]


async def settle(document: Document, traffic: Traffic, selector: str | None, deadline: float) -> bool:
    """Wait until the page is done; whether it was, rather than that time was up."""
    loop = asyncio.get_running_loop()
    cap = deadline if selector is not None else min(deadline, loop.time() + CAP)
    while loop.time() < cap:
        shown = traffic.answer
        try:
            how = await _attempt(document, traffic, selector, cap)
        except TimeoutError:
            break
        except Refused:
            if traffic.answer is shown:  # neither replaced nor answering: not at this rate
                await asyncio.sleep(AGAIN)
            continue
        if how is not None:
            return how != "restless"
    if selector is not None:
        raise failed("render_timeout", "The element that was waited for did not appear", selector=selector)
    return False


async def _attempt(document: Document, traffic: Traffic, selector: str | None, cap: float) -> How | None:
    """None if the page moved on meanwhile."""
    if selector is not None:
        return await _look(document, selector, cap)
    if not await traffic.until(lambda: traffic.parsed, cap):
        raise TimeoutError
    how = await _look(document, None, cap, glance=True)
    if how == "silent":
        if not await traffic.until(traffic.idle, cap):
            raise TimeoutError
        before = traffic.moves
        how = await _look(document, None, cap, calm=not traffic.live, plain=traffic.scripts == 0)
        if how != "ready" and (traffic.moves != before or not traffic.idle()):
            return None
    elif how == "unready":
        how = await _look(document, None, cap)
    return how


async def _look(document: Document, selector: str | None, cap: float, **seen: bool) -> How:
    given = {"selector": selector, "calm": False, "plain": False, "glance": False, **seen, **BOUNDS}
    raw = await document.run("settle", cap, given)
    how: How = msgspec.json.decode(raw, type=How)
    return how
