"""Content of a crawl: a batch of pages is one object, each compressed by itself, so each can be had alone.

A page is kept whole, with its headers and what is known of its charset: whatever is to be read out of it
later can be read again without another fetch.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec
from ulid import ULID

from gossamer.state.blobs import Blobs
from gossamer.web.page import Page

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LEVEL: Final = 1  # of compression: the next costs more time than it saves bytes
LARGEST: Final = 64_000_000  # bytes of a page as it is kept, unpacked
_pages: Final = msgspec.msgpack.Decoder(Page)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page is kept."""

    blob: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Parcel:
    """Pages on their way into one object."""

    name: str
    body: bytes
    places: list[Place]


def parcel(pages: Iterable[Page]) -> Parcel:
    """Half a millisecond a dozen: not for the event loop's thread."""
    compressing = zstd.ZstdCompressor(LEVEL)
    name, offset = f"crawls/{str(ULID()).lower()}", 0
    pieces, places = [], []
    for page in pages:
        piece = compressing.compress(msgspec.msgpack.encode(page), zstd.ZstdCompressor.FLUSH_FRAME)
        places.append(Place(name, offset, len(piece)))
        pieces.append(piece)
        offset += len(piece)
    return Parcel(name, b"".join(pieces), places)


async def kept_page(blobs: Blobs, blob: str, offset: int, size: int) -> Page | None:
    """The page as it was when it was crawled, or None where its content is not kept any more."""
    whole = await blobs.get(blob)
    return None if whole is None else unpacked(whole[offset : offset + size])


def unpacked(piece: bytes) -> Page:
    return _pages.decode(zstd.ZstdDecompressor().decompress(piece, max_length=LARGEST))
