"""Gossamer with SQLite or PostgreSQL, pages in a folder, and one process or more that crawl."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

import uvloop

from bench.crawlers.store import Seeds, told
from gossamer.app import Service
from gossamer.flows.crawl.seeds import seeds_of
from gossamer.flows.tenants.keys import FIRST_EMAIL
from gossamer.observe.logs import Log
from gossamer.settings.settings import Settings
from gossamer.state.jobs import heartbeats
from gossamer.state.tenants import tenants
from gossamer.web.crawl.spec import CrawlSpec

PROCESSES: Final = "GOSSAMER_BENCH_PROCESSES"
LOOK_SECONDS: Final = 0.05
MOST_PAGES: Final = 1_000_000
DEEPEST: Final = 1_000


async def crawl(folder: str, seeds: Seeds, processes: int) -> None:
    environment = {
        "GOSSAMER_DATA_DIR": folder,
        "GOSSAMER_EGRESS_ALLOW": "127.0.0.0/8",
        "GOSSAMER_EGRESS_PORTS": "*",
        "GOSSAMER_LOG_LEVEL": "warning",
    }
    if database := os.environ.get("GOSSAMER_BENCH_DATABASE"):
        environment["GOSSAMER_DATABASE_URL"] = database
    async with Service(Settings.load(environment), Log(sys.stderr, level="warning")) as service:
        spec = CrawlSpec(seeds=tuple(seeds.urls), max_pages=MOST_PAGES, max_depth=DEEPEST, delay=0.0)
        async with service.database.write() as connection:
            owner = await tenants.ensure_tenant(connection, FIRST_EMAIL)
        others = [await _worker(environment) for _ in range(processes - 1)]
        stop = asyncio.Event()
        working = asyncio.create_task(service.crawl_worker().run(stop))
        await _present(service, processes)
        begun = await service.crawls.create(owner.id, spec, urls=seeds_of(spec))
        while not (found := await service.crawls.get(begun.id)) or not found.is_over:
            await asyncio.wait([working], timeout=LOOK_SECONDS)
            if working.done():
                working.result()
        stop.set()
        await working
        for other in others:
            other.terminate()
            await other.wait()


async def _present(service: Service, processes: int) -> None:
    """Workers are there before there is work, as they are where crawls are begun every day."""
    while True:
        async with service.database.read() as connection:
            if len(await heartbeats.alive(connection)) >= processes:
                return
        await asyncio.sleep(LOOK_SECONDS)


async def _worker(environment: dict[str, str]) -> asyncio.subprocess.Process:
    command = [sys.executable, "-m", "gossamer", "worker", "--kinds", "crawl"]
    return await asyncio.create_subprocess_exec(*command, env={**os.environ, **environment})


if __name__ == "__main__":
    folder, seeds = told()
    uvloop.run(crawl(str(Path(folder)), seeds, int(os.environ.get(PROCESSES, "1"))))
