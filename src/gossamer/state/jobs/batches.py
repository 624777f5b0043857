"""Batches: lists of pages that a job reads, and a line for each page that it has read.

A line is JSON, as answers show it. It is written once, under the lease of the job, and compressed: into its
row if it is small, else into a blob that is an orphan until the row names it. Everything is kept as long as
the job, but the headers of the requests only until the job is over, because they may be secret.
"""

import asyncio
import itertools
import zlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct
from sqlalchemy import Integer, delete, exists, func, insert, or_, select, update
from ulid import ULID

from gossamer.problems import Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database, clock
from gossamer.state.db.tables import batch_results, batches, jobs
from gossamer.state.webhooks import endpoints, publishing
from gossamer.web.webhooks.webhook import LongWork, WorkEvent

MAX_ROW_BYTES: Final = 32_768  # of a compressed line in a row; a larger one becomes a blob
MAX_INLINE_BYTES: Final = 65_536  # of a line; larger ones are compressed and decompressed in a thread
COMPRESSION_LEVEL: Final = 6
MAX_BLOBS_AT_ONCE: Final = 4
FORGET_BATCH: Final = 10
RESULTS_AT_ONCE: Final = 100
MEDIA_TYPE: Final = "application/json"
_WINDOW: Final = 31  # for zlib: with gzip's header and trailer

OnWritten = Callable[[AsyncConnection], Awaitable[None]]

_results: Final = batch_results.c
_HEAD: Final = (
    batches.c.job_id,
    batches.c.tenant_id,
    batches.c.tier,
    batches.c.total,
    batches.c.created_at,
)


class Batch(Struct, frozen=True):
    job_id: str
    tenant_id: str
    tier: str
    total: int
    created_at: int = 0


class BatchTask(Struct, frozen=True):
    """The URLs and options of a batch, as JSON."""

    urls_json: str
    plan_json: str
    headers_json: str | None = None


class BatchCounts(Struct, frozen=True):
    """How many entries have a line, by status."""

    done: int = 0
    ok: int = 0
    failed: int = 0


class Line(Struct, frozen=True):
    position: int
    status: Literal["done", "failed"]
    ok: bool
    text: bytes


class LineRange(NamedTuple):
    """Lines in their order, perhaps with gaps; `cut_at` is the first position that did not fit."""

    lines: list[Line]
    cut_at: int | None = None


class _Packed(Struct, frozen=True):
    line: Line
    body: bytes
    blob: str | None = None

    def as_row(self, job_id: str) -> dict[str, Any]:
        return {
            "job_id": job_id,
            "position": self.line.position,
            "status": self.line.status,
            "ok": self.line.ok,
            "size": len(self.line.text),
            "body": None if self.blob else self.body,
            "blob": self.blob,
        }


async def add(connection: AsyncConnection, batch: Batch, task: BatchTask, *, now: int | None = None) -> None:
    """Runs in the transaction that creates the job."""
    await connection.execute(
        insert(batches).values(
            job_id=batch.job_id,
            tenant_id=batch.tenant_id,
            tier=batch.tier,
            total=batch.total,
            created_at=clock(now),
            urls_json=task.urls_json,
            plan_json=task.plan_json,
            headers_json=task.headers_json,
        )
    )
    started = publishing.work_event(LongWork.BATCH, WorkEvent.STARTED, batch.tenant_id, batch.job_id)
    await publishing.publish(connection, started, now=now)


async def get(connection: AsyncConnection, job_id: str) -> Batch | None:
    row = (await connection.execute(select(*_HEAD).where(batches.c.job_id == job_id))).first()
    return None if row is None else Batch(**row._mapping)


async def task_of(connection: AsyncConnection, job_id: str) -> BatchTask | None:
    columns = (batches.c.urls_json, batches.c.plan_json, batches.c.headers_json)
    row = (await connection.execute(select(*columns).where(batches.c.job_id == job_id))).first()
    return None if row is None else BatchTask(**row._mapping)


async def counts(connection: AsyncConnection, job_id: str) -> BatchCounts:
    query = (
        select(_results.status, func.count(), func.sum(_results.ok.cast(Integer)))
        .where(_results.job_id == job_id)
        .group_by(_results.status)
    )
    found = {status: (count, ok or 0) for status, count, ok in await connection.execute(query)}
    (done, ok), (failed, _) = found.get("done", (0, 0)), found.get("failed", (0, 0))
    return BatchCounts(done, ok, failed)


async def positions(connection: AsyncConnection, job_id: str) -> set[int]:
    """The positions that have a line."""
    return set((await connection.scalars(select(_results.position).where(_results.job_id == job_id))).all())


async def forget(connection: AsyncConnection) -> int:
    """Delete some batches whose jobs are gone; returns how many."""
    gone = ~exists().where(jobs.c.job_id == batches.c.job_id)
    some = select(batches.c.job_id).where(gone).order_by(batches.c.job_id).limit(FORGET_BATCH)
    ids = (await connection.scalars(some.with_for_update(skip_locked=True))).all()
    if ids:
        theirs = _results.job_id.in_(ids)
        blobs = select(_results.blob).where(theirs, _results.blob.is_not(None))
        await orphan_blobs.mark(connection, [str(blob) for blob in await connection.scalars(blobs)])
        await endpoints.remove_work(connection, ids)
        await connection.execute(delete(batch_results).where(theirs))
        await connection.execute(delete(batches).where(batches.c.job_id.in_(ids)))
    return len(ids)


