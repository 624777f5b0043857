"""Takes the steps of a caller on a page, one after the other, and reports each.

A step waits until it can be taken, within its own timeout and the time of the visit. If it leads to another
document, the next step comes after that has arrived. Steps use the browser as a visitor does: by mouse, keys
and the page's own scripts. So everything that they cause goes through the proxy, like all that a page does.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from gossamer.problems import ACTION_FAILED, CAPTURE_TOO_LARGE, CONTENT_TOO_LARGE, Problem
from gossamer.reach.browser.cdp import NOTHING, CdpRefused, mend
from gossamer.reach.page import screenshot
from gossamer.reach.page.acting import keyboard
from gossamer.reach.page.tab import Tab, script
from gossamer.reach.page.traffic import PageTraffic
from gossamer.reach.page.visit import Screenshot
from gossamer.reach.page.waiting import RETRY_SECONDS, LiveDocument
from gossamer.reach.page.window import BrowserWindow
from gossamer.web.render.actions import (
    MAX_RESULT_CHARS,
    MAX_RESULTS_CHARS,
    MAX_SCREENSHOT_BYTES,
    ActionError,
    ActionFault,
    ActionReport,
    ClickAction,
    EvaluateAction,
    PageAction,
    PressAction,
    ScreenshotAction,
    ScrollAction,
    SelectAction,
    TypeAction,
    WaitAction,
    type_of,
)

MAX_ERROR_CHARS: Final = 200
GRACE: Final = 0.5  # seconds, for the browser to say that it has ended a script

_SENTENCES: Final = {
    ActionFault.ELEMENT_NOT_FOUND: "no element matches",
    ActionFault.ELEMENT_HIDDEN: "the element cannot be seen",
    ActionFault.ELEMENT_COVERED: "another element covers it",
    ActionFault.NOT_EDITABLE: "nothing can be typed into the element",
    ActionFault.NOT_A_SELECT: "the element is no `select`",
    ActionFault.OPTION_NOT_FOUND: "the element has no such option",
    ActionFault.NAVIGATION_FAILED: "it led to a page that could not be had",
    ActionFault.SCRIPT_ERROR: "the script has thrown an error",
    ActionFault.RESULT_NOT_JSON: "the result cannot be written as JSON",
    ActionFault.RESULT_TOO_LARGE: f"the result has more than {MAX_RESULT_CHARS:,} characters",
    ActionFault.SCREENSHOT_TOO_LARGE: "the picture is too large",
    ActionFault.DOCUMENT_REPLACED: "the page went on to another document",
    ActionFault.TIMEOUT: "its time was up",
}


class _StepFailed(Exception):
    def __init__(self, fault: ActionFault, more: str = "") -> None:
        super().__init__(fault)
        self.fault = fault
        self.more = more

    def to_error(self) -> ActionError:
        more = f": {self.more}" if self.more else ""
        return ActionError(self.fault, f"{_SENTENCES[self.fault]}{more}")


class _Located(msgspec.Struct):
    x: float = 0.0
    y: float = 0.0
    fault: ActionFault | None = None


class _ReturnedText(msgspec.Struct):
    value: str = ""


class _Returned(msgspec.Struct, rename="camel"):
    result: _ReturnedText = msgspec.field(default_factory=_ReturnedText)
    exception_details: msgspec.Raw = NOTHING


class Steps:
    def __init__(
        self,
        tab: Tab,
        document: LiveDocument,
        traffic: PageTraffic,
        arrive: Callable[[], Awaitable[object]],
        *,
        window: BrowserWindow,
        end: float,
    ) -> None:
        self._tab = tab
        self._document = document
        self._traffic = traffic
        self._arrive = arrive  # waits until a new document is done; raises `Problem` if it is none to show
        self._window = window
        self._end = end
        self._pictures = 0  # bytes
        self._results = 0  # characters
        self._now = asyncio.get_running_loop().time

    async def take_all(self, actions: tuple[PageAction, ...]) -> tuple[ActionReport, ...]:
        """Raises `Problem` for the first step that fails and is not optional."""
        reports: list[ActionReport] = []
        for number, action in enumerate(actions):
            report = await self._take(action)
            reports.append(report)
            if not report.ok and not action.optional:
                raise _failed(number, report, reports)
        return tuple(reports)

    async def _take(self, action: PageAction) -> ActionReport:
        began = self._now()
        limit = min(self._end, began + action.timeout / 1000)
        self._traffic.begin_step()
        outcome: dict[str, Any] = {}
        try:
            outcome = await self._do(action, limit)
        except _StepFailed as failed:
            outcome["error"] = failed.to_error()
        except TimeoutError:
            outcome["error"] = _StepFailed(ActionFault.TIMEOUT).to_error()
        except CdpRefused:
            outcome["error"] = _StepFailed(ActionFault.DOCUMENT_REPLACED).to_error()
        elapsed = round(1000 * (self._now() - began))
        return ActionReport(type=type_of(action), ok="error" not in outcome, elapsed_ms=elapsed, **outcome)

    async def _do(self, action: PageAction, limit: float) -> dict[str, Any]:
        """Take one step. Returns what its report has beside."""
        shown = self._traffic.answer
        match action:
            case WaitAction():
                await self._wait(action, limit)
            case ClickAction():
                await self._click(action.selector, limit)
            case TypeAction():
                await self._type(action, limit)
            case PressAction():
                await keyboard.press(self._tab.session, action.key, limit)
            case ScrollAction():
                given = (action.selector or None, action.direction or None, action.amount or None)
                await self._until_done("steps/scroll", limit, *given)
            case SelectAction():
                await self._until_done("steps/choose", limit, action.selector, action.value)
            case ScreenshotAction():
                return {"screenshot": await self._take_picture(action, limit)}
            case EvaluateAction():
                result = await self._evaluate(action.script, limit)
                await self._follow(shown)
                return {"result": result}
        await self._follow(shown)
        return {}

    # Where a step leads.

    async def _follow(self, shown: object) -> None:
        """If the step leads to another document, wait for that."""
        traffic = self._traffic
        await self._await_events()
        if not await traffic.until(lambda: traffic.answer is not shown or not traffic.navigating, self._end):
            raise TimeoutError
        if traffic.answer is shown:
            return
        try:
            await self._arrive()
        except Problem as problem:
            raise _StepFailed(ActionFault.NAVIGATION_FAILED, problem.detail) from None

    async def _await_events(self) -> None:
        """The page tells of a navigation before it answers the next question."""
        try:
            await self._document.run("steps/present", min(self._end, self._now() + GRACE), "html")
        except (CdpRefused, TimeoutError):
            return

    # What a step does.

    async def _wait(self, action: WaitAction, limit: float) -> None:
        if action.selector:
            await self._until_done("steps/present", limit, action.selector)
            return
        moment = self._now() + (action.milliseconds or 0) / 1000
        await asyncio.sleep(min(moment, self._end) - self._now())
        if moment > self._end:
            raise TimeoutError

    async def _click(self, selector: str, limit: float) -> None:
        place = await self._locate(selector, limit)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            await self._tab.session.tell(
                "Input.dispatchMouseEvent", limit, type=kind, x=place.x, y=place.y, **button
            )

    async def _type(self, action: TypeAction, limit: float) -> None:
        if action.selector:
            await self._until_done("steps/focus", limit, action.selector)
        for character in action.text.replace("\r\n", "\n"):
            await keyboard.press(self._tab.session, character, limit)

    async def _take_picture(self, action: ScreenshotAction, limit: float) -> bytes:
        wanted = Screenshot(full_page=action.full_page, scale=self._window.scale)
        try:
            picture = (await screenshot.take(self._tab, self._document, wanted, limit)).body
        except Problem as problem:
            if problem.kind not in (CAPTURE_TOO_LARGE, CONTENT_TOO_LARGE):
                raise
            raise _StepFailed(ActionFault.SCREENSHOT_TOO_LARGE, problem.detail) from None
        self._pictures += len(picture)
        if self._pictures > MAX_SCREENSHOT_BYTES:
            most = f"all of a visit have at most {MAX_SCREENSHOT_BYTES:,} bytes"
            raise _StepFailed(ActionFault.SCREENSHOT_TOO_LARGE, most)
        return picture

    async def _evaluate(self, source: str, limit: float) -> Any:
        """Run a script in the page's own world, where it can do what the page can and nothing else."""
        given = msgspec.json.encode((source, MAX_RESULT_CHARS, MAX_ERROR_CHARS)).decode()
        shown = self._traffic.answer
        try:
            returned = await self._tab.session.ask(
                _Returned,
                "Runtime.evaluate",
                min(limit + GRACE, self._end),
                expression=f"({script('steps/evaluate')})(...{given})",
                awaitPromise=True,
                returnByValue=True,
                timeout=max(1, round(1000 * (limit - self._now()))),
            )
        except CdpRefused:
            if self._traffic.answer is not shown or self._traffic.navigating:
                return UNSET  # it went on to another document, which has no result
            raise TimeoutError from None  # the browser ended it
        if returned.exception_details is not NOTHING:
            raise TimeoutError
        self._results += len(returned.result.value)
        if self._results > MAX_RESULTS_CHARS:
            raise _StepFailed(
                ActionFault.RESULT_TOO_LARGE, f"all of a visit have at most {MAX_RESULTS_CHARS:,}"
            )
        return _to_result(returned.result.value)

    # Elements.

    async def _locate(self, selector: str, limit: float) -> _Located:
        """Wait until an element can be clicked and does not move."""
        before: _Located | None = None
        while True:
            now: _Located | None = await self._look("steps/locate", limit, _Located, selector)
            if now is not None and now.fault is None and now == before:
                return now
            before = now or before
            await self._pause(limit, before.fault if before else None)

    async def _until_done(self, name: str, limit: float, *given: object) -> None:
        """Repeat one of our functions until it can do what it should."""
        fault: str | None = None
        while fault != "":
            seen: str | None = await self._look(name, limit, str, *given)
            fault = fault if seen is None else seen
            if fault != "":
                await self._pause(limit, ActionFault(fault) if fault else None)

    async def _look(self, name: str, limit: float, kind: type[Any], *given: object) -> Any:
        """None if the document was replaced meanwhile, or has not answered in time."""
        try:
            return msgspec.json.decode(await self._document.run(name, limit, *given), type=kind)
        except (CdpRefused, TimeoutError):
            return None

    async def _pause(self, limit: float, fault: ActionFault | None) -> None:
        if self._now() + RETRY_SECONDS >= limit:
            raise _StepFailed(fault or ActionFault.TIMEOUT)
        await asyncio.sleep(RETRY_SECONDS)


def _to_result(text: str) -> Any:
    """As `evaluate.js` says it."""
    match text[:1]:
        case "=":
            return msgspec.json.decode(mend(text[1:].encode("utf-8", "replace")))
        case "!":
            raise _StepFailed(ActionFault(text[1:]))
        case "?":
            raise _StepFailed(ActionFault.SCRIPT_ERROR, text[1:])
    return UNSET


def _failed(number: int, report: ActionReport, reports: list[ActionReport]) -> Problem:
    """Without results and pictures: a request that fails costs nothing, so it brings nothing either."""
    error = report.error
    assert error is not UNSET  # noqa: S101  (it is not ok)
    return Problem(
        ACTION_FAILED,
        f"The step {number} ({report.type}) failed: {error.message}",
        hint="Wait for what the step needs, or mark it as `optional` if the page can do without it.",
        details={
            "action": number,
            "type": report.type,
            "reason": error.code.value,
            "actions": [msgspec.to_builtins(replace(one, result=UNSET, screenshot=UNSET)) for one in reports],
        },
    )
