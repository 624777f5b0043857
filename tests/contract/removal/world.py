"""A small world: tenants with crawls in each state, audits, batches, cached pages and shared blobs."""

import asyncio
import io
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from sqlalchemy import insert, select, text, update
from tests.contract.crawl.crawl_ground import url
from tests.servers.tiers import page_of
from ulid import ULID

from gossamer.flows.crawl.content import pack
from gossamer.flows.crawl.indexing import Indexing
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.data.removal.page_removal import NoArchive
from gossamer.flows.data.removal.removals import Removals
from gossamer.flows.data.removal.retention import KeepTimes, Retention
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.tenants.admit import Admission
from gossamer.flows.tenants.keys import IssuedKey, Keys, NewKey
from gossamer.flows.tenants.people import NewUser, People
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.settings.settings import Settings
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs, open_blobs
from gossamer.state.crawl import crawl_tables
from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.frontier import Frontier
from gossamer.state.crawl.hosts import Hosts
from gossamer.state.crawl.reading.stored_robots import StoredRobots, keep
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.db import tables
from gossamer.state.db.columns import metadata
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs import audits, batches, job_table
from gossamer.state.jobs.batches import Batch, BatchTask
from gossamer.state.jobs.job import NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.pages.page_cache import PageCache
from gossamer.state.pages.page_key import PageKey
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.tenants.activity import Actor
from gossamer.state.tenants.usage import Usage
from gossamer.state.wakeups.wakeups import open_wakeups
from gossamer.web.audit.report import AuditOptions
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.pages.page import Page

NOW = 1_790_000_000_000
DAY = 86_400_000
OLD = NOW - 200 * DAY
NEW = NOW - 3 * DAY
BY = Actor("somebody", request_id="wl_1")
HOST = "a.example:80"
SIZE = 100
OK = CrawledPage(
    final_url="", status_code=200, outcome="ok", language="en", content_length=SIZE, content_hash="c"
)
COUNTS = ("pending", "in_progress", "completed", "failed", "blocked")
Rows = dict[str, dict[Any, dict[str, Any]]]  # by table and key


async def step(name: str, percent: int) -> None:
    """Nobody looks at the progress."""


