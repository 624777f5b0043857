"""What goes on when something is away: each row of the table in `docs/scale.md`, caused."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import text

from tests.crawl.stage import Stage, staged
from tests.crawl.web import Web
from tests.doors.services import AS_ADMIN, Visiting
from tests.servers.daemon import free_port
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import S3
from tests.servers.valkey import Valkey

AWAY_SECONDS = 3.0
GAP = 0.05  # seconds between two requests to a host, so that a crawl takes some
HOUR_MS, MINUTE_MS = 3_600_000, 60_000
HOSTS = text("SELECT host, resting_until FROM hosts WHERE NOT is_allowed")
NOW = text("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)")


async def ended_well(stage: Stage) -> None:
    await stage.until_done()
    account = await stage.account()
    assert account.wrong == []


async def test_without_redis_the_database_answers(
    tmp_path: Path, on_own_servers: Mapping[str, str], own_valkey: Valkey
) -> None:
    """It is away from the middle of the crawl on, and does not come back."""
    web = Web(hosts=6, pages=100, port=free_port(), odd=False)
    async with staged(tmp_path / "stage", web, on_own_servers, workers=2) as stage:
        await stage.begin(delay=GAP)
        stage.workers.fill()
        await stage.until_under_way(50)
        own_valkey.kill()
        await ended_well(stage)
        assert (await stage.account()).refetched == 0


async def test_while_postgresql_is_away_workers_pause_and_then_go_on(
    tmp_path: Path, on_own_servers: Mapping[str, str], postgres: PostgresServer, visiting: Visiting
) -> None:
    """Nobody is told that a URL was taken which was not."""
    web = Web(hosts=6, pages=100, port=free_port(), odd=False)
    async with staged(tmp_path / "stage", web, on_own_servers, workers=2) as stage:
        await stage.begin(delay=GAP)
        stage.workers.fill()
        await stage.until_under_way(50)
        async with visiting(database_url=postgres.url, echo_tables=False) as visit:
            postgres.kill()
            for answer in (
                await visit.client.get(f"/api/crawls/{stage.crawl_id}", headers=AS_ADMIN),
                await visit.client.post("/api/frontier/add", json={"urls": [web.url(0)]}, headers=AS_ADMIN),
            ):
                assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
            await asyncio.sleep(AWAY_SECONDS)
            postgres.start()
        await ended_well(stage)


async def test_while_the_object_store_is_away_no_page_is_stored_and_none_is_lost(
    tmp_path: Path, on_own_servers: Mapping[str, str], own_s3: S3
) -> None:
    web = Web(hosts=6, pages=100, port=free_port(), odd=False)
    async with staged(tmp_path / "stage", web, on_own_servers, workers=2) as stage:
        await stage.begin(delay=GAP)
        stage.workers.fill()
        await stage.until_under_way(50)
        own_s3.kill()
        await asyncio.sleep(AWAY_SECONDS)
        own_s3.start()
        await ended_well(stage)


async def test_a_host_that_does_not_say_its_rules_is_left_alone_for_an_hour(
    tmp_path: Path, on_servers: Mapping[str, str]
) -> None:
    web = Web(
        hosts=5, pages=10, port=free_port(), odd=False, silent_robots=(3,), failing_robots=(4,), delay=0.0
    )
    async with staged(tmp_path / "stage", web, on_servers, workers=1) as stage:
        await stage.begin()
        stage.workers.fill()
        await stage.until_stored(30)
        await stage.until(lambda: _rest(stage, (3, 4)), within=90)
        asked = {
            (web.number(visit.address), visit.target)
            for visit in stage.origin.visits()
            if web.number(visit.address) >= 3
        }
        assert asked == {(3, "/robots.txt"), (4, "/robots.txt")}
        assert await stage.stored() == 30


async def _rest(stage: Stage, numbers: tuple[int, ...]) -> bool:
    async with stage.database.read() as connection:
        now = await connection.scalar(NOW)
        rows = list(await connection.execute(HOSTS))
    resting = {row.host for row in rows if row.resting_until > now + HOUR_MS - MINUTE_MS}
    return {f"{stage.web.address(number)}:{stage.web.port}" for number in numbers} <= resting
