"""What a crawl of the synthetic web needs: servers, a database, workers, and a way to begin and to wait."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gossamer.flows.crawl.seeds import seeds_of
from gossamer.settings.settings import Settings
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.db.database import Database, open_database
from gossamer.state.tenants import tenants
from gossamer.web.crawl.spec import CrawlSpec
from tests.crawl.judging import Account, account, complaints
from tests.crawl.origin import Origin
from tests.crawl.web import DEPTH, NETWORK, Web
from tests.crawl.workers import Workers
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import S3
from tests.servers.valkey import Valkey

LOOK_SECONDS = 0.1


@dataclass
class Stage:
    web: Web
    origin: Origin
    database: Database
    workers: Workers
    crawl_id: str = ""

    async def begin(self, **spec: Any) -> None:
        """A crawl of the whole web, from every home page."""
        wanted: dict[str, Any] = {
            "seeds": self.web.homes(),
            "scope": "any",
            "max_pages": 1_000_000,
            "max_depth": DEPTH,
            **spec,
        }
        async with self.database.write() as connection:
            tenant = (await tenants.ensure_tenant(connection, "crawl@example.com")).id
        crawl = CrawlSpec(**wanted)
        self.crawl_id = (await Crawls(self.database).create(tenant, crawl, urls=seeds_of(crawl))).id

    async def crawl(self) -> Crawl:
        crawl = await Crawls(self.database).get(self.crawl_id)
        assert crawl is not None
        return crawl

    async def stored(self) -> int:
        return (await self.crawl()).counts.pages

    async def until_stored(self, pages: int, *, within: float = 60.0) -> None:
        await self.until(lambda: self._has_stored(pages), within=within)

    async def until_under_way(self, pages: int) -> None:
        """So many are stored, and more are to come."""
        await self.until_stored(pages)
        assert not (await self.crawl()).is_over, "it is over before anything could happen to it"

    async def until_done(self, *, within: float = 120.0) -> None:
        await self.until(self._is_done, within=within)

    async def until(self, holds: Callable[[], Awaitable[bool]], *, within: float) -> None:
        try:
            async with asyncio.timeout(within):
                while not await holds():
                    assert self.workers.is_whole, self.said()
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            raise AssertionError(f"{(await self.crawl()).counts}; {self.said()}") from None

    async def account(self) -> Account:
        crawl = await self.crawl()
        visits = self.origin.visits()
        return await account(self.database, self.crawl_id, self.web, visits, depth=crawl.spec.max_depth)

    def complaints(self, delay: float) -> list[str]:
        return [str(one) for one in complaints(self.origin.visits(), delay)]

    def said(self) -> str:
        """The last that the workers have said."""
        return self.workers.log.read_text()[-3_000:] if self.workers.log.exists() else "nobody said anything"

    async def _has_stored(self, pages: int) -> bool:
        return await self.stored() >= pages

    async def _is_done(self) -> bool:
        return (await self.crawl()).is_over


@asynccontextmanager
async def staged(
    folder: Path, web: Web, stores: Mapping[str, str], *, workers: int = 4, seed: int = 1
) -> AsyncIterator[Stage]:
    """`stores` are settings by variable, and what else workers are to find in their environment."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {
        "GOSSAMER_DATA_DIR": str(folder),
        "GOSSAMER_EGRESS_ALLOW": NETWORK,
        "GOSSAMER_EGRESS_PORTS": "*",
        "GOSSAMER_LOG_LEVEL": "warning",
        "GOSSAMER_CRAWL_DELAY": "0",
        **stores,
    }
    origin = Origin(folder, web)
    database = open_database(Settings.load(environment).database_url)
    started = Workers(database, environment, folder, count=workers, seed=seed)
    try:
        origin.start()
        await database.migrate()
        yield Stage(web, origin, database, started)
    finally:
        await started.end()
        await database.close()
        origin.kill()


def settings_of(postgres: PostgresServer, valkey: Valkey, s3: S3, blobs_url: str) -> dict[str, str]:
    return {
        "GOSSAMER_DATABASE_URL": postgres.url,
        "GOSSAMER_REDIS_URL": valkey.url,
        "GOSSAMER_BLOBS_URL": blobs_url,
        **s3.environ,
    }
