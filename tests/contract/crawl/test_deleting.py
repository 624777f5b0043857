"""A crawl is deleted with everything that it has, and nothing else."""

import asyncio
import io
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import String, Table, func, insert, select, text
from tests.contract.crawl.crawl_ground import NOW, SECOND, Ground, done, url, urls

from gossamer.flows.crawl.content import pack
from gossamer.flows.crawl.indexing import Indexing
from gossamer.flows.data.removal.crawl_removal import CrawlRemoval
from gossamer.flows.data.removal.deleter import KIND, Deleter
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.observe.logs import Log
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs, open_blobs
from gossamer.state.crawl import crawl_tables, trap_rows
from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.crawls import Crawl
from gossamer.state.crawl.refresh.refresh_tables import fresh_pages, hint_records, page_versions, refresh_days
from gossamer.state.crawl.removal import expired, removed_pages
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.crawl.trap_rows import TrapNews
from gossamer.state.db.columns import metadata
from gossamer.state.db.database import Database
from gossamer.state.db.tables import audits, search_pages, stray_blobs
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.jobs.job import JobFilter, JobState
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.search.search_document import IndexedDocument
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.tenants.activity import ActivityFilter, Actor, list_activity
from gossamer.state.wakeups.wakeups import open_wakeups
from gossamer.web.crawl.traps.host_traps import TrapState
from gossamer.web.crawl.traps.trap import TrapCount, TrapKind
from gossamer.web.pages.page import Page
from gossamer.web.search.question import Question

BY = Actor("somebody", request_id="wl_1")
OF_CRAWLS = [table for table in metadata.sorted_tables if "crawl_id" in table.c and table is not audits]
OK = CrawledPage(final_url="", status_code=200, outcome="ok", language="en")


async def step(name: str, pct: int | None = None, data: Any = None) -> None:
    """Nobody looks at the progress."""


@dataclass
class Archive:
    """Crawls with their content, in blobs and in the index."""

    ground: Ground
    blobs: Blobs
    folder: Path
    parsers: ParserPool
    deleter: Deleter

    @property
    def database(self) -> Database:
        return self.ground.database

    def index(self) -> SearchIndex:
        return SearchIndex(self.database, Log(io.StringIO()), max_pages=100_000)

    async def crawl(self, *paths: str, now: int) -> Crawl:
        return await self.ground.crawl([url("a.example:80", path) for path in paths], now=now)

    async def store(self, *, now: int) -> str:
        """Everything that is due, of all crawls, in one blob; returns its name."""
        (lease,) = await self.ground.lease(now=now)
        tasks = await self.ground.frontier.take(lease, 100, now=now)
        made = pack(
            Page(
                url=task.url,
                final_url=task.url,
                status=200,
                headers=(),
                body=f"<!doctype html><title>T</title><p>rope {task.url.rpartition('/')[2]}</p>".encode(),
                media_type="text/html",
                charset="utf-8",
            )
            for task in tasks
        )
        async with self.database.write() as connection:
            await orphan_blobs.register(connection, made.name, now=now)
        await self.blobs.put(made.name, made.body)
        ends = [
            TaskEnd(task=task, page=replace(OK, final_url=task.url, **_place(place)))
            for task, place in zip(tasks, made.places, strict=True)
        ]
        assert await self.ground.frontier.settle(lease, HostSettlement(ends=ends), blobs=[made.name], now=now)
        await self.ground.hosts.release(lease, now=now)
        return made.name

    async def catch_up(self) -> None:
        indexing = Indexing(
            self.database, self.index(), self.ground.crawls, self.blobs, self.parsers, Log(io.StringIO())
        )
        await indexing.catch_up(asyncio.Event())

    async def found(self) -> set[str]:
        matches = (await self.index().search(self.ground.tenant, Question.parse("rope", limit=50))).found
        return {match.url.rpartition("/")[2] for match in matches}

    async def delete(self, crawl: Crawl) -> None:
        assert await self.deleter.delete_here(deletion(crawl), BY, step) is not None

    async def rows(self, crawl: Crawl) -> dict[str, list[Any]]:
        """What the database has of a crawl, by table."""
        async with self.database.read() as connection:
            found = {}
            for table in OF_CRAWLS:
                query = select(table).where(table.c.crawl_id == crawl.id).order_by(*table.primary_key.columns)
                found[table.name] = list((await connection.execute(query)).all())
            own = select(crawl_tables.crawls).where(crawl_tables.crawls.c.id == crawl.id)
            found["crawls"] = list((await connection.execute(own)).all())
        return found

    def stored(self) -> set[str]:
        """The blobs that are there."""
        return {last(path.name) for path in self.folder.rglob("*") if path.is_file()}


def _place(place: Any) -> dict[str, Any]:
    return {"blob": place.blob, "blob_offset": place.offset, "blob_size": place.size}


