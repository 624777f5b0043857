"""WarcStream: a WARC 1.1 file that is written record by record, one gzip member for each.

For every page there is a request and a response. If a body was written before, there is a revisit instead of
a response: it has the head of the answer, and names the record that has the body.
"""

import io
from base64 import b32encode
from collections.abc import Mapping
from hashlib import sha1
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gossamer.web.documents.warc.cdxj import IndexedRecord
from gossamer.web.documents.warc.http_heads import answer_head, request_head, warc_date
from gossamer.web.pages.fetch_spec import HeaderPairs
from gossamer.web.pages.page import Page
from gossamer.web.url.url import Url

if TYPE_CHECKING:
    from warcio.recordloader import ArcWarcRecord

MEDIA_TYPE: Final = "application/warc"
MAX_KNOWN: Final = 300_000  # bodies that later ones are compared with
VIA: Final = "WARC-Gossamer-Via"  # a page that was not fetched: `render`
CONFORMS_TO: Final = "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
DESCRIPTION: Final = (
    "Pages of a crawl. Bodies are decoded; values of cookies and of the caller's headers are left out."
)


class ArchivedExchange(Struct, frozen=True):
    """A page, when it was answered, and what was said when it was asked for."""

    page: Page
    at: int  # milliseconds since 1970
    request: HeaderPairs = ()


class _FirstRecord(Struct, frozen=True):
    url: str
    warc_date: str


class WarcStream:
    """Each call takes milliseconds: not for the event loop's thread."""

    def __init__(self, name: str, about: Mapping[str, str]) -> None:
        from warcio.warcwriter import WARCWriter

        self.name = name
        self.revisits = 0
        self._about = dict(about)
        self._file = io.BytesIO()
        self._writer = WARCWriter(self._file, gzip=True, warc_version="1.1")
        self._at = 0
        self._known: dict[str, _FirstRecord] = {}

    def begin(self) -> bytes:
        return self._write(self._writer.create_warcinfo_record(self.name, self._about))

    def add(self, exchange: ArchivedExchange) -> tuple[bytes, IndexedRecord]:
        """The records of a page, and where its answer is."""
        page, date = exchange.page, warc_date(exchange.at)
        digest = f"sha1:{b32encode(sha1(page.body, usedforsecurity=False).digest()).decode()}"
        first = self._known.get(digest) if page.body else None
        answer = self._response(page, date) if first is None else self._revisit(page, date, digest, first)
        if first is None and len(self._known) < MAX_KNOWN:
            self._known[digest] = _FirstRecord(page.url, date)
        self.revisits += first is not None
        request = self._request(exchange, date, answer)
        begin = self._at
        written = self._write(answer)
        indexed = IndexedRecord(
            url=page.url,
            warc_date=date,
            mime="warc/revisit" if first is not None else page.media_type,
            status=page.status,
            digest=digest,
            offset=begin,
            length=len(written),
            filename=self.name,
        )
        return written + self._write(request), indexed

    def _response(self, page: Page, date: str) -> "ArcWarcRecord":
        headers = {"WARC-Date": date, **({VIA: page.via} if page.via != "fetch" else {})}
        return self._writer.create_warc_record(
            page.url,
            "response",
            payload=io.BytesIO(page.body),
            length=len(page.body),
            http_headers=answer_head(page),
            warc_headers_dict=headers,
        )

    def _revisit(self, page: Page, date: str, digest: str, first: _FirstRecord) -> "ArcWarcRecord":
        return self._writer.create_revisit_record(
            page.url,
            digest,
            first.url,
            first.warc_date,
            http_headers=answer_head(page),
            warc_headers_dict={"WARC-Date": date},
        )

    def _request(self, exchange: ArchivedExchange, date: str, answer: "ArcWarcRecord") -> "ArcWarcRecord":
        concurrent = answer.rec_headers.get_header("WARC-Record-ID")
        return self._writer.create_warc_record(
            exchange.page.url,
            "request",
            http_headers=request_head(Url.parse(exchange.page.url), exchange.request),
            warc_headers_dict={"WARC-Date": date, "WARC-Concurrent-To": concurrent},
        )

    def _write(self, record: "ArcWarcRecord") -> bytes:
        self._writer.write_record(record)
        written = self._file.getvalue()
        self._file.seek(0)
        self._file.truncate()
        self._at += len(written)
        return written
