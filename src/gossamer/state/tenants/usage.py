"""Usage of each tenant and key by the day, counted in memory and written in batches.

A batch is kept unchanged until it is known to be written, and its row in `once` keeps it from being written
twice if the database is lost during the commit. So the counts are exact, unless the process is killed with
a batch in memory.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Final, Literal, NamedTuple

from msgspec import Struct, field
from ulid import ULID

from gossamer.state.db.database import Database
from gossamer.state.tenants import once, usage_rows
from gossamer.state.tenants.usage_rows import COUNTERS, KeyUsage, UsageScope, UsageTotals, UsedUrl
from gossamer.web.url.url import digest

What = Literal["render", "hot", "cold", "miss", "failed"]

MAX_SCOPES: Final = 100_000  # during an outage of the database; further ones are not counted
BATCH: Final = 1_000
GUARDED_SECONDS: Final = 86_400
DAY: Final = 86_400  # seconds

_COUNTER: Final = {"render": 0, "hot": 1, "cold": 2, "miss": 3, "failed": 4}
_EPOCH: Final = date(1970, 1, 1)


class UsageReport(NamedTuple):
    totals: UsageTotals
    pages: int  # of the whole tenant, as what follows
    storage_bytes: int  # of HTML before compression
    top_urls: tuple[UsedUrl, ...]
    by_key: tuple[KeyUsage, ...]  # empty if one key was asked for


class UsageBatch(Struct):
    counts: dict[UsageScope, list[int]]
    id: str = field(default_factory=lambda: str(ULID()))


class Usage:
    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock
        self._counts: dict[UsageScope, list[int]] = {}
        self._batch: UsageBatch | None = None  # what is being written
        self._flushing = asyncio.Lock()

    def count(self, tenant: str, key: str, what: What) -> None:
        place = UsageScope(tenant, key, int(self._clock() // DAY))
        counts = self._counts.get(place)
        if counts is None:
            if len(self._counts) >= MAX_SCOPES:
                return
            counts = self._counts[place] = [0] * len(COUNTERS)
        counts[_COUNTER[what]] += 1

    async def flush(self) -> None:
        """Write what was counted until now. If that fails, the counts are kept."""
        async with self._flushing:
            for _ in range(len(self._counts) // BATCH + 2):
                self._batch = self._batch or self._take_batch()
                if self._batch is None:
                    return
                await self._write(self._batch)
                self._batch = None

    async def report(self, tenant: str, key: str | None = None, now: float | None = None) -> UsageReport:
        """The usage of a tenant or of one of its keys, with what this process has counted."""
        await self.flush()
        today = datetime.fromtimestamp(self._clock() if now is None else now, UTC).date()
        day, month = _number(today), _number(today.replace(day=1))
        async with self._database.scan() as connection:
            sums = await usage_rows.totals(connection, tenant, key, day, month)
            pages, size = await usage_rows.storage(connection, tenant)
            top = await usage_rows.top_urls(connection, tenant)
            keys = await usage_rows.by_key(connection, tenant, day, month) if key is None else ()
        return UsageReport(sums, pages, size, tuple(top), tuple(keys))

    async def today(self) -> tuple[float, list[tuple[str, str, int]]]:
        """The start of the day (UTC), and the renders since: tenant, tier, number."""
        day = int(self._clock() // DAY)
        async with self._database.read() as connection:
            return day * DAY, await usage_rows.by_tier(connection, day)

    def _take_batch(self) -> UsageBatch | None:
        places = list(self._counts)[:BATCH]
        return UsageBatch({place: self._counts.pop(place) for place in places}) if places else None

    async def _write(self, batch: UsageBatch) -> None:
        scope = digest(f"usage:{batch.id}")
        with suppress(once.AlreadyDone):  # by the last attempt, whose result was not known
            async with self._database.write() as connection:
                await once.remember(connection, scope, scope, b"", GUARDED_SECONDS)
                await usage_rows.add(connection, batch.counts)


def _number(day: date) -> int:
    return (day - _EPOCH).days
