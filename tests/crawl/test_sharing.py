"""How workers share the hosts of a crawl that is too small to keep each of them busy."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import text

from gossamer.state.jobs import heartbeats
from tests.crawl.stage import Stage, staged
from tests.crawl.web import Web
from tests.servers.daemon import free_port

HOSTS, WORKERS = 12, 4
GAP = 0.5  # seconds between two requests to a host, so that it is held for long
HELD = text("SELECT locked_by FROM hosts WHERE locked_by IS NOT NULL")


async def held(stage: Stage) -> Counter[str]:
    """How many hosts each worker has."""
    async with stage.database.read() as connection:
        return Counter(await connection.scalars(HELD))


async def have_all(stage: Stage) -> bool:
    return sum((await held(stage)).values()) == HOSTS


async def share(stage: Stage) -> bool:
    """Each has about as many as the others."""
    found = await held(stage)
    return sum(found.values()) == HOSTS and min(found[name] for name in stage.workers.names) >= 2


async def are_known(stage: Stage) -> bool:
    async with stage.database.read() as connection:
        return len(await heartbeats.alive(connection)) == WORKERS


async def test_workers_share_hosts_from_the_beginning_and_with_who_comes_later(
    tmp_path: Path, anywhere: Mapping[str, str]
) -> None:
    web = Web(hosts=HOSTS, pages=200, port=free_port(), odd=False)
    async with staged(tmp_path / "stage", web, anywhere, workers=1) as stage:
        await stage.begin(delay=GAP)
        stage.workers.fill()
        await stage.until(lambda: have_all(stage), within=60)
        stage.workers.grow(WORKERS)  # who find nothing to do, until the busy one gives them of his
        await stage.until(lambda: share(stage), within=60)


async def test_workers_that_wait_for_a_crawl_begin_with_it_together(
    tmp_path: Path, on_servers: Mapping[str, str]
) -> None:
    web = Web(hosts=HOSTS, pages=200, port=free_port(), odd=False)
    async with staged(tmp_path / "stage", web, on_servers, workers=WORKERS) as stage:
        stage.workers.fill()
        await stage.until(lambda: are_known(stage), within=60)
        await stage.begin(delay=GAP)
        await stage.until(lambda: share(stage), within=60)
