"""Obtain: a page by a plain fetch if that will do, else by a browser."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from gossamer.flows.pages.browse import Browsing
from gossamer.flows.render.render import refuse_large
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Problem, Unavailable
from gossamer.reach.browser.launcher import NoBrowser
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.page.visit import NO_PAGE, Visit
from gossamer.web.outcome.outcome import Judgement
from gossamer.web.pages.page import Page, essence
from gossamer.web.pages.page_request import ATTEMPTS, Target

T = TypeVar("T")

MIN_SECONDS: Final = 0.001  # once the time is up, a request is still made, and refused where it is made
# Content that a browser shows as it is. It shows anything else in its own viewer, which is not the page.
_DOCUMENTS: Final = frozenset({"", "text/html", "application/xhtml+xml"})


@dataclass(frozen=True, slots=True)
class Obtainer:
    fetcher: Fetcher
    browsing: Browsing | None

    async def obtain(
        self,
        request: Target,
        caller: Caller,
        make: Callable[[Page], Awaitable[T]],
        judgement_of: Callable[[T], Judgement],
        attempts: int = ATTEMPTS,
    ) -> tuple[Page, T]:
        """The page, and what `make` makes of it.

        A browser is used if the request asks for one, and in mode `auto` if the plain page is judged to be
        an empty shell. If there is no Chromium, the shell is the result. `attempts` are those of a fetch; a
        browser has one.
        """
        left = _countdown(request.seconds)
        if request.rendering == "always":
            page = await self._show(request, caller, left)
            if page is None:
                page = await self.fetcher.fetch(request.within(left(), attempts))
            return page, await make(page)
        plain = await self.fetcher.fetch(request.within(left(), attempts))
        made = await make(plain)
        if request.rendering == "never" or judgement_of(made).reason != "script_needed":
            return plain, made
        try:
            page = await self._render(request, caller, left)
        except NoBrowser:
            return plain, made  # it is judged to be a shell, and says so
        return replace(page, elapsed_ms=plain.elapsed_ms + page.elapsed_ms), await make(page)

    async def _show(self, request: Target, caller: Caller, left: Callable[[], float]) -> Page | None:
        """As a browser shows it; None if it has only a download or a viewer for it: JSON, PDF, images."""
        try:
            page = await self._render(request, caller, left)
        except Problem as problem:
            if problem.cause == NO_PAGE:
                return None
            raise
        return page if essence(page.header("content-type") or "") in _DOCUMENTS else None

    async def _render(self, request: Target, caller: Caller, left: Callable[[], float]) -> Page:
        if self.browsing is None:
            raise Unavailable("browser", "there is none here")
        visit = Visit(
            url=request.address,
            caller=caller.tenant_id,
            timeout=left(),
            wait_for=request.wait_for,
            headers=request.header_pairs,
        )
        page = (await self.browsing.visit(visit, caller)).page
        refuse_large(page)
        return page


def _countdown(seconds: float) -> Callable[[], float]:
    clock = asyncio.get_running_loop().time
    deadline = clock() + seconds
    return lambda: max(MIN_SECONDS, deadline - clock())
