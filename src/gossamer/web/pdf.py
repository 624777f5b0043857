"""PDF: the text of a document by its pages, and what it says about itself.

PDFium does the reading: the engine of Chromium, which knows broken files best. It is native code, and a small
file can ask for much memory and time: call this in a process that is limited in both and can be killed.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import pypdfium2

from gossamer.problems import CONTENT_UNREADABLE, Problem

MOST_PAGES: Final = 1000
MOST_TEXT: Final = 2_000_000  # characters
_PASSWORD: Final = 4  # FPDF_ERR_PASSWORD


@dataclass(frozen=True, slots=True)
class Pdf:
    title: str
    author: str
    subject: str
    created: str  # ISO 8601
    page_count: int
    pages: tuple[str, ...]  # the text of each, as far as it was read
    complete: bool


def read_pdf(body: bytes) -> Pdf:
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        raise _unreadable(error) from None
    try:
        return _read(document)
    except pypdfium2.PdfiumError as error:
        raise _unreadable(error) from None
    finally:
        document.close()


def _read(document: pypdfium2.PdfDocument) -> Pdf:
    about = {name: _clean(value).strip() for name, value in document.get_metadata_dict().items()}
    count = len(document)
    pages: list[str] = []
    length = 0
    for index in range(min(count, MOST_PAGES)):
        pages.append(_page_text(document, index))
        length += len(pages[-1])
        if length > MOST_TEXT:
            break
    return Pdf(
        title=about.get("Title", ""),
        author=about.get("Author", ""),
        subject=about.get("Subject", ""),
        created=_date(about.get("CreationDate", "")),
        page_count=count,
        pages=tuple(pages),
        complete=len(pages) == count and length <= MOST_TEXT,
    )


def _page_text(document: pypdfium2.PdfDocument, index: int) -> str:
    """One page that cannot be read does not take the others with it."""
    try:
        page = document[index]
        try:
            text_page = page.get_textpage()
            try:
                return _lines(text_page.get_text_range(0, min(text_page.count_chars(), MOST_TEXT)))
            finally:
                text_page.close()
        finally:
            page.close()
    except pypdfium2.PdfiumError:
        return ""


_HYPHEN: Final = re.compile("[\ufffe\x02](?:\r?\n)?")  # where PDFium took out a hyphen at the end of a line
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")


def _clean(text: str) -> str:
    return _CONTROL.sub("", text)


def _lines(text: str) -> str:
    text = _clean(_HYPHEN.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


_DATE: Final = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(\d\d)?'?|(Z).*)?", re.ASCII
)


def _date(text: str) -> str:
    """`D:20240102030405+01'00'`, and any beginning of it."""
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
        return Problem(
            CONTENT_UNREADABLE,
            "The PDF is encrypted and cannot be read without its password",
            details={"reason": "encrypted_content", "kind": "pdf"},
        )
    return Problem(
        CONTENT_UNREADABLE,
        "The PDF is damaged and cannot be read",
        details={"reason": "unreadable_content", "kind": "pdf"},
    )
