"""PoliteFetcher: fetches files of a site as robots.txt allows, one at a time and each host at its pace."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from gossamer.flows.crawl.politeness.robots import RobotsFiles, Rules
from gossamer.flows.crawl.visiting.page_parser import is_redirect
from gossamer.flows.crawl.visiting.page_processor import redirect_target
from gossamer.problems import Problem, Unavailable
from gossamer.reach.http.fetch import Fetcher
from gossamer.state.crawl.hosts import Hosts
from gossamer.state.crawl.reading.stored_robots import StoredRobots
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.pages.page import Page
from gossamer.web.url.url import Url

MAX_REDIRECTS: Final = 5
SECONDS: Final = 12.0  # for one request


class Refusal(StrEnum):
    """Why something was not fetched, or is of no use."""

    DISALLOWED = "robots_disallowed"
    RULES_UNKNOWN = "robots_unreachable"
    REDIRECTS = "too_many_redirects"


class NotFetched(Exception):
    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason.value)
        self.reason = reason


class PoliteFetcher(Struct, frozen=True):
    fetcher: Fetcher
    robots: RobotsFiles
    hosts: Hosts
    pause: float  # seconds between two requests to a host that names none
    clock: Callable[[], float] = time.time
    ticks: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def begin(self, seconds: float) -> "PoliteRound":
        return PoliteRound(self, self.ticks() + seconds)


class PoliteRound(Struct):
    """The requests of one caller's call. Not for concurrent use."""

    polite: PoliteFetcher
    until: float  # no request is waited for that may only begin later
    _rules: dict[str, Rules] = field(default_factory=dict)  # by site
    _next_at: dict[str, float] = field(default_factory=dict)

    async def rules_of(self, url: Url) -> Rules:
        """Raises `Problem` if there is no such host, or if it may not be visited."""
        known = self._rules.get(url.site)
        if known is None:
            now = int(self.polite.clock() * 1000)
            known = await self.polite.robots.peek(url, await self._stored(url), now)
            self._rules[url.site] = known
        return known

    async def fetch(self, url: Url, max_bytes: int) -> Page:
        """Follows redirects: each address must be allowed. Raises `NotFetched`, `Problem`, or `TimeoutError`
        if the host asks for a longer pause than there is time."""
        at = url
        for _ in range(MAX_REDIRECTS + 1):
            page = await self._ask(at, max_bytes)
            target = redirect_target(page) if is_redirect(page) else ""
            if not target:
                return page
            at = Url.parse(target)
        raise NotFetched(Refusal.REDIRECTS)

    async def _ask(self, url: Url, max_bytes: int) -> Page:
        rules = await self.rules_of(url)
        if rules.unknown:
            raise NotFetched(Refusal.RULES_UNKNOWN)
        if not rules.robots.allows(url.target):
            raise NotFetched(Refusal.DISALLOWED)
        await self._wait(url)
        ask = FetchSpec(url=url, timeout=SECONDS, max_bytes=max_bytes, attempts=1, max_redirects=0)
        try:
            return await self.polite.fetcher.fetch(ask)
        finally:
            pause = self.polite.pause if rules.delay is None else rules.delay
            self._next_at[url.site] = self.polite.ticks() + pause

    async def _wait(self, url: Url) -> None:
        next_at = self._next_at.get(url.site, 0.0)
        if next_at > self.until:
            raise TimeoutError
        if (wait := next_at - self.polite.ticks()) > 0:
            await self.polite.sleep(wait)

    async def _stored(self, url: Url) -> StoredRobots | None:
        try:
            return await self.polite.hosts.robots(url.site)
        except Unavailable:
            return None  # then the host is asked


def reason_of(error: Problem | NotFetched) -> str:
    """In one word, for an answer."""
    if isinstance(error, NotFetched):
        return error.reason.value
    return error.reason or error.kind.code.lower()
