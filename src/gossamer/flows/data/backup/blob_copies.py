"""Copies blobs between a store and a place of backups, several at a time."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Final, TypeVar

from msgspec import Struct, field

from gossamer.state.backup.backup_place import BackupPlace, blob_name, damaged
from gossamer.state.backup.manifest import BackupFault, PartFile, StoredBlob
from gossamer.state.blobs.blobs import Blobs

T = TypeVar("T")
AT_ONCE: Final = 8

Report = Callable[[str], None]  # shows one line about the progress


def stay_silent(_line: str) -> None:
    """For those who want no progress."""


class SavedBlobs(Struct):
    """The blobs of one backup."""

    stored: list[StoredBlob] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # deleted after the snapshot
    copied: list[PartFile] = field(default_factory=list)  # those that were not there before

    @property
    def bytes(self) -> int:
        return sum(blob.size for blob in self.stored)


async def save_blobs(
    names: Sequence[str], blobs: Blobs, place: BackupPlace, known: Mapping[str, StoredBlob], report: Report
) -> SavedBlobs:
    """Copy blobs to a place, without those that it has from an earlier backup: `known`, by name."""
    there = await place.blob_sizes() if known else {}
    saved = SavedBlobs()

    async def save(name: str) -> None:
        old = known.get(name)
        if old is not None and there.get(name) == old.size:
            saved.stored.append(old)
            return
        body = await blobs.get(name)
        if body is None:
            saved.missing.append(name)
            return
        saved.copied.append(await place.put(blob_name(name), body))
        saved.stored.append(StoredBlob(name, len(body), await hashed(body)))

    await for_each(names, save, lambda done: report(f"blobs: {done:,} of {len(names):,}"))
    saved.stored.sort(key=lambda blob: blob.name)
    saved.missing.sort()
    return saved


async def check_saved(saved: SavedBlobs, place: BackupPlace, report: Report) -> None:
    """Read back what was copied; of what was there before, the size. Raises `BackupFault`."""

    async def check(part: PartFile) -> None:
        await place.get(part)

    await for_each(
        saved.copied, check, lambda done: report(f"checking blobs: {done:,} of {len(saved.copied):,}")
    )
    check_sizes(saved.stored, await place.blob_sizes())


def check_sizes(wanted: Collection[StoredBlob], there: Mapping[str, int]) -> None:
    for blob in wanted:
        if blob.name not in there:
            raise BackupFault(f"The backup is not complete: {blob_name(blob.name)} is missing.")
        if there[blob.name] != blob.size:
            raise damaged(blob_name(blob.name))


async def fetch_blob(place: BackupPlace, blob: StoredBlob) -> bytes:
    """Raises `BackupFault` if it is missing or was changed."""
    body = await place.get_blob(blob.name)
    if body is None:
        raise BackupFault(f"The backup is not complete: {blob_name(blob.name)} is missing.")
    if len(body) != blob.size or await hashed(body) != blob.sha256:
        raise damaged(blob_name(blob.name))
    return body


async def for_each(
    items: Sequence[T], work: Callable[[T], Awaitable[None]], report: Callable[[int], None]
) -> None:
    """Do the work for every item, a few at a time. After the first failure no other item is begun, and what
    was begun comes to its end: a store cannot be told to stop."""
    waiting = iter(items)
    done = 0
    failures: list[BaseException] = []

    async def run() -> None:
        nonlocal done
        for item in waiting:
            try:
                await work(item)
                done += 1
                report(done)
            except BaseException as failure:  # noqa: BLE001  (raised below)
                failures.append(failure)
            if failures:
                return

    await asyncio.gather(*(run() for _ in range(AT_ONCE)))
    if failures:
        raise failures[0]


async def hashed(body: bytes) -> str:
    return await asyncio.to_thread(lambda: hashlib.sha256(body).hexdigest())
