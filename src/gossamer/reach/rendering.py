"""Rendering: one visit in one tab, from the address to what came of it."""

import asyncio
import secrets
from collections.abc import Coroutine
from typing import Any, Final

import msgspec

from gossamer.problems import INVALID_SELECTOR, Problem
from gossamer.reach import printing
from gossamer.reach import shot as shots
from gossamer.reach.cdp import NOTHING, Gone, Refused
from gossamer.reach.dial import BLOCKED, blocked
from gossamer.reach.failures import too_large
from gossamer.reach.posing import pose
from gossamer.reach.proxy import Pass, Refusal
from gossamer.reach.tab import Manner, Tab
from gossamer.reach.traffic import Answer, Traffic
from gossamer.reach.visit import (
    NO_ANSWER,
    NO_PAGE,
    Capture,
    Rendered,
    Shot,
    Step,
    Timings,
    Visit,
    failed,
)
from gossamer.reach.waiting import Document, settle
from gossamer.web.page import Hop, Page
from gossamer.web.url import Url

MOST_ERRORS: Final = 20
LONGEST_ERROR: Final = 500  # characters
LONGEST_DOCUMENT: Final = 20_000_000  # characters
REFUSED: Final = "gossamer-refused"  # how the proxy marks an answer of its own


class _Navigation(msgspec.Struct, rename="camel"):
    error_text: str = ""
    is_download: bool = False


class _Selected(msgspec.Struct, rename="camel"):
    exception_details: msgspec.Raw = NOTHING


class _Serialised(msgspec.Struct):
    html: str
    length: int
    url: str
    errors: list[str]


async def nothing(_doing: str, _percent: int) -> None:
    """For whom nobody watches."""


