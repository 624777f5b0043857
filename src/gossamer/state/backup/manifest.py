"""Manifest: what a backup consists of. It is written last, so a backup without one is not finished."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import Struct

FORMAT: Final = 1
BLOB_COLUMNS: Final = ("name", "size", "sha256")
_DIGITS: Final = 64


class BackupFault(Exception):
    """Why a backup cannot be made, believed or restored, in one sentence."""


class PartFile(Struct, frozen=True):
    """Rows in one object: compressed, one JSON array a line, sealed."""

    name: str
    rows: int
    size: int  # as it is stored
    sha256: str  # of what is stored


class DumpedRows(Struct, frozen=True):
    columns: tuple[str, ...]
    rows: int
    parts: tuple[PartFile, ...]


class Manifest(Struct, frozen=True, kw_only=True):
    format: int = FORMAT
    id: str
    gossamer: str  # the release that made it
    revision: str  # of the schema
    dialect: str
    snapshot_at: int  # milliseconds; what is newer is not in it
    finished_at: int
    tables: Mapping[str, DumpedRows]
    blobs: DumpedRows  # name, size and hash of each
    blob_bytes: int
    missing: tuple[str, ...] = ()  # blobs that were deleted after the snapshot

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables.values())

    @property
    def row_bytes(self) -> int:
        return sum(part.size for dump in (*self.tables.values(), self.blobs) for part in dump.parts)

    @property
    def parts(self) -> list[PartFile]:
        return [part for dump in (*self.tables.values(), self.blobs) for part in dump.parts]

    @property
    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.snapshot_at / 1000, UTC)


class StoredBlob(Struct, frozen=True, array_like=True):
    """A blob in a backup: hash and size of its own bytes, not of the sealed ones."""

    name: str
    size: int
    sha256: str


def encode(manifest: Manifest) -> bytes:
    """Its JSON, and on a second line the hash of the first."""
    text = msgspec.json.encode(manifest)
    return text + b"\n" + hashlib.sha256(text).hexdigest().encode()


def decode(body: bytes) -> Manifest:
    """Raises `ValueError` if it was changed."""
    text, told = body[: -_DIGITS - 1], body[-_DIGITS:]
    if hashlib.sha256(text).hexdigest().encode() != told:
        raise ValueError("the manifest is damaged")
    known = msgspec.json.decode(text, type=_FormatVersion)
    if known.format > FORMAT:
        raise BackupFault(f"The backup has format {known.format}: restore it with a newer Gossamer.")
    return msgspec.json.decode(text, type=Manifest)


class _FormatVersion(Struct):
    format: int
