"""Health, and what is answered while something is away."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.doors.cli.commands import gossamer
from tests.doors.crawls import OPEN, begin
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting
from tests.servers.postgres import PostgresServer
from tests.servers.valkey import Valkey

from gossamer import __version__
from gossamer.flows.upkeep import queue
from gossamer.flows.upkeep.health import Checkup, Probe, Shortfall, Status
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state.crawl.hosts import OVERDUE_MS
from gossamer.state.jobs import heartbeats


async def test_decision13_health(visit: Visit) -> None:
    report = (await visit.client.get("/health")).json()
    assert report["status"] == "healthy"
    assert report["version"] == __version__
    assert set(report["services"]) == {
        "database", "cache", "blobs", "browserRendering", "queue", "workers", "search", "background",
    }  # fmt: skip
    assert all(set(service) >= {"status", "latency"} for service in report["services"].values())
    assert report["services"]["search"]["details"] == {"index": "answers"}
    assert (await visit.client.get("/health/live")).json() == {"status": "healthy"}
    assert (await visit.client.get("/health/ready")).json() == {"status": "healthy"}


async def test_decision13_probes_are_cached_for_10_seconds() -> None:
    now = 100.0
    asked = 0

    async def ask() -> None:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)

    checkup = Checkup({"database": Probe(ask, needed=True)}, Metrics("0"), clock=lambda: now)
    await asyncio.gather(*(checkup.health() for _ in range(20)))
    assert asked == 1
    now += 9.9
    await checkup.health()
    assert asked == 1
    now += 0.1
    await checkup.health()
    assert asked == 2


@pytest.mark.parametrize("needed", [True, False])
async def test_the_end_of_an_outage_is_told_within_2_seconds(needed: bool) -> None:
    now, is_away = 100.0, True

    async def ask() -> None:
        if is_away:
            raise Unavailable("thing", "it does not answer")

    checkup = Checkup({"thing": Probe(ask, needed)}, Metrics("0"), clock=lambda: now)
    assert (await checkup.health()).status is not Status.HEALTHY
    is_away = False
    now += 1.9
    assert (await checkup.health()).status is not Status.HEALTHY
    now += 0.1
    assert (await checkup.health()).status is Status.HEALTHY


@pytest.mark.parametrize(("needed", "expected"), [(True, Status.UNHEALTHY), (False, Status.DEGRADED)])
async def test_a_service_that_is_away(needed: bool, expected: Status) -> None:
    async def ask() -> None:
        raise Unavailable("thing", "gone fishing")

    health = await Checkup({"thing": Probe(ask, needed)}, Metrics("0")).health()
    assert health.status is expected
    assert health.services["thing"].reason == "gone fishing"


async def test_decision15_redis_away_is_degraded_and_serves(visiting: Visiting, own_valkey: Valkey) -> None:
    own_valkey.kill()
    async with visiting(redis_url=own_valkey.url) as visit:
        assert len(visit.logged("cache_away")) == 1
        report = (await visit.client.get("/health")).json()
        assert (report["status"], report["services"]["cache"]["status"]) == ("degraded", "unhealthy")
        assert (await visit.client.get("/health/ready")).status_code == 200
        assert (await visit.client.get("/api/me", headers=AS_ADMIN)).status_code == 200


async def test_decision15_database_away_is_503_and_comes_back(
    visiting: Visiting, postgres: PostgresServer
) -> None:
    async with visiting(database_url=postgres.url) as visit:
        assert (await visit.client.get("/api/admin/keys", headers=AS_ADMIN)).status_code == 200
        postgres.stop()
        away = await visit.client.get("/api/admin/keys", headers=AS_ADMIN)
        document = assert_problem(away, "SERVICE_UNAVAILABLE")
        assert document["retryAfter"] == int(away.headers["retry-after"])
        assert (await visit.client.get("/docs")).status_code == 200
        ready = await visit.client.get("/health/ready")
        assert_problem(ready, "SERVICE_UNAVAILABLE")
        postgres.start()
        assert (await visit.client.get("/api/admin/keys", headers=AS_ADMIN)).status_code == 200
        assert not visit.logged("internal_error")


async def test_a_database_away_at_start_is_waited_for(visiting: Visiting, postgres: PostgresServer) -> None:
    postgres.stop()
    async with visiting(database_url=postgres.url, echo_tables=False) as visit:
        assert visit.logged("database_away")
        away = await visit.client.get("/api/me", headers=AS_ADMIN)
        assert_problem(away, "SERVICE_UNAVAILABLE")
        postgres.start()
        async with asyncio.timeout(60):
            while not visit.logged("database_ready"):
                await asyncio.sleep(0.05)
        assert (await visit.client.get("/api/me", headers=AS_ADMIN)).status_code == 200


async def test_metrics_count_by_route_and_never_by_path(visit: Visit) -> None:
    await visit.client.get("/problems/not-found")
    await visit.client.get("/nowhere/at/all")
    text = (await visit.client.get("/metrics", headers=AS_ADMIN)).text
    assert 'gossamer_requests_total{endpoint="/problems/{name}",method="GET",status="200"} 1.0' in text
    assert 'endpoint="unknown"' in text
    assert "/nowhere/at/all" not in text


async def test_a_crawl_that_nobody_works_on_is_told(visiting: Visiting, database_url: str) -> None:
    async with visiting(database_url=database_url, **OPEN) as visit:
        service = visit.service
        await begin(visit, "http://127.0.0.1:9/")
        # They may be about to come.
        assert await queue.workers(service.jobs, service.hosts) == {"alive": 0, "kinds": []}
        async with service.database.write() as connection:
            await connection.execute(text(f"UPDATE hosts SET due_at = due_at - {OVERDUE_MS}"))
        report = (await visit.client.get("/health")).json()
        assert (report["status"], report["services"]["workers"]["status"]) == ("degraded", "unhealthy")
        assert report["services"]["workers"]["reason"] == "no worker is running for crawl"
        assert (await visit.client.get("/health/ready")).status_code == 200
        async with service.database.write() as connection:
            await heartbeats.beat(connection, "w", [heartbeats.CRAWL], 0)
        idle = await queue.workers(service.jobs, service.hosts)
        assert isinstance(idle, Shortfall)
        assert idle.reason == "workers are running but do nothing for crawl"
        assert await service.hosts.lease("w", 1)
        assert await queue.workers(service.jobs, service.hosts) == {"alive": 1, "kinds": ["crawl"]}


# A damaged file.


def make_garbage(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"what was here is gone " * 100)


def damage_table(path: Path, table: str) -> None:
    """The pages in which the table and its indexes begin, in the middle of the file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        found = "SELECT rootpage FROM sqlite_master WHERE tbl_name = ?"
        numbers = [number for (number,) in connection.execute(found, (table,))]
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        for number in numbers:
            file.seek((number - 1) * size)
            file.write(b"\xa5" * size)


