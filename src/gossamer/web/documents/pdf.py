"""PDF: the text of each page, and the metadata of the document.

PDFium, the engine of Chromium, reads the file; it handles broken files best. It is native code, and a small
file can take much memory and time, so call this in a process that is limited in both and can be killed. Only
text is read: no image is decoded, and the size of a page does not matter.

    what              bound                 beyond it
    pages             `MAX_PAGES`           the others are left out
    text              `MAX_TEXT_CHARS`      the following pages are left out
    time              `MAX_CPU_SECONDS`     the following pages are left out; no page stops in the middle
    unpacked streams  `MAX_STREAM_BYTES`, `MAX_UNPACKED_BYTES`, `MAX_MEMORY_BYTES`: the document is refused
"""

import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Final

import pypdfium2

from gossamer.problems import CONTENT_UNREADABLE, Problem

MAX_PAGES: Final = 1000
MAX_TEXT_CHARS: Final = 2_000_000
MAX_CPU_SECONDS: Final = 5.0  # as much again is left for processing the text
_PASSWORD: Final = 4  # FPDF_ERR_PASSWORD


@dataclass(frozen=True, slots=True)
class Pdf:
    title: str
    author: str
    subject: str
    created: str  # ISO 8601
    page_count: int
    pages: tuple[str, ...]  # the text of each page that was read
    complete: bool


def read_pdf(body: bytes, clock: Callable[[], float] = time.thread_time) -> Pdf:
    until = clock() + MAX_CPU_SECONDS
    if is_bomb(body):
        raise _refuse("The PDF unpacks to more than can be read")
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        raise _unreadable(error) from None
    try:
        return _read(document, lambda: clock() < until)
    except pypdfium2.PdfiumError as error:
        raise _unreadable(error) from None
    finally:
        document.close()


def _read(document: pypdfium2.PdfDocument, has_time: Callable[[], bool]) -> Pdf:
    about = {name: _clean(value).strip() for name, value in document.get_metadata_dict().items()}
    count = len(document)
    pages: list[str] = []
    length = 0
    for index in range(min(count, MAX_PAGES)):
        pages.append(_page_text(document, index))
        length += len(pages[-1])
        if length > MAX_TEXT_CHARS or not has_time():
            break
    return Pdf(
        title=about.get("Title", ""),
        author=about.get("Author", ""),
        subject=about.get("Subject", ""),
        created=_date(about.get("CreationDate", "")),
        page_count=count,
        pages=tuple(pages),
        complete=len(pages) == count and length <= MAX_TEXT_CHARS,
    )


def _page_text(document: pypdfium2.PdfDocument, index: int) -> str:
    """Return the text of a page; empty if the page cannot be read."""
    try:
        page = document[index]
        try:
            text_page = page.get_textpage()
            try:
                return _lines(text_page.get_text_range(0, min(text_page.count_chars(), MAX_TEXT_CHARS)))
            finally:
                text_page.close()
        finally:
            page.close()
    except pypdfium2.PdfiumError:
        return ""


_HYPHEN: Final = re.compile("[\ufffe\x02](?:\r?\n)?")  # where PDFium removed a hyphen at the end of a line
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


# Bounds. A kilobyte can unpack to a hundred megabytes of instructions, and PDFium makes an object of each,
# which would take all the memory of the process. Compressed streams are top-level parts of the file, so they
# are found and unpacked here first, a chunk at a time and without keeping anything. Images and attached files
# are skipped, because PDFium does not unpack them for their text. Streams that are encrypted or compressed in
# another way, are not seen here; the limits of the process hold for them.

MAX_STREAM_BYTES: Final = 32 * 1024**2  # of one unpacked stream
MAX_UNPACKED_BYTES: Final = 128 * 1024**2
MAX_MEMORY_BYTES: Final = 256 * 1024**2
BYTES_PER_CHAR: Final = 220  # of memory, as measured
BYTES_PER_OPERATOR: Final = 500
MAX_COMPRESSIONS: Final = 8  # nested in each other
CHUNK_BYTES: Final = 256 * 1024
DICTIONARY_BYTES: Final = 4096  # before a stream, which may describe it

_STREAM: Final = re.compile(rb"(?<!end)stream\r?\n")
_NOT_UNPACKED: Final = re.compile(rb"/Subtype\s*/Image\b|/Type\s*/EmbeddedFile\b")
_TEXT_SHOWN: Final = re.compile(rb"\((?:[^()\\]|\\.)*+\)|<[0-9A-Fa-f]++>", re.DOTALL)
_OPERATOR: Final = re.compile(rb"[\s)\]>](?:T[jJ]|[SsfFbB]\*?|Do|['\"])(?=\s)")


def is_bomb(body: bytes) -> bool:
    whole = 0
    for stream in _streams(body):
        size = memory = 0
        for chunk in _unpack(stream):
            size += len(chunk)
            memory += _estimate(chunk)
            if size > MAX_STREAM_BYTES or memory > MAX_MEMORY_BYTES or whole + size > MAX_UNPACKED_BYTES:
                return True
        whole += size
    return False


def _streams(body: bytes) -> Iterator[memoryview]:
    """Yield each compressed stream from its beginning; it contains its own end."""
    whole = memoryview(body)
    for match in _STREAM.finditer(body):
        described = body[max(0, match.start() - DICTIONARY_BYTES) : match.start()].rpartition(b" obj")[2]
        if _is_compressed(body[match.end() : match.end() + 2]) and not _NOT_UNPACKED.search(described):
            yield whole[match.end() :]


def _unpack(stream: memoryview) -> Iterable[bytes]:
    """Unpack a stream chunk by chunk, through nested compressions, as far as it is well-formed."""
    chunks = _inflate(stream[at : at + CHUNK_BYTES] for at in range(0, len(stream), CHUNK_BYTES))
    for _ in range(MAX_COMPRESSIONS):
        first = next(chunks, b"")
        together = chain([first], chunks)
        if not _is_compressed(first):
            return together
        chunks = _inflate(together)
    return chunks


def _inflate(chunks: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    inflating = zlib.decompressobj()
    try:
        for chunk in chunks:
            left: bytes | memoryview = chunk
            while not inflating.eof and (out := inflating.decompress(left, CHUNK_BYTES)):
                yield out
                left = inflating.unconsumed_tail
            if inflating.eof:
                return
    except zlib.error:
        return


def _is_compressed(start: bytes) -> bool:
    """Whether these are the first two bytes of a zlib stream."""
    return len(start) > 1 and start[0] & 0x0F == 8 and int.from_bytes(start[:2]) % 31 == 0


def _estimate(chunk: bytes) -> int:
    operators = len(_OPERATOR.findall(chunk))
    shown = sum(map(len, _TEXT_SHOWN.findall(chunk))) if operators else 0
    return operators * BYTES_PER_OPERATOR + shown * BYTES_PER_CHAR
