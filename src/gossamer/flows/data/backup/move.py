"""Moves everything to another database, and if wanted to another store of blobs, without a backup in between.

The source is only read. The target gets its blobs first, then all rows in one transaction, in which they are
read again and compared with the source. Until it is committed, nothing else starts on the target.
"""

import hashlib
import time
from collections.abc import AsyncIterable, Callable, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from gossamer.flows.data.backup.blob_copies import Report, for_each, hashed, stay_silent
from gossamer.flows.data.backup.restore import is_empty, require_stopped
from gossamer.flows.data.backup.voiding import end_leases
from gossamer.state.backup import records as backups
from gossamer.state.backup.dumped_tables import BLOB_NAMES, DUMPED, DumpedTable, Row
from gossamer.state.backup.manifest import BackupFault
from gossamer.state.backup.row_store import RowStore, clear, normalise, open_snapshot, open_target
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.db.database import Database

_encode: Final = msgspec.json.Encoder().encode
_MODULUS: Final = 2**128


class MoveReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a move has done."""

    rows: int
    blobs: int
    blob_bytes: int
    missing_blobs: tuple[str, ...]
    seconds: float


class RowsDigest(Struct):
    """The number of rows, and a sum of their hashes, which is the same in any order."""

    rows: int = 0
    sum: int = 0

    def add(self, batch: Sequence[Row]) -> None:
        self.rows += len(batch)
        for row in batch:
            line = _encode(row).replace(b"\\u0000", b"")  # PostgreSQL has no such character
            self.sum += int.from_bytes(hashlib.blake2b(line, digest_size=16).digest())
        self.sum %= _MODULUS


class Mover(Struct, frozen=True, kw_only=True):
    source: Database
    source_url: str
    target: Database
    target_url: str
    blobs: Blobs
    target_blobs: Blobs | None  # None: the blobs stay where they are
    report: Report = stay_silent
    clock: Callable[[], float] = time.time

    async def run(self) -> MoveReport:
        """Raises `BackupFault`, with nothing written."""
        began = time.monotonic()
        await require_stopped(self.source)
        await self.target.migrate(restoring=True)
        if not await is_empty(self.target_url):
            raise BackupFault("The target database is not empty: move to a new one.")
        now = round(self.clock() * 1000)
        async with self.target.write() as connection:
            move_id = await backups.begin_restore(connection, "", "move", now)
        async with open_snapshot(self.source_url) as source:
            names = [str(row[0]) async for batch in source.batches(BLOB_NAMES) for row in batch]
            size, missing = await self._copy_blobs(names)
            rows = await self._copy_rows(source, move_id)
        return MoveReport(
            rows=rows,
            blobs=len(names) - len(missing),
            blob_bytes=size,
            missing_blobs=tuple(sorted(missing)),
            seconds=round(time.monotonic() - began, 3),
        )

    async def _copy_blobs(self, names: list[str]) -> tuple[int, list[str]]:
        target = self.target_blobs
        if target is None:
            return 0, []
        size, missing = 0, []

        async def copy(name: str) -> None:
            nonlocal size
            body = await self.blobs.get(name)
            if body is None:
                missing.append(name)
                return
            await target.put(name, body)
            written = await target.get(name)
            if written is None or await hashed(written) != await hashed(body):
                raise BackupFault(f"The blob {name} was not written as it is.")
            size += len(body)

        await for_each(names, copy, lambda done: self.report(f"blobs: {done:,} of {len(names):,}"))
        return size, missing

    async def _copy_rows(self, source: RowStore, move_id: str) -> int:
        moved = 0
        now = round(self.clock() * 1000)
        async with open_target(self.target_url) as target:
            await clear(target)
            for table in DUMPED.values():
                moved += await self._copy_table(source, target, table)
            await end_leases(target, now)
            # No restore: nothing has happened since that the ledger does not know.
            await target.execute(f"DELETE FROM restores WHERE id = '{move_id}'")  # noqa: S608
        return moved

    async def _copy_table(self, source: RowStore, target: RowStore, table: DumpedTable) -> int:
        read = RowsDigest()
        async for batch in source.batches(table.select(source.dialect)):
            rows = normalise(table, batch)
            read.add(rows)
            await target.insert(table, table.columns, rows)
            self.report(f"{table.name}: {read.rows:,} rows")
        await target.complete(table)
        if read != await _digest(table, target.batches(table.select(target.dialect))):
            raise BackupFault(f"The rows of {table.name} were not written as they are.")
        return read.rows


async def _digest(table: DumpedTable, batches: AsyncIterable[list[Row]]) -> RowsDigest:
    digest = RowsDigest()
    async for batch in batches:
        digest.add(normalise(table, batch))
    return digest
