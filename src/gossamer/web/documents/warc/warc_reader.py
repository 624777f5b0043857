"""Reads pages out of WARC and WACZ files that strangers have made. Every part of them is bounded.

    what                            bound
    records of a file               `MAX_RECORDS`; members of gzip twice as many
    lines and heads of records      `MAX_LINE_BYTES`, `MAX_HEAD_BYTES`
    bytes of all records, unpacked  `MAX_UNPACKED_BYTES`, and `MAX_RATIO` times the size of the file, also of
                                    those that are passed over and those that are read again
    the body of a page              `MAX_BODY_BYTES`: larger ones are left out
    files in a WACZ                 `MAX_FILES`, with relative names; none is written to a disk
    links of revisits               one step, to a record of the same file

What is none of these: the caller bounds memory and time from outside.
"""

import io
import re
import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import PurePosixPath
from typing import IO, Any, Final, Literal

from msgspec import Struct, field
from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import BufferedReader

from gossamer.web.documents.documents import path_of
from gossamer.web.documents.kind import READABLE, kind_of
from gossamer.web.documents.warc.bad_archive import ArchiveRefused, BadArchive
from gossamer.web.documents.warc.http_heads import original_headers
from gossamer.web.documents.warc.imported_page import (
    HEAD_BYTES,
    MAX_BODY_BYTES,
    ZIP,
    ImportedPage,
    is_archive,
)
from gossamer.web.documents.warc.payload import read_payload
from gossamer.web.documents.warc.unpacked_file import RecordPlace, UnpackedFile
from gossamer.web.documents.warc.warc_stream import VIA
from gossamer.web.pages.page import Page, describe

MAX_RECORDS: Final = 2_000_000
MAX_UNPACKED_BYTES: Final = 20_000_000_000
MAX_FILES: Final = 1_000
MAX_KNOWN: Final = 300_000  # records that revisits may refer to
MAX_URL_CHARS: Final = 2_048
MAX_HEADERS: Final = 200
MAX_LINE_BYTES: Final = 100_000
MAX_HEAD_BYTES: Final = 200_000
MAX_RATIO: Final = 100  # of what is unpacked to the file: text has 3 to 30
FREE_BYTES: Final = 200_000_000  # that may be unpacked whatever the ratio is
_LOCAL_HEAD: Final = 30  # bytes of a file's head in a zip file, before its name
_LENGTHS_AT: Final = 26  # in that head
_REDIRECTS: Final = range(300, 400)
_NO_PAGE: Final = re.compile(r"text/css|.*javascript.*|.*json.*|font/.*|image/.*|audio/.*|video/.*")


class ArchiveReader(Struct):
    """Reads one file. `skipped` counts what was passed over, by why."""

    max_records: int = MAX_RECORDS
    max_unpacked: int = MAX_UNPACKED_BYTES
    max_body: int = MAX_BODY_BYTES
    free_bytes: int = FREE_BYTES
    on_progress: Callable[[int], None] = lambda position: None  # called for every record
    records: int = 0
    unpacked: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    _most: int = 0  # bytes that may be unpacked
    _again: IO[bytes] | None = None  # for going back
    _known: dict[str, RecordPlace] = field(default_factory=dict)  # by digest

    def read(self, file: IO[bytes]) -> Iterator[ImportedPage]:
        """Raises `ArchiveRefused`, perhaps after some pages."""
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        head = file.read(HEAD_BYTES)
        file.seek(0)
        if not is_archive(head):
            raise ArchiveRefused(BadArchive.NOT_AN_ARCHIVE)
        self._most = min(self.max_unpacked, max(self.free_bytes, MAX_RATIO * size))
        with open(file.name, "rb") as self._again:
            try:
                yield from self._read_wacz(file) if head.startswith(ZIP) else self._read_warc(file, 0)
            except (ArchiveRefused, MemoryError):
                raise
            except Exception as error:  # what warcio and zipfile raise for damaged files is not declared
                reason = BadArchive.DAMAGED if self.records else BadArchive.NOT_AN_ARCHIVE
                raise ArchiveRefused(reason) from error

    def _read_wacz(self, file: IO[bytes]) -> Iterator[ImportedPage]:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            if len(infos) > MAX_FILES:
                raise ArchiveRefused(BadArchive.TOO_MANY_FILES)
            if any(_is_unsafe(info.filename) for info in infos):
                raise ArchiveRefused(BadArchive.UNSAFE_NAMES)
            warcs = [info for info in infos if _is_warc(info.filename)]
            if not warcs:
                raise ArchiveRefused(BadArchive.NOT_AN_ARCHIVE)
            if sum(info.file_size for info in warcs) > self._most:
                raise ArchiveRefused(BadArchive.UNPACKS_TOO_LARGE)
            for info in warcs:
                with archive.open(info) as opened:  # reads its checksum, too
                    yield from self._read_warc(opened, _stored_at(file, info))

    def _read_warc(self, file: IO[bytes], base: int | None) -> Iterator[ImportedPage]:
        unpacked = UnpackedFile(file, self._count, 2 * self.max_records)
        records = _records_in(unpacked)
        reader, last = records.reader, None
        for record in records:
            _check_whole(last)
            last = record
            self.records += 1
            if self.records > self.max_records:
                raise ArchiveRefused(BadArchive.TOO_MANY_RECORDS)
            length = record.rec_headers.get_header("Content-Length")
            if length is None or not length.isdecimal():
                raise ArchiveRefused(BadArchive.DAMAGED)
            if int(length) > self._most:
                raise ArchiveRefused(BadArchive.UNPACKS_TOO_LARGE)
            self.on_progress((base or 0) + unpacked.position)
            place = unpacked.place_of(records.offset) if base is not None else None
            at = None if place is None else RecordPlace(place.packed + (base or 0), place.skipped)
            page = self._to_page(record, at)
            reader.has_begun = False
            if page is not None:
                yield page
        _check_whole(last)
        if reader.has_begun:
            raise ArchiveRefused(BadArchive.DAMAGED)

    def _count(self, size: int) -> None:
        self.unpacked += size
        if self.unpacked > self._most:
            raise ArchiveRefused(BadArchive.UNPACKS_TOO_LARGE)

    def _to_page(self, record: Any, place: RecordPlace | None) -> ImportedPage | None:
        kind = record.rec_type
        url = record.rec_headers.get_header("WARC-Target-URI") or ""
        if kind not in ("response", "revisit", "resource"):
            return None
        if not url.startswith(("http:", "https:")) or len(url) > MAX_URL_CHARS:
            self.skipped["url"] += 1
            return None
        status = _status(record) if kind != "resource" else 200
        if status is None:
            self.skipped["head"] += 1
            return None
        digest = record.rec_headers.get_header("WARC-Payload-Digest") or ""
        body = self._earlier_body(digest) if kind == "revisit" else self._read_body(record)
        if body is None:
            self.skipped["too_large" if kind != "revisit" else "revisit"] += 1
            return None
        if kind != "revisit" and digest and place is not None and len(self._known) < MAX_KNOWN:
            self._known.setdefault(digest, place)
        return self._made(record, url.partition("#")[0], status, body)

    def _made(self, record: Any, url: str, status: int, body: bytes) -> ImportedPage | None:
        head = record.http_headers
        headers = original_headers(head.headers[:MAX_HEADERS]) if head is not None else ()
        declared = (
            head.get_header("content-type")
            if head is not None
            else record.rec_headers.get_header("Content-Type")
        )
        media_type, charset = describe(declared, body)
        if status not in _REDIRECTS and not _is_page(media_type, body, url):
            self.skipped["kind"] += 1
            return None
        via: Literal["fetch", "render"] = (
            "render" if record.rec_headers.get_header(VIA) == "render" else "fetch"
        )
        page = Page(
            url=url,
            final_url=url,
            status=status,
            headers=headers,
            body=body,
            media_type=media_type,
            charset=charset,
            via=via,
        )
        return ImportedPage(page, _moment(record.rec_headers.get_header("WARC-Date") or ""))

    def _earlier_body(self, digest: str) -> bytes | None:
        """The body that a revisit refers to; None if it is not in this file."""
        place = self._known.get(digest)
        if place is None or self._again is None:
            return None
        self._again.seek(place.packed)
        unpacked = UnpackedFile(self._again, self._count, max_members=1)
        unpacked.read_past(place.skipped)
        for record in _records_in(unpacked):
            return self._read_body(record)
        return None

    def _read_body(self, record: Any) -> bytes | None:
        body = read_payload(record, self.max_body)
        self._count(len(body) if body is not None else self.max_body)  # it may have been packed once more
        return body


