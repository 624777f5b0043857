"""What a page cache stands on: a hot store, blobs and a database with two tenants in it, on real servers."""

import io
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Table, select, update

from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.state.blobs.blobs import Blobs, open_blobs
from gossamer.state.db.database import Database, open_database
from gossamer.state.db.tables import cached_pages, stray_blobs
from gossamer.state.kv.hot import Hot
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.kv.hot_redis import RedisHot
from gossamer.state.kv.resp import RespClient
from gossamer.state.kv.resp_address import Address
from gossamer.state.pages.cached_page import CachedPage
from gossamer.state.pages.page_cache import PageCache
from gossamer.state.pages.page_key import PageKey
from gossamer.state.tenants import tenants
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import BUCKET, Moto
from tests.servers.valkey import PATIENCE, Valkey

numbers = itertools.count()
NOON = 1_800_000_000_000


@dataclass
class Tiers:
    hot: Hot
    blobs: Blobs
    database: Database
    tenant: str = ""
    other_tenant: str = ""
    valkey: Valkey | None = None
    stream: io.StringIO = field(default_factory=io.StringIO)
    metrics: Metrics = field(default_factory=lambda: Metrics("test"))
    _caches: list[PageCache] = field(default_factory=list)

    async def prepare(self) -> None:
        await self.database.migrate()
        async with self.database.write() as connection:
            self.tenant = (await tenants.ensure_tenant(connection, "a@example.com")).id
            self.other_tenant = (await tenants.ensure_tenant(connection, "b@example.com")).id

    def cache(self, *, hot: Hot | None = None, blobs: Blobs | None = None, alone: bool = False) -> PageCache:
        """As one process has it; two of them share everything but their memory."""
        stores = (hot or self.hot, blobs or self.blobs, self.database)
        made = PageCache(*stores, Log(self.stream), self.metrics, alone=alone)
        self._caches.append(made)
        return made

    async def settle(self) -> None:
        """Whatever goes on behind the answers has come to its end."""
        for cache in self._caches:
            await cache.close()

    async def close(self) -> None:
        await self.settle()
        for part in (self.hot, self.blobs, self.database):
            await part.close()

    def key(self, path: str = "/", variant: str = "default") -> PageKey:
        return PageKey(self.tenant, f"https://example.com{path}", variant)

    async def flush_hot(self) -> None:
        """Everything that the hot store knows is gone, its fences too."""
        if isinstance(self.hot, MemoryHot):
            self.hot._pages.clear()
            self.hot._fences.clear()
            self.hot._page_bytes = 0
            return
        assert self.valkey is not None
        client = RespClient(Address.parse(self.valkey.url))
        await client.call("FLUSHALL")
        await client.close()

    async def evict(self, key: PageKey) -> None:
        await self.hot.drop_page(f"render:{key.name}")

    async def hot_page(self, key: PageKey) -> bytes | None:
        return await self.hot.page(f"render:{key.name}")

    async def rows(self, table: Table = cached_pages) -> list[Any]:
        async with self.database.read() as connection:
            return list(await connection.execute(select(table)))

    async def make_due(self) -> None:
        """As if an hour had passed for whatever waits for repair and is in nobody's hands."""
        for table in (cached_pages, stray_blobs):
            waiting = select(table.c.name).where(table.c.due_at.is_not(None)).order_by(table.c.name)
            async with self.database.write() as connection:
                names = (await connection.scalars(waiting.with_for_update(skip_locked=True))).all()
                await connection.execute(update(table).where(table.c.name.in_(names)).values(due_at=0))

    def logged(self, event: str) -> list[dict[str, Any]]:
        lines = [msgspec.json.decode(line) for line in self.stream.getvalue().splitlines()]
        return [line for line in lines if line["event"] == event]

    def counted(self, event: str) -> int:
        return int(self.metrics.registry.get_sample_value("gossamer_page_cache_total", {"event": event}) or 0)


def page_of(html: bytes, *, rendered_at: int = NOON, **about: Any) -> CachedPage:
    return CachedPage.of(html, url="https://example.com/", rendered_at=rendered_at, **about)


@pytest.fixture(params=["memory-folder-sqlite", "redis-s3-postgres"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Tiers:
    """Embedded, and as on servers. Not opened yet."""
    if request.param == "memory-folder-sqlite":
        return Tiers(
            MemoryHot(),
            open_blobs(f"file://{tmp_path}/blobs", {}),
            open_database(request.getfixturevalue("sqlite")),
        )
    valkey: Valkey = request.getfixturevalue("valkey")
    moto: Moto = request.getfixturevalue("moto")
    server: PostgresServer = request.getfixturevalue("postgres")
    number = next(numbers)
    return Tiers(
        RedisHot(valkey.url, f"pages{number}", deadline=PATIENCE),
        open_blobs(moto.url_of(BUCKET, f"tiers{number}"), moto.environ),
        open_database(server.url),
        valkey=valkey,
    )


@pytest.fixture
async def tiers(stores: Tiers) -> AsyncIterator[Tiers]:
    await stores.prepare()
    yield stores
    await stores.close()
