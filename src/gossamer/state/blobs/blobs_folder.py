"""Blobs in a folder of this machine.

    {folder}/{shard}/{name, with ~ for /}       256 shards, by the name's hash
    {folder}/.incoming/                         what is being written

A body is written beside, brought to the disk and then renamed, so that a reader sees all of it or nothing,
also after a power cut. What a crash leaves in `.incoming` is removed by the next to use the folder.
"""

import errno
import hashlib
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Final, TypeVar

from gossamer.problems import Unavailable
from gossamer.state.blobs.blobs import CHUNK, DEADLINE, Missing, check_name
from gossamer.state.blobs.blocking import Blocking

T = TypeVar("T")

THREADS: Final = 8
LEFT_BEHIND: Final = 3600.0  # seconds after which no process can still be writing it
_WHY: Final = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk's quota is used up",
    errno.EFBIG: "the file is larger than may be written",
    errno.EROFS: "the folder is read-only",
    errno.EACCES: "access to the folder is denied",
    errno.EPERM: "access to the folder is denied",
    errno.EIO: "the disk reports an error",
    errno.EMFILE: "too many files are open",
    errno.ENFILE: "too many files are open",
    errno.ENOENT: "the folder is gone",
    errno.ENOTDIR: "the folder is not a folder",
}


class FolderBlobs:
    def __init__(
        self, folder: Path, *, deadline: float = DEADLINE, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = folder
        self._incoming = folder / ".incoming"
        self._clock = clock
        self._blocking = Blocking("blobs", threads=THREADS, deadline=deadline)
        self._prepared = False

    async def put(
        self, name: str, body: bytes, *, media_type: str = "application/octet-stream", coding: str = ""
    ) -> None:
        await self._call(partial(self._write, self._path(name), body))

    async def get(self, name: str) -> bytes | None:
        return await self._call(partial(self._read, self._path(name)))

    async def get_part(self, name: str, offset: int, size: int) -> bytes | None:
        return await self._call(partial(self._read_part, self._path(name), offset, size))

    async def stream(self, name: str) -> AsyncGenerator[bytes]:
        file = await self._call(partial(self._open, self._path(name)), _close)
        if file is None:
            raise Missing(name)
        try:
            while chunk := await self._call(partial(file.read, CHUNK)):
                yield chunk
        finally:
            # On a thread: it waits for a read that was given up and is still going on.
            self._blocking.tidy(file.close)

    async def drop(self, names: Sequence[str]) -> None:
        await self._call(partial(self._remove, [self._path(name) for name in names]))

    async def listing(self, prefix: str) -> AsyncGenerator[tuple[str, int]]:
        begins = check_name(prefix).replace("/", "~") + "~"
        for shard in await self._call(self._shards):
            for name, size in await self._call(partial(_sizes, shard, begins)):
                yield name, size

    async def ping(self) -> None:
        await self._call(self._try_writing)

    async def close(self) -> None:
        self._blocking.close()

    def _path(self, name: str) -> Path:
        shard = hashlib.sha256(check_name(name).encode()).hexdigest()[:2]
        return self._folder / shard / name.replace("/", "~")

    async def _call(self, work: Callable[[], T], abandon: Callable[[T], object] | None = None) -> T:
        return await self._blocking.call(partial(self._translate, work), abandon)

    def _translate(self, work: Callable[[], T]) -> T:
        try:
            self._prepare()
            return work()
        except OSError as error:
            why = _WHY.get(error.errno or 0, error.strerror or "the disk reports an error")
            raise Unavailable("blobs", why) from error

    # Below here everything blocks.

    def _prepare(self) -> None:
        """Once: later a folder that is not there has been taken away, and must not look like an empty one."""
        if not self._prepared:
            self._incoming.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._sweep()
            self._prepared = True

    def _sweep(self) -> None:
        for left in self._incoming.iterdir():
            with suppress(FileNotFoundError):
                if left.stat().st_mtime < self._clock() - LEFT_BEHIND:
                    left.unlink()

    def _write(self, path: Path, body: bytes) -> None:
        with self._beside(body) as written:
            try:
                os.replace(written, path)
            except FileNotFoundError:
                path.parent.mkdir(mode=0o700, exist_ok=True)
                _sync(self._folder)
                os.replace(written, path)
        _sync(path.parent)

    @contextmanager
    def _beside(self, body: bytes) -> Iterator[str]:
        """A file with `body` in it that is safe on the disk, and gone afterwards unless it was renamed."""
        descriptor, name = tempfile.mkstemp(dir=self._incoming)
        try:
            with open(descriptor, "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            yield name
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)

    def _read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            self._insist()
            return None

    def _read_part(self, path: Path, offset: int, size: int) -> bytes | None:
        file = self._open(path)
        if file is None:
            return None
        with file:
            file.seek(offset)
            return file.read(size)

    def _open(self, path: Path) -> BufferedReader | None:
        try:
            return path.open("rb")
        except FileNotFoundError:
            self._insist()
            return None

    def _shards(self) -> list[Path]:
        return sorted(each for each in self._folder.iterdir() if each.is_dir() and each != self._incoming)

    def _insist(self) -> None:
        """That the folder is there, so that a file which is not is missing."""
        os.stat(self._incoming)

    def _remove(self, paths: Iterable[Path]) -> None:
        changed = set()
        for path in paths:
            with suppress(FileNotFoundError):
                path.unlink()
                changed.add(path.parent)
        for folder in changed:
            _sync(folder)
        self._insist()

    def _try_writing(self) -> None:
        with self._beside(b"ping"):
            pass


def _sizes(shard: Path, begins: str) -> list[tuple[str, int]]:
    with os.scandir(shard) as entries:
        return [
            (entry.name.replace("~", "/"), size)
            for entry in entries
            if entry.name.startswith(begins) and (size := _size(entry)) is not None
        ]


def _size(entry: os.DirEntry[str]) -> int | None:
    try:
        return entry.stat().st_size
    except FileNotFoundError:  # dropped meanwhile
        return None


def _close(file: BufferedReader | None) -> None:
    if file is not None:
        file.close()


def _sync(folder: Path) -> None:
    """A name lasts only when the folder that holds it has reached the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