@pytest.fixture
async def archive(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[Archive]:
    folder = tmp_path / "blobs"
    blobs = open_blobs(f"file://{folder}", {})
    jobs = Jobs(database, open_wakeups(database))
    deleter = Deleter(jobs, {DeletionKind.CRAWL: CrawlRemoval(database, blobs)})
    opened = Archive(await Ground.on(database), blobs, folder, ParserPool(1), deleter)
    yield opened
    await opened.parsers.close()
    await jobs.close()
    await blobs.close()


def deletion(crawl: Crawl) -> Deletion:
    return Deletion(DeletionKind.CRAWL, crawl.id)


def last(name: str) -> str:
    return name.replace("/", "~").rpartition("~")[2]


def _some(table: Table) -> dict[str, Any]:
    """A value for each column that needs one."""
    return {one.name: "x" if isinstance(one.type, String) else 1 for one in table.c if not one.nullable}


async def test_everything_of_a_crawl_goes_and_another_stays_as_it_was(archive: Archive) -> None:
    gone = await archive.crawl("a", "b", "c", now=NOW)
    own = await archive.store(now=NOW)
    await archive.ground.frontier.add(gone.id, urls("other.example:80", 3), now=NOW)
    await archive.catch_up()
    kept = await archive.crawl("c", "d", now=NOW + 1_000 * SECOND)
    await archive.ground.frontier.add(gone.id, [url("a.example:80", "e")], now=NOW + 1_000 * SECOND)
    shared = await archive.store(now=NOW + 1_000 * SECOND)  # of both
    async with archive.database.write() as connection:
        await expired.fold_minutes(connection, (NOW + 1_060 * SECOND) // 60_000)
    await archive.ground.frontier.add(gone.id, [url("other.example:80", "f")], now=NOW + 2_000 * SECOND)
    await archive.ground.frontier.add(kept.id, [url("other.example:80", "f")], now=NOW + 2_000 * SECOND)
    async with archive.database.write() as connection:
        file = {"rows_blob": "archives/a", "first_at": NOW, "last_at": NOW, "created_at": NOW}
        counts = {"pages": 1, "bodies": 0, "bytes": 1}
        for crawl in (gone, kept):
            of = {"id": f"of {crawl.id[3:]}", "tenant_id": archive.ground.tenant, "crawl_id": crawl.id}
            await connection.execute(insert(crawl_tables.archives).values(**of, **file, **counts))
            trap = TrapCount(TrapKind.CALENDAR, "/{n}", 1, "http://a.example/2031")
            await trap_rows.keep(
                connection, [("a.example:80", TrapNews(crawl.id, TrapState(), (trap,)))], NOW
            )
            for table in (fresh_pages, page_versions, refresh_days, hint_records):
                await connection.execute(insert(table).values(**{**_some(table), "crawl_id": crawl.id}))
    before = await archive.rows(kept)
    assert all(found for name, found in (await archive.rows(gone)).items()), "it has something in every table"
    assert all(found for name, found in before.items())
    assert archive.stored() == {last(own), last(shared)}

    await archive.delete(gone)
    assert not any((await archive.rows(gone)).values())
    assert await archive.rows(kept) == before
    assert archive.stored() == {last(shared)}
    async with archive.database.read() as connection:
        assert (await connection.execute(select(stray_blobs))).all() == []
        assert await connection.scalar(select(func.count()).select_from(crawl_tables.crawls)) == 1
    await archive.catch_up()
    assert await archive.found() == {"c", "d"}
    await archive.delete(kept)
    assert archive.stored() == set()
    assert await archive.found() == set()
    async with archive.database.read() as connection:
        assert await connection.scalar(text("SELECT count(*) FROM search_words")) == 0
        assert await connection.scalar(text("SELECT sum(pages) FROM search_tenants")) == 0


async def test_the_index_keeps_what_others_have_or_what_was_read_since(archive: Archive) -> None:
    older = await archive.crawl("both", now=NOW)
    await archive.store(now=NOW)
    newer = await archive.crawl("both", "alone", "read", now=NOW + 1_000 * SECOND)
    await archive.store(now=NOW + 1_000 * SECOND)
    await archive.catch_up()
    index = archive.index()
    index.note(
        archive.ground.tenant,
        IndexedDocument(
            url="http://a.example/read",
            title="",
            description="",
            text="rope",
            language="",
            seen_at=(NOW + 2_000 * SECOND) / 1000,
        ),
    )
    await index.flush()
    assert await archive.found() == {"both", "alone", "read"}
    await archive.delete(newer)
    assert await archive.found() == {"both", "read"}
    await archive.delete(older)
    async with archive.database.read() as connection:
        left = (await connection.scalars(select(search_pages.c.final_url))).all()
    assert [last(address) for address in left] == ["read"]


async def test_from_the_mark_on_nobody_finds_it_or_writes_for_it(archive: Archive) -> None:
    ground = archive.ground
    gone = await ground.crawl(urls("a:80", 4))
    kept = await ground.crawl([url("a:80", "kept")])
    (lease,) = await ground.lease()
    tasks = await ground.frontier.take(lease, 5, now=NOW)
    assert {task.crawl_id for task in tasks} == {gone.id, kept.id}
    job = await archive.deleter.accept(deletion(gone), ground.tenant, BY)
    assert job is not None
    assert await ground.crawls.get(gone.id) is None
    assert [crawl.id for crawl in await ground.crawls.listing(None)] == [kept.id]
    assert list(await ground.crawls.some([gone.id, kept.id])) == [kept.id]
    assert await ground.frontier.add(gone.id, [url("b:80", 1)], now=NOW) == 0
    mine = [task for task in tasks if task.crawl_id == gone.id]
    theirs = [task for task in tasks if task.crawl_id == kept.id]
    found = {gone.id: [url("c:80", 1)], kept.id: [url("d:80", 1)]}
    ends = [*done(mine[:2]).ends, *done(theirs).ends]
    assert await ground.frontier.settle(lease, HostSettlement(ends=ends, new=found), now=NOW)
    assert len(await ground.rows(crawl_tables.crawled_pages)) == 1
    await archive.deleter.remove(DeletionKind.CRAWL, gone.id, step)
    assert await ground.hosts.release(lease, now=NOW)  # which has nothing to give back any more
    async with archive.database.write() as connection:
        await archive.deleter.finish(connection, DeletionKind.CRAWL, gone.id)
    assert not any((await archive.rows(gone)).values())
    await ground.check_counts()
    one = await ground.crawls.get(kept.id)
    assert one is not None
    assert (one.counts.pages, one.counts.pending) == (1, 1)


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)  # SQLite has one writer
async def test_a_worker_may_have_rows_locked_and_a_deletion_waits_for_it(archive: Archive) -> None:
    crawl = await archive.ground.crawl(urls("a:80", 3))
    async with archive.database.write() as connection:
        await connection.execute(text("UPDATE frontier SET reason = 'locked'"))
        deletion = asyncio.create_task(archive.delete(crawl))
        await asyncio.wait((deletion,), timeout=1.0)
        assert not deletion.done()
    await asyncio.wait_for(deletion, 60)
    assert not any((await archive.rows(crawl)).values())


async def test_it_goes_on_wherever_it_was_stopped(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removed_pages, "PAGES_AT_ONCE", 2)
    names = [f"p{number}" for number in range(6)]

    class Killed(Exception):
        pass

    for number in range(12):  # transactions after which it ends, each time with another crawl
        crawl = await archive.crawl(*names, now=NOW + number * 1_000 * SECOND)
        await archive.store(now=NOW + number * 1_000 * SECOND)
        await archive.catch_up()
        left = number

        async def die(name: str, pct: int | None = None, data: Any = None) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed

        stopped = False
        try:
            await archive.deleter.delete_here(deletion(crawl), BY, die)
        except Killed:
            stopped = True
        assert stopped == any((await archive.rows(crawl)).values())
        await archive.deleter.remove(DeletionKind.CRAWL, crawl.id, step)
        async with archive.database.write() as connection:
            await archive.deleter.finish(connection, DeletionKind.CRAWL, crawl.id)
        assert not any((await archive.rows(crawl)).values())
        assert archive.stored() == set()
        assert await archive.found() == set()
    assert not stopped  # the last one had enough of them


async def test_two_that_delete_at_once_leave_no_blob_behind(archive: Archive) -> None:
    crawls = [await archive.crawl("a", "b", now=NOW), await archive.crawl("b", "c", now=NOW)]
    await archive.store(now=NOW)
    assert len(archive.stored()) == 1
    await asyncio.gather(*(archive.delete(crawl) for crawl in (*crawls, *crawls)))
    assert archive.stored() == set()
    for crawl in crawls:
        assert not any((await archive.rows(crawl)).values())


async def test_accepting_is_recorded_once_and_a_lost_job_is_queued_again(archive: Archive) -> None:
    ground, deleter = archive.ground, archive.deleter
    crawl = await ground.crawl(urls("a:80", 1))
    assert await deleter.accept(deletion(crawl), "somebody else", BY) is None
    assert await ground.crawls.get(crawl.id) is not None
    job = await deleter.accept(deletion(crawl), ground.tenant, BY)
    again = await deleter.accept(deletion(crawl), None, BY)
    assert job is not None
    assert again is not None
    assert (job.kind, again.job_id, job.tenant_id) == (KIND, job.job_id, ground.tenant)
    async with archive.database.read() as connection:
        (line,) = await list_activity(connection, ActivityFilter(subject=crawl.id))
    assert (line.action.value, line.actor.id, line.tenant_id) == ("crawl.deleted", BY.id, ground.tenant)
    await deleter.resume()
    assert await _active(deleter.jobs) == [job.job_id]
    await deleter.jobs.cancel(job.job_id)
    await deleter.resume()
    (other,) = await _active(deleter.jobs)
    assert other != job.job_id
    await deleter.delete_here(deletion(crawl), BY, step)
    assert await deleter.accept(deletion(crawl), None, BY) is None


async def _active(jobs: Jobs) -> Sequence[str]:
    found = await jobs.list_jobs(JobFilter(None, KIND, JobState.QUEUED))
    return [job.job_id for job in found]
