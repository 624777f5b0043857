"""The rows of an archive: lines of JSON, compressed with gzip. The first line tells what the file is."""

import gzip
import zlib
from collections.abc import Iterable
from typing import Final

import msgspec

from gossamer.problems import CONTENT_UNREADABLE, Problem
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.web.pages.page import Page

FORMAT: Final = "gossamer-archive"
VERSION: Final = 1
MEDIA_TYPE: Final = "application/x-ndjson"


class ArchiveHead(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    format: str = FORMAT
    version: int = VERSION
    archive: str
    tenant: str
    crawl: str
    pages: int
    warc: str = ""  # the name of the file with the content


class ArchivedPage(msgspec.Struct, frozen=True):
    """A line: the row of a page and, if its content was kept, the answer without its body, which is in the
    record at this place of the WARC file."""

    row: StoredPage
    answer: Page | None = None
    offset: int = 0
    size: int = 0


_encode: Final = msgspec.json.Encoder().encode
_decode_head: Final = msgspec.json.Decoder(ArchiveHead).decode
_decode_page: Final = msgspec.json.Decoder(ArchivedPage).decode


def write_rows(head: ArchiveHead, pages: Iterable[ArchivedPage]) -> bytes:
    return gzip.compress(b"\n".join([_encode(head), *map(_encode, pages), b""]), mtime=0)


def read_rows(content: bytes) -> list[ArchivedPage]:
    """Raises `Problem`."""
    try:
        first, *lines = gzip.decompress(content).splitlines()
        head = _decode_head(first)
        if (head.format, head.version) != (FORMAT, VERSION):
            raise damage(f"Its format is {head.format} {head.version}.")
        return [_decode_page(line) for line in lines]
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error, msgspec.MsgspecError) as error:
        raise damage("Its rows cannot be read.") from error


def damage(why: str) -> Problem:
    hint = "Put its files back into the store of blobs, from a backup."
    return Problem(CONTENT_UNREADABLE, f"The archive is damaged. {why}", hint=hint)
