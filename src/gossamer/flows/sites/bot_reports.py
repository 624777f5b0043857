"""Counts what robots asked for and got: in memory, written in batches, each once.

A batch is kept unchanged until it is known to be written, and its row in `once` keeps it from being written
twice. What is counted in one process is bounded, so a flood of addresses costs memory for so many.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal

from msgspec import Struct, field
from ulid import ULID

from gossamer.flows.sites.site_keeper import on_site
from gossamer.problems import Problem, validation_error
from gossamer.state.db.database import Database
from gossamer.state.sites import bot_rows
from gossamer.state.sites.bot_rows import AskedCount, AskedScope, VisitScope
from gossamer.state.sites.sites import RegisteredSite
from gossamer.state.tenants import once
from gossamer.web.pages.timestamps import iso
from gossamer.web.sites.bot_visits import (
    WITHOUT_PAGE,
    AskedPage,
    BotAnswer,
    BotMoment,
    BotReport,
    BotVisit,
    bot_token,
    by_bot,
    counted_status,
    sum_up,
)
from gossamer.web.url.url import digest, shared_url

MAX_SCOPES: Final = 20_000  # in memory; further ones are not counted
MAX_ASKED: Final = 20_000
GUARDED_SECONDS: Final = 86_400
HOUR: Final = 3_600
SHOWN_MISSED: Final = 50
MAX_DAYS_BY_HOUR: Final = 30


class VisitBatch(Struct):
    visits: dict[VisitScope, list[int]]
    asked: dict[AskedScope, AskedCount]
    id: str = field(default_factory=lambda: str(ULID()))


class BotReports(Struct):
    database: Database
    clock: Callable[[], float] = time.time
    _visits: dict[VisitScope, list[int]] = field(default_factory=dict)
    _asked: dict[AskedScope, AskedCount] = field(default_factory=dict)
    _batch: VisitBatch | None = None
    _flushing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def count(self, site: RegisteredSite, visit: BotVisit) -> None:
        """Never waits. An address of another site is not remembered."""
        now = self.clock()
        hour, status = int(now // HOUR), counted_status(visit.status)
        scope = VisitScope(site.id, hour, bot_token(visit.bot), visit.outcome.value, status, site.tenant_id)
        counts = self._visits.get(scope)
        if counts is None:
            if len(self._visits) >= MAX_SCOPES:
                return
            counts = self._visits[scope] = [0, 0]
        counts[0] += visit.count
        counts[1] += visit.milliseconds * visit.count
        if visit.url:
            self._count_page(site, visit, round(now * 1000))

    def _count_page(self, site: RegisteredSite, visit: BotVisit, at: int) -> None:
        try:
            url = shared_url(on_site(site.origin, visit.url)).href
        except Problem:
            return
        scope = AskedScope(site.id, url, site.tenant_id)
        known = self._asked.get(scope)
        if known is None and len(self._asked) >= MAX_ASKED:
            return
        before = known or AskedCount(0, 0, 0)
        missed = visit.count if visit.outcome in WITHOUT_PAGE else 0
        self._asked[scope] = AskedCount(before.visits + visit.count, before.misses + missed, at)

    def take(self, site: RegisteredSite, report: BotReport) -> int:
        for visit in report.visits:
            self.count(site, visit)
        return sum(visit.count for visit in report.visits)

    async def flush(self) -> None:
        """Write what was counted until now. If that fails, the counts are kept."""
        async with self._flushing:
            if self._batch is None and (self._visits or self._asked):
                self._batch = VisitBatch(self._visits, self._asked)
                self._visits, self._asked = {}, {}
            if self._batch is not None:
                await self._write(self._batch)
                self._batch = None

    async def _write(self, batch: VisitBatch) -> None:
        scope = digest(f"bots:{batch.id}")
        with suppress(once.AlreadyDone):  # by the last attempt, whose result was not known
            async with self.database.write() as connection:
                await once.remember(connection, scope, scope, b"", GUARDED_SECONDS)
                await bot_rows.add_visits(connection, batch.visits)
                await bot_rows.add_asked(connection, batch.asked)

    async def show(
        self, site: RegisteredSite, *, days: int, by: Literal["hour", "day"], now: float | None = None
    ) -> BotAnswer:
        """The last days, this one included, with what this process has counted."""
        await self.flush()
        if by == "hour" and days > MAX_DAYS_BY_HOUR:
            raise validation_error(
                "By the hour, at most 30 days are shown.", hint="Take `by=day`.", details={"field": "days"}
            )
        last = int((self.clock() if now is None else now) // HOUR)
        first = (last // 24 - days + 1) * 24
        async with self.database.scan() as connection:
            rows = await bot_rows.list_hours(connection, site.id, first, last)
            missed = await bot_rows.most_missed(connection, site.id, SHOWN_MISSED)
        size = 1 if by == "hour" else 24
        moments = sorted({row.hour // size for row in rows})
        figures = [(each, sum_up([row for row in rows if row.hour // size == each])) for each in moments]
        return BotAnswer(
            site_id=site.id,
            first=iso(first * HOUR),
            last=iso(last * HOUR),
            by=by,
            total=sum_up(rows),
            bots=by_bot(rows),
            over_time=[
                BotMoment(at=iso(each * size * HOUR), visits=sums.visits, by_outcome=sums.by_outcome)
                for each, sums in figures
            ],
            most_missed=[
                AskedPage(row.url, row.visits, row.misses, iso(row.last_at / 1000)) for row in missed
            ],
        )
