"""Each rule raises an alert when something real goes wrong, and resolves it when that is over."""

import asyncio
import io
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from msgspec.structs import force_setattr
from sqlalchemy import delete, insert, text, update
from tests.contract.crawl.crawl_ground import Ground, urls

from gossamer.flows.alerts.evaluator import AlertEvaluator
from gossamer.flows.alerts.rules import RULES, Thresholds
from gossamer.flows.alerts.situation import Surveyor
from gossamer.flows.schedules.scheduler import FAILING
from gossamer.flows.upkeep.health import Checkup, Probe, Shortfall
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.reach.net.certificates import Certificates
from gossamer.state.backup import records
from gossamer.state.crawl.crawl_tables import crawl_minutes, unindexed
from gossamer.state.crawl.reading.crawl_stats import CrawlStats
from gossamer.state.db.database import Database
from gossamer.state.jobs import heartbeats
from gossamer.state.jobs.job import NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.operations import alert_rows, duties
from gossamer.state.schedules.schedule_tables import schedules
from gossamer.state.schedules.schedules import NewSchedule, ScheduleMaker
from gossamer.state.schedules.schedules import add as add_schedule
from gossamer.state.tenants.activity import Via
from gossamer.state.wakeups.wakeups import open_wakeups
from gossamer.state.webhooks import endpoint_health, endpoints
from gossamer.state.webhooks.endpoints import WebhookEndpoint
from gossamer.web.schedules.schedule_words import ScheduleKind
from gossamer.web.schedules.timing import Timing
from gossamer.web.webhooks.attempt import AttemptReason

MINUTES = 12  # in which every rule has lost its patience
WORKER = "a-worker"


