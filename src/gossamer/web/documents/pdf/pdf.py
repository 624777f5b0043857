"""PDF: the text of each page, the same as Markdown by its layout, and the metadata of the document.

PDFium, the engine of Chromium, reads the file; it handles broken files best. It is native code, and a small
file can take much memory and time, so call this in a process that is limited in both and can be killed. No
image is decoded, except to recognise the text of a page that has no other (`scans`).

    what              bound                 beyond it
    pages             `MAX_PAGES`           the others are left out
    text              `MAX_TEXT_CHARS`      the following pages are left out
    time              `MAX_CPU_SECONDS`     the following pages are left out; no page stops in the middle
    layout            `MAX_LAYOUT_SECONDS`, `MAX_FRAGMENTS`: the other pages keep their lines
    scanned pages     `MAX_SCANNED_PAGES`   the others are left out
    unpacked streams  `MAX_STREAM_BYTES`, `MAX_UNPACKED_BYTES`, `MAX_MEMORY_BYTES`: the document is refused
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final

import pypdfium2
from msgspec import Struct

from gossamer.problems import CONTENT_UNREADABLE, Problem
from gossamer.web.documents.pdf.blocks import plain_markdown, study, write_markdown
from gossamer.web.documents.pdf.bombs import is_bomb
from gossamer.web.documents.pdf.fragments import PdfPageLayout, clean, read_layout
from gossamer.web.documents.pdf.layout import remove_running
from gossamer.web.documents.pdf.pdf_document import Pdf, Recognise
from gossamer.web.documents.pdf.scans import is_scanned, picture_of

MAX_PAGES: Final = 1000
MAX_TEXT_CHARS: Final = 2_000_000
MAX_CPU_SECONDS: Final = 5.0  # as much again is left for processing the text
MAX_LAYOUT_SECONDS: Final = 2.0  # of CPU time, for all pages
MAX_FRAGMENTS: Final = 150_000
MAX_SCANNED_PAGES: Final = 50
_PASSWORD: Final = 4  # FPDF_ERR_PASSWORD


def read_pdf(
    body: bytes, clock: Callable[[], float] = time.thread_time, recognise: Recognise | None = None
) -> Pdf:
    """Read a PDF. Pages that are pictures are given to `recognise`."""
    until = clock() + MAX_CPU_SECONDS
    if is_bomb(body):
        raise _refuse("The PDF unpacks to more than can be read")
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        raise _unreadable(error) from None
    try:
        return _Reader(document, clock, recognise).read(until)
    except pypdfium2.PdfiumError as error:
        raise _unreadable(error) from None
    finally:
        document.close()


class _PageText(Struct):
    text: str = ""
    layout: PdfPageLayout | None = None
    is_scanned: bool = False


class _Reader:
    def __init__(
        self, document: pypdfium2.PdfDocument, clock: Callable[[], float], recognise: Recognise | None
    ) -> None:
        self._document = document
        self._clock = clock
        self._recognise = recognise
        self._fragments = 0

    def read(self, until: float) -> Pdf:
        about = {name: clean(value).strip() for name, value in self._document.get_metadata_dict().items()}
        count = len(self._document)
        pages: list[_PageText] = []
        length = 0
        for index in range(min(count, MAX_PAGES)):
            pages.append(self._page(index))
            length += len(pages[-1].text)
            if length > MAX_TEXT_CHARS or self._clock() >= until:
                break
        scanned = [index for index, page in enumerate(pages) if page.is_scanned]
        recognised = self._recognise_pages(pages, scanned)
        return Pdf(
            title=about.get("Title", ""),
            author=about.get("Author", ""),
            subject=about.get("Subject", ""),
            created=_date(about.get("CreationDate", "")),
            page_count=count,
            pages=tuple(page.text for page in pages),
            markdown=tuple(self._write(pages)),
            complete=len(pages) == count
            and length <= MAX_TEXT_CHARS
            and (recognised == len(scanned) or self._recognise is None),
            scanned=len(scanned) - recognised,
            recognised=recognised,
        )

    def _page(self, index: int) -> _PageText:
        """Return the text of a page; empty if the page cannot be read."""
        try:
            page = self._document[index]
            try:
                return self._text(page)
            finally:
                page.close()
        except pypdfium2.PdfiumError:
            return _PageText()

    def _text(self, page: pypdfium2.PdfPage) -> _PageText:
        text_page = page.get_textpage()
        try:
            raw = text_page.get_text_range(0, min(text_page.count_chars(), MAX_TEXT_CHARS))
            text = _lines(raw)
            if not text.strip():
                return _PageText(is_scanned=is_scanned(page))
            layout = (
                read_layout(text_page, raw, page.get_height()) if self._fragments < MAX_FRAGMENTS else None
            )
            self._fragments += len(layout.fragments) if layout else 0
            return _PageText(text, layout)
        finally:
            text_page.close()

    def _recognise_pages(self, pages: Sequence[_PageText], scanned: Sequence[int]) -> int:
        """Recognise pages in their order, until one cannot be; return how many were."""
        if self._recognise is None:
            return 0
        for done, index in enumerate(scanned[:MAX_SCANNED_PAGES]):
            picture = picture_of(self._document, index)
            text = self._recognise(picture) if picture else None
            if text is None:
                return done
            pages[index].text = _lines(text)
        return min(len(scanned), MAX_SCANNED_PAGES)

    def _write(self, pages: Sequence[_PageText]) -> Iterator[str]:
        """Write each page by its layout, or else as its lines."""
        until = self._clock() + MAX_LAYOUT_SECONDS
        placed = iter(remove_running([page.layout for page in pages if page.layout]))
        style = study(fragment for page in pages if page.layout for fragment in page.layout.fragments)
        for page in pages:
            fragments = next(placed) if page.layout else None
            markdown = None
            if fragments is not None and self._clock() < until:
                markdown = write_markdown(fragments, style)
            yield plain_markdown(page.text) if markdown is None else markdown


_HYPHEN: Final = re.compile("[\ufffe\x02](?:\r?\n)?")  # where PDFium removed a hyphen at the end of a line


def _lines(text: str) -> str:
    text = clean(_HYPHEN.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


_DATE: Final = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(\d\d)?'?|(Z).*)?", re.ASCII
)


def _date(text: str) -> str:
    """Parse a date such as `D:20240102030405+01'00'`, or any prefix of it."""
    match = _DATE.fullmatch(text)
    if match is None:
        return ""
    year, month, day, hour, minute, second, sign, hours, minutes, utc = match.groups()
    date = f"{year}-{month or '01'}-{day or '01'}"
    zone = f"{sign}{hours}:{minutes or '00'}" if sign else "+00:00" if utc else ""
    try:
        moment = datetime.fromisoformat(f"{date}T{hour or '00'}:{minute or '00'}:{second or '00'}{zone}")
    except ValueError:
        return ""
    return moment.isoformat() if hour else date


def _unreadable(error: pypdfium2.PdfiumError) -> Problem:
    if error.err_code == _PASSWORD:
        return _refuse("The PDF is encrypted and cannot be read without its password", "encrypted_content")
    return _refuse("The PDF is damaged and cannot be read")


def _refuse(detail: str, reason: str = "unreadable_content") -> Problem:
    return Problem(CONTENT_UNREADABLE, detail, details={"reason": reason, "kind": "pdf"})
