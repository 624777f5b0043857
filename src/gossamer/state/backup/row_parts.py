"""Rows as objects of a backup: compressed lines of JSON, a few megabytes in each part.

Bytes are base64, everything else is what JSON has.
"""

import asyncio
import base64
import sys
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from gossamer.state.backup.backup_place import BackupPlace, damaged
from gossamer.state.backup.dumped_tables import Row
from gossamer.state.backup.manifest import DumpedRows, PartFile

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PART_BYTES: Final = 16_000_000  # not compressed
_LEVEL: Final = 3

_encode: Final = msgspec.json.Encoder().encode_lines
_decode: Final = msgspec.json.Decoder(list[Any]).decode_lines


class PartWriter:
    """Collects the rows of one table into parts."""

    def __init__(self, place: BackupPlace, backup_id: str, table: str, columns: Sequence[str]) -> None:
        self._place = place
        self._name = f"rows/{backup_id}/{table}"
        self._columns = tuple(columns)
        self._lines: list[bytes] = []
        self._size = 0
        self._waiting = 0  # rows in no part yet
        self._parts: list[PartFile] = []

    async def add(self, rows: Sequence[Row]) -> None:
        lines = await asyncio.to_thread(_encode, rows)
        self._lines.append(lines)
        self._size += len(lines)
        self._waiting += len(rows)
        if self._size >= PART_BYTES:
            await self._write()

    async def finish(self) -> DumpedRows:
        if self._waiting:
            await self._write()
        return DumpedRows(self._columns, sum(part.rows for part in self._parts), tuple(self._parts))

    async def _write(self) -> None:
        body = await asyncio.to_thread(zstd.compress, b"".join(self._lines), _LEVEL)
        name = f"{self._name}-{len(self._parts) + 1:06}"
        self._parts.append(await self._place.put(name, body, self._waiting))
        self._lines, self._size, self._waiting = [], 0, 0


async def read_part(
    place: BackupPlace, part: PartFile, columns: Sequence[str], binaries: frozenset[str]
) -> list[Row]:
    """Raises `BackupFault` if it is missing or was changed."""
    body = await place.get(part)
    try:
        rows = await asyncio.to_thread(_unpack, body, columns, binaries)
    except (zstd.ZstdError, msgspec.MsgspecError, ValueError):
        raise damaged(part.name) from None
    if len(rows) != part.rows:
        raise damaged(part.name)
    return rows


def _unpack(body: bytes, columns: Sequence[str], binaries: frozenset[str]) -> list[Row]:
    rows: list[Any] = _decode(zstd.decompress(body))
    places = [place for place, name in enumerate(columns) if name in binaries]
    for row in rows:
        for place in places:
            row[place] = None if row[place] is None else base64.b64decode(row[place])
    return rows
