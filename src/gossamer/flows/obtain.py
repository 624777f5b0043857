"""Obtain: a page, however it must be got: by a plain fetch where that will do, else by a browser."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

from gossamer.flows.admit import Caller
from gossamer.flows.browse import Browsing
from gossamer.flows.render import refuse_large
from gossamer.problems import Problem, Unavailable
from gossamer.reach.fetch import Ask, Fetcher
from gossamer.reach.visit import NO_PAGE, Visit
from gossamer.web.outcome import Judgement
from gossamer.web.page import Page, essence
from gossamer.web.url import Url

Rendering = Literal["never", "auto", "always"]
T = TypeVar("T")

LEAST: Final = 0.001  # seconds: what is asked for when the time is up is refused where it is asked for
# What a browser shows as it is. Anything else it shows in a viewer of its own, which is not the page.
_DOCUMENTS: Final = frozenset({"", "text/html", "application/xhtml+xml"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    url: Url
    headers: tuple[tuple[str, str], ...] = ()
    timeout: float = 10.0  # seconds for the page, whoever gets it
    attempts: int = 3  # of a fetch; a browser has one
    render: Rendering = "never"
    wait_for: str | None = None  # a CSS selector, for the browser


@dataclass(frozen=True, slots=True)
class Obtainer:
    fetcher: Fetcher
    browsing: Browsing | None

    async def obtain(
        self,
        errand: Errand,
        caller: Caller,
        make: Callable[[Page], Awaitable[T]],
        judged: Callable[[T], Judgement],
    ) -> tuple[Page, T]:
        """The page, and what `make` makes of it.

        A browser is used when it is asked for, and in mode `auto` when what was made of the plain page is
        judged to be an empty shell.
        """
        left = _countdown(errand.timeout)
        if errand.render == "always":
            page = await self._shown(errand, caller, left) or await self._fetched(errand, left)
            return page, await make(page)
        plain = await self._fetched(errand, left)
        made = await make(plain)
        if errand.render == "never" or judged(made).reason != "script_needed":
            return plain, made
        page = await self._rendered(errand, caller, left)
        return replace(page, elapsed_ms=plain.elapsed_ms + page.elapsed_ms), await make(page)

    async def _fetched(self, errand: Errand, left: Callable[[], float]) -> Page:
        ask = Ask(url=errand.url, headers=errand.headers, timeout=left(), attempts=errand.attempts)
        return await self.fetcher.fetch(ask)

    async def _shown(self, errand: Errand, caller: Caller, left: Callable[[], float]) -> Page | None:
        """As a browser shows it; None for what it only hands out or has a viewer for: JSON, PDF, images."""
        try:
            page = await self._rendered(errand, caller, left)
        except Problem as problem:
            if (problem.members.get("details") or {}).get("cause") == NO_PAGE:
                return None
            raise
        return page if essence(page.header("content-type") or "") in _DOCUMENTS else None

    async def _rendered(self, errand: Errand, caller: Caller, left: Callable[[], float]) -> Page:
        if self.browsing is None:
            raise Unavailable("browser", "there is none here")
        visit = Visit(
            url=errand.url,
            caller=caller.tenant_id,
            timeout=left(),
            wait_for=errand.wait_for,
            headers=errand.headers,
        )
        page = (await self.browsing.visit(visit, caller)).page
        refuse_large(page)
        return page


def _countdown(seconds: float) -> Callable[[], float]:
    clock = asyncio.get_running_loop().time
    deadline = clock() + seconds
    return lambda: max(LEAST, deadline - clock())