class _RecordReader(BufferedReader):  # type: ignore[misc] # warcio has no types
    """Reads lines that are not too long, and not too many in a row: a head has an end."""

    def __init__(self, file: UnpackedFile) -> None:
        super().__init__(file)
        self._head = 0
        self.has_begun = False  # with the head of a record

    def read(self, length: int | None = None) -> bytes:
        self._head = 0
        piece: bytes = super().read(length)
        return piece

    def readline(self, length: int | None = None) -> bytes:
        most = MAX_LINE_BYTES if length is None else min(length, MAX_LINE_BYTES)
        line: bytes = super().readline(most)
        self._head += len(line)
        self.has_begun = self.has_begun or bool(line.strip())
        if len(line) == MAX_LINE_BYTES or self._head > MAX_HEAD_BYTES:
            raise ArchiveRefused(BadArchive.DAMAGED)
        return line


def _records_in(file: UnpackedFile) -> Any:
    records = ArchiveIterator(file, arc2warc=True)
    records.reader = _RecordReader(file)
    return records


def _check_whole(record: Any) -> None:
    """A record that the iterator has left behind was read to its end, if that is there."""
    if record is not None and getattr(record.raw_stream, "limit", 0) > 0:
        raise ArchiveRefused(BadArchive.DAMAGED)


def _stored_at(file: IO[bytes], info: zipfile.ZipInfo) -> int | None:
    """Where a file in a WACZ begins; None if it is packed, so that nobody can begin in its middle."""
    if info.compress_type != zipfile.ZIP_STORED:
        return None
    before = file.tell()
    file.seek(info.header_offset + _LENGTHS_AT)
    name, extra = struct.unpack("<HH", file.read(4))
    file.seek(before)
    return info.header_offset + _LOCAL_HEAD + int(name) + int(extra)


def _status(record: Any) -> int | None:
    head = record.http_headers
    code = head.get_statuscode() if head is not None else ""
    return int(code) if re.fullmatch(r"[1-5][0-9]{2}", code or "") else None


def _moment(date: str) -> int | None:
    try:
        return max(0, round(datetime.fromisoformat(date).timestamp() * 1000))
    except (ValueError, OverflowError, OSError):
        return None


def _is_page(media_type: str, body: bytes, url: str) -> bool:
    """Pages and documents; not what a page loads."""
    return not _NO_PAGE.fullmatch(media_type) and kind_of(media_type, body, path_of(url)) in READABLE


def _is_warc(name: str) -> bool:
    return name.startswith("archive/") and name.endswith((".warc", ".warc.gz", ".arc", ".arc.gz"))


def _is_unsafe(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or (len(name) > 1 and name[1] == ":")
