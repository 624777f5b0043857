"""Every page exactly once, whatever happens to workers: killed, frozen past their leases, all gone."""

from collections.abc import Mapping
from pathlib import Path

from tests.crawl.stage import staged
from tests.crawl.web import Web
from tests.doors.services import AS_ADMIN, Visiting
from tests.servers.daemon import free_port

GAP = 0.05  # seconds between two requests to a host, so that a crawl takes some


async def test_a_crawl_stores_what_is_there_and_nothing_else(
    tmp_path: Path, anywhere: Mapping[str, str]
) -> None:
    web = Web(hosts=6, pages=30, port=free_port())
    async with staged(tmp_path / "stage", web, anywhere, workers=1) as stage:
        await stage.begin()
        stage.workers.fill()
        await stage.until_done()
        account = await stage.account()
        assert account.wrong == []
        assert account.refetched == 0


async def test_workers_that_are_killed_or_overtaken_lose_nothing_and_write_nothing_twice(
    tmp_path: Path, on_servers: Mapping[str, str]
) -> None:
    """A worker that was frozen goes on as if nothing had been, with leases that others have long taken."""
    web = Web(hosts=12, pages=100, port=free_port(), odd=False)
    async with staged(tmp_path / "stage", web, on_servers, workers=4) as stage:
        await stage.begin(delay=GAP)
        stage.workers.fill()
        await stage.until_under_way(100)
        await stage.workers.kill_one(lapse=True)
        await stage.until_under_way(300)
        overtaken = await stage.workers.overtake_one()
        await stage.until_stored(600)
        stage.workers.thaw(overtaken)
        await stage.until_done()
        assert overtaken.is_alive
        account = await stage.account()
        assert account.wrong == []
        assert account.refetched <= stage.workers.in_hand > 0


async def test_when_all_workers_are_gone_the_api_answers_and_others_go_on_where_they_were(
    tmp_path: Path, on_servers: Mapping[str, str], visiting: Visiting
) -> None:
    web = Web(hosts=8, pages=100, port=free_port(), odd=False)
    async with staged(tmp_path / "stage", web, on_servers, workers=2) as stage:
        await stage.begin(delay=GAP)
        stage.workers.fill()
        await stage.until_under_way(100)
        await stage.workers.kill_all(lapse=True)
        stored = await stage.stored()
        assert stored < web.hosts * web.pages
        async with visiting(database_url=on_servers["GOSSAMER_DATABASE_URL"], echo_tables=False) as visit:
            answer = await visit.client.get(f"/api/crawls/{stage.crawl_id}", headers=AS_ADMIN)
            assert answer.status_code == 200, answer.text
        stage.workers.fill()
        await stage.until_done()
        account = await stage.account()
        assert account.wrong == []
        assert account.refetched <= stage.workers.in_hand > 0
