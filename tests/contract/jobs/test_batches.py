"""Batches: each line is written once and under the lease, small ones in rows and large ones in blobs."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from sqlalchemy.exc import IntegrityError
from tests.servers.tiers import Tiers

from gossamer.problems import Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.db import tables
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs import batches, job_table
from gossamer.state.jobs.batches import Batch, BatchCounts, BatchLines, BatchTask, Line
from gossamer.state.jobs.job import Lease, LeaseLost, NewJob
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.wakeups.wakeups import open_wakeups

NOISE = random.Random(7).randbytes(200_000).hex().encode()
FAR_BACK = 1_000  # milliseconds since the epoch


@pytest.fixture
async def jobs(tiers: Tiers) -> AsyncIterator[Jobs]:
    jobs = Jobs(tiers.database, open_wakeups(tiers.database))
    yield jobs
    await jobs.close()


async def begun(tiers: Tiers, jobs: Jobs, *, now: int | None = None, headers: str | None = None) -> Lease:
    new = NewJob(kind="batch", tenant_id=tiers.tenant)
    async with tiers.database.write() as connection:
        await job_table.put(connection, new, now=now)
        batch = Batch(new.job_id, tiers.tenant, "basic", 5)
        await batches.add(connection, batch, BatchTask('["a"]', "{}", headers), now=now)
    return (await jobs.lease({"batch": 1}, worker="w", now=now))[0]


def line(position: int, text: bytes = b'{"a":1}', *, failed: bool = False, ok: bool = True) -> Line:
    return Line(position, "failed" if failed else "done", ok and not failed, text)


async def test_what_is_put_is_read_in_its_order(tiers: Tiers, jobs: Jobs) -> None:
    lease, lines = await begun(tiers, jobs), BatchLines(tiers.database, tiers.blobs)
    put = [line(3, NOISE), line(0), line(4, failed=True), line(1, b"x" * 100_000, ok=False)]
    await lines.put(lease.job_id, put[:2], jobs.holding(lease))
    await lines.put(lease.job_id, put[2:], jobs.holding(lease))
    found = await lines.read(lease.job_id, 0, limit=10, most_bytes=10_000_000)
    assert found.lines == sorted(put, key=lambda each: each.position)
    assert found.cut_at is None
    rows = {row.position: row for row in await tiers.rows(tables.batch_results)}
    assert [position for position, row in rows.items() if row.blob] == [3]
    assert await tiers.rows(tables.stray_blobs) == []
    async with tiers.database.read() as connection:
        assert await batches.positions(connection, lease.job_id) == {0, 1, 3, 4}
        assert await batches.counts(connection, lease.job_id) == BatchCounts(done=3, ok=2, failed=1)
        assert await batches.counts(connection, "none") == BatchCounts()


async def test_a_stretch_is_bounded_by_positions_count_and_bytes(tiers: Tiers, jobs: Jobs) -> None:
    lease, lines = await begun(tiers, jobs), BatchLines(tiers.database, tiers.blobs)
    await lines.put(lease.job_id, [line(number, b"12345") for number in (0, 1, 3, 4)], jobs.holding(lease))

    async def read(first: int, *, before: int | None = None, limit: int = 9, most: int = 99) -> object:
        found = await lines.read(lease.job_id, first, before=before, limit=limit, most_bytes=most)
        return [each.position for each in found.lines], found.cut_at

    assert await read(0) == ([0, 1, 3, 4], None)
    assert await read(1, before=4) == ([1, 3], None)
    assert await read(1, limit=2) == ([1, 3], None)
    assert await read(0, most=10) == ([0, 1], 3)
    assert await read(0, most=11) == ([0, 1], 3)
    assert await read(3, most=1) == ([3], 4)  # one at least
    assert await read(5) == ([], None)


async def test_who_has_lost_the_lease_writes_nothing(tiers: Tiers, jobs: Jobs) -> None:
    late = await begun(tiers, jobs, now=FAR_BACK)  # which has run out long ago
    lines = BatchLines(tiers.database, tiers.blobs)
    with pytest.raises(LeaseLost):
        await lines.put(late.job_id, [line(0), line(1, NOISE)], jobs.holding(late))
    assert await tiers.rows(tables.batch_results) == []
    assert len(await tiers.rows(tables.stray_blobs)) == 1  # which upkeep drops in time
    (new,) = await jobs.lease({"batch": 1}, worker="another")
    await lines.put(new.job_id, [line(0)], jobs.holding(new))
    with pytest.raises(LeaseLost):
        await lines.put(late.job_id, [line(1)], jobs.holding(replace(new, token="0" * 32)))
    assert [row.position for row in await tiers.rows(tables.batch_results)] == [0]


async def test_a_line_is_written_once(tiers: Tiers, jobs: Jobs) -> None:
    lease, lines = await begun(tiers, jobs), BatchLines(tiers.database, tiers.blobs)
    await lines.put(lease.job_id, [line(0, b"first")], jobs.holding(lease))
    with pytest.raises(IntegrityError):
        await lines.put(lease.job_id, [line(1), line(0, b"second")], jobs.holding(lease))
    found = await lines.read(lease.job_id, 0, limit=9, most_bytes=99)
    assert [each.text for each in found.lines] == [b"first"]  # and of the other two none


async def test_a_blob_that_was_given_up_is_not_spoken_of(tiers: Tiers, jobs: Jobs) -> None:
    lease, lines = await begun(tiers, jobs), BatchLines(tiers.database, tiers.blobs)

    @asynccontextmanager
    async def late() -> AsyncIterator[AsyncConnection]:
        await tiers.make_due()
        async with tiers.database.write() as connection:
            assert len(await orphan_blobs.take_due(connection, 10)) == 1
        async with jobs.holding(lease) as connection:
            yield connection

    with pytest.raises(Unavailable):
        await lines.put(lease.job_id, [line(0, NOISE)], late())
    assert await tiers.rows(tables.batch_results) == []


async def test_a_batch_is_forgotten_after_its_job_and_its_headers_when_that_is_over(
    tiers: Tiers, jobs: Jobs
) -> None:
    over = await begun(tiers, jobs, headers='[["Cookie","a"]]')
    running = await begun(tiers, jobs, headers='[["Cookie","b"]]')
    lines = BatchLines(tiers.database, tiers.blobs)
    for lease in (over, running):
        await lines.put(lease.job_id, [line(0, NOISE), line(1)], jobs.holding(lease))
    await jobs.finish(over)
    async with tiers.database.write() as connection:
        await batches.forget_headers(connection)
        assert await batches.forget(connection) == 0  # the job is still known
    async with tiers.database.read() as connection:
        tasks = [await batches.task_of(connection, lease.job_id) for lease in (over, running)]
    assert [task and task.headers_json for task in tasks] == [None, '[["Cookie","b"]]']
    assert await jobs.forget_old(days=-1) == 1
    async with tiers.database.write() as connection:
        assert await batches.forget(connection) == 1
        assert await batches.get(connection, over.job_id) is None
        assert await batches.task_of(connection, over.job_id) is None
    assert {row.job_id for row in await tiers.rows(tables.batch_results)} == {running.job_id}
    (stray,) = await tiers.rows(tables.stray_blobs)
    assert stray.name.startswith(f"batches/{over.job_id.lower()}/0-")
    cache = tiers.cache()
    await tiers.make_due()
    await cache.repair()
    assert await tiers.blobs.get(stray.name) is None
    assert await tiers.rows(tables.stray_blobs) == []
