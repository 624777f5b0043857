"""Restores a backup into a database and a store of blobs.

1  check the key, the manifest, every part of the rows, and that all blobs are there: nothing is written
2  mark the database: until the restore has ended, nothing else starts on it
3  forget what is hot, since it may be newer
4  blobs, each compared with its hash; if one is damaged, those that were copied are dropped again
5  rows, in one transaction that also ends leases and sessions and takes the mark away
"""

import time
from collections.abc import Callable

from msgspec import Struct, field

from gossamer.flows.data.backup.blob_copies import Report, check_sizes, fetch_blob, for_each, stay_silent
from gossamer.flows.data.backup.checking import check_rows, list_blobs
from gossamer.flows.data.backup.voiding import end_leases, end_sessions
from gossamer.state.backup import records as backups
from gossamer.state.backup.backup_place import BackupPlace
from gossamer.state.backup.dumped_tables import BLOB_NAMES, DUMPED, DumpedTable
from gossamer.state.backup.manifest import BackupFault, DumpedRows, Manifest, StoredBlob
from gossamer.state.backup.row_parts import read_part
from gossamer.state.backup.row_store import RowStore, clear, count, open_snapshot, open_target, scalar
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.db.database import HEAD, Database
from gossamer.state.jobs import heartbeats
from gossamer.state.kv.hot import Hot
from gossamer.state.tenants.tenants import PUBLIC


class RestoreReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a restore has done."""

    backup: str
    snapshot_at: int
    rows: int
    blobs: int
    blob_bytes: int
    copied_blobs: int  # the others were there already
    missing_blobs: tuple[str, ...]
    seconds: float


class Restorer(Struct, frozen=True, kw_only=True):
    database: Database
    database_url: str
    blobs: Blobs
    hot: Hot
    place: BackupPlace
    report: Report = stay_silent
    clock: Callable[[], float] = time.time
    _copied: list[str] = field(default_factory=list)

    async def run(self, manifest: Manifest, *, replace: bool = False) -> RestoreReport:
        """Raises `BackupFault`, with nothing written."""
        began = time.monotonic()
        check_known(manifest)
        await self.database.migrate(restoring=True)
        await require_stopped(self.database)
        if not replace and not await is_empty(self.database_url):
            raise BackupFault(
                "The database is not empty: restore into a new one, or replace what is in it with --replace."
            )
        await check_rows(self.place, manifest, self.report)
        stored = await list_blobs(self.place, manifest)
        check_sizes(stored, await self.place.blob_sizes())
        await self.hot.ping()
        old = await _blob_names(self.database_url)
        restore_id = await self._mark(manifest)
        try:
            await self.hot.clear()
            await self._copy_blobs(stored)
        except BackupFault:
            await self._undo(restore_id)
            raise
        await self._write_rows(manifest, restore_id)
        await self._orphan(old - {blob.name for blob in stored})
        return RestoreReport(
            backup=manifest.id,
            snapshot_at=manifest.snapshot_at,
            rows=manifest.rows,
            blobs=len(stored),
            blob_bytes=manifest.blob_bytes,
            copied_blobs=len(self._copied),
            missing_blobs=manifest.missing,
            seconds=round(time.monotonic() - began, 3),
        )

    async def _mark(self, manifest: Manifest) -> str:
        async with self.database.write() as connection:
            return await backups.begin_restore(connection, manifest.id, self.place.url, manifest.snapshot_at)

    async def _undo(self, restore_id: str) -> None:
        await self.blobs.drop(self._copied)
        async with self.database.write() as connection:
            await backups.give_up_restore(connection, restore_id)

    async def _copy_blobs(self, stored: list[StoredBlob]) -> None:
        """A blob that is there with its size is left: a name is never given to other bytes."""
        prefixes = sorted({blob.name.partition("/")[0] for blob in stored})
        there = {name: size for prefix in prefixes async for name, size in self.blobs.listing(prefix)}

        async def copy(blob: StoredBlob) -> None:
            if there.get(blob.name) != blob.size:
                body = await fetch_blob(self.place, blob)
                self._copied.append(blob.name)
                await self.blobs.put(blob.name, body)

        await for_each(stored, copy, lambda done: self.report(f"blobs: {done:,} of {len(stored):,}"))

    async def _write_rows(self, manifest: Manifest, restore_id: str) -> None:
        now = round(self.clock() * 1000)
        async with open_target(self.database_url) as rows:
            await clear(rows)
            for table in DUMPED.values():
                if table.name in manifest.tables:
                    await self._write_table(rows, table, manifest.tables[table.name])
            await end_leases(rows, now)
            await end_sessions(rows)
            await rows.execute(f"UPDATE restores SET finished_at = {now} WHERE id = '{restore_id}'")  # noqa: S608

    async def _write_table(self, rows: RowStore, table: DumpedTable, dump: DumpedRows) -> None:
        done = 0
        for part in dump.parts:
            batch = await read_part(self.place, part, dump.columns, table.binaries)
            await rows.insert(table, dump.columns, batch)
            done += len(batch)
            self.report(f"{table.name}: {done:,} of {dump.rows:,} rows")
        await rows.complete(table)
        if await count(rows, table) != dump.rows:
            raise BackupFault(f"The rows of {table.name} were not all restored.")

    async def _orphan(self, names: set[str]) -> None:
        """Blobs of what was replaced: upkeep drops them."""
        if names:
            async with self.database.write() as connection:
                await orphan_blobs.mark(connection, sorted(names))


def check_known(manifest: Manifest) -> None:
    """A release takes backups of all earlier ones: later schemas only add columns and tables."""
    unknown = manifest.tables.keys() - DUMPED.keys()
    if manifest.revision > HEAD or unknown:
        raise BackupFault(
            f"The backup was made by Gossamer {manifest.gossamer} with schema {manifest.revision}; this one "
            f"knows only {HEAD}: install a newer Gossamer."
        )


async def require_stopped(database: Database) -> None:
    async with database.read() as connection:
        alive = await heartbeats.alive(connection)
    if alive:
        names = ", ".join(worker.name for worker in alive)
        raise BackupFault(f"Gossamer is running on this database ({names}): stop it first.")


async def is_empty(url: str) -> bool:
    """Whether the database has only what its schema begins with: the tenant of callers without an account."""
    async with open_snapshot(url) as rows:
        for table in DUMPED.values():
            statement = f"SELECT 1 FROM {table.name}"  # noqa: S608
            if table.name == "tenants":
                statement += f" WHERE id <> '{PUBLIC}'"
            if await scalar(rows, f"{statement} LIMIT 1") is not None:
                return False
    return True


async def _blob_names(url: str) -> set[str]:
    async with open_snapshot(url) as rows:
        return {str(row[0]) async for batch in rows.batches(BLOB_NAMES) for row in batch}
