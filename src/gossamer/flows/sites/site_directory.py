"""Finds the site that a page belongs to, for every request: from memory, looked up every few seconds.

A caller without an owner's name, as a command has that opens no database, has no sites.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from typing import Final, NamedTuple

from msgspec import Struct, field

from gossamer.flows.tenants.admit import Caller
from gossamer.flows.webhooks.webhook_keys import owner_of
from gossamer.problems import Unavailable
from gossamer.state.db.database import Database
from gossamer.state.sites import sites
from gossamer.state.sites.sites import RegisteredSite
from gossamer.web.url.url import Url

SITE_SECONDS: Final = 5.0  # for which settings may be used after they were changed
LOOK_SECONDS: Final = 1.0  # that the first request of an owner waits at most
MAX_REMEMBERED: Final = 10_000  # owners


class FoundSite(NamedTuple):
    site: RegisteredSite | None
    until: float  # when it is looked up again


class OwnedSites(Struct, frozen=True):
    """The proven sites of one owner, by their origins."""

    sites: Mapping[str, RegisteredSite]
    until: float


class SiteDirectory(Struct, frozen=True):
    database: Database
    clock: Callable[[], float] = time.time
    _known: OrderedDict[str, OwnedSites] = field(default_factory=OrderedDict)
    _asking: dict[str, asyncio.Task[OwnedSites]] = field(default_factory=dict)

    async def find(self, caller: Caller, url: Url) -> FoundSite:
        """The caller's own site at this address, if it is proven. What was known is used while it is looked
        up again, and while the database is away."""
        owner = owner_of(caller)
        if not owner:
            return FoundSite(None, inf)
        known = self._known.get(owner)
        if known is None:
            known = await asyncio.shield(self._refresh(owner))
        elif self.clock() >= known.until:
            self._refresh(owner)
        return FoundSite(known.sites.get(url.origin), known.until)

    async def list_proven(self, caller: Caller) -> Mapping[str, RegisteredSite]:
        """All proven sites of the caller, by their origins."""
        owner = owner_of(caller)
        if not owner:
            return {}
        known = self._known.get(owner)
        if known is None or self.clock() >= known.until:
            known = await asyncio.shield(self._refresh(owner))
        return known.sites

    def forget(self, owner: str) -> None:
        """After a change in this process."""
        self._known.pop(owner, None)
        self._asking.pop(owner, None)

    async def close(self) -> None:
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _refresh(self, owner: str) -> asyncio.Task[OwnedSites]:
        """All who need it at this moment share one look."""
        task = self._asking.get(owner)
        if task is None:
            task = self._asking[owner] = asyncio.create_task(self._look_up(owner))
            task.add_done_callback(partial(self._keep, owner))
        return task

    def _keep(self, owner: str, task: asyncio.Task[OwnedSites]) -> None:
        """What was read before a change in this process is not kept."""
        if self._asking.get(owner) is not task:
            return
        del self._asking[owner]
        if task.cancelled() or task.exception() is not None:
            return
        self._known[owner] = task.result()
        self._known.move_to_end(owner)
        while len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)

    async def _look_up(self, owner: str) -> OwnedSites:
        try:
            async with self.database.read(seconds=LOOK_SECONDS) as connection:
                found = await sites.list_proven(connection, owner)
        except Unavailable:
            known = self._known.get(owner)
            found = [] if known is None else list(known.sites.values())
        return OwnedSites({site.origin: site for site in found}, self.clock() + SITE_SECONDS)
