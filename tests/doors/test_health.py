"""Health, and what is answered while something is away."""

import asyncio

import pytest

from gossamer import __version__
from gossamer.flows.health import Checkup, Probe, Status
from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from tests.doors.houses import AS_ADMIN, Visit, Visiting
from tests.doors.test_problems import assert_problem
from tests.servers.postgres import PostgresServer
from tests.servers.valkey import Valkey


async def test_decision13_health(visit: Visit) -> None:
    report = (await visit.client.get("/health")).json()
    assert report["status"] == "healthy"
    assert report["version"] == __version__
    assert set(report["services"]) == {
        "database", "cache", "blobs", "browserRendering", "queue", "workers", "search",
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
        async with asyncio.timeout(15):
            while not visit.logged("database_ready"):
                await asyncio.sleep(0.05)
        assert (await visit.client.get("/api/me", headers=AS_ADMIN)).status_code == 200


async def test_metrics_count_by_route_and_never_by_path(visit: Visit) -> None:
    await visit.client.get("/problems/not-found")
    await visit.client.get("/nowhere/at/all")
    text = (await visit.client.get("/metrics")).text
    assert 'gossamer_requests_total{endpoint="/problems/{name}",method="GET",status="200"} 1.0' in text
    assert 'endpoint="unknown"' in text
    assert "/nowhere/at/all" not in text
