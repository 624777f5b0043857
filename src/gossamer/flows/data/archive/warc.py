"""WARC 1.1 files (ISO 28500) of old pages, which every tool of web archives reads."""

import io
import zlib
from collections.abc import Mapping

from gossamer.flows.data.archive.archive_rows import damage
from gossamer.web.documents.warc.http_heads import answer_head, warc_date
from gossamer.web.pages.page import Page


class WarcFile:
    """A file that records are added to."""

    def __init__(self, name: str, about: Mapping[str, str]) -> None:
        from warcio.warcwriter import WARCWriter

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
            http_headers=answer_head(page),
            warc_headers_dict={"WARC-Date": warc_date(crawled_at)},
        )
        self._writer.write_record(record)
        return begin, self._file.tell() - begin

    def content(self) -> bytes:
        return self._file.getvalue()


def read_body(record: bytes) -> bytes:
    """The body of one record. Raises `Problem`."""
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed

    try:
        for found in ArchiveIterator(io.BytesIO(record), check_digests="raise"):
            body: bytes = found.raw_stream.read()
            return body
    except (ArchiveLoadFailed, zlib.error, EOFError, ValueError) as error:
        raise damage("A record cannot be read.") from error
    raise damage("A record is missing.")
