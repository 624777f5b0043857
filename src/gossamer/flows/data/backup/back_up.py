"""Makes a backup.

1  hold orphan blobs, so that none is dropped that the snapshot names
2  rows, in one snapshot
3  blobs that these rows name, without those that an earlier backup has put there
4  read back what was written, and compare
5  the manifest: from now on the backup exists
6  note it in the database, and end the hold
7  remove backups that are not kept, and what no backup needs
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple

from msgspec import Struct

from gossamer import __version__
from gossamer.concurrency.periodic import every, ignore
from gossamer.flows.data.backup import retention
from gossamer.flows.data.backup.blob_copies import Report, check_saved, save_blobs, stay_silent
from gossamer.flows.data.backup.checking import BLOBS, check_rows, list_blobs
from gossamer.flows.data.backup.retention import KeepRule
from gossamer.problems import Unavailable
from gossamer.state.backup import records as backups
from gossamer.state.backup.backup_place import BackupPlace
from gossamer.state.backup.dumped_tables import BLOB_NAMES, DUMPED, DumpedTable
from gossamer.state.backup.manifest import BLOB_COLUMNS, BackupFault, DumpedRows, Manifest, StoredBlob
from gossamer.state.backup.records import BackupRunning
from gossamer.state.backup.row_parts import PartWriter
from gossamer.state.backup.row_store import RowStore, normalise, open_snapshot, scalar
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.db.database import Database

HOLD_SECONDS: Final = backups.HOLD_MS / 4 / 1000


class BackupReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a backup has done."""

    id: str
    place: str
    snapshot_at: int
    rows: int
    blobs: int
    blob_bytes: int
    copied_blobs: int  # the others were there already
    row_bytes: int
    missing_blobs: tuple[str, ...]
    seconds: float
    removed_backups: tuple[str, ...]


class _Snapshot(NamedTuple):
    tables: dict[str, DumpedRows]
    blobs: list[str]
    at: int
    revision: str


class BackupMaker(Struct, frozen=True, kw_only=True):
    database: Database
    database_url: str
    blobs: Blobs
    place: BackupPlace
    report: Report = stay_silent
    clock: Callable[[], float] = time.time

    async def run(self, keep: KeepRule | None = None) -> BackupReport:
        """Raises `BackupFault`."""
        began = time.monotonic()
        async with self._holding() as backup_id:
            known = await self._known_blobs()
            snapshot = await self._dump(backup_id)
            saved = await save_blobs(snapshot.blobs, self.blobs, self.place, known, self.report)
            blob_rows = await self._write_blob_rows(backup_id, saved.stored)
            manifest = Manifest(
                id=backup_id,
                gossamer=__version__,
                revision=snapshot.revision,
                dialect=self.database.dialect,
                snapshot_at=snapshot.at,
                finished_at=round(self.clock() * 1000),
                tables=snapshot.tables,
                blobs=blob_rows,
                blob_bytes=saved.bytes,
                missing=tuple(saved.missing),
            )
            await check_rows(self.place, manifest, self.report)
            await check_saved(saved, self.place, self.report)
            await self.place.write_manifest(manifest)
            await self._note(manifest)
            removed = await retention.prune(self.place, keep, backup_id, self.report)
        return BackupReport(
            id=backup_id,
            place=self.place.url,
            snapshot_at=snapshot.at,
            rows=manifest.rows,
            blobs=len(saved.stored),
            blob_bytes=saved.bytes,
            copied_blobs=len(saved.copied),
            row_bytes=manifest.row_bytes,
            missing_blobs=manifest.missing,
            seconds=round(time.monotonic() - began, 3),
            removed_backups=tuple(removed),
        )

    @asynccontextmanager
    async def _holding(self) -> AsyncIterator[str]:
        try:
            async with self.database.write() as connection:
                backup_id = await backups.begin(connection, self.place.url)
        except BackupRunning:
            raise BackupFault("Another backup of this database is running.") from None
        renewing = asyncio.create_task(self._keep_holding(backup_id))
        try:
            yield backup_id
        finally:
            renewing.cancel()
            with suppress(Unavailable):  # else the hold ends by itself
                async with self.database.write() as connection:
                    await backups.let_go(connection, backup_id)

    async def _keep_holding(self, backup_id: str) -> None:
        async def renew() -> None:
            async with self.database.write() as connection:
                await backups.hold(connection, backup_id)

        await every(HOLD_SECONDS, renew, on_outage=ignore)

    async def _dump(self, backup_id: str) -> _Snapshot:
        at = round(self.clock() * 1000)
        async with open_snapshot(self.database_url) as rows:
            revision = str(await scalar(rows, "SELECT version_num FROM alembic_version"))
            tables = {table.name: await self._dump_table(rows, table, backup_id) for table in DUMPED.values()}
            named = [str(row[0]) async for batch in rows.batches(BLOB_NAMES) for row in batch]
        return _Snapshot(tables, named, at, revision)

    async def _dump_table(self, rows: RowStore, table: DumpedTable, backup_id: str) -> DumpedRows:
        writer = PartWriter(self.place, backup_id, table.name, table.columns)
        done = 0
        async for batch in rows.batches(table.select(rows.dialect)):
            await writer.add(normalise(table, batch))
            done += len(batch)
            self.report(f"{table.name}: {done:,} rows")
        return await writer.finish()

    async def _write_blob_rows(self, backup_id: str, stored: list[StoredBlob]) -> DumpedRows:
        writer = PartWriter(self.place, backup_id, BLOBS, BLOB_COLUMNS)
        if stored:
            await writer.add([(blob.name, blob.size, blob.sha256) for blob in stored])
        return await writer.finish()

    async def _known_blobs(self) -> dict[str, StoredBlob]:
        """What the newest backup has, so that it is not copied again."""
        found = await self.place.list_ids()
        if not found:
            return {}
        return {
            blob.name: blob for blob in await list_blobs(self.place, await self.place.manifest(found[-1]))
        }

    async def _note(self, manifest: Manifest) -> None:
        async with self.database.write() as connection:
            await backups.finish(
                connection,
                manifest.id,
                snapshot_at=manifest.snapshot_at,
                rows=manifest.rows,
                size=manifest.row_bytes + manifest.blob_bytes,
            )
