"""Heads of requests and answers, as they stand in WARC records.

The body of a record is decoded from its content coding. So the headers that described how it was sent are
renamed, as it is the custom: `X-Archive-Orig-Content-Encoding`.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from warcio.statusandheaders import StatusAndHeaders

from gossamer.web.pages.fetch_spec import HeaderPairs
from gossamer.web.pages.page import Page
from gossamer.web.url.url import Url

RENAMED: Final = "x-archive-orig-"
_OF_SENDING: Final = frozenset(("content-encoding", "content-length", "transfer-encoding"))
ARCHIVED_AT: Final = "memento-datetime"  # RFC 7089: when an imported page was archived
REDACTED: Final = "[redacted]"  # in place of a value that may be a secret


def answer_head(page: Page) -> StatusAndHeaders:
    headers = [_as_archived(name, value) for name, value in page.headers if name != ARCHIVED_AT]
    headers.append(("content-length", str(len(page.body))))
    return StatusAndHeaders(f"{page.status} {_phrase(page.status)}".strip(), headers, protocol="HTTP/1.1")


def request_head(url: Url, headers: Iterable[tuple[str, str]]) -> StatusAndHeaders:
    host = ("host", url.origin.partition("://")[2])
    lines = [host, *((name.lower(), _line(value) or REDACTED) for name, value in headers)]
    return StatusAndHeaders(f"GET {url.target} HTTP/1.1", lines, is_http_request=True)


def original_headers(headers: Iterable[tuple[str, str]]) -> HeaderPairs:
    """The headers of an archived answer, without those that describe how it was sent."""
    lowered = [(name.lower(), value) for name, value in headers]
    return tuple(
        (name.removeprefix(RENAMED), value)
        for name, value in lowered
        if name not in ("transfer-encoding", "content-encoding", "content-length")
    )


def archived_at(headers: HeaderPairs) -> int | None:
    """When an imported page was archived first, in milliseconds since 1970."""
    date = next((value for name, value in headers if name == ARCHIVED_AT), "")
    try:
        return round(parsedate_to_datetime(date).timestamp() * 1000) if date else None
    except (ValueError, OverflowError):
        return None


def _as_archived(name: str, value: str) -> tuple[str, str]:
    return (f"{RENAMED}{name}" if name in _OF_SENDING else name, _line(value))


def _line(value: str) -> str:
    return " ".join(value.splitlines())


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def warc_date(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03}Z"
