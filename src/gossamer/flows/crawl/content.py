"""Content of crawled pages: a batch of pages is one blob, and each page can be read by itself.

A page is kept whole, with its headers and charset, so that it can be read in another way later without being
fetched again.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from ulid import ULID

from gossamer.problems import CONTENT_UNREADABLE, Problem
from gossamer.state.blobs.blobs import Blobs
from gossamer.web.documents.image_size import size_of
from gossamer.web.pages.page import Page

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

DAMAGED: Final = "damaged_content"
LEVEL: Final = 1  # the next level costs more time than it saves bytes
_OPTIONS: Final[Mapping[int, int]] = {
    zstd.CompressionParameter.compression_level: LEVEL,
    zstd.CompressionParameter.checksum_flag: 1,  # so that damage is noticed
}
MAX_PAGE_BYTES: Final = 64_000_000  # unpacked
MAX_PICTURE_BYTES: Final = 2_000_000
PICTURE_TYPE: Final = "image/webp"
_pages: Final = msgspec.msgpack.Decoder(Page)


@dataclass(frozen=True, slots=True)
class StoredAt:
    """Where a page is kept."""

    blob: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class PackedPages:
    """Pages packed for one blob."""

    name: str
    body: bytes
    places: list[StoredAt]


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A screenshot of a crawled page. It is a blob of its own, so that it is read only when it is shown."""

    name: str
    body: bytes

    @classmethod
    def of(cls, body: bytes) -> "PagePicture | None":
        """None: it is too large to be kept, or it is no picture."""
        if len(body) > MAX_PICTURE_BYTES:
            return None
        try:
            size_of(body)
        except ValueError:
            return None
        return cls(f"screenshots/{str(ULID()).lower()}", body)


def pack(pages: Iterable[Page], made_at: float | None = None) -> PackedPages:
    """Takes half a millisecond for a dozen pages: not for the event loop's thread. The name tells when the
    blob was made, now unless that is given."""
    compressing = zstd.ZstdCompressor(options=_OPTIONS)
    made = ULID() if made_at is None else ULID.from_timestamp(made_at)
    name, offset = f"crawls/{str(made).lower()}", 0
    pieces, places = [], []
    for page in pages:
        piece = compressing.compress(msgspec.msgpack.encode(page), zstd.ZstdCompressor.FLUSH_FRAME)
        places.append(StoredAt(name, offset, len(piece)))
        pieces.append(piece)
        offset += len(piece)
    return PackedPages(name, b"".join(pieces), places)


async def load_page(blobs: Blobs, blob: str, offset: int, size: int) -> Page | None:
    """The page as it was crawled, or None if its content is gone."""
    whole = await blobs.get(blob)
    return None if whole is None else unpack(whole[offset : offset + size])


def unpack(piece: bytes) -> Page:
    """Raises `Problem` for a damaged page; others in the same blob may be intact."""
    try:
        return _pages.decode(zstd.ZstdDecompressor().decompress(piece, max_length=MAX_PAGE_BYTES))
    except (zstd.ZstdError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Problem(
            CONTENT_UNREADABLE,
            "The stored content of this page is damaged.",
            hint="Crawl the page again.",
            details={"reason": DAMAGED},
        ) from error
