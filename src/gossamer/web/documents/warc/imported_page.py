"""ImportedPage: what an archive's reader gives, and what it takes."""

from typing import Final

import msgspec

from gossamer.web.pages.page import Page

MAX_BODY_BYTES: Final = 10_000_000
HEAD_BYTES: Final = 10  # that tell what a file is
ZIP: Final = b"PK\x03\x04"
_BEGINNINGS: Final = (ZIP, b"\x1f\x8b", b"WARC/", b"filedesc:")


class ImportedPage(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """A page of an archive, and when it was archived."""

    page: Page
    at: int | None  # milliseconds since 1970


def is_archive(head: bytes) -> bool:
    """Whether a file that begins with this may be an archive."""
    return head.startswith(_BEGINNINGS)