@dataclass
class World:
    database: Database
    jobs: Jobs
    blobs: Blobs
    folder: Path
    cache: PageCache
    admission: Admission
    parsers: ParserPool
    removals: Removals
    deleter: Deleter
    tenants: dict[str, str] = field(default_factory=dict)  # name → id
    keys: dict[str, IssuedKey] = field(default_factory=dict)
    crawls: dict[str, str] = field(default_factory=dict)
    audits: dict[str, str] = field(default_factory=dict)
    batches: dict[str, str] = field(default_factory=dict)

    def retention(self, *, pages: str = "forever", **flags: str) -> Retention:
        """With these times. Without an archive, pages are kept unless a test says otherwise."""
        keep_times = {f"keep_{name}": value for name, value in {"pages": pages, **flags}.items()}
        settings = Settings.load({}, None, keep_times)
        keep = KeepTimes.of(settings)
        return Retention(keep, self.deleter, self.removals.pages, NoArchive(), lambda: NOW / 1000)

    def index(self) -> SearchIndex:
        return SearchIndex(self.database, Log(io.StringIO()), max_pages=100_000)

    # Building.

    async def build(self) -> None:
        for name in ("ann", "bob", "operator"):
            await self._add_tenant(name)
        for name in ("done", "canceled", "running", "paused", "default", "site"):
            await self._add_crawl("ann", name, OLD, "both", "bad", "forbidden")
        await self._add_crawl("bob", "bobs", OLD, "both", "bad")
        await self.store(OLD)
        await self.catch_up()
        await self._set("paused", state="paused")
        await self._add_crawl("bob", "fresh", NEW, "both")
        for name in ("running", "default", "canceled"):
            await Frontier(self.database).add(self.crawls[name], [url(HOST, f"{name}-new")], now=NEW)
        await self._set("canceled", state="paused")
        await self.store(NEW)  # it is still on its way to the index
        await self._set("default", is_default=True)
        for name in ("done", "default", "site", "bobs"):
            await self._set(name, state="done", finished_at=OLD + DAY if name != "default" else NEW)
        await self._set("canceled", state="canceled", finished_at=OLD + DAY)
        await self._set("fresh", state="done", finished_at=NEW)
        for tenant in ("ann", "bob"):
            await self._add_records(tenant)

    async def _add_tenant(self, name: str) -> None:
        email = f"{name}@example.com"
        keys = Keys(self.database, self.admission)
        self.keys[name] = await keys.create(NewKey(email=email), Actor("test"))
        self.tenants[name] = self.keys[name].key.tenant_id
        await People(self.database).add(NewUser(email=email, role="user", tenant=email), Actor("test"))

    async def _add_crawl(self, tenant: str, name: str, now: int, *paths: str) -> None:
        spec = CrawlSpec(seeds=(f"http://{HOST}/",), max_pages=1_000)
        new = [url(HOST, path if path == "both" else f"{name}-{path}") for path in paths]
        made = await Crawls(self.database).create(self.tenants[tenant], spec, urls=new, now=now)
        self.crawls[name] = made.id

    async def _set(self, crawl: str, **values: Any) -> None:
        table = crawl_tables.crawls
        async with self.database.write() as connection:
            await connection.execute(update(table).where(table.c.id == self.crawls[crawl]).values(**values))

    async def store(self, now: int) -> None:
        """Everything that is due, of all crawls, in one blob."""
        hosts, frontier = _parts(self.database)
        (lease,) = await hosts.lease("w", 1, now=now)
        tasks = await frontier.take(lease, 100, now=now)
        pages = [_page(task.url) for task in tasks]
        made = pack(pages, now / 1000)
        async with self.database.write() as connection:
            await orphan_blobs.register(connection, made.name, now=now)
        await self.blobs.put(made.name, made.body)
        ends = []
        for task, place in zip(tasks, made.places, strict=True):
            kept = {"blob": place.blob, "blob_offset": place.offset, "blob_size": place.size}
            state = "failed" if "bad" in task.url else "blocked" if "forbidden" in task.url else "completed"
            page = replace(OK, final_url=task.url, **kept) if state == "completed" else None
            ends.append(TaskEnd(task=task, state=state, page=page))  # type: ignore[arg-type]
        assert await frontier.settle(lease, HostSettlement(ends=ends), blobs=[made.name], now=now)
        assert await hosts.release(lease, now=now)

    async def catch_up(self) -> None:
        log = Log(io.StringIO())
        indexing = Indexing(self.database, self.index(), Crawls(self.database), self.blobs, self.parsers, log)
        await indexing.catch_up(asyncio.Event())

    async def _add_records(self, name: str) -> None:
        tenant = self.tenants[name]
        usage = Usage(self.database, lambda: NOW / 1000)
        usage.count(tenant, "key", "hot")
        await usage.flush()
        await self.cache.put(PageKey(tenant, "http://a.example/cached"), page_of(b"one"))
        await self.cache.put(PageKey(tenant, "http://a.example/dropped"), page_of(b"two"))
        await self.cache.drop_url(tenant, "http://a.example/dropped")
        async with self.database.write() as connection:
            for age, now in (("old", OLD), ("new", NEW)):
                crawl = self.crawls["site"] if (name, age) == ("ann", "old") else None
                await self._add_audit(connection, name, age, now, crawl)
                await self._add_batch(connection, name, age, now)
                robots = StoredRobots(status=200, body="", fetched_at=now, expires_at=now + DAY)
                await keep(connection, {f"{name}-{age}:80": robots})

    async def _add_audit(
        self, connection: AsyncConnection, name: str, age: str, now: int, crawl: str | None
    ) -> None:
        tenant, audit = self.tenants[name], str(ULID.from_timestamp(now / 1000))
        self.audits[f"{name}-{age}"] = audit
        job = await self._add_job(connection, tenant, "audit", now)
        await audits.add(
            connection, audit, tenant_id=tenant, job_id=job, url="http://a/", options=AuditOptions(), now=now
        )
        if crawl is not None:
            await audits.set_crawl(connection, audit, crawl)

    async def _add_batch(self, connection: AsyncConnection, name: str, age: str, now: int) -> None:
        tenant = self.tenants[name]
        job = await self._add_job(connection, tenant, "batch", now)
        self.batches[f"{name}-{age}"] = job
        task = BatchTask("[]", "{}", '{"Cookie": "secret"}' if age == "new" else None)
        await batches.add(connection, Batch(job, tenant, "basic", 2), task, now=now)
        blob = f"batches/{job.lower()}/{job.lower()}-1"
        await self.blobs.put(blob, b"result")
        row = {"job_id": job, "status": "done", "ok": True, "size": 6}
        await connection.execute(
            insert(tables.batch_results),
            [
                row | {"position": 0, "body": b"result", "blob": None},
                row | {"position": 1, "body": None, "blob": blob},
            ],
        )

    async def _add_job(self, connection: AsyncConnection, tenant: str, kind: str, now: int) -> str:
        job_id = str(ULID.from_timestamp(now / 1000))
        new = NewJob(kind=kind, tenant_id=tenant, payload={}, job_id=job_id)
        await job_table.put(connection, new, now=now)
        if now == OLD:
            jobs = tables.jobs
            over = {"status": "done", "started_at": now, "finished_at": now}
            await connection.execute(update(jobs).where(jobs.c.job_id == job_id).values(**over))
        event = {"job_id": job_id, "seq": 9, "event_type": "warning", "message": "", "created_at": now}
        await connection.execute(insert(tables.job_events), [event])
        return job_id

    # Looking.

    async def rows(self) -> Rows:
        """Every row of every table, by its key; what tells of deletions is left out."""
        found: Rows = {}
        async with self.database.read() as connection:
            for table in metadata.sorted_tables:
                if table.name in ("activity", "deletions", "stray_blobs"):
                    continue
                keys = [column.name for column in table.primary_key.columns]
                rows = [dict(row._mapping) for row in await connection.execute(select(table))]
                rows = [row for row in rows if row.get("kind") != "delete"]
                found[table.name] = {tuple(row[key] for key in keys): row for row in rows}
        return found

    def stored(self) -> set[str]:
        return {path.name for path in self.folder.rglob("*") if path.is_file()}

    async def check(self) -> None:
        """Counts, blobs and the index agree with the rows, once upkeep has dropped the orphans."""
        async with self.database.write() as connection:
            await connection.execute(update(tables.stray_blobs).values(due_at=1))
        await self.cache.repair()
        rows = await self.rows()
        _check_counts(rows)
        pages = rows["crawled_pages"].values()
        kept = {(page["blob"], page["crawl_id"]) for page in pages if page["blob"] is not None}
        assert set(rows["crawl_blobs"]) == kept
        assert set(rows["unindexed"]) <= kept
        named = {blob for blob, _ in kept}
        named |= {row["blob"] for row in rows["batch_results"].values() if row["blob"]}
        named |= {row["blob"] for row in rows["cached_pages"].values() if row["blob"]}
        assert {name.replace("/", "~").rpartition("~")[2] for name in self.stored()} == {
            name.replace("/", "~").rpartition("~")[2] for name in named
        }
        assert {job for job, _ in rows["job_events"]} <= {job for (job,) in rows["jobs"]}
        assert {job for job, _ in rows["batch_results"]} <= {job for (job,) in rows["batches"]}
        words = "rowid" if self.database.dialect == "sqlite" else "id"
        async with self.database.read() as connection:
            ids = set((await connection.scalars(text(f"SELECT {words} FROM search_words"))).all())
            orphans = (await connection.scalars(select(tables.stray_blobs.c.name))).all()
        assert ids == {key for (key,) in rows["search_pages"]} == {key for (key,) in rows["search_weights"]}
        assert orphans == []
        indexed = Counter(row["tenant_id"] for row in rows["search_pages"].values())
        for (tenant,), row in rows["search_tenants"].items():
            assert row["pages"] == indexed[tenant]

    async def found(self, tenant: str) -> set[str]:
        """What the index has of a tenant."""
        table = tables.search_pages.c
        async with self.database.read() as connection:
            query = select(table.final_url).where(table.tenant_id == self.tenants[tenant])
            return {address.rpartition("/")[2] for address in (await connection.scalars(query)).all()}


