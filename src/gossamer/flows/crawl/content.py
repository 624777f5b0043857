"""Content of crawled pages: a batch of pages is one blob, and each page can be read by itself.

A page is kept whole, with its status, headers and charset, so that it can be read in another way later
without being fetched again. The values of cookies are not kept: they may be the credentials of a session.
"""

import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace
from ulid import ULID

from gossamer.problems import CONTENT_UNREADABLE, Problem
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.state.crawl.removal.crawl_blobs import LinksAt
from gossamer.web.crawl.graph.link_section import SectionWriter
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
MAX_HEADER_CHARS: Final = 65_536  # of all headers of a page
_COOKIES: Final = ("set-cookie", "set-cookie2")
NO_SECTIONS: Final[Mapping[str, SectionWriter]] = MappingProxyType({})
_pages: Final = msgspec.msgpack.Decoder(Page)


class StoredAt(Struct, frozen=True):
    """Where a page is kept."""

    blob: str
    offset: int
    size: int


class PackedPages(Struct, frozen=True):
    """Pages packed for one blob."""

    name: str
    body: bytes
    places: list[StoredAt]
    links: dict[str, LinksAt] = field(default_factory=dict)  # of each crawl's pages


class PagePicture(Struct, frozen=True):
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


def pack(
    pages: Iterable[Page],
    made_at: float | None = None,
    sections: Mapping[str, SectionWriter] = NO_SECTIONS,
) -> PackedPages:
    """Takes half a millisecond for a dozen pages: not for the event loop's thread. The name tells when the
    blob was made, now unless that is given. `sections` have the links of each crawl's pages."""
    compressing = zstd.ZstdCompressor(options=_OPTIONS)
    made = ULID() if made_at is None else ULID.from_timestamp(made_at)
    name, offset = f"crawls/{str(made).lower()}", 0
    pieces, places = [], []
    for page in pages:
        piece = compressing.compress(msgspec.msgpack.encode(_kept(page)), zstd.ZstdCompressor.FLUSH_FRAME)
        places.append(StoredAt(name, offset, len(piece)))
        pieces.append(piece)
        offset += len(piece)
    links = {}
    for crawl_id, section in sections.items():
        piece = section.pack()
        links[crawl_id] = LinksAt(name, offset, len(piece))
        pieces.append(piece)
        offset += len(piece)
    return PackedPages(name, b"".join(pieces), places, links)


def _kept(page: Page) -> Page:
    headers = keep_headers(page.headers)
    return page if headers == page.headers else replace(page, headers=headers)


def keep_headers(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The headers without the values of cookies, up to a bound. The names and flags of cookies stay."""
    kept, room = [], MAX_HEADER_CHARS
    for name, value in headers:
        if name in _COOKIES:
            value = "\n".join(map(_without_value, value.split("\n")))  # a browser joins those of an answer
        room -= len(name) + len(value)
        if room < 0:
            break
        kept.append((name, value))
    return tuple(kept)


def _without_value(cookie: str) -> str:
    pair, semicolon, flags = cookie.partition(";")
    return f"{pair.partition('=')[0]}={semicolon}{flags}"


async def load_page(blobs: Blobs, blob: str, offset: int, size: int) -> Page | None:
    """The page as it was crawled, or None if its content is gone."""
    whole = await blobs.get(blob)
    return None if whole is None else unpack(whole[offset : offset + size])


def unpack_row(whole: bytes, row: StoredPage) -> Page:
    """Unpack a page from its blob, as `unpack` does."""
    return unpack(whole[row.blob_offset : row.blob_offset + row.blob_size])


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
