"""The rules of a host: its robots.txt, valid for an hour, stored with the host and in the hot store.

If the robots.txt may exist but cannot be fetched, the host is not crawled for an hour (RFC 9309, 2.3.1.4). A
delay is obeyed up to the operator's bound, since a longer one only means "never".
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final

import msgspec
from msgspec import Struct, field

from gossamer import problems
from gossamer.flows.crawl.frontier_batcher import FrontierBatcher
from gossamer.problems import Problem, Unavailable
from gossamer.reach.http.failures import is_transient, reason_of
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.state.crawl.hosts import FoundRobots, HostLease
from gossamer.state.crawl.reading.stored_robots import StoredRobots
from gossamer.state.kv.hot import Hot
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.robots.robots import MAX_ROBOTS_BYTES, Robots, RobotsAccess, access_of, from_answer
from gossamer.web.url.url import Url

VALID_SECONDS: Final = 3600.0
TIMEOUT: Final = 10.0
PAUSES: Final = (2.0, 4.0)  # seconds between attempts
MAX_PARSED: Final = 256
NOT_THERE: Final = 404


class Rules(Struct, frozen=True):
    robots: Robots
    status: int | None  # None: there was no answer
    delay: float | None = None  # seconds between two requests
    again: bool = False  # it was unknown before too, for an hour

    @property
    def unknown(self) -> bool:
        """Whether the host may have rules that could not be fetched."""
        return access_of(self.status) is RobotsAccess.DISALLOW_ALL


Passage = Callable[[], AbstractAsyncContextManager[None]]
_stored: Final = msgspec.msgpack.Decoder(StoredRobots)


class RobotsFiles(Struct):
    fetcher: Fetcher
    batcher: FrontierBatcher
    hot: Hot
    agent: str
    max_delay: float  # seconds
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    timeout: float = TIMEOUT
    _known: OrderedDict[tuple[int | None, str], Robots] = field(default_factory=OrderedDict)

    async def of(
        self, lease: HostLease, url: Url, now: int, passage: Passage = nullcontext
    ) -> tuple[Rules, bool]:
        """The rules of the host of `url`, and whether they were fetched now, each attempt through `passage`.
        Raises `Problem` if there is no such host, or if it may not be visited."""
        stored = lease.robots if lease.robots is not None and lease.robots.expires_at > now else None
        asked = False
        if stored is None:
            stored = await self._get_hot(lease.host, now)
        if stored is None:
            stored, asked = await self._fetch(url, now, passage), True
            await self._keep(lease, stored)
        before, robots = lease.robots, self._parse(stored)
        again = asked and before is not None and _is_unknown(before)
        delay = None if robots.delay is None else min(robots.delay, self.max_delay)
        return Rules(robots, stored.status, delay, again), asked

    async def peek(self, url: Url, stored: StoredRobots | None, now: int) -> Rules:
        """The rules of a host that need not be leased: those that are known, or else it is asked once.
        Raises `Problem` like `of`."""
        if stored is None or stored.expires_at <= now:
            stored = await self._get_hot(url.site, now)
        if stored is None:
            status, body = await self._attempt(url)
            expires_at = now + int(VALID_SECONDS * 1000)
            stored = StoredRobots(status=status, body=body, fetched_at=now, expires_at=expires_at)
            await self._keep_hot(url.site, stored)
        robots = self._parse(stored)
        return Rules(robots, stored.status, robots.delay)

    def _parse(self, stored: StoredRobots) -> Robots:
        """Cached, because parsing many rules takes milliseconds, and many hosts have the same rules."""
        key = (stored.status, stored.body)
        robots = self._known.pop(key, None) or from_answer(stored.status, stored.body, self.agent)
        self._known[key] = robots
        while len(self._known) > MAX_PARSED:
            self._known.popitem(last=False)
        return robots

    async def _fetch(self, url: Url, now: int, passage: Passage) -> StoredRobots:
        status: int | None = None
        body = ""
        for pause in (*PAUSES, None):
            async with passage():
                status, body = await self._attempt(url)
            if access_of(status) is not RobotsAccess.DISALLOW_ALL or pause is None:
                break
            await self.sleep(pause)
        expires_at = now + int(VALID_SECONDS * 1000)
        return StoredRobots(status=status, body=body, fetched_at=now, expires_at=expires_at)

    async def _attempt(self, url: Url) -> tuple[int | None, str]:
        ask = FetchSpec(url=url.join("/robots.txt"), timeout=self.timeout, attempts=1)
        try:
            page = await self.fetcher.fetch(ask)
        except Unavailable:
            raise
        except Problem as problem:
            if is_transient(problem):
                return None, ""
            if problem.kind is problems.INVALID_URL or _is_nowhere(problem):
                if _is_elsewhere(problem, ask.url):
                    return (
                        None,
                        "",
                    )  # the host exists, but its robots.txt redirects to an address that does not
                raise
            return NOT_THERE, ""  # an endless redirect or an unreadable answer counts as no robots.txt
        return page.status, page.body[: MAX_ROBOTS_BYTES + 1].decode("utf-8", "surrogateescape")

    async def _get_hot(self, host: str, now: int) -> StoredRobots | None:
        try:
            raw = await self.hot.get(_key(host))
        except Unavailable:
            return None
        if raw is None:
            return None
        stored = _stored.decode(raw)
        return stored if stored.expires_at > now else None

    async def _keep(self, lease: HostLease, stored: StoredRobots) -> None:
        await self.batcher.keep_robots(FoundRobots(lease, stored, self._parse(stored).allows("/")))
        await self._keep_hot(lease.host, stored)

    async def _keep_hot(self, host: str, stored: StoredRobots) -> None:
        if not _is_unknown(stored):
            with contextlib.suppress(Unavailable):
                await self.hot.put(_key(host), msgspec.msgpack.encode(stored), VALID_SECONDS)


async def forget(hot: Hot, host: str) -> None:
    """Forget the rules of a host, so that the next crawl fetches them."""
    with contextlib.suppress(Unavailable):
        await hot.drop(_key(host))


def _key(host: str) -> str:
    return f"crawl:robots:{host}"


def _is_unknown(stored: StoredRobots) -> bool:
    return access_of(stored.status) is RobotsAccess.DISALLOW_ALL


def _is_elsewhere(problem: Problem, url: Url) -> bool:
    """Whether the problem arose after a redirect, and not at the host itself."""
    return bool(problem.details["url"] != url.href)


def _is_nowhere(problem: Problem) -> bool:
    return reason_of(problem) in (FetchReason.DNS_NOT_FOUND, FetchReason.TLS_INVALID_CERTIFICATE)
