"""Snapshots: the last good look at each page of a monitor, and those that changes name."""

import asyncio
import hashlib
import zlib
from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Row, delete, exists, insert, or_, select, update
from ulid import ULID

from gossamer.problems import Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database
from gossamer.state.monitors.monitor_tables import monitor_changes, monitor_snapshots
from gossamer.web.monitors.page_snapshot import PageSnapshot

MAX_ROW_BYTES: Final = 32_768  # of a compressed snapshot in a row; a larger one becomes a blob
MAX_SNAPSHOT_BYTES: Final = 16_000_000  # of one that is read
DROPPED_AT_ONCE: Final = 200
FOLDER: Final = "monitors"

_rows: Final = monitor_snapshots.c
_decoder: Final = msgspec.msgpack.Decoder(PageSnapshot)


class StoredSnapshot(Struct, frozen=True):
    """A snapshot and the row that it is in."""

    id: str
    page: str  # SHA-256 of the URL
    snapshot: PageSnapshot


class ListedSnapshot(Struct, frozen=True):
    """A snapshot without its content."""

    id: str
    url: str
    taken_at: int
    is_current: bool
    has_picture: bool


class PackedSnapshot(Struct, frozen=True):
    """A snapshot that is ready to be written: its blobs, if it has any, are uploaded orphans."""

    id: str
    url: str
    taken_at: int
    body: bytes | None
    blob: str | None
    picture: str | None
    new_blobs: tuple[str, ...] = ()  # that its row must claim


