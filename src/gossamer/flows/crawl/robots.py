"""The rules of a host: its robots.txt, believed for an hour, kept with the host and in the hot store.

A host that does not hand it out, though it is there, is not crawled for an hour (RFC 9309, 2.3.1.4). A delay
is heeded, but not one that only means "never": no longer than the operator says.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Final

import msgspec

from gossamer import problems
from gossamer.flows.crawl.desk import Desk
from gossamer.problems import Problem, Unavailable
from gossamer.reach.failures import is_transient, reason_of
from gossamer.reach.fetch import Ask, Fetcher
from gossamer.state.hosts import FoundRobots, HostLease
from gossamer.state.hot import Hot
from gossamer.state.stored_robots import StoredRobots
from gossamer.web.robots import LARGEST, Answer, Robots, from_answer, verdict_of
from gossamer.web.url import Url

BELIEVED_SECONDS: Final = 3600.0
TIMEOUT: Final = 10.0
PAUSES: Final = (2.0, 4.0)  # seconds between attempts
MOST_PARSED: Final = 256
NOT_THERE: Final = 404


@dataclass(frozen=True, slots=True)
class Rules:
    robots: Robots
    status: int | None  # None: there was no answer
    delay: float | None = None  # seconds between two requests that it asks for
    again: bool = False  # it has not said for an hour

    @property
    def unknown(self) -> bool:
        """The host has rules, perhaps, but does not say which."""
        return verdict_of(self.status) is Answer.DISALLOW_ALL


Passage = Callable[[], AbstractAsyncContextManager[None]]
_stored: Final = msgspec.msgpack.Decoder(StoredRobots)


@dataclass(slots=True)
class RobotsFiles:
    fetcher: Fetcher
    desk: Desk
    hot: Hot
    agent: str
    longest_delay: float  # seconds
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    timeout: float = TIMEOUT
    _known: OrderedDict[tuple[int | None, str], Robots] = field(default_factory=OrderedDict)

    async def of(
        self, lease: HostLease, url: Url, now: int, passage: Passage = nullcontext
    ) -> tuple[Rules, bool]:
        """What holds at the host of `url`, and whether it was asked for it, each time through `passage`. A
        Problem says that there is no such host, or none that may be visited."""
        stored = lease.robots if lease.robots is not None and lease.robots.expires_at > now else None
        asked = False
        if stored is None:
            stored = await self._hot(lease.host, now)
        if stored is None:
            stored, asked = await self._fetched(url, now, passage), True
            await self._keep(lease, stored)
        before, robots = lease.robots, self._parsed(stored)
        again = asked and before is not None and _is_unknown(before)
        delay = None if robots.delay is None else min(robots.delay, self.longest_delay)
        return Rules(robots, stored.status, delay, again), asked

    def _parsed(self, stored: StoredRobots) -> Robots:
        """To parse many rules takes milliseconds, and many hosts have the same ones."""
        key = (stored.status, stored.body)
        robots = self._known.pop(key, None) or from_answer(stored.status, stored.body, self.agent)
        self._known[key] = robots
        while len(self._known) > MOST_PARSED:
            self._known.popitem(last=False)
        return robots

    async def _fetched(self, url: Url, now: int, passage: Passage) -> StoredRobots:
        status: int | None = None
        body = ""
        for pause in (*PAUSES, None):
            async with passage():
                status, body = await self._attempt(url)
            if verdict_of(status) is not Answer.DISALLOW_ALL or pause is None:
                break
            await self.sleep(pause)
        expires_at = now + int(BELIEVED_SECONDS * 1000)
        return StoredRobots(status=status, body=body, fetched_at=now, expires_at=expires_at)

    async def _attempt(self, url: Url) -> tuple[int | None, str]:
        ask = Ask(url=url.join("/robots.txt"), timeout=self.timeout, attempts=1)
        try:
            page = await self.fetcher.fetch(ask)
        except Unavailable:
            raise
        except Problem as problem:
            if is_transient(problem):
                return None, ""
            if problem.kind is problems.INVALID_URL or _is_nowhere(problem):
                if _is_elsewhere(problem, ask.url):
                    return None, ""  # the host is there, but not where it says that its rules are
                raise
            return NOT_THERE, ""  # an endless redirect, or what nobody can read: as if there were none
        return page.status, page.body[: LARGEST + 1].decode("utf-8", "surrogateescape")

    async def _hot(self, host: str, now: int) -> StoredRobots | None:
        try:
            raw = await self.hot.get(_key(host))
        except Unavailable:
            return None
        if raw is None:
            return None
        stored = _stored.decode(raw)
        return stored if stored.expires_at > now else None

    async def _keep(self, lease: HostLease, stored: StoredRobots) -> None:
        await self.desk.keep_robots(FoundRobots(lease, stored, self._parsed(stored).allows("/")))
        if not _is_unknown(stored):
            with contextlib.suppress(Unavailable):
                await self.hot.put(_key(lease.host), msgspec.msgpack.encode(stored), BELIEVED_SECONDS)


async def forget(hot: Hot, host: str) -> None:
    """Who crawls it next asks for its rules; others in the next hour do not find them here."""
    with contextlib.suppress(Unavailable):
        await hot.drop(_key(host))


def _key(host: str) -> str:
    return f"crawl:robots:{host}"


def _is_unknown(stored: StoredRobots) -> bool:
    return verdict_of(stored.status) is Answer.DISALLOW_ALL


def _is_elsewhere(problem: Problem, url: Url) -> bool:
    """Whether it was met on the way on, and not at the host itself."""
    return bool(problem.members["details"]["url"] != url.href)


def _is_nowhere(problem: Problem) -> bool:
    return reason_of(problem) in ("dns_not_found", "tls_invalid_certificate")
