"""Rendering while something that it stands on is away, and when that is back."""

import asyncio
import shutil
from pathlib import Path

import pytest
from tests.doors.fetches import say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import OpenRendering, app_page, article, at_work, open_rendering
from tests.doors.services import ADMIN_KEY, bearer
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import S3
from tests.servers.valkey import Valkey

from gossamer.flows.tenants.admit import key_record
from gossamer.state.tenants import tenants

__all__ = ["open_rendering"]


async def test_redis_flushed_or_gone_cold_serves(open_rendering: OpenRendering, own_valkey: Valkey) -> None:
    async with open_rendering(working=False, redis_url=own_valkey.url) as idle:
        await idle.keep("/page", article("Kept"))
        assert (await idle.ask("/page")).headers["x-cache"] == "HIT"
        own_valkey.restart()  # which keeps nothing
        flushed = await idle.ask("/page")
        assert (flushed.status_code, flushed.headers["x-cache"]) == (200, "COLD")
        own_valkey.kill()
        for _ in range(3):
            gone = await idle.ask("/page")
            assert (gone.status_code, gone.headers["x-cache"]) == (200, "COLD")
            assert "Kept" in gone.text
        status = (await idle.get("/api/cache/status", url=idle.site.url("/page"))).json()
        assert (status["cached"], status["location"]) == (True, "cold")
        queued = await idle.ask("/another")
        assert queued.status_code == 202
        async with at_work(idle.visit):
            target = app_page()
            assert (await idle.ask(target, wait=30)).status_code == 200  # rendered and kept without it
        own_valkey.start()
        async with asyncio.timeout(60):
            while (await idle.ask("/page")).headers["x-cache"] != "HIT":
                await asyncio.sleep(0.05)
        assert not idle.visit.logged("internal_error")


async def test_blobs_gone_hot_serves(open_rendering: OpenRendering, tmp_path: Path) -> None:
    blobs = tmp_path / "store"
    async with open_rendering(working=False, blobs_url=blobs.as_uri()) as idle:
        await idle.keep("/page", article("Kept"))
        shutil.rmtree(blobs)
        blobs.write_text("not a folder")
        hot = await idle.ask("/page")
        assert (hot.status_code, hot.headers["x-cache"]) == (200, "HIT")
        async with at_work(idle.visit):
            target = app_page()
            made = await idle.ask(target, wait=30)
            assert made.status_code == 200  # kept in the hot tier alone
        services = (await idle.get("/health")).json()["services"]
        assert services["blobs"]["status"] == "unhealthy"
        partly = await idle.delete(url=idle.site.url("/page"))
        assert partly.status_code == 207
        cleared = partly.json()
        assert (cleared["success"], cleared["failed"], cleared["clearedFrom"]) == (False, ["cold"], ["hot"])
        assert (await idle.ask("/page")).status_code == 202  # not served any more, all the same
        blobs.unlink()
        await idle.service.page_cache.repair()
        whole = await idle.delete(url=idle.site.url("/page"))
        assert (whole.status_code, whole.json()["success"]) == (200, True)
        assert not idle.visit.logged("internal_error")


@pytest.fixture(params=["embedded", "on servers"])
def with_s3(request: pytest.FixtureRequest, own_s3: S3, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The settings of a service whose pages are stored in S3."""
    for name, value in own_s3.environ.items():
        monkeypatch.setenv(name, value)
    if request.param == "embedded":
        return {"blobs_url": own_s3.url}
    server: PostgresServer = request.getfixturevalue("postgres")
    valkey: Valkey = request.getfixturevalue("own_valkey")
    return {"blobs_url": own_s3.url, "database_url": server.url, "redis_url": valkey.url}


async def test_a_store_that_hangs_delays_no_new_page(
    open_rendering: OpenRendering, own_s3: S3, with_s3: dict[str, str]
) -> None:
    async with open_rendering(**with_s3) as rendering:
        own_s3.stop()
        try:
            target = app_page()
            made = await rendering.ask(target, wait=20)  # three uploads that hang take longer
            assert (made.status_code, made.headers["x-cache"]) == (200, "MISS"), made.text
            again = await rendering.ask(target)
            assert (again.status_code, again.headers["x-cache"]) == (200, "HIT")
        finally:
            own_s3.cont()
        assert not rendering.visit.logged("internal_error")


async def test_the_database_restarted(open_rendering: OpenRendering, postgres: PostgresServer) -> None:
    async with open_rendering(working=False, database_url=postgres.url) as idle:
        await idle.keep("/page", article("Kept"))
        assert (await idle.ask("/page")).status_code == 200
        postgres.stop()
        assert (await idle.ask("/page")).headers["x-cache"] == "HIT"  # the key and the page are hot
        assert await idle.service.hot.drop(key_record(tenants.key_hash(ADMIN_KEY)))  # long ago
        assert (await idle.ask("/page")).headers["x-cache"] == "HIT"
        stranger = await idle.ask("/page", sent=bearer("sk_live_unknown"))
        assert_problem(stranger, "SERVICE_UNAVAILABLE")
        assert_problem(await idle.ask("/another"), "SERVICE_UNAVAILABLE")
        assert_problem(await idle.delete(url=idle.site.url("/page")), "SERVICE_UNAVAILABLE")
        postgres.start()
        async with asyncio.timeout(60):
            while (await idle.ask("/another")).status_code != 202:
                await asyncio.sleep(0.05)
        async with at_work(idle.visit):
            assert (await idle.ask(app_page(), wait=30)).status_code == 200
        assert not idle.visit.logged("internal_error")


async def test_deleted_while_it_is_rendered(open_rendering: OpenRendering) -> None:
    async with open_rendering() as rendering:
        target = say(article("Slow"), pause=0.6)
        asked = asyncio.create_task(rendering.ask(target, wait=30))
        async with asyncio.timeout(30):
            while not rendering.visits(target):
                await asyncio.sleep(0.01)
        cleared = await rendering.delete(url=rendering.site.url(target))
        assert (cleared.status_code, cleared.json()["canceledRenders"]) == (200, 0)
        assert (await asked).status_code == 200  # what is processing is let complete
        assert (await rendering.ask(target)).status_code == 200
        await rendering.delete(url=rendering.site.url(target))
        assert (await rendering.ask(target)).status_code == 202


async def test_api_and_worker_apart(
    open_rendering: OpenRendering, postgres: PostgresServer, own_valkey: Valkey
) -> None:
    shared = {"database_url": postgres.url, "redis_url": own_valkey.url}
    async with open_rendering(working=False, **shared) as api, open_rendering(**shared):
        target = app_page()
        made = await asyncio.gather(*(api.ask(target, wait=30) for _ in range(5)))
        assert [answer.status_code for answer in made] == [200] * 5
        assert api.visits(target) == 1
        assert (await api.ask(target)).headers["x-cache"] == "HIT"
        estimate = (await api.ask("/not-yet")).json()["estimatedTime"]
        assert estimate != 3_000  # the worker has told how long it took
        failed = await api.ask(say(article("Gone"), status="410 Gone"), wait=30)
        assert_problem(failed, "RENDER_FAILED")
        await api.delete(url=api.site.url(target))
        assert (await api.ask(target)).status_code == 202
