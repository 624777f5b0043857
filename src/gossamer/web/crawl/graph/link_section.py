"""Link sections: the links of all pages that a crawl stored together, and the heads of their requests.

Most pages of a site have the same links. So each different link stands once in a section, and a page is a
list of numbers. A section is small enough to be decoded whole; `unpack_section` bounds what it may become.
"""

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from typing import Final, NamedTuple

import msgspec

from gossamer.web.crawl.graph.link_note import MAX_REL_CHARS, MAX_TEXT_CHARS, LinkNote, Place

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

VERSION: Final = 1
LEVEL: Final = 3
MAX_SECTION_BYTES: Final = 256_000_000  # unpacked
NUMBER_BYTES: Final = 4

Headers = tuple[tuple[str, str], ...]


class SectionDamaged(ValueError):
    """It cannot be decoded."""


class NotedLink(NamedTuple):
    """A link of a page."""

    url: str
    text: str
    rel: tuple[str, ...]
    place: Place


class SectionPage(msgspec.Struct, array_like=True, frozen=True):
    """A page of a section."""

    url_hash: bytes
    numbers: bytes  # of its links, each in `NUMBER_BYTES`
    headers: Headers = ()  # of its answer, if that is kept nowhere else: of a redirect
    sent: Headers = ()  # headers of the request besides those of every request

    @property
    def links(self) -> "array[int]":
        """The numbers of its links."""
        numbers = array("I", self.numbers)
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers


class LinkSection(msgspec.Struct, array_like=True, frozen=True):
    """The different links of some pages, as columns."""

    urls: list[str] = []
    texts: list[str] = []
    rels: list[str] = []
    places: bytes = b""
    pages: list[SectionPage] = []
    request: Headers = ()  # what every request said
    version: int = VERSION

    def link(self, number: int) -> NotedLink:
        rel = tuple(self.rels[number].split())
        return NotedLink(self.urls[number], self.texts[number], rel, Place(self.places[number]))


class SectionWriter:
    """Gathers the links of pages. Not for the event loop's thread."""

    def __init__(self, request: Headers = ()) -> None:
        self._request = request
        self._numbers: dict[tuple[str, LinkNote], int] = {}
        self._pages: list[SectionPage] = []

    def add(
        self,
        url_hash: str,
        urls: Sequence[str],
        notes: Sequence[LinkNote],
        *,
        headers: Headers = (),
        sent: Headers = (),
    ) -> None:
        number, known = self._numbers.setdefault, self._numbers
        links = array("I", [number(link, len(known)) for link in zip(urls, notes, strict=True)])
        if sys.byteorder == "big":
            links.byteswap()
        self._pages.append(SectionPage(bytes.fromhex(url_hash), links.tobytes(), headers, sent))

    def pack(self) -> bytes:
        columns = list(zip(*starmap(_normal, self._numbers), strict=True)) or [(), (), (), ()]
        urls, texts, rels, places = columns
        section = LinkSection(list(urls), list(texts), list(rels), bytes(places), self._pages, self._request)
        return zstd.compress(msgspec.msgpack.encode(section), LEVEL)


def _normal(url: str, note: LinkNote) -> tuple[str, str, str, int]:
    text, rel, place = note
    return url, " ".join(text.split())[:MAX_TEXT_CHARS], " ".join(rel.lower().split())[:MAX_REL_CHARS], place


def unpack_section(packed: bytes) -> LinkSection:
    """Raises `SectionDamaged`."""
    try:
        raw = zstd.ZstdDecompressor().decompress(packed, max_length=MAX_SECTION_BYTES)
        section = _decode(raw)
    except (zstd.ZstdError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SectionDamaged(str(error)) from error
    sizes = {len(section.urls), len(section.texts), len(section.rels), len(section.places)}
    if section.version != VERSION or len(sizes) != 1:
        raise SectionDamaged("its columns differ in length")
    return section


_decode: Final = msgspec.msgpack.Decoder(LinkSection).decode


def links_of_pages(section: LinkSection, url_hashes: Iterable[str]) -> Iterator[tuple[str, list[NotedLink]]]:
    """The links of some of its pages."""
    wanted = set(url_hashes)
    most = len(section.urls)
    for page in section.pages:
        if (name := page.url_hash.hex()) in wanted:
            yield name, [section.link(number) for number in page.links if number < most]