async def count_old(connection: AsyncConnection, before: int) -> tuple[int, int]:
    """How many batches have no job any more, or one that ended before this time; and the size of their
    results."""
    kept = exists().where(
        jobs.c.job_id == batches.c.job_id, or_(jobs.c.finished_at.is_(None), jobs.c.finished_at >= before)
    )
    number = await connection.scalar(select(func.count()).select_from(batches).where(~kept))
    joined = batches.join(batch_results, _results.job_id == batches.c.job_id)
    size = select(func.coalesce(func.sum(_results.size), 0)).select_from(joined).where(~kept)
    return number or 0, int(await connection.scalar(size) or 0)


async def forget_headers(connection: AsyncConnection) -> None:
    """Delete the headers of batches whose jobs are over."""
    active = exists().where(jobs.c.job_id == batches.c.job_id, jobs.c.status.in_(("queued", "running")))
    over = update(batches).where(batches.c.headers_json.is_not(None), ~active)
    await connection.execute(over.values(headers_json=None))


class DroppedResults(NamedTuple):
    """How many results were removed, and the blobs that they were in."""

    number: int
    blobs: Sequence[str] = ()


async def drop_results(connection: AsyncConnection, job_id: str) -> DroppedResults:
    """Remove some results of a batch, and mark their blobs."""
    some = select(_results.position).where(_results.job_id == job_id).order_by(_results.position)
    chosen = _results.position.in_(some.limit(RESULTS_AT_ONCE))
    gone = delete(batch_results).where(_results.job_id == job_id, chosen)
    names = (await connection.scalars(gone.returning(_results.blob))).all()
    blobs = [name for name in names if name is not None]
    await orphan_blobs.mark(connection, blobs)
    return DroppedResults(len(names), blobs)


async def forget_headers_of(connection: AsyncConnection, job_id: str) -> None:
    await connection.execute(update(batches).where(batches.c.job_id == job_id).values(headers_json=None))


async def drop_row(connection: AsyncConnection, job_id: str) -> None:
    """The last step: the batch has no results any more."""
    await endpoints.remove_work(connection, [job_id])
    await connection.execute(delete(batches).where(batches.c.job_id == job_id))


class BatchLines(Struct, frozen=True):
    """The lines of batches, in rows and in blobs."""

    database: Database
    blobs: Blobs

    async def put(
        self,
        job_id: str,
        lines: Sequence[Line],
        holding: AbstractAsyncContextManager[AsyncConnection],
        also: OnWritten | None = None,
    ) -> None:
        """Write all lines or none, in the transaction that holds the job's lease, which `also` joins."""
        packed = [await _pack(job_id, line) for line in lines]
        large = [each for each in packed if each.blob is not None]
        await self._upload(large)
        async with holding as connection:
            for each in large:
                if not await orphan_blobs.claim(connection, str(each.blob)):
                    raise Unavailable("blobs", "an upload took too long")
            await connection.execute(insert(batch_results), [each.as_row(job_id) for each in packed])
            if also is not None:
                await also(connection)

    async def read(
        self, job_id: str, first: int, *, before: int | None = None, limit: int, most_bytes: int
    ) -> LineRange:
        """Lines in the order of the list, from a position on; at least one, however large it is."""
        query = select(batch_results).where(_results.job_id == job_id, _results.position >= first)
        if before is not None:
            query = query.where(_results.position < before)
        async with self.database.read() as connection:
            rows = (await connection.execute(query.order_by(_results.position).limit(limit))).all()
        fit = _how_many_fit([row.size for row in rows], most_bytes)
        places = asyncio.Semaphore(MAX_BLOBS_AT_ONCE)
        lines = await asyncio.gather(*(self._line(row, places) for row in rows[:fit]))
        return LineRange(lines, rows[fit].position if fit < len(rows) else None)

    async def _line(self, row: Any, places: asyncio.Semaphore) -> Line:
        body = row.body
        if row.blob is not None:
            async with places:
                body = await self.blobs.get(row.blob)
        if body is None:
            raise Unavailable("blobs", "a result is not where it was put")
        text = zlib.decompress(body, _WINDOW) if row.size <= MAX_INLINE_BYTES else await _inflate(body)
        return Line(row.position, row.status, row.ok, text)

    async def _upload(self, large: Sequence[_Packed]) -> None:
        if not large:
            return
        async with self.database.write() as connection:
            for each in large:
                await orphan_blobs.register(connection, str(each.blob))
        for each in large:
            await self.blobs.put(str(each.blob), each.body, media_type=MEDIA_TYPE, coding="gzip")


def _how_many_fit(sizes: Sequence[int], room: int) -> int:
    sums = itertools.accumulate(sizes)
    return max(1, sum(1 for size in sums if size <= room))


async def _pack(job_id: str, line: Line) -> _Packed:
    text = line.text
    body = _deflate(text) if len(text) <= MAX_INLINE_BYTES else await asyncio.to_thread(_deflate, text)
    blob = f"batches/{job_id}/{line.position}-{ULID()}".lower() if len(body) > MAX_ROW_BYTES else None
    return _Packed(line, body, blob)


def _deflate(text: bytes) -> bytes:
    return zlib.compress(text, COMPRESSION_LEVEL, _WINDOW)


async def _inflate(body: bytes) -> bytes:
    return await asyncio.to_thread(zlib.decompress, body, _WINDOW)
