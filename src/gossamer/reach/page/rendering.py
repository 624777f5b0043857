"""Renders one visit in one tab, from navigation to its result."""

import asyncio
import secrets
from typing import Final

import msgspec
from msgspec.structs import replace

from gossamer.problems import Problem
from gossamer.reach.browser.cdp import CdpGone, CdpRefused
from gossamer.reach.http.failures import too_large
from gossamer.reach.net.dial import BLOCKED, blocked
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.reach.page import cookie_jar, fonts, printing, screenshot
from gossamer.reach.page.acting.steps import Steps
from gossamer.reach.page.preparing import prepare
from gossamer.reach.page.tab import Tab
from gossamer.reach.page.traffic import DocumentResponse, PageTraffic
from gossamer.reach.page.visit import (
    NO_ANSWER,
    NO_PAGE,
    Awaited,
    Capture,
    PageTrouble,
    Print,
    Screenshot,
    Step,
    Timings,
    Visit,
    VisitResult,
    given_up,
    render_failed,
)
from gossamer.reach.page.waiting import LiveDocument, find, settle
from gossamer.reach.page.window import window_of
from gossamer.reach.proxy.credentials import VisitCredentials, VisitRefusal
from gossamer.web.pages.page import Hop, Page
from gossamer.web.render.actions import ActionReport
from gossamer.web.render.cookies import PageCookie
from gossamer.web.render.request import RenderErrorCode
from gossamer.web.url.url import Url

MAX_CONSOLE_ERRORS: Final = 20
MAX_ERROR_CHARS: Final = 500
MAX_DOCUMENT_CHARS: Final = 20_000_000
CAPTURE_PATIENCE: Final = 5.0  # seconds at most, and at most half of what is left
REFUSED: Final = "gossamer-refused"  # the field that marks answers of the proxy itself


class _Navigation(msgspec.Struct, rename="camel"):
    error_text: str = ""
    is_download: bool = False


class _Serialised(msgspec.Struct):
    html: str
    length: int
    url: str
    errors: list[str]


async def ignore_step(_doing: str, _percent: int) -> None:
    """Default progress callback: ignores every step."""


