"""What crawls store is found in the end, though those who see to it are killed again and again."""

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import text

from tests.crawl.stage import Stage, staged
from tests.crawl.web import Web
from tests.servers.daemon import free_port

FOUND = text("SELECT final_url FROM search_pages")
WAITING = text("SELECT count(*) FROM unindexed")
# The time of whoever had something in hand has run out.
LAPSE = text("UPDATE unindexed SET due_at = 0")
KILLS = 3


async def test_every_page_of_a_crawl_is_in_the_index_in_the_end(
    tmp_path: Path, anywhere: Mapping[str, str]
) -> None:
    web = Web(hosts=10, pages=200, port=free_port(), odd=False)
    async with staged(tmp_path / "stage", web, anywhere, workers=2) as stage:
        await stage.begin()
        stage.workers.fill()
        indexer = stage.workers.indexer()
        try:
            for kill in range(KILLS):
                await until_found(stage, 150 * kill + 1)
                indexer.kill()
                async with stage.database.write() as connection:
                    await connection.execute(LAPSE)
                indexer = stage.workers.indexer()
            await stage.until_done()
            await stage.until(lambda: nothing_waits(stage), within=60)
        finally:
            indexer.kill()
        urls = await found(stage)
        assert len(urls) == len(set(urls))
        assert set(urls) == web.all_good()


async def until_found(stage: Stage, pages: int) -> None:
    async def holds() -> bool:
        return len(await found(stage)) >= pages

    await stage.until(holds, within=60)


async def nothing_waits(stage: Stage) -> bool:
    async with stage.database.read() as connection:
        waiting: int = await connection.scalar(WAITING)
    return waiting == 0


async def found(stage: Stage) -> list[str]:
    async with stage.database.read() as connection:
        return list(await connection.scalars(FOUND))
