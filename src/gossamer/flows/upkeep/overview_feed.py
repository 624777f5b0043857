"""Follow the overview. All followers of the same scope share one look at the database.

A scope is looked at only while somebody follows it. While the database is away, there is nothing new.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec
from msgspec import Struct, field

from gossamer.flows.upkeep.overview import Overview, Overviews
from gossamer.problems import Problem

LOOK_SECONDS: Final = 2.0


class _FollowedScope(Struct, eq=False):
    """A scope that has followers."""

    watching: asyncio.Task[None] | None = None
    followers: int = 0
    number: int = 0  # of the last overview
    latest: Overview | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def show(self, seen: Overview) -> None:
        if self.latest is not None and _without_time(seen) == _without_time(self.latest):
            return
        self.latest, self.number = seen, self.number + 1
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


class OverviewFeed:
    def __init__(self, overviews: Overviews, seconds: float = LOOK_SECONDS) -> None:
        self._overviews = overviews
        self._seconds = seconds
        self._followed: dict[str | None, _FollowedScope] = {}

    @asynccontextmanager
    async def following(self, tenant: str | None) -> AsyncIterator["OverviewFollower"]:
        """Follow the numbers of a tenant; None is those of all."""
        scope = self._followed.setdefault(tenant, _FollowedScope())
        scope.followers += 1
        if scope.watching is None or scope.watching.done():
            scope.watching = asyncio.create_task(self._watch(tenant, scope))
        try:
            yield OverviewFollower(scope)
        finally:
            await self._leave(tenant, scope)

    async def _leave(self, tenant: str | None, scope: _FollowedScope) -> None:
        scope.followers -= 1
        if not scope.followers and scope.watching is not None:
            del self._followed[tenant]
            scope.watching.cancel()
            await asyncio.wait((scope.watching,))

    async def _watch(self, tenant: str | None, scope: _FollowedScope) -> None:
        while True:
            with suppress(Problem):  # away or busy: the next look may succeed
                scope.show(await self._overviews.look(tenant))
            await asyncio.sleep(self._seconds)


class OverviewFollower(Struct):
    _scope: _FollowedScope
    _seen: int = 0

    async def next(self, seconds: float) -> Overview | None:
        """The latest overview, as soon as it is another than the last one; None if that takes longer than
        `seconds`."""
        if self._scope.number == self._seen:
            await self._wait(seconds)
        if self._scope.number == self._seen:
            return None
        self._seen = self._scope.number
        return self._scope.latest

    async def _wait(self, seconds: float) -> None:
        watching = self._scope.watching
        assert watching is not None  # noqa: S101  (while there are followers)
        changed = asyncio.ensure_future(self._scope.changed.wait())
        try:
            await asyncio.wait((changed, watching), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
        if watching.done():
            watching.result()  # a defect ends the streams, and does not leave them silent


def _without_time(overview: Overview) -> Overview:
    return msgspec.structs.replace(overview, generated_at="")