@pytest.mark.parametrize("arguments", [("serve", "--port", "0"), ("keys", "list"), ("worker",)])
def test_a_file_that_is_damaged_at_the_start_is_named_and_nothing_waits(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    gossamer("keys", "create", "--email", "a@example.com", folder=tmp_path)
    path = tmp_path / "gossamer.db"
    for beside in tmp_path.glob("gossamer.db-*"):
        beside.unlink()
    make_garbage(path)
    done = gossamer(*arguments, folder=tmp_path, check=False)
    assert done.returncode == 1
    said = done.stderr.splitlines()
    assert len(said) == 1
    assert said[0].startswith(f"gossamer: {path} is damaged (the file is not a database).")
    assert "put back a copy" in said[0]


async def test_a_file_that_is_damaged_in_the_middle_is_told_and_the_rest_is_served(
    visiting: Visiting, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.db"
    async with visiting(database_url=f"sqlite:///{path}"):
        pass
    damage_table(path, "crawls")
    async with visiting(database_url=f"sqlite:///{path}") as visit:
        answer = await visit.client.get("/api/crawls", headers=AS_ADMIN)
        document = assert_problem(answer, "SERVICE_UNAVAILABLE")
        assert "the file is damaged" in str(document["detail"])
        assert str(tmp_path) not in answer.text
        (line, *_) = visit.logged("damaged")
        assert str(path) in line["message"]
        assert "put back a copy" in line["message"]
        report = (await visit.client.get("/health")).json()
        assert (report["status"], report["services"]["database"]["status"]) == ("degraded", "degraded")
        assert "the file is damaged" in report["services"]["database"]["reason"]
        assert (await visit.client.get("/api/me", headers=AS_ADMIN)).status_code == 200