def _parts(database: Database) -> tuple[Hosts, Frontier]:
    return Hosts(database), Frontier(database)


def _page(address: str) -> Page:
    body = f"<!doctype html><title>T</title><p>rope {address.rpartition('/')[2]}</p>".encode()
    return Page(
        url=address,
        final_url=address,
        status=200,
        headers=(),
        body=body,
        media_type="text/html",
        charset="utf-8",
    )


def _check_counts(rows: Rows) -> None:
    pages: dict[str, list[int]] = defaultdict(list)
    by_host: dict[str, list[int]] = defaultdict(list)
    for page in rows["crawled_pages"].values():
        pages[page["crawl_id"]].append(page["content_length"])
        by_host[page["host"]].append(page["content_length"])
    urls = Counter((row["crawl_id"], row["host"], row["state"]) for row in rows["frontier"].values())
    for crawl in rows["crawls"].values():
        own = pages[crawl["id"]]
        assert (crawl["pages"], crawl["bytes"]) == (len(own), sum(own))
        for state in COUNTS:
            counted = sum(
                number for (owner, _, its), number in urls.items() if (owner, its) == (crawl["id"], state)
            )
            assert crawl[state] == counted, (crawl["id"], state)
    for row in rows["crawl_hosts"].values():
        for state in COUNTS:
            assert row[state] == urls[row["crawl_id"], row["host"], state]
    for host in rows["hosts"].values():
        own = by_host[host["host"]]
        assert (host["pages"], host["bytes"]) == (len(own), sum(own))


def without_counts(rows: Rows) -> Rows:
    """`check` compares the counts themselves, and the weights of the index with its pages."""
    counts = {*COUNTS, "pages", "bytes", "revision"}
    bare = {name: found for name, found in rows.items() if name != "search_weights"}
    for name in ("crawls", "crawl_hosts", "hosts", "search_tenants"):
        bare[name] = {
            key: {column: value for column, value in row.items() if column not in counts}
            for key, row in rows[name].items()
        }
    return bare


@asynccontextmanager
async def open_world(database: Database, database_url: str, folder: Path) -> AsyncIterator[World]:
    blobs, hot, log = open_blobs(f"file://{folder}", {}), MemoryHot(), Log(io.StringIO())
    jobs = Jobs(database, open_wakeups(database))
    cache = PageCache(hot, blobs, database, log, Metrics("1"))
    admission = Admission(database, hot)
    index = SearchIndex(database, log, max_pages=100_000)
    removals = Removals.on(database, blobs, cache, index, admission)
    parsers = ParserPool(1)
    world = World(
        database,
        jobs,
        blobs,
        folder,
        cache,
        admission,
        parsers,
        removals,
        Deleter(jobs, removals.by_kind),
    )
    await world.build()
    yield world
    await parsers.close()
    await cache.close()
    await jobs.close()
    await blobs.close()
