"""Memory on a database, with callers of two tenants and two wallets."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from gossamer.flows.memory.memory import Memory, WalletBounds
from gossamer.flows.memory.memory_search import FoundEntries, MemorySearch
from gossamer.flows.tenants.admit import Caller, wallet
from gossamer.flows.tenants.quotas import Quota, Quotas
from gossamer.observe.logs import Log
from gossamer.settings.values import PerTier
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.db.database import Database
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.tenants import tenants
from gossamer.state.tenants.tenants import Role
from gossamer.web.memory.memory_entry import MemoryEntry
from gossamer.web.memory.memory_request import MemoryWrite
from gossamer.web.search.question import Question

NOW = 1_800_000_000_000
ALICE, BOB = "0x" + "a" * 40, "0x" + "b" * 40
UNBOUND = PerTier(None, None, None)


@dataclass(frozen=True)
class MemoryGround:
    database: Database
    memory: Memory
    search: MemorySearch
    index: SearchIndex
    ours: Caller
    theirs: Caller
    alice: Caller
    bob: Caller

    async def put(self, key: str, value: Any, *, by: Caller | None = None, **more: Any) -> MemoryEntry:
        now = more.pop("now", NOW)
        more.setdefault("namespace", "notes")
        asked = MemoryWrite(key=key, value=value, **more)
        return (await self.memory.put(by or self.ours, [asked], now=now))[0]

    async def value(
        self, key: str, *, namespace: str = "notes", by: Caller | None = None, now: int = NOW
    ) -> Any:
        """None: there is no such entry."""
        found = await self.memory.get(by or self.ours, [(namespace, key)], now=now)
        return msgspec.json.decode(found[namespace, key].value) if found else None

    async def keys(self, by: Caller | None = None, namespace: str = "notes", **which: Any) -> list[str]:
        which = {"limit": 100, "now": NOW, **which}
        return [entry.key for entry in await self.memory.listing(by or self.ours, namespace, **which)]

    async def size(self, by: Caller | None = None) -> tuple[int, int]:
        return tuple((await self.memory.sizes(by or self.ours)).size)  # type: ignore[return-value]

    async def find(
        self,
        query: str,
        *namespaces: str,
        by: Caller | None = None,
        tags: Sequence[str] = (),
        limit: int = 10,
    ) -> FoundEntries:
        question = Question.parse(query, limit=limit)
        return await self.search.find(by or self.ours, question, namespaces, tags)

    async def found(self, query: str, *namespaces: str, **more: Any) -> list[str]:
        """The keys of entries that have everything that was asked for."""
        found = await self.find(query, *namespaces, **more)
        return [one.entry.key for one in found.found if not one.ranked.hit.missing]


async def open_ground(database: Database, keep_versions: int = 3, **bounds: PerTier) -> MemoryGround:
    async with database.write() as connection:
        ours = await tenants.ensure_tenant(connection, "ours@example.com")
        theirs = await tenants.ensure_tenant(connection, "theirs@example.com")
    log = Log(io.StringIO())
    table = {quota: bounds.get(quota.value, UNBOUND) for quota in Quota}
    quotas = Quotas(database, Crawls(database), table, log)
    memory = Memory(database, quotas, WalletBounds(2, 1_000), keep_versions)
    index = SearchIndex(database, log, max_pages=100)
    return MemoryGround(
        database,
        memory,
        MemorySearch(memory, index, None, log),
        index,
        Caller(Role.USER, "key", ours.id),
        Caller(Role.USER, "key", theirs.id),
        wallet(ALICE),
        wallet(BOB),
    )
