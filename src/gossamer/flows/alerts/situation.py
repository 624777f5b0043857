"""Situation: everything that the rules of alerts, and the gauges of metrics, look at."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from gossamer.flows.schedules.scheduler import FAILING
from gossamer.flows.upkeep.health import Checkup, ProbeResult
from gossamer.reach.net.certificates import CertificateState
from gossamer.state.backup.records import last_backup
from gossamer.state.blobs import orphan_blobs
from gossamer.state.crawl.reading.crawl_stats import CrawlStats
from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats, job_table, work_now
from gossamer.state.jobs.heartbeats import Heartbeat
from gossamer.state.jobs.job import JobState
from gossamer.state.memory import stores
from gossamer.state.memory.stores import StoredSize
from gossamer.state.pages import page_rows
from gossamer.state.schedules import schedules
from gossamer.state.search import index_queue
from gossamer.state.search.index_queue import IndexLag
from gossamer.state.tenants import quota_rows
from gossamer.state.webhooks import endpoint_health

ANSWER_MINUTES: Final = 5  # whole ones, over which answers to crawls are counted
SILENT_SECONDS: Final = 120.0  # without a heartbeat, a worker that has not said goodbye is silent
FORGET_SECONDS: Final = 3600.0  # after which nobody expects it to come back
FAILING_SECONDS: Final = 3600.0  # for which a webhook has failed


class DiskSpace(Struct, frozen=True):
    folder: str  # what it is for: data, blobs
    free: int
    size: int


class StoredState(Struct, frozen=True, kw_only=True):
    """What the database says; the same in all processes."""

    answers: int = 0  # to crawls
    bad_answers: int = 0  # 4xx and 5xx
    frontier: int = 0  # URLs
    silent: Sequence[Heartbeat] = ()  # workers
    waiting: Mapping[str, float] = field(default_factory=dict)  # seconds of the oldest queued job, by kind
    index: IndexLag = field(default_factory=lambda: IndexLag(0, 0.0))
    pages_to_repair: int = 0
    blobs_to_drop: int = 0
    held_crawls: Mapping[str, int] = field(default_factory=dict)  # by the quota that has paused them
    failing_schedules: int = 0
    failing_webhooks: int = 0
    memory: StoredSize = field(default_factory=StoredSize)
    last_backup: float | None = None  # Unix seconds


class Situation(Struct, frozen=True, kw_only=True):
    now: float
    stored: StoredState
    services: Mapping[str, ProbeResult] = field(default_factory=dict)
    disks: Sequence[DiskSpace] = ()
    certificates: Sequence[CertificateState] = ()
    frontier_before: int | None = None  # a minute ago, if that is known


class Surveyor(Struct, frozen=True):
    database: Database
    statistics: CrawlStats
    checkup: Checkup
    folders: Mapping[str, Path]
    clock: Callable[[], float] = time.time

    async def look(self) -> Situation:
        """Raises `Unavailable` if the database is away."""
        health = await self.checkup.health()
        return Situation(
            now=self.clock(),
            stored=await self.read_state(),
            services=health.services,
            disks=await self.measure_disks(),
        )

    async def measure_disks(self) -> list[DiskSpace]:
        return await asyncio.to_thread(_measure, self.folders)

    async def read_state(self) -> StoredState:
        now = self.clock()
        minute = int(now // 60)
        (answers,) = await self.statistics.timeseries(minute - ANSWER_MINUTES, minute, ANSWER_MINUTES)
        bad = answers.status_4xx + answers.status_5xx
        async with self.database.read() as connection:
            depths = await job_table.depths(connection)
            beats = await heartbeats.recent(connection)
            backup = await last_backup(connection)
            return StoredState(
                answers=answers.status_2xx + answers.status_3xx + bad,
                bad_answers=bad,
                frontier=(await work_now.running_crawls(connection)).pending,
                silent=[beat for beat in beats if _is_silent(beat, now)],
                waiting={one.kind: one.oldest_seconds for one in depths if one.status is JobState.QUEUED},
                index=await index_queue.lag(connection),
                pages_to_repair=await page_rows.count_due(connection),
                blobs_to_drop=await orphan_blobs.count_due(connection),
                held_crawls=await quota_rows.count_held(connection),
                failing_schedules=await schedules.count_failing(connection, FAILING),
                failing_webhooks=await endpoint_health.count_failing(connection, FAILING_SECONDS),
                memory=await stores.total(connection),
                last_backup=None if backup is None else backup.snapshot_at / 1000,
            )


def _is_silent(beat: Heartbeat, now: float) -> bool:
    return SILENT_SECONDS < now - beat.seen_at / 1000 <= FORGET_SECONDS


def _measure(folders: Mapping[str, Path]) -> list[DiskSpace]:
    measured = []
    for name, folder in folders.items():
        try:
            found = os.statvfs(folder)
        except OSError:  # it is not there yet
            continue
        measured.append(DiskSpace(name, found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize))
    return measured
