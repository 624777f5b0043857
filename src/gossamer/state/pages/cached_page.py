"""A cached page, its parts in the hot tier, and its status."""

import gzip
import struct
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple, Self

import msgspec

from gossamer.problems import Unavailable

GZIP_LEVEL: Final = 6  # a lower level saves nothing, since each page is compressed once
CHUNK: Final = 64 * 1024
_GZIP_WINDOW: Final = 31  # for zlib: with gzip's header and trailer

# In Hot a page is one value: edition, length of the metadata, metadata, body.
_FRAME: Final = struct.Struct(">QI")
EDITION_BYTES: Final = 8


class Location(StrEnum):
    HOT = "hot"
    COLD = "cold"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedPage:
    url: str  # as requested
    final_url: str
    status: int
    headers: tuple[tuple[str, str], ...]  # sent with the page
    etag: str  # of the HTML before compression, without quotes
    rendered_at: int
    render_ms: int
    size: int  # bytes of HTML before compression
    body: bytes = field(repr=False)  # empty when it comes as a stream
    coding: Literal["gzip"] = "gzip"

    @classmethod
    def of(
        cls,
        html: bytes,
        *,
        url: str,
        rendered_at: int,
        final_url: str = "",
        status: int = 200,
        headers: tuple[tuple[str, str], ...] = (),
        render_ms: int = 0,
    ) -> Self:
        """Compresses, which takes milliseconds: large pages are made in a thread."""
        return cls(
            url=url,
            final_url=final_url or url,
            status=status,
            headers=headers,
            etag=sha256(html).hexdigest()[:32],
            rendered_at=rendered_at,
            render_ms=render_ms,
            size=len(html),
            body=gzip.compress(html, GZIP_LEVEL, mtime=0),
        )

    def html(self) -> bytes:
        return zlib.decompress(self.body, _GZIP_WINDOW, bufsize=self.size)

    def frame(self, edition: int) -> bytes:
        about = _encoder.encode(
            (
                self.url,
                self.final_url,
                self.status,
                self.headers,
                self.etag,
                self.rendered_at,
                self.render_ms,
                self.size,
            )
        )
        return b"".join((_FRAME.pack(edition, len(about)), about, self.body))


_encoder: Final = msgspec.msgpack.Encoder()
_About = tuple[str, str, int, tuple[tuple[str, str], ...], str, int, int, int]
_decoder: Final = msgspec.msgpack.Decoder(_About)


def unframe(value: bytes) -> tuple[int, CachedPage] | None:
    """The edition and the page; None for bytes of another shape, such as a former one."""
    try:
        edition, length = _FRAME.unpack_from(value)
        end = _FRAME.size + length
        url, final_url, status, headers, etag, rendered_at, render_ms, size = _decoder.decode(
            memoryview(value)[_FRAME.size : end]
        )
    except (struct.error, msgspec.MsgspecError):
        return None
    return edition, CachedPage(
        url=url,
        final_url=final_url,
        status=status,
        headers=headers,
        etag=etag,
        rendered_at=rendered_at,
        render_ms=render_ms,
        size=size,
        body=value[end:],
    )


def edition_of(value: bytes) -> int:
    """The edition in the first `EDITION_BYTES` of a page in Hot."""
    return int.from_bytes(value[:EDITION_BYTES], "big")


class BodyStream:
    """A body in chunks. A reader that stops early must close it."""

    def __init__(
        self,
        first: bytes,
        rest: AsyncGenerator[bytes],
        size: int,
        done: Callable[[bytes], object] | None,
    ) -> None:
        self._next: bytes | None = first
        self._rest = rest
        self._left = size
        self._done = done  # called with the body if it was read to its end
        self._read: list[bytes] = []

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        chunk, self._next = self._next, None
        if chunk is None:
            chunk = await anext(self._rest, None)
        if chunk is None:
            self._end()
            raise StopAsyncIteration
        self._left -= len(chunk)
        if self._done is not None:
            self._read.append(chunk)
        return chunk

    def _end(self) -> None:
        done, self._done = self._done, None
        if self._left:
            raise Unavailable("blobs", "a page is damaged")
        if done is not None:
            done(b"".join(self._read))

    async def aclose(self) -> None:
        self._next = None
        await self._rest.aclose()


@dataclass(slots=True)
class PageHit:
    """A cached page that answers a request. A large body from cold comes as a compressed stream."""

    page: CachedPage
    location: Location
    stream: BodyStream | None = None
    promoting: bool = False  # it is being made hot, or will be when the stream has ended
    name: str = field(default="", compare=False)  # under which it is stored
    edition: int = field(default=0, compare=False)  # of the hot tier; 0 where it was cold
    age: float = field(default=0.0, compare=False)  # seconds since it was rendered
    stale: bool = False  # older than the caller would like
    is_new: bool = False  # rendered for this request, which waited for it

    @property
    def is_ordinary(self) -> bool:
        """Whether it is a fresh page of the hot tier, as most hits are."""
        return self.location is Location.HOT and not self.stale and not self.is_new

    def as_stale(self) -> Self:
        self.stale = True
        return self

    async def compressed(self) -> AsyncGenerator[bytes]:
        if self.stream is None:
            yield self.page.body
            return
        async with aclosing(self.stream) as chunks:
            async for chunk in chunks:
                yield chunk

    async def identity(self) -> AsyncGenerator[bytes]:
        """The HTML itself, for a client that does not accept gzip."""
        inflater = zlib.decompressobj(_GZIP_WINDOW)
        async with aclosing(self.compressed()) as chunks:
            async for chunk in chunks:
                for piece in _inflate(inflater, chunk):
                    yield piece

    async def close(self) -> None:
        """Close the stream if it was not read to its end."""
        if self.stream is not None:
            await self.stream.aclose()


def _inflate(inflater: Any, chunk: bytes) -> Iterator[bytes]:
    while chunk:
        piece = inflater.decompress(chunk, CHUNK)
        if piece:
            yield piece
        chunk = inflater.unconsumed_tail


class PageStatus(NamedTuple):
    location: Location
    rendered_at: int
    size: int
    access_count: int
    etag: str


class Dropped(NamedTuple):
    """The result of a drop; `failed` names the tiers that have not confirmed it and are asked again."""

    cleared_from: tuple[Location, ...] = ()
    freed_bytes: int = 0  # of HTML before compression
    pages: int = 0
    failed: tuple[Location, ...] = ()

    def plus(self, other: "Dropped") -> "Dropped":
        return Dropped(
            cleared_from=tuple(dict.fromkeys((*self.cleared_from, *other.cleared_from))),
            freed_bytes=self.freed_bytes + other.freed_bytes,
            pages=self.pages + other.pages,
            failed=tuple(dict.fromkeys((*self.failed, *other.failed))),
        )
