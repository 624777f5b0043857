"""Checks a backup: reads all of it, and compares with its manifest."""

from typing import Final

from gossamer.flows.data.backup.blob_copies import Report, check_sizes, fetch_blob, for_each
from gossamer.state.backup.backup_place import BackupPlace
from gossamer.state.backup.manifest import BackupFault, Manifest, StoredBlob
from gossamer.state.backup.row_parts import read_part

BLOBS: Final = "blobs"


async def check_backup(place: BackupPlace, manifest: Manifest, report: Report) -> None:
    """Read everything: rows, and every blob. Raises `BackupFault`."""
    await check_rows(place, manifest, report)
    stored = await list_blobs(place, manifest)
    check_sizes(stored, await place.blob_sizes())

    async def check(blob: StoredBlob) -> None:
        await fetch_blob(place, blob)

    await for_each(stored, check, lambda done: report(f"checking blobs: {done:,} of {len(stored):,}"))


async def list_blobs(place: BackupPlace, manifest: Manifest) -> list[StoredBlob]:
    rows = [
        row
        for part in manifest.blobs.parts
        for row in await read_part(place, part, manifest.blobs.columns, frozenset())
    ]
    return [StoredBlob(*row) for row in rows]


async def check_rows(place: BackupPlace, manifest: Manifest, report: Report) -> None:
    """Read every part, and count its rows. Raises `BackupFault`."""
    for name, dump in (*manifest.tables.items(), (BLOBS, manifest.blobs)):
        report(f"checking {name}")
        found = 0
        for part in dump.parts:
            found += len(await read_part(place, part, dump.columns, frozenset()))
        if found != dump.rows:
            raise BackupFault(f"The backup is damaged: {name} has {found:,} rows instead of {dump.rows:,}.")