class Rendering:
    def __init__(
        self, tab: Tab, visit: Visit, admitted: Pass, *, user_agent: str, queued: float, deadline: float
    ) -> None:
        self._tab = tab
        self._visit = visit
        self._pass = admitted
        self._deadline = deadline
        self._queued = queued  # seconds
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._traffic = Traffic(
            tab.frame,
            self._loop.time,
            tab.give_up,
            pictures=visit.capture is not None,
            largest=visit.max_bytes if visit.capture is not None else visit.max_document,
        )
        self._document = Document(tab, self._traffic, secrets.token_hex(8))
        self._manner = Manner(
            user=admitted.user,
            password=admitted.password,
            user_agent=visit.user_agent or user_agent,
            pictures=visit.capture is not None,
            stays=not visit.follow,
            headers=visit.headers,
            origin=visit.url.origin,
        )

    async def run(self, step: Step = nothing) -> Rendered:
        """Raises Gone when the browser went away under it."""
        try:
            return await self._run(step)
        except TimeoutError:
            raise self._late() from None
        except (Gone, Refused) as error:
            if self._tab.led_to:
                return self._led_on()
            raise self._explained(error) from error

    async def _run(self, step: Step) -> Rendered:
        began = self._began
        await step("Opening the page", 20)
        await self._navigate()
        arrived = self._loop.time()
        await step("Waiting for the page's scripts", 50)
        settled = await self._settle()
        done = self._loop.time()
        await step("Reading the page", 80)
        try:
            serialised = await self._serialise()
        except Refused:  # it went on to another document at the last moment
            settled = await self._settle()
            serialised = await self._serialise()
        capture = await self._captured()
        end = self._loop.time()
        return Rendered(
            page=self._page(serialised, self._queued + end - began),
            capture=capture,
            console=tuple(serialised.errors),
            bytes=self._pass.received,
            requests=self._pass.requests,
            refused=self._pass.refusals,
            settled=settled,
            timings=Timings(
                *(round(1000 * time) for time in (self._queued, arrived - began, done - arrived, end - done))
            ),
        )

    @property
    def _reserve(self) -> float:
        """Seconds that are kept for reading the page."""
        if self._visit.capture is not None:
            return min(5.0, self._visit.timeout / 3)
        return min(2.0, self._visit.timeout / 5)

    # There.

    async def _navigate(self) -> None:
        visit, tab, deadline = self._visit, self._tab, self._deadline
        before: list[Coroutine[Any, Any, None]] = tab.begin(self._manner, self._traffic.hear, deadline)
        shot = visit.capture if isinstance(visit.capture, Shot) else None
        if shot is not None:
            before += shots.prepare(tab, shot, deadline)
        before += [
            self._checked(selector) for selector in (visit.wait_for, shot and shot.selector) if selector
        ]
        keeper = self._document.doorkeeper(MOST_ERRORS, LONGEST_ERROR)
        before.append(tab.session.tell("Page.addScriptToEvaluateOnNewDocument", deadline, source=keeper))
        await asyncio.gather(*before)
        navigation = await tab.session.ask(_Navigation, "Page.navigate", deadline, url=visit.url.href)
        if self._tab.led_to:
            raise Gone
        if navigation.error_text or navigation.is_download:
            raise self._unreached(navigation)
        await self._traffic.until(lambda: self._traffic.answer is not None, deadline)
        self._check_way()

    async def _checked(self, selector: str) -> None:
        """Asked of an empty page, so that nobody is visited for nothing."""
        expression = (
            f"document.createDocumentFragment().querySelector({msgspec.json.encode(selector).decode()})"
        )
        answer = await self._tab.session.ask(
            _Selected, "Runtime.evaluate", self._deadline, expression=expression
        )
        if answer.exception_details is not NOTHING:
            raise Problem(
                INVALID_SELECTOR,
                f"{selector[:200]!r} is not a CSS selector",
                details={"selector": selector[:200]},
            )

    def _check_way(self) -> None:
        """The page must be one that was meant to be visited, and nothing of ours in its place."""
        if self._tab.led_to:
            raise Gone
        if self._tab.trouble:
            raise self._given_up()
        if not self._pass.alive:  # its bytes are used up; its time is ours
            raise self._too_large()
        answer = self._traffic.answer
        if answer is not None and any(name == REFUSED for name, _ in answer.headers):
            refusal = self._refusal(answer.url)
            if refusal is not None:
                raise _unadmitted(refusal)

    def _unreached(self, navigation: _Navigation) -> Problem:
        refusal = self._refusal(self._traffic.asked or self._visit.url.href)
        if refusal is not None:
            return _unadmitted(refusal)
        if not self._pass.alive:  # its bytes are used up; its time is ours
            return self._too_large()
        if navigation.is_download or navigation.error_text == "net::ERR_ABORTED":
            return failed(
                "page_error", "The address leads to a file or to nothing, not to a page", cause=NO_PAGE
            )
        code = navigation.error_text.removeprefix("net::")
        return failed("network_error", f"The page could not be had ({code})", cause=code)

    def _too_large(self) -> Problem:
        return failed("page_error", f"The page takes more than {self._visit.max_bytes:,} bytes")

    def _refusal(self, asked: str) -> Refusal | None:
        try:
            url = Url.parse(asked)
        except Problem:
            return None
        found = [
            refusal for refusal in self._pass.refused if (refusal.host, refusal.port) == (url.host, url.port)
        ]
        return found[-1] if found else None

    # And back.

    async def _settle(self) -> bool:
        deadline = self._deadline - self._reserve
        settled = await settle(self._document, self._traffic, self._visit.wait_for, deadline)
        self._check_way()
        return settled

    async def _serialise(self) -> _Serialised:
        raw = await self._document.run("serialise", self._deadline, LONGEST_DOCUMENT)
        serialised = msgspec.json.decode(raw, type=_Serialised)
        if serialised.length > LONGEST_DOCUMENT:
            raise failed("page_error", f"The page has more than {LONGEST_DOCUMENT:,} characters")
        return serialised

    async def _captured(self) -> Capture | None:
        wanted = self._visit.capture
        if wanted is None:
            return None
        reach = shots.reach(wanted) if isinstance(wanted, Shot) else printing.REACH
        await pose(self._document, self._traffic, reach, self._deadline)
        if isinstance(wanted, Shot):
            return await shots.take(self._tab, self._document, wanted, self._deadline)
        return await printing.take(self._tab, wanted, self._deadline)

    def _page(self, serialised: _Serialised, elapsed: float) -> Page:
        answer = self._traffic.answer or Answer("", "")
        try:
            final = Url.parse(serialised.url)
        except Problem:
            raise self._astray(serialised.url) from None
        return Page(
            url=self._visit.url.href,
            final_url=final.href.partition("#")[0],
            status=answer.status,
            headers=answer.headers,
            body=serialised.html.encode(),
            media_type="text/html",
            charset="utf-8",
            redirects=tuple(self._traffic.hops) if self._visit.follow else (),
            via="render",
            wire_bytes=self._pass.received,
            elapsed_ms=round(elapsed * 1000),
        )

    def _led_on(self) -> Rendered:
        """A redirect, or a page that was there only to send its visitor on."""
        visit, hops, elapsed = self._visit, self._traffic.hops, self._loop.time() - self._began
        answer = self._traffic.answer or Answer("", "")
        status = answer.status or (hops[-1].status if hops else 0)
        page = Page(
            url=visit.url.href,
            final_url=self._tab.led_to,
            status=status,
            headers=answer.headers,
            body=b"",
            media_type="text/html",
            charset="utf-8",
            redirects=(Hop(visit.url.href.partition("#")[0], status),),
            via="render",
            wire_bytes=self._pass.received,
            elapsed_ms=round(1000 * (self._queued + elapsed)),
        )
        return Rendered(
            page=page,
            capture=None,
            console=(),
            bytes=self._pass.received,
            requests=self._pass.requests,
            refused=self._pass.refusals,
            settled=True,
            timings=Timings(round(1000 * self._queued), round(1000 * elapsed), 0, 0),
        )

    def _astray(self, where: str) -> Problem:
        refusal = self._refusal(self._traffic.asked)
        if refusal is not None:
            return _unadmitted(refusal)
        if where.startswith("chrome-error:"):
            return failed(
                "network_error", "The page led on to one that could not be had", url=self._traffic.asked
            )
        return failed("page_error", "The page led on to something that is not on the web")

    def _late(self) -> Problem:
        if self._traffic.answer is None and self._traffic.asked:
            detail = f"The target said nothing in {self._visit.timeout:g} seconds"
            return failed("render_timeout", detail, cause=NO_ANSWER)
        return failed("render_timeout", f"The page was not done in {self._visit.timeout:g} seconds")

    def _given_up(self) -> Problem:
        if self._traffic.too_large:
            return too_large(self._visit.max_document)
        return failed("page_error", self._tab.trouble)

    def _explained(self, error: Exception) -> Exception:
        if self._tab.trouble:
            return self._given_up()
        if isinstance(error, Gone):
            return error
        return failed("page_error", f"The page could not be read ({error})")


def _unadmitted(refusal: Refusal) -> Problem:
    if refusal.reason in BLOCKED:
        return blocked(refusal.host, refusal.port, refusal.reason, refusal.rule)
    return failed(
        "network_error",
        f"{refusal.host}:{refusal.port} cannot be had ({refusal.reason})",
        cause=refusal.reason,
    )