class Rendering:
    def __init__(
        self,
        tab: Tab,
        visit: Visit,
        credentials: VisitCredentials,
        *,
        user_agent: str,
        queued: float,
        deadline: float,
    ) -> None:
        self._tab = tab
        self._visit = visit = replace(visit, user_agent=visit.user_agent or user_agent)
        self._credentials = credentials
        self._deadline = deadline
        self._queued = queued  # seconds
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._traffic = PageTraffic(
            tab.frame,
            self._loop.time,
            tab.give_up,
            pictures=visit.needs_pictures,
            max_bytes=visit.max_bytes if visit.needs_pictures else visit.max_document,
        )
        self._hops: tuple[Hop, ...] = ()  # before the first step
        self._document = LiveDocument(tab, self._traffic, secrets.token_hex(8))

    async def run(self, step: Step = ignore_step) -> VisitResult:
        """Raises `CdpGone` if the browser ends during the visit."""
        try:
            return await self._run(step)
        except TimeoutError:
            raise self._explain_timeout() from None
        except (CdpGone, CdpRefused) as error:
            if self._tab.led_to:
                return self._to_redirect()
            raise self._explain(error) from error

    async def _run(self, step: Step) -> VisitResult:
        began = self._began
        await step("Opening the page", 20)
        await self._navigate()
        arrived = self._loop.time()
        await step("Waiting for the page's scripts", 50)
        awaited = await self._await_page()
        self._hops = tuple(self._traffic.hops)
        reports = await self._take_steps()
        if reports:
            awaited = await self._settle()
        done = self._loop.time()
        await step("Reading the page", 80)
        try:
            serialised = await self._serialise()
        except CdpRefused:  # another document replaced it at the last moment
            awaited = await self._settle() if reports else await self._await_page()
            serialised = await self._serialise()
        capture = await self._capture()
        cookies = await self._take_cookies(serialised.url)
        end = self._loop.time()
        return VisitResult(
            page=self._to_page(serialised, self._queued + end - began),
            capture=capture,
            console=tuple(serialised.errors),
            bytes=self._credentials.received,
            requests=self._credentials.requests,
            refused=self._credentials.refusals,
            actions=reports,
            cookies=cookies,
            awaited=awaited,
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

    # Navigation.

    async def _navigate(self) -> None:
        visit, tab, deadline = self._visit, self._tab, self._deadline
        before = tab.begin(visit, self._credentials, self._traffic.hear, deadline)
        before += prepare(tab, visit, deadline)
        source = self._document.instrumentation(MAX_CONSOLE_ERRORS, MAX_ERROR_CHARS)
        before.append(tab.session.tell("Page.addScriptToEvaluateOnNewDocument", deadline, source=source))
        await asyncio.gather(*before)
        navigation = await tab.session.ask(_Navigation, "Page.navigate", deadline, url=visit.url.href)
        if self._tab.led_to:
            raise CdpGone
        if navigation.error_text or navigation.is_download:
            raise self._explain_unreached(navigation)
        await self._traffic.until(lambda: self._traffic.answer is not None, deadline)
        self._check_arrival()

    def _check_arrival(self) -> None:
        """Raise unless this is the page itself, and not an answer of our proxy in its place."""
        if self._tab.led_to:
            raise CdpGone
        if self._tab.trouble is not None:
            raise self._explain_trouble(self._tab.trouble)
        if not self._credentials.alive:  # its bytes are used up; its time is ours
            raise self._too_large()
        answer = self._traffic.answer
        if answer is not None and any(name == REFUSED for name, _ in answer.headers):
            refusal = self._refusal(answer.url)
            if refusal is not None:
                raise _explain_refusal(refusal)

    def _explain_unreached(self, navigation: _Navigation) -> Problem:
        refusal = self._refusal(self._traffic.asked or self._visit.url.href)
        if refusal is not None:
            return _explain_refusal(refusal)
        if not self._credentials.alive:  # its bytes are used up; its time is ours
            return self._too_large()
        if navigation.is_download or navigation.error_text == "net::ERR_ABORTED":
            return render_failed(
                RenderErrorCode.PAGE_ERROR,
                "The address leads to a file or to nothing, not to a page",
                cause=NO_PAGE,
            )
        code = navigation.error_text.removeprefix("net::")
        return render_failed(RenderErrorCode.NETWORK_ERROR, f"The page could not be had ({code})", cause=code)

    def _too_large(self) -> Problem:
        return render_failed(
            RenderErrorCode.PAGE_ERROR, f"The page takes more than {self._visit.max_bytes:,} bytes"
        )

    def _refusal(self, asked: str) -> VisitRefusal | None:
        try:
            url = Url.parse(asked)
        except Problem:
            return None
        found = [
            refusal
            for refusal in self._credentials.refused
            if (refusal.host, refusal.port) == (url.host, url.port)
        ]
        return found[-1] if found else None

    # Reading the page.

    async def _await_page(self) -> Awaited | None:
        """Wait for the element that the caller has named, else until the page is done."""
        if self._visit.wait_for is None:
            return await self._settle()
        await find(self._document, self._traffic, self._visit.wait_for, self._deadline - self._reserve)
        self._check_arrival()
        return None

    async def _settle(self) -> Awaited | None:
        # A picture shows the window as it is; a capture scrolls through the page itself.
        grow_window = None if self._visit.needs_pictures else self._tab.grow_window
        deadline = self._deadline - self._reserve
        awaited = await settle(
            self._document,
            self._traffic,
            deadline,
            self._deadline,
            grow_window,
            hasten=not self._visit.is_seen,
        )
        self._check_arrival()
        return awaited

    async def _take_steps(self) -> tuple[ActionReport, ...]:
        if not self._visit.actions:
            return ()
        steps = Steps(
            self._tab,
            self._document,
            self._traffic,
            self._arrive,
            window=window_of(self._visit),
            end=self._deadline - self._reserve,
        )
        return await steps.take_all(self._visit.actions)

    async def _arrive(self) -> None:
        """Wait until the page that a step has led to is done. Raises `Problem` if there is none."""
        answer = self._traffic.answer
        if answer is not None and answer.url.startswith("chrome-error:"):
            raise self._explain_astray(answer.url)
        await self._settle()

    async def _take_cookies(self, url: str) -> tuple[PageCookie, ...] | None:
        if not self._visit.return_cookies:
            return None
        return await cookie_jar.take_out(self._tab.session, url, self._deadline)

    async def _serialise(self) -> _Serialised:
        raw = await self._document.run("serialise", self._deadline, MAX_DOCUMENT_CHARS)
        serialised = msgspec.json.decode(raw, type=_Serialised)
        if serialised.length > MAX_DOCUMENT_CHARS:
            raise render_failed(
                RenderErrorCode.PAGE_ERROR, f"The page has more than {MAX_DOCUMENT_CHARS:,} characters"
            )
        return serialised

    async def _capture(self) -> Capture | None:
        wanted = self._visit.capture
        if wanted is None:
            return None
        try:
            return await self._take_capture(wanted)
        except (Problem, CdpGone, CdpRefused, TimeoutError):
            if self._visit.needs_capture:
                raise
            return None

    async def _take_capture(self, wanted: Screenshot | Print) -> Capture:
        reach = screenshot.reach(wanted) if isinstance(wanted, Screenshot) else printing.REACH
        await self._prepare_capture(reach)
        missing = await fonts.missing_on(self._document, self._deadline)
        if isinstance(wanted, Screenshot):
            capture = await screenshot.take(self._tab, self._document, wanted, self._deadline)
        else:
            capture = await printing.take(self._tab, wanted, self._deadline)
        return replace(capture, missing_scripts=missing)

    async def _prepare_capture(self, reach: float) -> None:
        """Scroll down to `reach` so that lazy parts load, and end animations."""
        now = self._loop.time()
        patience = min(CAPTURE_PATIENCE, max(0.0, (self._deadline - now) / 2))
        await self._document.run("scroll_through", self._deadline, reach, patience * 1000)
        await self._traffic.until(self._traffic.idle, now + patience)
        await self._document.run("freeze", self._deadline)

    def _to_page(self, serialised: _Serialised, elapsed: float) -> Page:
        answer = self._traffic.answer or DocumentResponse("", "")
        try:
            final = Url.parse(serialised.url)
        except Problem:
            raise self._explain_astray(serialised.url) from None
        return Page(
            url=self._visit.url.href,
            final_url=final.href.partition("#")[0],
            status=answer.status,
            headers=answer.headers,
            body=serialised.html.encode(),
            media_type="text/html",
            charset="utf-8",
            redirects=(self._hops if self._visit.actions else tuple(self._traffic.hops))
            if self._visit.follow
            else (),
            via="render",
            wire_bytes=self._credentials.received,
            elapsed_ms=round(elapsed * 1000),
        )

    def _to_redirect(self) -> VisitResult:
        """The result for a redirect, or for a page that only sends its visitor on."""
        visit, hops, elapsed = self._visit, self._traffic.hops, self._loop.time() - self._began
        answer = self._traffic.answer or DocumentResponse("", "")
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
            wire_bytes=self._credentials.received,
            elapsed_ms=round(1000 * (self._queued + elapsed)),
        )
        return VisitResult(
            page=page,
            capture=None,
            console=(),
            bytes=self._credentials.received,
            requests=self._credentials.requests,
            refused=self._credentials.refusals,
            timings=Timings(round(1000 * self._queued), round(1000 * elapsed), 0, 0),
        )

    def _explain_astray(self, where: str) -> Problem:
        refusal = self._refusal(self._traffic.asked)
        if refusal is not None:
            return _explain_refusal(refusal)
        if where.startswith("chrome-error:"):
            return render_failed(
                RenderErrorCode.NETWORK_ERROR,
                "The page led on to one that could not be had",
                url=self._traffic.asked,
            )
        return render_failed(
            RenderErrorCode.PAGE_ERROR, "The page led on to something that is not on the web"
        )

    def _explain_timeout(self) -> Problem:
        if self._traffic.answer is None and self._traffic.asked:
            detail = f"The target said nothing in {self._visit.timeout:g} seconds"
            return render_failed(
                RenderErrorCode.RENDER_TIMEOUT, detail, cause=NO_ANSWER, awaited=Awaited.DOCUMENT
            )
        detail = f"The page was not done in {self._visit.timeout:g} seconds"
        return render_failed(RenderErrorCode.RENDER_TIMEOUT, detail, awaited=Awaited.STILLNESS)

    def _explain_trouble(self, trouble: PageTrouble) -> Problem:
        if trouble is PageTrouble.TOO_LARGE:
            return too_large(self._visit.max_document)
        return given_up(trouble)

    def _explain(self, error: Exception) -> Exception:
        if self._tab.trouble is not None:
            return self._explain_trouble(self._tab.trouble)
        if isinstance(error, CdpGone):
            return error
        return render_failed(RenderErrorCode.PAGE_ERROR, f"The page could not be read ({error})")


def _explain_refusal(refusal: VisitRefusal) -> Problem:
    if refusal.reason in BLOCKED:
        return blocked(refusal.host, refusal.port, FetchReason(refusal.reason), refusal.rule)
    return render_failed(
        RenderErrorCode.NETWORK_ERROR,
        f"{refusal.host}:{refusal.port} cannot be had ({refusal.reason})",
        cause=refusal.reason,
    )
