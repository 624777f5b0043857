"""Reads pages out of WARC and WACZ files that strangers have made. Every part of them is bounded.

    what                            bound
    records of a file               `MAX_RECORDS`
    bytes of all records, unpacked  `MAX_UNPACKED_BYTES`, also of those that are passed over
    the body of a page              `MAX_BODY_BYTES`: larger ones are left out
    files in a WACZ                 `MAX_FILES`, with relative names; none is written to a disk
    links of revisits               one step, to a record of the same file

What is none of these: the caller bounds memory and time from outside.
"""

import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import IO, Any, Final, Literal

import msgspec
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from gossamer.web.documents.documents import path_of
from gossamer.web.documents.kind import READABLE, kind_of
from gossamer.web.pages.page import Page, describe
from gossamer.web.warc.bad_archive import BadArchive
from gossamer.web.warc.http_heads import original_headers
from gossamer.web.warc.warc_stream import VIA

MAX_RECORDS: Final = 2_000_000
MAX_UNPACKED_BYTES: Final = 20_000_000_000
MAX_BODY_BYTES: Final = 10_000_000
MAX_FILES: Final = 1_000
MAX_KNOWN: Final = 300_000  # records that revisits may refer to
MAX_URL_CHARS: Final = 2_048
MAX_HEADERS: Final = 200
_ZIP: Final = b"PK\x03\x04"
_REDIRECTS: Final = range(300, 400)
_NO_PAGE: Final = re.compile(r"text/css|.*javascript.*|.*json.*|font/.*|image/.*|audio/.*|video/.*")
_HEAD: Final = 4  # bytes that tell what a file is


class ArchiveRefused(Exception):
    def __init__(self, reason: BadArchive) -> None:
        super().__init__(reason.value)
        self.reason = reason


class ImportedPage(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """A page of an archive, and when it was archived."""

    page: Page
    at: int | None  # milliseconds since 1970


@dataclass(slots=True)
class ArchiveReader:
    """Reads one file. `skipped` counts what was passed over, by why."""

    max_records: int = MAX_RECORDS
    max_unpacked: int = MAX_UNPACKED_BYTES
    max_body: int = MAX_BODY_BYTES
    records: int = 0
    unpacked: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    _known: dict[str, tuple[str, int]] = field(default_factory=dict)  # by digest: file and offset

    def read(self, file: IO[bytes]) -> Iterator[ImportedPage]:
        """Raises `ArchiveRefused`, perhaps after some pages."""
        head = file.read(_HEAD)
        file.seek(0)
        try:
            if head == _ZIP:
                yield from self._read_wacz(file)
            else:
                yield from self._read_warc(_Opened(file, ""))
        except (ArchiveLoadFailed, zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError) as error:
            reason = BadArchive.DAMAGED if self.records else BadArchive.NOT_AN_ARCHIVE
            raise ArchiveRefused(reason) from error
        except (NotImplementedError, RuntimeError) as error:  # zipfile: encrypted, or packed in another way
            raise ArchiveRefused(BadArchive.DAMAGED) from error

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
            if sum(info.file_size for info in warcs) > self.max_unpacked:
                raise ArchiveRefused(BadArchive.UNPACKS_TOO_LARGE)
            for info in warcs:
                with archive.open(info) as opened:
                    yield from self._read_warc(_Opened(opened, info.filename, archive))

    def _read_warc(self, opened: "_Opened") -> Iterator[ImportedPage]:
        records = ArchiveIterator(_Counted(opened.file, self._count), arc2warc=True)
        for record in records:
            self.records += 1
            if self.records > self.max_records:
                raise ArchiveRefused(BadArchive.TOO_MANY_RECORDS)
            length = record.rec_headers.get_header("Content-Length") or "0"
            self._count(int(length) if length.isdecimal() else 0)
            offset = records.offset
            page = self._to_page(record, opened, offset)
            if page is not None:
                yield page

    def _count(self, size: int) -> None:
        self.unpacked += size
        if self.unpacked > self.max_unpacked:
            raise ArchiveRefused(BadArchive.UNPACKS_TOO_LARGE)

    def _to_page(self, record: Any, opened: "_Opened", offset: int) -> ImportedPage | None:
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
        body = self._body(record, opened, digest) if kind == "revisit" else self._read_body(record)
        if body is None:
            self.skipped["too_large" if kind != "revisit" else "revisit"] += 1
            return None
        if kind != "revisit" and digest and len(self._known) < MAX_KNOWN:
            self._known.setdefault(digest, (opened.name, offset))
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

    def _body(self, record: Any, opened: "_Opened", digest: str) -> bytes | None:
        """The body that a revisit refers to; None if it is not in this file."""
        name, offset = self._known.get(digest, ("", -1))
        if offset < 0:
            return None
        with opened.again(name) as again:
            again.seek(offset)
            for first in ArchiveIterator(again, arc2warc=True):
                return self._read_body(first)
        return None

    def _read_body(self, record: Any) -> bytes | None:
        body: bytes = record.content_stream().read(self.max_body + 1)
        return body if len(body) <= self.max_body else None


@dataclass(frozen=True, slots=True)
class _Opened:
    """A WARC file by itself, or one in a WACZ."""

    file: IO[bytes]
    name: str
    archive: zipfile.ZipFile | None = None

    def again(self, name: str) -> IO[bytes]:
        """A second handle, which can be moved without losing the place of the first."""
        if self.archive is not None:
            return self.archive.open(name)
        return open(self.file.name, "rb")


class _Counted(io.RawIOBase):
    """Counts what is read, so that packed bytes bound the work too."""

    def __init__(self, file: IO[bytes], count: Any) -> None:
        self._file, self._count = file, count

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._count(len(piece))
        return piece

    def tell(self) -> int:
        return self._file.tell()


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