def page_key(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()


class SnapshotStore(Struct, frozen=True):
    """Packs snapshots before the transaction that writes them, and reads them."""

    database: Database
    blobs: Blobs

    async def pack(self, snapshot: PageSnapshot, picture: bytes | None = None) -> PackedSnapshot:
        """Compress it, and upload what is large. A `picture` is that of this very look."""
        packed = await asyncio.to_thread(_compress, snapshot)
        new: list[str] = []
        name = None
        if len(packed) > MAX_ROW_BYTES:
            name = await self._upload(packed, "application/octet-stream")
            new.append(name)
        shown = snapshot.picture or None
        if picture is not None:
            shown = await self._upload(picture, "image/png")
            new.append(shown)
        return PackedSnapshot(
            str(ULID()),
            snapshot.url,
            round(snapshot.taken_at * 1000),
            None if name else packed,
            name,
            shown,
            tuple(new),
        )

    async def current(
        self, monitor_id: str, pages: Collection[str] | None = None
    ) -> dict[str, StoredSnapshot]:
        """The last good look at each page, by page."""
        query = select(monitor_snapshots).where(_rows.monitor_id == monitor_id, _rows.is_current)
        if pages is not None:
            query = query.where(_rows.page.in_(pages))
        async with self.database.read() as connection:
            rows = (await connection.execute(query)).all()
        return {row.page: await self._unpack(row) for row in rows}

    async def get(self, monitor_id: str, snapshot_id: str) -> StoredSnapshot | None:
        query = select(monitor_snapshots).where(_rows.monitor_id == monitor_id, _rows.id == snapshot_id)
        async with self.database.read() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else await self._unpack(row)

    async def picture(self, name: str) -> bytes | None:
        return await self.blobs.get(name)

    async def _unpack(self, row: Row[Any]) -> StoredSnapshot:
        body = row.body if row.blob is None else await self.blobs.get(row.blob)
        if body is None:
            raise Unavailable("blobs", "a snapshot is missing")
        snapshot = await asyncio.to_thread(_decompress, body)
        # The row may have been seen again since.
        seen = replace(snapshot, taken_at=row.taken_at / 1000, picture=row.picture or "")
        return StoredSnapshot(row.id, row.page, seen)

    async def _upload(self, body: bytes, media_type: str) -> str:
        name = f"{FOLDER}/{str(ULID()).lower()}"
        async with self.database.write() as connection:
            await orphan_blobs.register(connection, name)
        await self.blobs.put(name, body, media_type=media_type)
        return name


async def listing(
    connection: AsyncConnection, monitor_id: str, *, before: str | None = None, limit: int = 50
) -> list[ListedSnapshot]:
    """The newest first."""
    shown = (_rows.id, _rows.url, _rows.taken_at, _rows.is_current, _rows.picture)
    query = select(*shown).where(_rows.monitor_id == monitor_id)
    if before is not None:
        query = query.where(_rows.id < before)
    rows = await connection.execute(query.order_by(_rows.id.desc()).limit(limit))
    return [
        ListedSnapshot(row.id, row.url, row.taken_at, row.is_current, row.picture is not None) for row in rows
    ]


async def put(connection: AsyncConnection, monitor_id: str, tenant_id: str, new: PackedSnapshot) -> None:
    """Make this the current look at its page, in the transaction that ends the check."""
    for name in new.new_blobs:
        if not await orphan_blobs.claim(connection, name):
            raise Unavailable("blobs", "an upload took too long")
    page = page_key(new.url)
    await retire(connection, monitor_id, [page])
    await connection.execute(
        insert(monitor_snapshots).values(
            id=new.id,
            monitor_id=monitor_id,
            tenant_id=tenant_id,
            page=page,
            url=new.url,
            taken_at=new.taken_at,
            is_current=True,
            body=new.body,
            blob=new.blob,
            picture=new.picture,
        )
    )


async def see_again(connection: AsyncConnection, snapshot_id: str, taken_at: int) -> None:
    """Nothing at all was different."""
    await connection.execute(
        update(monitor_snapshots).where(_rows.id == snapshot_id).values(taken_at=taken_at)
    )


async def retire(connection: AsyncConnection, monitor_id: str, pages: Collection[str]) -> None:
    """They are not current any more; what no change names goes with the next sweep."""
    mine = update(monitor_snapshots).where(_rows.monitor_id == monitor_id, _rows.is_current)
    await connection.execute(mine.where(_rows.page.in_(pages)).values(is_current=False))


async def retire_all(connection: AsyncConnection, monitor_id: str) -> None:
    mine = update(monitor_snapshots).where(_rows.monitor_id == monitor_id, _rows.is_current)
    await connection.execute(mine.values(is_current=False))


async def sweep(connection: AsyncConnection, monitor_id: str) -> Sequence[str]:
    """Drop snapshots that are not current and that no change names; returns the blobs that are orphans."""
    changes = monitor_changes.c
    named = exists().where(
        changes.monitor_id == monitor_id,
        or_(changes.before_id == _rows.id, changes.after_id == _rows.id),
    )
    free = select(_rows.id).where(_rows.monitor_id == monitor_id, ~_rows.is_current, ~named)
    return await _drop(connection, list((await connection.scalars(free.limit(DROPPED_AT_ONCE))).all()))


async def drop_some(
    connection: AsyncConnection, *, monitor_id: str | None = None, tenant_id: str | None = None
) -> tuple[int, Sequence[str]]:
    """Drop some of a monitor's or a tenant's snapshots; returns how many, and their blobs."""
    owned = _rows.monitor_id == monitor_id if tenant_id is None else _rows.tenant_id == tenant_id
    ids = (await connection.scalars(select(_rows.id).where(owned).limit(DROPPED_AT_ONCE))).all()
    return len(ids), await _drop(connection, list(ids))


async def _drop(connection: AsyncConnection, ids: list[str]) -> Sequence[str]:
    """A picture may be that of an earlier look, which goes on showing it."""
    if not ids:
        return []
    gone = select(_rows.blob, _rows.picture).where(_rows.id.in_(ids))
    names = {name for row in await connection.execute(gone) for name in row if name is not None}
    await connection.execute(delete(monitor_snapshots).where(_rows.id.in_(ids)))
    shown = select(_rows.picture).where(_rows.picture.in_(names)) if names else None
    kept = set((await connection.scalars(shown)).all()) if shown is not None else set()
    orphans = sorted(names - kept)
    await orphan_blobs.mark(connection, orphans)
    return orphans


def _compress(snapshot: PageSnapshot) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(snapshot), 6)


def _decompress(body: bytes) -> PageSnapshot:
    return _decoder.decode(zlib.decompressobj().decompress(body, MAX_SNAPSHOT_BYTES))
