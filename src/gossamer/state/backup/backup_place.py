"""BackupPlace: backups in a folder or a bucket.

    place                    how objects are sealed here; no secret
    manifests/{backup}       what a backup consists of; written last
    rows/{backup}/{table}-…  its rows, a few megabytes in each object
    blobs/{name}             shared by all backups: a name is never given to other bytes

A place belongs to one installation, whose backups take turns.
"""

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct

from gossamer.state.backup import manifest as manifests
from gossamer.state.backup.manifest import BackupFault, Manifest, PartFile
from gossamer.state.backup.sealing import SALT_BYTES, CannotOpen, NoSealer, Sealer, sealer_of
from gossamer.state.blobs.blobs import Blobs, open_blobs

DEADLINE: Final = 120.0  # seconds for one object
DROPPED_AT_ONCE: Final = 500
_PLACE: Final = "place"
_CHECK: Final = b"gossamer"


class _PlaceFile(Struct, frozen=True):
    format: int
    salt: bytes = b""
    check: bytes = b""  # sealed; empty if nothing is

    @property
    def is_sealed(self) -> bool:
        return bool(self.check)


class BackupPlace(Struct, frozen=True):
    url: str
    store: Blobs
    sealer: Sealer

    async def put(self, name: str, body: bytes, rows: int = 0) -> PartFile:
        sealed = await asyncio.to_thread(self.sealer.seal, name, body)
        await self.store.put(name, sealed)
        return PartFile(name, rows, len(sealed), _hash(sealed))

    async def get(self, part: PartFile) -> bytes:
        """Raises `BackupFault` if it is missing or was changed."""
        sealed = await self.store.get(part.name)
        if sealed is None:
            raise BackupFault(f"The backup is not complete: {part.name} is missing.")
        if await asyncio.to_thread(_hash, sealed) != part.sha256:
            raise damaged(part.name)
        return await self._open(part.name, sealed)

    async def get_blob(self, name: str) -> bytes | None:
        """The bytes of a blob; None if it is missing. Its hash is the caller's to check."""
        sealed = await self.store.get(blob_name(name))
        return None if sealed is None else await self._open(blob_name(name), sealed)

    async def write_manifest(self, manifest: Manifest) -> None:
        await self.put(manifest_name(manifest.id), manifests.encode(manifest))

    async def manifest(self, backup_id: str) -> Manifest:
        name = manifest_name(backup_id)
        sealed = await self.store.get(name)
        if sealed is None:
            raise BackupFault(
                f"There is no backup {backup_id} here; gossamer backup list shows those there are."
            )
        try:
            return manifests.decode(await self._open(name, sealed))
        except (ValueError, msgspec.MsgspecError):
            raise damaged(name) from None

    async def list_ids(self) -> list[str]:
        """The ids of all finished backups, the oldest first."""
        return sorted([name.partition("/")[2] async for name, _ in self.store.listing("manifests")])

    async def list_manifests(self) -> list[Manifest]:
        return [await self.manifest(found) for found in await self.list_ids()]

    async def newest(self) -> Manifest:
        found = await self.list_ids()
        if not found:
            raise BackupFault(f"There is no finished backup in {self.url}.")
        return await self.manifest(found[-1])

    async def blob_sizes(self) -> dict[str, int]:
        """Sizes of the blobs that are here, as they were before they were sealed."""
        listing = self.store.listing("blobs")
        return {name.partition("/")[2]: size - self.sealer.overhead async for name, size in listing}

    async def row_objects(self) -> AsyncGenerator[str]:
        async for name, _ in self.store.listing("rows"):
            yield name

    async def drop(self, names: Iterable[str]) -> None:
        waiting = list(names)
        for start in range(0, len(waiting), DROPPED_AT_ONCE):
            await self.store.drop(waiting[start : start + DROPPED_AT_ONCE])

    async def close(self) -> None:
        await self.store.close()

    async def _open(self, name: str, sealed: bytes) -> bytes:
        try:
            return await asyncio.to_thread(self.sealer.open, name, sealed)
        except CannotOpen:
            raise damaged(name) from None


def blob_name(name: str) -> str:
    return f"blobs/{name}"


def manifest_name(backup_id: str) -> str:
    return f"manifests/{backup_id}"


def damaged(name: str) -> BackupFault:
    return BackupFault(f"The backup is damaged: {name} is not what was written.")


def place_url(given: str) -> str:
    """`s3://…` and `file://…` as they are; anything else is a folder."""
    return given if "://" in given else Path(os.path.expanduser(given)).absolute().as_uri()


async def open_place(
    given: str, key: str, environ: Mapping[str, str], *, create: bool = False
) -> BackupPlace:
    """Raises `BackupFault` for a place that is not there, and for the wrong key."""
    url = place_url(given)
    if not create and _is_missing(url):
        raise BackupFault(f"There is no folder {_shown(url)}.")
    try:
        store = open_blobs(url, environ, deadline=DEADLINE)
    except ValueError as error:
        raise BackupFault(f"{_shown(url)} cannot hold backups: {error}.") from None
    try:
        sealer = await _agree(store, _shown(url), key, create=create)
    except BaseException:
        await store.close()
        raise
    return BackupPlace(_shown(url), store, sealer)


def _is_missing(url: str) -> bool:
    """A folder would be created by the first look into it."""
    return url.startswith("file:///") and not os.path.isdir(unquote(urlsplit(url).path))


async def _agree(store: Blobs, url: str, key: str, *, create: bool) -> Sealer:
    """How objects are sealed here: as the first backup began."""
    body = await store.get(_PLACE)
    if body is None:
        if not create:
            raise BackupFault(f"There are no backups in {url}.")
        return await _begin(store, key)
    try:
        found = msgspec.json.decode(body, type=_PlaceFile)
    except msgspec.MsgspecError:
        raise damaged(_PLACE) from None
    if found.is_sealed and not key:
        raise BackupFault(f"The backups in {url} are encrypted: set GOSSAMER_BACKUP_KEY to their key.")
    if not found.is_sealed:
        if key:
            raise BackupFault(
                f"The backups in {url} are not encrypted: unset GOSSAMER_BACKUP_KEY, or use another place."
            )
        return NoSealer()
    sealer = await asyncio.to_thread(sealer_of, key, found.salt)
    try:
        sealer.open(_PLACE, found.check)
    except CannotOpen:
        raise BackupFault(f"GOSSAMER_BACKUP_KEY is not the key of the backups in {url}.") from None
    return sealer


async def _begin(store: Blobs, key: str) -> Sealer:
    salt = os.urandom(SALT_BYTES)
    sealer: Sealer = await asyncio.to_thread(sealer_of, key, salt) if key else NoSealer()
    check = sealer.seal(_PLACE, _CHECK) if key else b""
    found = _PlaceFile(manifests.FORMAT, salt if key else b"", check)
    await store.put(_PLACE, msgspec.json.encode(found), media_type="application/json")
    return sealer


def _shown(url: str) -> str:
    """As it is shown and recorded: without parameters, and a folder as a path."""
    plain = url.partition("?")[0]
    return plain.removeprefix("file://") if plain.startswith("file:///") else plain


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
