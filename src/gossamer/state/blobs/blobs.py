"""Blobs: bodies too large for the database, which last until they are deleted. The interface, and names.

An object is written whole or not at all; the same name again replaces it. The bytes are opaque:
a caller who compresses says so with `coding`, and gets back the same bytes. `blobs_folder` keeps them in
a folder, `blobs_s3` in a bucket of any S3-compatible store; one contract suite runs on both.

Every method may raise `problems.Unavailable("blobs", …)`, within its deadline. After a `put` or a `drop` that
did, it is not known whether it was done.
"""

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

DEADLINE: Final = 10.0
CHUNK: Final = 262_144  # bytes that a stream hands out at a time, about

# Lower case, because some file systems know no other; no part begins with a dot, so none is `..` or hidden.
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*")
_MAX_NAME_CHARS: Final = 200


class Missing(LookupError):
    """There is no object of this name."""


class Blobs(Protocol):
    async def put(
        self, name: str, body: bytes, *, media_type: str = "application/octet-stream", coding: str = ""
    ) -> None:
        """`media_type` and `coding` are for people who look into the store; it may be unable to keep them."""
        ...

    async def get(self, name: str) -> bytes | None: ...

    async def get_part(self, name: str, offset: int, size: int) -> bytes | None:
        """A part of an object; less if the object ends before."""
        ...

    def stream(self, name: str) -> AsyncGenerator[bytes]:
        """The object in chunks. Raises `Missing` instead of the first one. Close it when you stop early."""
        ...

    async def drop(self, names: Sequence[str]) -> None:
        """A missing object is no error. If it fails, some of them may be gone."""
        ...

    def listing(self, prefix: str) -> AsyncGenerator[tuple[str, int]]:
        """Names and sizes of all objects whose names begin with `prefix` and a slash, in any order."""
        ...

    async def ping(self) -> None: ...

    async def close(self) -> None: ...


def open_blobs(url: str, environ: Mapping[str, str], *, deadline: float = DEADLINE) -> Blobs:
    """The store behind `file:///folder` or `s3://bucket/prefix?endpoint=…&region=…`, whose key and secret are
    AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in `environ`. Nothing is created or connected yet."""
    scheme = url.partition("://")[0]
    if scheme == "file":
        from gossamer.state.blobs.blobs_folder import FolderBlobs

        return FolderBlobs(_folder(url), deadline=deadline)
    if scheme == "s3":
        try:
            from gossamer.state.blobs.blobs_s3 import S3Blobs
        except ModuleNotFoundError as error:
            raise ValueError("S3 needs its client: install gossamer[s3]") from error
        return S3Blobs(url, environ, deadline=deadline)
    raise ValueError(f"{scheme}:// is not a store of blobs; use file:///folder or s3://bucket/prefix")


def check_name(name: str) -> str:
    """The name, if it is one. Anything else is a defect of ours, never a caller's choice."""
    if len(name) > _MAX_NAME_CHARS or not _NAME.fullmatch(name):
        raise ValueError(f"{name[:_MAX_NAME_CHARS]!r} cannot name a blob")
    return name


def folder_of(url: str) -> Path | None:
    """The folder behind the URL of a store; None if it is not on this machine."""
    return _folder(url) if url.startswith("file:") else None


def _folder(url: str) -> Path:
    parts = urlsplit(url)
    path = Path(unquote(parts.path))
    if parts.netloc not in ("", "localhost") or not path.is_absolute() or path == path.parent:
        raise ValueError("the folder of blobs must be given as file:///folder")
    return path
