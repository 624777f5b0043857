"""Retention: removes what was kept long enough, in small batches, with rests between them.

Each rule knows one kind of data, how much of it is due, and how it is removed. Any number of processes may
enforce the rules at the same time. Payments, the log of activity and the usage by day are kept for good;
sessions and answers to repeat end by themselves.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, Self

from msgspec import Struct
from msgspec.structs import fields

from gossamer.flows.data.removal import pacing
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.data.removal.leftovers import drop_orphans
from gossamer.flows.data.removal.pacing import RemovalProgress, remove_all, rest
from gossamer.flows.data.removal.page_removal import PageArchive, PageRemoval
from gossamer.reach.page.visit import Step
from gossamer.settings.settings import Settings
from gossamer.settings.values import Lifetime
from gossamer.state.crawl.crawl_counts import MINUTE_MS
from gossamer.state.crawl.crawled_pages import Position
from gossamer.state.crawl.removal import expired, removed_pages
from gossamer.state.crawl.removal.purge import PurgeFilter
from gossamer.state.crawl.removal.removed_pages import OwnedCrawl
from gossamer.state.crawl.upkeep import archives
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs import audits, batches, job_table
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.monitors import changes, snapshots
from gossamer.state.schedules import schedule_runs
from gossamer.state.sites import bot_rows
from gossamer.state.tenants.activity import Actor
from gossamer.state.webhooks import deliveries

CRAWLS_AT_ONCE: Final = 100
AUDITS_AT_ONCE: Final = 100
DAY_MS: Final = 86_400_000
FOREVER: Final = Lifetime(0)
BY_UPKEEP: Final = Actor("upkeep")


class KeepTimes(Struct, frozen=True, kw_only=True):
    """How long things are kept; see the settings of the same names."""

    completed_urls: Lifetime
    failed_urls: Lifetime
    bodies: Lifetime
    pages: Lifetime
    minutes: Lifetime
    audits: Lifetime
    jobs: Lifetime
    robots: Lifetime
    archives: Lifetime = FOREVER
    schedule_runs: Lifetime = FOREVER
    deliveries: Lifetime = FOREVER
    changes: Lifetime = FOREVER
    site_visits: Lifetime = FOREVER

    @classmethod
    def of(cls, settings: Settings) -> Self:
        return cls(**{each.name: getattr(settings, f"keep_{each.name}") for each in fields(cls)})


class DueData(NamedTuple):
    """How much was kept long enough: rows, and bytes where they are known."""

    rows: int
    bytes: int | None = None


class RetentionRule(Struct, frozen=True):
    """One kind of data. Both functions take the time before which it is due."""

    name: str
    lifetime: Lifetime
    count: Callable[[AsyncConnection, int], Awaitable[DueData]]
    remove: Callable[[int, Step], Awaitable[int]]


class Retention(Struct, frozen=True):
    keep: KeepTimes
    deleter: Deleter
    pages: PageRemoval
    archive: PageArchive  # that gets old pages before they are removed
    clock: Callable[[], float]

    @property
    def database(self) -> Database:
        return self.deleter.database

    def rules(self) -> Sequence[RetentionRule]:
        """What is removed first may make more due for those that follow: audits have crawls."""
        keep = self.keep
        every = (
            RetentionRule("audits", keep.audits, self._count_audits, self._remove_audits),
            RetentionRule("pages", keep.pages, self._count_pages, self._remove_pages),
            RetentionRule("archives", keep.archives, self._count_archives, self._remove_archives),
            RetentionRule("bodies", keep.bodies, self._count_bodies, self._remove_bodies),
            self._of_urls("completed URLs", keep.completed_urls, ("completed",)),
            self._of_urls("failed and blocked URLs", keep.failed_urls, ("failed", "blocked")),
            RetentionRule("minutes", keep.minutes, self._count_minutes, self._fold_minutes),
            RetentionRule("jobs", keep.jobs, self._count_jobs, self._remove_jobs),
            RetentionRule("batches", keep.jobs, self._count_batches, self._remove_batches),
            RetentionRule("changes", keep.changes, self._count_changes, self._remove_changes),
            RetentionRule("schedule runs", keep.schedule_runs, self._count_runs, self._remove_runs),
            RetentionRule("webhook log", keep.deliveries, self._count_deliveries, self._remove_deliveries),
            RetentionRule("site visits", keep.site_visits, self._count_visits, self._remove_visits),
            RetentionRule("robots.txt", keep.robots, self._count_robots, self._remove_robots),
        )
        return [rule for rule in every if not rule.lifetime.is_forever]

    async def preview(self, *, now: int | None = None, seconds: float | None = None) -> dict[str, DueData]:
        """What is due, by kind. `seconds` is for each of them."""
        found = {}
        for rule in self.rules():
            async with self.database.read(seconds=seconds) as connection:
                found[rule.name] = await rule.count(connection, self._before(rule, now))
        return found

    async def enforce(self, step: Step | None = None, *, now: int | None = None) -> dict[str, int]:
        """Remove what is due; returns how many rows of each kind."""
        removed = {}
        for rule in self.rules():
            removed[rule.name] = await rule.remove(self._before(rule, now), step or _quietly)
        return removed

    def _before(self, rule: RetentionRule, now: int | None) -> int:
        return (round(self.clock() * 1000) if now is None else now) - rule.lifetime.milliseconds

    # Audits, with their crawls.

    async def _count_audits(self, connection: AsyncConnection, before: int) -> DueData:
        return DueData(*await audits.count_old(connection, before))

    async def _remove_audits(self, before: int, step: Step) -> int:
        removed = 0
        while True:
            async with self.database.read() as connection:
                ids = await audits.list_old(connection, before, AUDITS_AT_ONCE)
            for audit_id in ids:
                await self.deleter.delete_here(Deletion(DeletionKind.AUDIT, audit_id), BY_UPKEEP, step)
            removed += len(ids)
            if not ids:
                return removed

    # Pages, and their bodies.

    async def _count_pages(self, connection: AsyncConnection, before: int) -> DueData:
        return DueData(*await expired.count_pages(connection, self._aligned(before)))

    async def _remove_pages(self, before: int, step: Step) -> int:
        progress = RemovalProgress(step, "removing old pages", 0, 0)
        await self.pages.remove_matching(
            PurgeFilter(before=self._aligned(before), aged=True), progress, self.archive
        )
        return progress.done

    def _aligned(self, before: int) -> int:
        return before // self.archive.span_ms * self.archive.span_ms

    async def _count_archives(self, connection: AsyncConnection, before: int) -> DueData:
        return DueData(*await archives.count_old(connection, before))

    async def _remove_archives(self, before: int, step: Step) -> int:
        removed = 0
        while True:
            async with self.database.write() as connection:
                dropped = await archives.drop_old(connection, before)
            await drop_orphans(self.database, self.pages.blobs, dropped.orphans)
            removed += dropped.number
            if not dropped.number:
                return removed

    async def _count_bodies(self, connection: AsyncConnection, before: int) -> DueData:
        return DueData(*await expired.count_bodies(connection, before))

    async def _remove_bodies(self, before: int, step: Step) -> int:
        progress, after = RemovalProgress(step, "removing old content", 0, 0), ""
        while True:
            async with self.database.read() as connection:
                crawls = await expired.crawls_with_bodies(connection, before, after, CRAWLS_AT_ONCE)
            for crawl in crawls:
                await self._remove_versions_of(crawl, before, progress)
                await self._remove_bodies_of(crawl, before, progress)
            if len(crawls) < CRAWLS_AT_ONCE:
                return progress.done
            after = crawls[-1].id

    async def _remove_versions_of(self, crawl: OwnedCrawl, before: int, progress: RemovalProgress) -> None:
        while True:
            began = pacing.now()
            async with self.database.write() as connection:
                removed = await removed_pages.drop_old_versions(connection, crawl.id, before)
            await drop_orphans(self.database, self.pages.blobs, removed.orphans)
            await progress.add(removed.pages)
            if not removed.pages:
                return
            await rest(began)

    async def _remove_bodies_of(self, crawl: OwnedCrawl, before: int, progress: RemovalProgress) -> None:
        async with self.database.read() as connection:
            after = Position(await expired.first_body(connection, crawl.id), "")
        while after.crawled_at < before:
            began = pacing.now()
            async with self.database.read() as connection:
                pages = await expired.next_bodies(connection, crawl.id, before, after)
            if not pages:
                return
            async with self.database.write() as connection:
                removed = await removed_pages.drop_bodies(connection, crawl, pages)
            await drop_orphans(self.database, self.pages.blobs, removed.orphans)
            await progress.add(removed.pages)
            after = Position(pages[-1].crawled_at, pages[-1].url_hash)
            await rest(began)

    # URLs of crawls that are over.

    def _of_urls(self, name: str, lifetime: Lifetime, states: Sequence[str]) -> RetentionRule:
        async def count(connection: AsyncConnection, before: int) -> DueData:
            return DueData(await expired.count_urls(connection, states, before))

        async def remove(before: int, step: Step) -> int:
            progress, after = RemovalProgress(step, f"removing {name}", 0, 0), ""
            while True:
                async with self.database.read() as connection:
                    found = await expired.crawls_with_urls(connection, states, before, after, CRAWLS_AT_ONCE)
                for crawl_id in found:
                    await self._remove_urls(crawl_id, states, before, progress)
                if len(found) < CRAWLS_AT_ONCE:
                    return progress.done
                after = found[-1]

        return RetentionRule(name, lifetime, count, remove)

    async def _remove_urls(
        self, crawl_id: str, states: Sequence[str], before: int, progress: RemovalProgress
    ) -> None:
        after = ""
        while True:
            began = pacing.now()
            async with self.database.read() as connection:
                hashes = await expired.next_urls(connection, crawl_id, states, before, after)
            if not hashes:
                return
            async with self.database.write() as connection:
                removed = await expired.drop_urls(connection, crawl_id, hashes, states)
            await progress.add(removed)
            after = hashes[-1]
            await rest(began)

    # Counts of minutes become counts of days. A day is added up as a whole.

    async def _count_minutes(self, connection: AsyncConnection, before: int) -> DueData:
        return DueData(await expired.count_minutes(connection, _first_minute(before)))

    async def _fold_minutes(self, before: int, step: Step) -> int:
        minute = _first_minute(before)
        return await remove_all(self.database, lambda connection: expired.fold_minutes(connection, minute))

    # Jobs with their events, then the batches whose jobs are gone.

    async def _count_jobs(self, connection: AsyncConnection, before: int) -> DueData:
        return DueData(await job_table.count_old(connection, before))

    async def _remove_jobs(self, before: int, step: Step) -> int:
        return await remove_all(
            self.database, lambda connection: job_table.forget_old(connection, days=0, now=before)
        )

    async def _count_batches(self, connection: AsyncConnection, before: int) -> DueData:
        return DueData(*await batches.count_old(connection, before))

    async def _remove_batches(self, before: int, step: Step) -> int:
        return await remove_all(self.database, batches.forget)

    async def _count_runs(self, connection: AsyncConnection, before: int) -> DueData:
        return DueData(await schedule_runs.count_old(connection, before))

    async def _remove_runs(self, before: int, step: Step) -> int:
        return await remove_all(
            self.database, lambda connection: schedule_runs.forget_old(connection, before)
        )

    async def _count_deliveries(self, connection: AsyncConnection, before: int) -> DueData:
        return DueData(await deliveries.count_old(connection, before))

    async def _remove_deliveries(self, before: int, step: Step) -> int:
        return await remove_all(self.database, lambda connection: deliveries.forget_old(connection, before))

    # Changes that monitors found, with the pages before and after them; and their checks.

    async def _count_changes(self, connection: AsyncConnection, before: int) -> DueData:
        return DueData(await changes.count_old(connection, before))

    async def _remove_changes(self, before: int, step: Step) -> int:
        removed = 0
        while True:
            orphans: list[str] = []
            async with self.database.write() as connection:
                gone = await changes.drop_old(connection, before)
                for monitor_id in set(gone):
                    orphans += await snapshots.sweep(connection, monitor_id)
            await drop_orphans(self.database, self.pages.blobs, orphans)
            removed += len(gone)
            if not gone:
                break
        return removed + await remove_all(
            self.database, lambda connection: changes.drop_old_checks(connection, before)
        )

    async def _count_visits(self, connection: AsyncConnection, before: int) -> DueData:
        return DueData(await bot_rows.count_old(connection, before))

    async def _remove_visits(self, before: int, step: Step) -> int:
        return await remove_all(self.database, lambda connection: bot_rows.forget_old(connection, before))

    async def _count_robots(self, connection: AsyncConnection, before: int) -> DueData:
        return DueData(await expired.count_robots(connection, before))

    async def _remove_robots(self, before: int, step: Step) -> int:
        return await remove_all(self.database, lambda connection: expired.drop_robots(connection, before))


def _first_minute(before: int) -> int:
    """The first minute of the day that this time is in."""
    return before // DAY_MS * (DAY_MS // MINUTE_MS)


async def _quietly(name: str, percent: int) -> None:
    """Nobody looks."""
