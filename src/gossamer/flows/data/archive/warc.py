"""WARC 1.1 files (ISO 28500), which every tool of web archives reads: one gzip member for each record.

The body of a record is decoded from its content coding. So the headers that described how it was sent are
renamed, as it is the custom: `X-Archive-Orig-Content-Encoding`.
"""

import io
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from gossamer.flows.data.archive.archive_rows import damage
from gossamer.web.pages.page import Page

MEDIA_TYPE: Final = "application/warc"
_OF_SENDING: Final = frozenset(("content-encoding", "content-length", "transfer-encoding"))


class WarcFile:
    """A file that records are added to."""

    def __init__(self, name: str, about: Mapping[str, str]) -> None:
        self._file = io.BytesIO()
        self._writer = WARCWriter(self._file, gzip=True, warc_version="1.1")
        self._writer.write_record(self._writer.create_warcinfo_record(name, dict(about)))

    def add(self, page: Page, crawled_at: int) -> tuple[int, int]:
        """Add the answer of a target; returns where its record begins, and how many bytes it takes."""
        begin = self._file.tell()
        record = self._writer.create_warc_record(
            page.final_url,
            "response",
            payload=io.BytesIO(page.body),
            length=len(page.body),
            http_headers=_head(page),
            warc_headers_dict={"WARC-Date": _date(crawled_at)},
        )
        self._writer.write_record(record)
        return begin, self._file.tell() - begin

    def content(self) -> bytes:
        return self._file.getvalue()


def read_body(record: bytes) -> bytes:
    """The body of one record. Raises `Problem`."""
    try:
        for found in ArchiveIterator(io.BytesIO(record), check_digests="raise"):
            body: bytes = found.raw_stream.read()
            return body
    except (ArchiveLoadFailed, zlib.error, EOFError, ValueError) as error:
        raise damage("A record cannot be read.") from error
    raise damage("A record is missing.")


def _head(page: Page) -> StatusAndHeaders:
    headers = [_as_archived(name, value) for name, value in page.headers]
    headers.append(("content-length", str(len(page.body))))
    return StatusAndHeaders(f"{page.status} {_phrase(page.status)}".strip(), headers, protocol="HTTP/1.1")


def _as_archived(name: str, value: str) -> tuple[str, str]:
    line = " ".join(value.splitlines())
    return (f"x-archive-orig-{name}" if name in _OF_SENDING else name, line)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _date(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03}Z"
