"""Obtain: a page by a plain fetch if that will do, else by a browser."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from gossamer.flows.pages.browse import Browsing
from gossamer.flows.render.render import refuse_large
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Problem, Unavailable
from gossamer.reach.browser.launcher import NoBrowser
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.page.visit import NO_PAGE, Print, Screenshot, Visit, VisitResult
from gossamer.web.pages.page import Page, essence
from gossamer.web.pages.page_request import ATTEMPTS, Target
from gossamer.web.render.actions import ActionReport
from gossamer.web.render.cookies import PageCookie
from gossamer.web.render.set_cookies import cookies_after
from gossamer.web.render.visit_figures import VisitFigures

T = TypeVar("T")

MIN_SECONDS: Final = 0.001  # once the time is up, a request is still made, and refused where it is made
# Content that a browser shows as it is. It shows anything else in its own viewer, which is not the page.
_DOCUMENTS: Final = frozenset({"", "text/html", "application/xhtml+xml"})


class Obtained(Struct, Generic[T], frozen=True):
    """A page, what was made of it, and what its visit left besides."""

    page: Page
    made: T
    actions: tuple[ActionReport, ...]
    cookies: tuple[PageCookie, ...] | UnsetType
    visit: VisitFigures | UnsetType = UNSET  # if a browser was used


class Obtainer(Struct, frozen=True):
    fetcher: Fetcher
    browsing: Browsing | None
    clock: Callable[[], float] = time.time

    async def obtain(
        self,
        request: Target,
        caller: Caller,
        make: Callable[[Page], Awaitable[T]],
        needs_browser: Callable[[T], bool],
        attempts: int = ATTEMPTS,
    ) -> Obtained[T]:
        """The page, and what `make` makes of it.

        A browser is used if the request asks for one, and in mode `auto` if the plain page seems to be an
        empty shell. If there is no Chromium, the shell is the result. `attempts` are those of a fetch; a
        browser has one.
        """
        left = _countdown(request.seconds)
        if request.rendering == "always":
            shown = await self._show(request, caller, left)
            if shown is not None:
                return _shown(shown.page, await make(shown.page), shown)
            page = await self.fetcher.fetch(request.within(left(), attempts, caller.tenant_id))
            return self._fetched(request, page, await make(page))
        plain = await self.fetcher.fetch(request.within(left(), attempts, caller.tenant_id))
        made = await make(plain)
        if request.rendering == "never" or not needs_browser(made):
            return self._fetched(request, plain, made)
        try:
            visited = await self._render(request, caller, left)
        except NoBrowser:
            return self._fetched(request, plain, made)  # it says so itself
        page = replace(visited.page, elapsed_ms=plain.elapsed_ms + visited.page.elapsed_ms)
        return _shown(page, await make(page), visited)

    def _fetched(self, request: Target, page: Page, made: T) -> Obtained[T]:
        wanted = request.return_cookies
        cookies = cookies_after(request.cookies, page, self.clock()) if wanted else UNSET
        return Obtained(page, made, (), cookies)

    async def _show(self, request: Target, caller: Caller, left: Callable[[], float]) -> VisitResult | None:
        """As a browser shows it; None if it has only a download or a viewer for it: JSON, PDF, images. Steps
        that were taken are never left out of the answer."""
        try:
            shown = await self._render(request, caller, left)
        except Problem as problem:
            if problem.cause == NO_PAGE and not request.actions:
                return None
            raise
        is_page = essence(shown.page.header("content-type") or "") in _DOCUMENTS
        return shown if is_page or request.actions else None

    async def _render(self, request: Target, caller: Caller, left: Callable[[], float]) -> VisitResult:
        if self.browsing is None:
            raise Unavailable("browser", "there is none here")
        visited = await self.browsing.visit(visit_of(request, caller.tenant_id, left()), caller)
        refuse_large(visited.page)
        return visited


def visit_of(
    request: Target, tenant: str, seconds: float, capture: Screenshot | Print | None = None
) -> Visit:
    """The visit of a browser that a request asks for."""
    return Visit(
        url=request.address,
        caller=tenant,
        timeout=seconds,
        wait_for=request.wait_for,
        headers=request.header_pairs,
        visitor=request.visitor,
        actions=request.actions,
        cookies=request.cookies,
        return_cookies=request.return_cookies,
        block=frozenset(request.block),
        capture=capture,
    )


def cookies_of(visited: VisitResult) -> tuple[PageCookie, ...] | UnsetType:
    return UNSET if visited.cookies is None else visited.cookies


def _shown(page: Page, made: T, visited: VisitResult) -> Obtained[T]:
    return Obtained(page, made, visited.actions, cookies_of(visited), visited.figures)


def _countdown(seconds: float) -> Callable[[], float]:
    clock = asyncio.get_running_loop().time
    deadline = clock() + seconds
    return lambda: max(MIN_SECONDS, deadline - clock())
