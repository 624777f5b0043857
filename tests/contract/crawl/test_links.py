"""Where the links of a crawl's pages are, on both databases."""

from tests.contract.crawl.crawl_ground import NOW, Ground, page, urls

from gossamer.state.blobs import orphan_blobs
from gossamer.state.crawl import crawls
from gossamer.state.crawl.reading import graph_pages
from gossamer.state.crawl.removal import crawl_blobs
from gossamer.state.crawl.removal.crawl_blobs import LinksAt
from gossamer.state.crawl.settling import HostSettlement, TaskEnd
from gossamer.state.crawl.upkeep import importing
from gossamer.state.db.database import Database
from gossamer.state.jobs import job_table
from gossamer.state.jobs.job import NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.wakeups.wakeups import open_wakeups


async def test_links_are_recorded_with_their_pages(database: Database) -> None:
    ground = await Ground.on(database)
    crawl = await ground.crawl(urls("a:80", 3))
    [lease] = await ground.lease()
    tasks = await ground.frontier.take(lease, 3, now=NOW)
    async with database.write() as connection:
        await orphan_blobs.register(connection, "crawls/links", now=NOW)
    ends = [TaskEnd(task=task, state="completed", page=page(task)) for task in tasks]
    links = {crawl.id: LinksAt("crawls/links", 5, 7), "another": LinksAt("crawls/links", 12, 1)}
    settled = await ground.frontier.settle_many(
        [(lease, HostSettlement(ends=ends))], blobs=["crawls/links"], links=links, now=NOW
    )
    assert settled == {lease.host}
    async with database.read() as connection:
        assert await crawl_blobs.links_of(connection, crawl.id, limit=10) == [links[crawl.id]]
        assert await crawl_blobs.links_of(connection, crawl.id, after="crawls/links", limit=10) == []
        assert await crawl_blobs.links_of(connection, "another", limit=10) == []
        found = await crawl_blobs.links_in(connection, crawl.id, ["crawls/links", "crawls/none"])
        assert found == {"crawls/links": links[crawl.id]}
        first, last = await graph_pages.listing(connection, crawl.id, None, 2)
        rest, end = await graph_pages.listing(connection, crawl.id, last, 2)
        known = await graph_pages.known_from(connection, crawl.id, [one.url_hash for one in first])
    assert {one.url for one in (*first, *rest)} == {task.url for task in tasks}
    assert (len(first), end) == (2, None)
    assert set(known.values()) == {"seed"}


async def test_an_imported_crawl_runs_until_its_file_is_read(database: Database) -> None:
    ground = await Ground.on(database)
    tenant = (await ground.crawl(urls("a:80", 1))).tenant_id
    async with database.write() as connection:
        crawl, lost = [
            await importing.add(connection, tenant, tier="free", quota_tier=None, name="file", now=NOW)
            for _ in range(2)
        ]
        for one in (crawl, lost):
            await job_table.put(connection, NewJob(kind=importing.KIND, tenant_id=tenant, job_id=one.id))
        moment = await importing.next_moment(connection, crawl.id, now=NOW)
        assert await importing.is_importing(connection, crawl.id)
    assert (crawl.state, moment) == ("running", NOW)
    assert await ground.crawls.finish(now=NOW + 24 * 3_600_000) == []
    async with database.write() as connection:
        await importing.end(connection, crawl.id, now=NOW)
        await importing.end(connection, crawl.id, now=NOW + 1)
        ended = await crawls.get(connection, crawl.id)
        assert await importing.list_stalled(connection) == []
    assert ended is not None
    assert (ended.state, ended.finished_at, ended.counts.in_progress) == ("done", NOW, 0)
    await Jobs(database, open_wakeups(database)).cancel(lost.id)
    async with database.read() as connection:
        assert await importing.list_stalled(connection) == [lost.id]
        assert not await importing.is_importing(connection, lost.id)
