"""Uploads: files that callers have sent, in pieces among the blobs, until a job has read them.

No row names the pieces. They are registered as orphans that are kept for a day, so they are dropped whatever
happens to the job.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO, Final

import msgspec
from msgspec import Struct

from gossamer import problems
from gossamer.flows.data.removal.leftovers import drop_orphans
from gossamer.problems import Problem, Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.db.database import Database
from gossamer.state.jobs.job import new_job_id

PIECE_BYTES: Final = 8_000_000  # of a file, in one blob
KEPT_MS: Final = 24 * 3_600_000


class Upload(msgspec.Struct, frozen=True):
    """A file that was sent completely."""

    id: str
    pieces: int
    size: int  # bytes

    @property
    def names(self) -> list[str]:
        return [_name(self.id, number) for number in range(self.pieces)]


class Uploads(Struct, frozen=True):
    database: Database
    blobs: Blobs

    async def receive(self, arriving: AsyncIterator[bytes]) -> Upload:
        """Keep a file as it arrives. What is there of one that does not arrive completely is dropped soon."""
        upload = Upload(new_job_id(), 0, 0)
        waiting = bytearray()
        try:
            async for piece in arriving:
                waiting += piece
                while len(waiting) >= PIECE_BYTES:
                    upload = await self._keep(upload, bytes(waiting[:PIECE_BYTES]))
                    del waiting[:PIECE_BYTES]
            return await self._keep(upload, bytes(waiting)) if waiting else upload
        except BaseException:
            await asyncio.shield(self.hurry(upload))
            raise

    async def copy_to(self, upload: Upload, path: Path) -> None:
        """Raises `Problem` if it is gone."""
        with path.open("wb") as file:
            for name in upload.names:
                piece = await self.blobs.get(name)
                if piece is None:
                    raise Problem(problems.NOT_FOUND, "The file that was sent is not there any more.")
                await asyncio.to_thread(_write, file, piece)

    async def hurry(self, upload: Upload) -> None:
        """It is not needed any more: others drop it soon."""
        async with self.database.write() as connection:
            await orphan_blobs.hurry(connection, [*upload.names, _name(upload.id, upload.pieces)])

    async def drop(self, upload: Upload) -> None:
        """At once. If this fails, others do so later."""
        try:
            await self.hurry(upload)
            await drop_orphans(self.database, self.blobs, upload.names)
        except Unavailable:
            return

    async def _keep(self, upload: Upload, piece: bytes) -> Upload:
        name = _name(upload.id, upload.pieces)
        async with self.database.write() as connection:
            await orphan_blobs.register(connection, name, kept_ms=KEPT_MS)
        await self.blobs.put(name, piece)
        return Upload(upload.id, upload.pieces + 1, upload.size + len(piece))


def _name(upload_id: str, number: int) -> str:
    return f"uploads/{upload_id.lower()}/{number:05}"


def _write(file: IO[bytes], piece: bytes) -> None:
    file.write(piece)
