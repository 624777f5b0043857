"""What is read of a PDF. The engine that reads it is apart: only a reader that meets a PDF loads that."""

from collections.abc import Callable

from msgspec import Struct

# Takes a picture of a page, as PGM. Returns the text on it; None if it could not be recognised.
Recognise = Callable[[bytes], str | None]


class Pdf(Struct, frozen=True):
    title: str
    author: str
    subject: str
    created: str  # ISO 8601
    page_count: int
    pages: tuple[str, ...]  # the text of each page that was read
    markdown: tuple[str, ...]  # the same by its layout
    complete: bool
    scanned: int = 0  # pages that are pictures, and were not recognised
    recognised: int = 0  # pages that are pictures, and were
