"""A database with a tenant, a key and a scheduler whose work is a plain job."""

import io
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import func, select, update
from ulid import ULID

from gossamer.flows.schedules.scheduler import Scheduler
from gossamer.flows.schedules.starter import Firing, Start
from gossamer.observe.logs import Log
from gossamer.problems import Problem
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.db.tables import jobs
from gossamer.state.jobs import job_table
from gossamer.state.jobs.job import NewJob
from gossamer.state.schedules import schedule_runs, schedules
from gossamer.state.schedules.schedule_runs import ScheduleRun
from gossamer.state.schedules.schedules import NewSchedule, Schedule, ScheduleMaker
from gossamer.state.tenants import tenants
from gossamer.state.tenants.activity import Via
from gossamer.state.tenants.tenants import Key, Role, Tier
from gossamer.state.webhooks import endpoints
from gossamer.state.webhooks.endpoints import WebhookEndpoint
from gossamer.state.webhooks.webhook_tables import webhook_deliveries
from gossamer.web.schedules.schedule_words import ScheduleKind
from gossamer.web.schedules.timing import Timing

NOW = int(datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp()) * 1_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
KIND = "scheduled"
HOURLY = Timing(every="1h")


@dataclass
class JobStarter:
    """Starts a job for each run; or fails, as it is told."""

    on_prepare: Exception | None = None
    on_start: Exception | None = None
    firings: list[Firing] = field(default_factory=list)

    async def prepare(self, firing: Firing) -> Start:
        if self.on_prepare is not None:
            raise self.on_prepare
        self.firings.append(firing)

        async def start(connection: AsyncConnection) -> str:
            job = NewJob(kind=KIND, tenant_id=firing.schedule.tenant_id)
            await job_table.put(connection, job)
            if self.on_start is not None:
                raise self.on_start
            return job.job_id

        return start

    async def is_running(self, connection: AsyncConnection, work_id: str) -> bool:
        job = await job_table.get(connection, work_id)
        return job is not None and not job.status.is_over


@dataclass
class ScheduleGround:
    database: Database
    tenant: str
    key: Key
    starter: JobStarter = field(default_factory=JobStarter)
    written: io.StringIO = field(default_factory=io.StringIO)

    @property
    def scheduler(self) -> Scheduler:
        return Scheduler(self.database, {ScheduleKind.CRAWL: self.starter}, Log(self.written, level="debug"))

    @property
    def maker(self) -> ScheduleMaker:
        return ScheduleMaker(Via.KEY, self.key.id, self.key.prefix)

    async def add(self, timing: Timing = HOURLY, *, now: int = NOW) -> Schedule:
        new = NewSchedule(
            tenant_id=self.tenant, owner=self.tenant, kind=ScheduleKind.CRAWL, timing=timing, maker=self.maker
        )
        async with self.database.write() as connection:
            return await schedules.add(connection, new, now=now)

    async def get(self, schedule: Schedule) -> Schedule:
        async with self.database.read() as connection:
            found = await schedules.get(connection, schedule.id)
        assert found is not None
        return found

    async def runs(self, schedule: Schedule) -> list[ScheduleRun]:
        """The oldest first."""
        async with self.database.read() as connection:
            return (await schedule_runs.listing(connection, schedule.id))[::-1]

    async def told(self, schedule: Schedule) -> list[tuple[str, str, str, int]]:
        return [
            (run.trigger.value, run.status.value, run.reason, run.missed) for run in await self.runs(schedule)
        ]

    async def listen(self, *events: str) -> None:
        """Somebody of the tenant listens to these."""
        new = WebhookEndpoint(
            tenant_id=self.tenant, owner=self.tenant, url="http://127.0.0.1:9/", events=events
        )
        async with self.database.write() as connection:
            await endpoints.add(connection, new, now=NOW)

    async def events(self) -> list[tuple[str, Any]]:
        """What is to be told: type and data, the oldest first."""
        rows = webhook_deliveries.c
        async with self.database.read() as connection:
            found = await connection.execute(select(rows.event, rows.body).order_by(rows.id))
        return [(row.event, msgspec.json.decode(row.body)) for row in found]

    async def started(self) -> int:
        async with self.database.read() as connection:
            query = select(func.count()).select_from(jobs).where(jobs.c.kind == KIND)
            return await connection.scalar(query) or 0

    async def end_work(self) -> None:
        async with self.database.write() as connection:
            await connection.execute(
                update(jobs).where(jobs.c.kind == KIND).values(status="done", finished_at=NOW)
            )


async def open_ground(database: Database) -> ScheduleGround:
    async with database.write() as connection:
        tenant = await tenants.ensure_tenant(connection, "a@example.com", now=NOW)
        key = await add_key(connection, tenant.id)
    return ScheduleGround(database, tenant.id, key)


async def add_key(connection: AsyncConnection, tenant: str, **more: object) -> Key:
    key_id = str(ULID())
    digest = tenants.key_hash(key_id)
    new = Key(key_id, tenant, "a@example.com", digest, key_id[:8], Role.USER, Tier.PRO, "", NOW, **more)  # type: ignore[arg-type]
    added = await tenants.add_key(connection, new, now=NOW)
    assert added is not None
    return added


def refusal() -> Problem:
    from gossamer.problems import QUOTA_EXCEEDED

    return Problem(QUOTA_EXCEEDED, "too many")