@dataclass
class World:
    """Everything that can go wrong."""

    ground: Ground
    jobs: Jobs
    folder: Path
    now: float = field(default_factory=time.time)
    services: dict[str, Exception | Shortfall] = field(default_factory=dict)
    disk_share: float = 0.0
    backup_seconds: float = 0
    urls: list[str] = field(default_factory=list)
    context: ssl.SSLContext | None = None

    @property
    def database(self) -> Database:
        return self.ground.database

    def evaluator(self, name: str = "one") -> AlertEvaluator:
        probes = {
            service: Probe(lambda service=service: self._probe(service))  # type: ignore[misc]
            for service in ("cache", "blobs", "workers")
        }
        checkup = Checkup(probes, Metrics("0"), clock=lambda: self.now)
        surveyor = Surveyor(
            self.database,
            CrawlStats(self.database),
            checkup,
            {"data": self.folder, "gone": self.folder / "gone"},
            lambda: self.now,
        )
        return AlertEvaluator(
            name,
            self.database,
            surveyor,
            Certificates(self.urls, self.context),
            Thresholds(disk_share=self.disk_share, backup_seconds=self.backup_seconds),
            (),
            Metrics("0"),
            Log(io.StringIO()),
        )

    async def _probe(self, service: str) -> Shortfall | None:
        answer = self.services.get(service)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def make_backup(self, hours_ago: float) -> None:
        moment = int((self.now - hours_ago * 3600) * 1000)
        async with self.database.write() as connection:
            made = await records.begin(connection, "file:///backups", now=moment)
            await records.finish(connection, made, snapshot_at=moment, rows=1, size=1, now=moment)
            await records.let_go(connection, made)

    async def holder(self) -> str | None:
        async with self.database.read() as connection:
            found: str | None = await connection.scalar(text("SELECT holder FROM duties"))
            return found

    async def write(self, statement: str) -> None:
        async with self.database.write() as connection:
            await connection.execute(text(statement))

    async def answers(self, **counts: int) -> None:
        none = {column.name: 0 for column in crawl_minutes.c}
        row = {**none, "crawl_id": "c" * 26, "minute": int(self.now // 60) - 1, **counts}
        async with self.database.write() as connection:
            await connection.execute(delete(crawl_minutes))
            await connection.execute(insert(crawl_minutes).values(row))


@pytest.fixture
async def world(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[World]:
    jobs = Jobs(database, open_wakeups(database))
    yield World(await Ground.on(database), jobs, tmp_path)
    await jobs.close()


Change = Callable[[World], Awaitable[None]]


async def lose_a_service(world: World) -> None:
    world.services["blobs"] = Unavailable("blobs", "gone fishing")


async def miss_something(world: World) -> None:
    world.services["cache"] = Shortfall("half of it", {})


async def lose_all_workers(world: World) -> None:
    world.services["workers"] = Unavailable("workers", "no worker is running for audit")


async def find_all_services(world: World) -> None:
    world.services.clear()


async def get_errors(world: World) -> None:
    await world.answers(status_2xx=70, status_4xx=20, status_5xx=10)


async def get_good_answers(world: World) -> None:
    await world.answers(status_2xx=80, status_4xx=20)


async def grow(world: World) -> None:
    if not world.ground.__dict__.get("is_grown"):
        world.ground.__dict__["is_grown"] = True
        await world.ground.crawl(urls("a:80", 2))
        await world.write("UPDATE crawls SET pending = 1000")
    await world.write("UPDATE crawls SET pending = pending * 2")


async def stand_still(world: World) -> None:
    """Half a minute, in which nothing is found."""


async def let_a_job_wait(world: World) -> None:
    await world.jobs.put(NewJob(kind="audit", tenant_id=world.ground.tenant))
    await world.write("UPDATE jobs SET run_at = run_at - 1200000")


async def put_jobs_off(world: World) -> None:
    await world.write("UPDATE jobs SET run_at = run_at + 100000000")


async def fall_silent(world: World) -> None:
    async with world.database.write() as connection:
        await heartbeats.beat(connection, WORKER, ["audit"], 0, now=int((world.now - 300) * 1000))


async def beat_again(world: World) -> None:
    async with world.database.write() as connection:
        await heartbeats.beat(connection, WORKER, ["audit"], 0, now=int(world.now * 1000))


async def fill_the_disk(world: World) -> None:
    world.disk_share = 1.1  # of it must be free


async def clear_the_disk(world: World) -> None:
    world.disk_share = 0.0


async def forget_backups(world: World) -> None:
    world.backup_seconds = 86_400
    await world.make_backup(hours_ago=25)


async def make_a_backup(world: World) -> None:
    await world.make_backup(hours_ago=0)


async def leave_pages_unindexed(world: World) -> None:
    row = {"blob": "b", "crawl_id": "c" * 26, "tenant_id": "t" * 26, "due_at": 0, "attempt": 0}
    async with world.database.write() as connection:
        await connection.execute(delete(unindexed))
        crawled_at = int((world.now - 3600) * 1000)
        await connection.execute(insert(unindexed).values(crawled_at=crawled_at, **row))


async def index_pages(world: World) -> None:
    async with world.database.write() as connection:
        await connection.execute(delete(unindexed))


async def fail_a_schedule(world: World) -> None:
    async with world.database.write() as connection:
        await connection.execute(delete(schedules))
        maker = ScheduleMaker(Via.KEY, "k")
        new = NewSchedule(
            tenant_id=world.ground.tenant,
            owner=world.ground.tenant,
            kind=ScheduleKind.CRAWL,
            timing=Timing(every="1h"),
            maker=maker,
        )
        await add_schedule(connection, new)
        await connection.execute(update(schedules).values(failures=FAILING))


async def start_a_run(world: World) -> None:
    await world.write("UPDATE schedules SET failures = 0")


async def lose_a_receiver(world: World) -> None:
    async with world.database.write() as connection:
        if await endpoint_health.count_failing(connection, 0, now=round(world.now * 1000)):
            return
        tenant = world.ground.tenant
        new = WebhookEndpoint(tenant_id=tenant, owner=tenant, url="http://127.0.0.1:9/", events=("*",))
        await endpoints.add(connection, new)
        failed_at = round((world.now - 3600) * 1000)
        await endpoint_health.note_failure(connection, new.id, AttemptReason.TIMEOUT, now=failed_at)


async def find_the_receiver(world: World) -> None:
    await world.write("UPDATE webhook_endpoints SET failing_since = NULL")


SCENES: dict[str, tuple[str, Change, Change]] = {
    "service_down": ("blobs", lose_a_service, find_all_services),
    "service_degraded": ("cache", miss_something, find_all_services),
    "work_waits": ("workers", lose_all_workers, find_all_services),
    "error_rate": ("crawls", get_errors, get_good_answers),
    "frontier_backlog": ("frontier", grow, stand_still),
    "queue_backlog": ("audit", let_a_job_wait, put_jobs_off),
    "worker_silent": (WORKER, fall_silent, beat_again),
    "disk_low": ("data", fill_the_disk, clear_the_disk),
    "backup_old": ("backup", forget_backups, make_a_backup),
    "index_behind": ("index", leave_pages_unindexed, index_pages),
    "schedules_failing": ("schedules", fail_a_schedule, start_a_run),
    "webhooks_failing": ("webhooks", lose_a_receiver, find_the_receiver),
}
ELSEWHERE = {
    "certificate",
    "server_errors",
    "unseen",
    "webhooks_given_up",
}  # below; and what only Prometheus can see


def test_every_rule_has_a_scene() -> None:
    assert SCENES.keys() | ELSEWHERE == {rule.name for rule in RULES}


@pytest.mark.parametrize("rule", SCENES)
async def test_a_rule_raises_and_resolves(world: World, rule: str) -> None:
    subject, break_it, mend_it = SCENES[rule]
    patience = next(one.patience for one in RULES if one.name == rule)
    memory = world.evaluator()._memory
    raised_after, began = None, world.now
    for _ in range(MINUTES):
        await break_it(world)
        changes = await evaluate(world, memory)
        if changes.raised:
            raised_after = world.now - began
            break
        world.now += 60
    (alert,) = changes.raised
    assert (alert.rule, alert.subject) == (rule, subject)
    assert alert.detail
    # Growth is seen from the second minute on.
    assert raised_after == patience + (60 if rule == "frontier_backlog" else 0)
    async with world.database.read() as connection:
        assert [one.id for one in await alert_rows.list_open(connection)] == [alert.id]
    await break_it(world)
    world.now += 30
    assert (await evaluate(world, memory)).raised == []  # once
    await mend_it(world)
    world.now += 60
    changes = await evaluate(world, memory)
    assert ([one.id for one in changes.resolved], changes.raised) == ([alert.id], [])
    async with world.database.read() as connection:
        assert await alert_rows.list_open(connection, waiting=True) == []
        assert [one.id for one in await alert_rows.list_resolved(connection, 10)] == [alert.id]


async def evaluate(world: World, memory: object) -> alert_rows.AlertChanges:
    """By an evaluator with the thresholds of the moment, which remembers what it saw before."""
    evaluator = world.evaluator()
    force_setattr(evaluator, "_memory", memory)
    changes = await evaluator.evaluate(now=int(world.now * 1000))
    assert changes is not None
    return changes


async def test_trouble_that_ends_before_patience_does_is_never_raised(world: World) -> None:
    memory = world.evaluator()._memory
    await lose_a_service(world)
    assert (await evaluate(world, memory)).raised == []
    world.now += 59
    assert (await evaluate(world, memory)).raised == []
    await find_all_services(world)
    world.now += 11
    assert (await evaluate(world, memory)).resolved == []
    await lose_a_service(world)
    world.now += 11
    assert (await evaluate(world, memory)).raised == []  # patience begins again


async def test_one_evaluates_and_another_takes_over(world: World) -> None:
    one, two = world.evaluator("one"), world.evaluator("two")
    await fall_silent(world)
    now = int(world.now * 1000)
    both = await asyncio.gather(one.evaluate(now=now), two.evaluate(now=now))
    assert sorted(changes is None for changes in both) == [False, True]
    (first,) = [changes for changes in both if changes is not None]
    assert [alert.subject for alert in first.raised] == [WORKER]
    holder, other = (one, two) if both[0] is not None else (two, one)
    assert await other.evaluate(now=now + 29_000) is None
    taken = await other.evaluate(now=now + 30_000)  # the first was killed: it said nothing
    assert taken is not None
    assert taken.raised == []  # it is known already
    assert await holder.evaluate(now=now + 31_000) is None
    async with world.database.write() as connection:
        await duties.leave(connection, "alerts", other.name)
    assert await holder.evaluate(now=now + 32_000) is not None  # at once


async def test_an_evaluator_that_leaves_lets_another_begin_at_once(world: World) -> None:
    wakeups = open_wakeups(world.database)
    running = asyncio.create_task(world.evaluator("one").run(wakeups, at_once=True))
    async with asyncio.timeout(60):
        while await world.holder() != "one":  # until it has begun
            await asyncio.sleep(0.01)
    two = world.evaluator("two")
    assert await two.evaluate() is None
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert await two.evaluate() is not None
    await wakeups.close()


@asynccontextmanager
async def tls_server(certificate: trustme.LeafCert) -> AsyncIterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)

    async def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_certificate_that_is_invalid_or_ends_soon_is_told(world: World) -> None:
    authority = trustme.CA()
    soon = authority.issue_cert("127.0.0.1", not_after=datetime.now(UTC) + timedelta(days=10))
    async with tls_server(soon) as url:
        port = url.rpartition(":")[2]
        world.urls = [url, "https://127.0.0.1:9", "http://127.0.0.1:9"]  # nobody is there
        (alert,) = (await evaluate(world, world.evaluator()._memory)).raised
        assert (alert.subject, alert.detail) == (
            f"127.0.0.1:{port}",
            "it is not valid: unable to get local issuer certificate",
        )
        world.context = ssl.create_default_context()
        authority.configure_trust(world.context)
        changes = await evaluate(world, world.evaluator()._memory)
        assert (changes.raised, changes.resolved) == ([], [])
        async with world.database.read() as connection:
            (alert,) = await alert_rows.list_open(connection)
        assert alert.detail == "it ends in 9 days"
    async with tls_server(authority.issue_cert("127.0.0.1")) as url:
        world.urls = [url]
        (alert,) = (await evaluate(world, world.evaluator()._memory)).resolved
        assert alert.rule == "certificate"
