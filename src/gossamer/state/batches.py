"""Batches: lists of pages that a job reads, and a line for each of them that it has read.

A line is JSON as it is answered. It is written once, under the lease of the job, compressed: into its row
where it is small, else into a blob that is a stray until the row speaks of it. All of it is kept as long as
the job; what was to be sent along with the requests only until the job is over, since it may be secret.
"""

import asyncio
import itertools
import zlib
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import Integer, delete, exists, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from ulid import ULID

from gossamer.problems import Unavailable
from gossamer.state import stray_blobs
from gossamer.state.blobs import Blobs
from gossamer.state.database import Database, clock
from gossamer.state.tables import batch_results, batches, jobs

SMALL: Final = 32_768  # bytes, compressed, that a row holds
AT_HAND: Final = 65_536  # bytes of a line; larger ones are compressed and decompressed in a thread
LEVEL: Final = 6
AT_ONCE: Final = 4  # blobs on their way
FORGET_BATCH: Final = 10
MEDIA_TYPE: Final = "application/json"
_WINDOW: Final = 31  # zlib's way of saying: with gzip's header and trailer

_results: Final = batch_results.c
_HEAD: Final = (
    batches.c.job_id,
    batches.c.tenant_id,
    batches.c.tier,
    batches.c.total,
    batches.c.created_at,
)


@dataclass(frozen=True, slots=True)
class Batch:
    job_id: str
    tenant_id: str
    tier: str
    total: int
    created_at: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done, as the door has put it."""

    urls_json: str
    plan_json: str
    headers_json: str | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many have a line, and what they say."""

    done: int = 0
    ok: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    position: int
    status: Literal["done", "failed"]
    ok: bool
    text: bytes


class Stretch(NamedTuple):
    """Lines in their order, perhaps with gaps; `cut_at` is the first that there was no room for."""

    lines: list[Line]
    cut_at: int | None = None


@dataclass(frozen=True, slots=True)
class _Packed:
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


async def add(connection: AsyncConnection, batch: Batch, task: Task, *, now: int | None = None) -> None:
    """In the transaction that puts the job."""
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


async def get(connection: AsyncConnection, job_id: str) -> Batch | None:
    row = (await connection.execute(select(*_HEAD).where(batches.c.job_id == job_id))).first()
    return None if row is None else Batch(**row._mapping)


async def task_of(connection: AsyncConnection, job_id: str) -> Task | None:
    columns = (batches.c.urls_json, batches.c.plan_json, batches.c.headers_json)
    row = (await connection.execute(select(*columns).where(batches.c.job_id == job_id))).first()
    return None if row is None else Task(**row._mapping)


async def counts(connection: AsyncConnection, job_id: str) -> Counts:
    query = (
        select(_results.status, func.count(), func.sum(_results.ok.cast(Integer)))
        .where(_results.job_id == job_id)
        .group_by(_results.status)
    )
    found = {status: (count, ok or 0) for status, count, ok in await connection.execute(query)}
    (done, ok), (failed, _) = found.get("done", (0, 0)), found.get("failed", (0, 0))
    return Counts(done, ok, failed)


async def positions(connection: AsyncConnection, job_id: str) -> set[int]:
    """Those that have a line."""
    return set((await connection.scalars(select(_results.position).where(_results.job_id == job_id))).all())


async def forget(connection: AsyncConnection) -> int:
    """Delete some batches whose jobs are forgotten; how many it were."""
    gone = ~exists().where(jobs.c.job_id == batches.c.job_id)
    some = select(batches.c.job_id).where(gone).order_by(batches.c.job_id).limit(FORGET_BATCH)
    ids = (await connection.scalars(some.with_for_update(skip_locked=True))).all()
    if ids:
        theirs = _results.job_id.in_(ids)
        blobs = select(_results.blob).where(theirs, _results.blob.is_not(None))
        await stray_blobs.cast_out(connection, [str(blob) for blob in await connection.scalars(blobs)])
        await connection.execute(delete(batch_results).where(theirs))
        await connection.execute(delete(batches).where(batches.c.job_id.in_(ids)))
    return len(ids)


async def forget_headers(connection: AsyncConnection) -> None:
    """What was to be sent along is of no more use when the job is over."""
    active = exists().where(jobs.c.job_id == batches.c.job_id, jobs.c.status.in_(("queued", "running")))
    over = update(batches).where(batches.c.headers_json.is_not(None), ~active)
    await connection.execute(over.values(headers_json=None))


class Lines:
    """The lines of batches, in rows and in blobs."""

    def __init__(self, database: Database, blobs: Blobs) -> None:
        self._database = database
        self._blobs = blobs

    async def put(
        self,
        job_id: str,
        lines: Sequence[Line],
        holding: AbstractAsyncContextManager[AsyncConnection],
    ) -> None:
        """All of them or none, in the transaction of who holds the job's lease."""
        packed = [await _packed(job_id, line) for line in lines]
        large = [each for each in packed if each.blob is not None]
        await self._upload(large)
        async with holding as connection:
            for each in large:
                if not await stray_blobs.adopt(connection, str(each.blob)):
                    raise Unavailable("blobs", "an upload took too long")
            await connection.execute(insert(batch_results), [each.as_row(job_id) for each in packed])

    async def read(
        self, job_id: str, first: int, *, before: int | None = None, limit: int, most_bytes: int
    ) -> Stretch:
        """In the order of the list, from a position on; at least one, however large it is."""
        query = select(batch_results).where(_results.job_id == job_id, _results.position >= first)
        if before is not None:
            query = query.where(_results.position < before)
        async with self._database.read() as connection:
            rows = (await connection.execute(query.order_by(_results.position).limit(limit))).all()
        fit = _how_many_fit([row.size for row in rows], most_bytes)
        places = asyncio.Semaphore(AT_ONCE)
        lines = await asyncio.gather(*(self._line(row, places) for row in rows[:fit]))
        return Stretch(lines, rows[fit].position if fit < len(rows) else None)

    async def _line(self, row: Any, places: asyncio.Semaphore) -> Line:
        body = row.body
        if row.blob is not None:
            async with places:
                body = await self._blobs.get(row.blob)
        if body is None:
            raise Unavailable("blobs", "a result is not where it was put")
        text = zlib.decompress(body, _WINDOW) if row.size <= AT_HAND else await _inflated(body)
        return Line(row.position, row.status, row.ok, text)

    async def _upload(self, large: Sequence[_Packed]) -> None:
        if not large:
            return
        async with self._database.write() as connection:
            for each in large:
                await stray_blobs.announce(connection, str(each.blob))
        for each in large:
            await self._blobs.put(str(each.blob), each.body, media_type=MEDIA_TYPE, coding="gzip")


def _how_many_fit(sizes: Sequence[int], room: int) -> int:
    sums = itertools.accumulate(sizes)
    return max(1, sum(1 for size in sums if size <= room))


async def _packed(job_id: str, line: Line) -> _Packed:
    text = line.text
    body = _deflated(text) if len(text) <= AT_HAND else await asyncio.to_thread(_deflated, text)
    blob = f"batches/{job_id}/{line.position}-{ULID()}".lower() if len(body) > SMALL else None
    return _Packed(line, body, blob)


def _deflated(text: bytes) -> bytes:
    return zlib.compress(text, LEVEL, _WINDOW)


async def _inflated(body: bytes) -> bytes:
    return await asyncio.to_thread(zlib.decompress, body, _WINDOW)
