"""What is deleted is gone everywhere, and nothing else is touched, wherever the deletion is killed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.contract.removal.world import BY, HOST, NEW, OLD, Rows, World, open_world, step, without_counts

from gossamer.flows.data.removal.deleter import KIND
from gossamer.flows.data.removal.page_removal import purging
from gossamer.problems import Problem
from gossamer.state.crawl.crawl_tables import frontier
from gossamer.state.crawl.removal import removed_pages
from gossamer.state.crawl.removal.purge import PurgeCount, PurgeFilter
from gossamer.state.db import tables
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.jobs.job import JobFilter
from gossamer.state.tenants.activity import ActivityFilter, list_activity
from gossamer.state.tenants.tenants import PUBLIC

Match = Callable[[str, dict[str, Any]], bool]


@pytest.fixture
async def world(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(database, database_url, tmp_path / "blobs") as opened:
        yield opened


def without(rows: Rows, gone: Match) -> Rows:
    return {
        name: {key: row for key, row in found.items() if not gone(name, row)} for name, found in rows.items()
    }


async def expect(world: World, before: Rows, gone: Match) -> None:
    """Exactly these rows are gone, and everything agrees."""
    assert without_counts(await world.rows()) == without_counts(without(before, gone))
    await world.check()
    async with world.database.read() as connection:
        assert (await connection.execute(select(tables.deletions))).all() == []


class Killed(Exception):
    pass


class Mortal:
    """Lets this many transactions begin; every other time the last one is committed before it dies."""

    def __init__(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 1_000_000
        self.commits = False
        write = database.write

        @asynccontextmanager
        async def dying(*, seconds: float | None = None) -> AsyncIterator[AsyncConnection]:
            self.left -= 1
            async with write(seconds=seconds) as connection:
                yield connection
                if self.left < 0 and not self.commits:
                    raise Killed
            if self.left < 0:
                raise Killed

        monkeypatch.setattr(database, "write", dying)

    async def run(self, world: World, deletion: Deletion) -> int:
        """Carry out a deletion that is killed again and again, a little later each time; how often."""
        kills = 0
        while True:
            self.left, self.commits = kills // 2, bool(kills % 2)
            try:
                await world.deleter.remove(deletion.kind, deletion.subject, step)
                async with world.database.write() as connection:
                    await world.deleter.finish(connection, deletion.kind, deletion.subject)
            except Killed:
                kills += 1
            else:
                self.left = 1_000_000
                return kills


async def test_audits_and_batches_go_with_what_hangs_on_them(world: World) -> None:
    before = await world.rows()
    audit, batch = world.audits["ann-old"], world.batches["ann-new"]
    job = before["audits"][(audit,)]["job_id"]
    assert await world.deleter.accept(Deletion(DeletionKind.AUDIT, audit), world.tenants["bob"], BY) is None
    assert await world.deleter.accept(Deletion(DeletionKind.BATCH, batch), world.tenants["bob"], BY) is None
    assert await world.rows() == before
    for deletion in (Deletion(DeletionKind.AUDIT, audit), Deletion(DeletionKind.BATCH, batch)):
        accepted = await world.deleter.accept(deletion, world.tenants["ann"], BY)
        again = await world.deleter.accept(deletion, None, BY)
        assert accepted is not None
        assert again is not None
        assert (accepted.kind, again.job_id) == (KIND, accepted.job_id)
        assert await world.deleter.delete_here(deletion, BY, step) is not None
        assert await world.deleter.delete_here(deletion, BY, step) is None
    site = world.crawls["site"]

    def gone(table: str, row: dict[str, Any]) -> bool:
        return (
            site in (row.get("crawl_id"), row.get("id"))
            or row.get("id") == audit
            or row.get("job_id") in (job, batch)
        )

    await expect(world, before, gone)
    async with world.database.read() as connection:
        lines = await list_activity(connection, ActivityFilter(tenant_id=world.tenants["ann"]))
    assert [line.action.value for line in lines[:2]] == ["batch.deleted", "audit.deleted"]


async def test_pages_go_by_filter_and_their_crawls_stay(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removed_pages, "PAGES_AT_ONCE", 3)
    with pytest.raises(Problem, match="no filter"):
        purging(PurgeFilter(), "")
    before = await world.rows()
    assert await world.removals.pages.count(PurgeFilter(before=NEW)) == PurgeCount(7, 700, 7)
    assert await world.removals.pages.count(PurgeFilter(hosts=("b:80",))) == PurgeCount(0, 0, 0)
    mortal = Mortal(world.database, monkeypatch)
    deletion = purging(PurgeFilter(before=NEW, hosts=(HOST,), outcome="ok"), world.tenants["operator"])
    job = await world.deleter.accept(deletion, None, BY)
    assert job is not None
    assert job.tenant_id == world.tenants["operator"]
    assert await mortal.run(world, deletion) >= 4
    over = {world.crawls[name] for name in ("done", "canceled", "default", "site", "bobs")}
    old = {key for key, row in before["crawled_pages"].items() if row["crawled_at"] == OLD}
    (bobs,) = [row for row in before["search_pages"].values() if row["tenant_id"] == world.tenants["bob"]]
    bobs["seen_at"] = NEW  # from now on it is the page of his other crawl

    def gone(table: str, row: dict[str, Any]) -> bool:
        if table == "crawled_pages":
            return bool(row["crawled_at"] == OLD)
        if table == "frontier":
            return (row["crawl_id"], row["url_hash"]) in old and row["crawl_id"] in over
        if table == "crawl_blobs":
            pages = before["crawled_pages"].values()
            return row["blob"] in {page["blob"] for page in pages if page["crawled_at"] == OLD}
        return table == "search_pages" and row is not bobs

    await expect(world, before, gone)
    again = await world.deleter.remove(deletion.kind, deletion.subject, step)
    assert again.pages == 0, "one that is finished removes nothing"
    await world.catch_up()
    assert await world.found("bob") == {"both"}
    assert await world.found("ann") == {"running-new", "default-new"}


async def test_pages_on_their_way_to_the_index_do_not_arrive(world: World) -> None:
    before = await world.rows()
    waiting = {row["crawl_id"] for row in before["unindexed"].values()}
    assert world.crawls["running"] in waiting
    deletion = purging(PurgeFilter(crawl_id=world.crawls["running"]), world.tenants["operator"])
    result = await world.deleter.delete_here(deletion, BY, step)
    assert result is not None
    assert (result.pages, result.crawls) == (2, 1)
    await world.check()
    await world.catch_up()
    await world.check()
    assert await world.found("ann") == {"both", "default-new"}
    async with world.database.read() as connection:
        urls = frontier.c
        known = select(urls.url).where(urls.crawl_id == world.crawls["running"])
        assert len((await connection.scalars(known)).all()) == 4, "they are not fetched again"


async def test_a_tenant_goes_with_everything_however_often_it_is_killed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, operator = world.tenants["ann"], world.tenants["operator"]
    before = await world.rows()
    secret = world.keys["ann"].secret
    await world.admission.identify(secret)
    for protected in (operator, PUBLIC):
        with pytest.raises(Problem, match="cannot be deleted"):
            await world.deleter.accept(Deletion(DeletionKind.TENANT, protected, operator), None, BY)
    deletion = Deletion(DeletionKind.TENANT, ann, operator)
    job = await world.deleter.accept(deletion, None, BY)
    assert job is not None
    with pytest.raises(Problem, match="is disabled"):
        await world.admission.identify(secret)
    assert await Mortal(world.database, monkeypatch).run(world, deletion) >= 20
    crawls = {row["id"] for row in before["crawls"].values() if row["tenant_id"] == ann}
    jobs = {row["job_id"] for row in before["jobs"].values() if row["tenant_id"] == ann}

    def gone(table: str, row: dict[str, Any]) -> bool:
        of_tenant = row.get("tenant_id") == ann or (table, row.get("id")) == ("tenants", ann)
        return of_tenant or row.get("crawl_id") in crawls or row.get("job_id") in jobs

    await expect(world, before, gone)
    listed = await world.jobs.list_jobs(JobFilter(operator, KIND, None))
    assert [one.job_id for one in listed] == [job.job_id]
    assert await world.deleter.accept(deletion, None, BY) is None
    async with world.database.read() as connection:
        (line,) = await list_activity(connection, ActivityFilter(subject=ann, action="tenant.deleted"))
    assert (line.detail, line.tenant_id) == ("ann@example.com", ann)


async def test_a_lost_job_is_queued_again_for_every_kind(world: World) -> None:
    ann, operator = world.tenants["ann"], world.tenants["operator"]
    asked = [
        Deletion(DeletionKind.CRAWL, world.crawls["done"]),
        Deletion(DeletionKind.AUDIT, world.audits["ann-old"]),
        Deletion(DeletionKind.BATCH, world.batches["ann-old"]),
        purging(PurgeFilter(outcome="ok"), operator),
        Deletion(DeletionKind.TENANT, world.tenants["bob"], operator),
    ]
    for deletion in asked:
        job = await world.deleter.accept(deletion, None, BY)
        assert job is not None
        await world.jobs.cancel(job.job_id)
    await world.deleter.resume()
    await world.deleter.resume()
    queued = [
        job
        for tenant in (ann, operator)
        for job in await world.jobs.list_jobs(JobFilter(tenant, KIND, None))
        if not job.status.is_over
    ]
    assert len(queued) == len(asked)
    await asyncio.gather(*(world.deleter.remove(one.kind, one.subject, step) for one in asked))
    for one in asked:
        async with world.database.write() as connection:
            await world.deleter.finish(connection, one.kind, one.subject)
    await world.check()
    assert (await world.rows())["crawled_pages"] == {}
