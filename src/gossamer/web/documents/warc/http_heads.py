"""Heads of requests and answers, as they stand in WARC records.

The body of a record is decoded from its content coding. So the headers that described how it was sent are
renamed, as it is the custom: `X-Archive-Orig-Content-Encoding`. Few servers write archives, so warcio is
imported when one is written.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from gossamer.web.pages.fetch_spec import HeaderPairs
from gossamer.web.pages.page import Page
from gossamer.web.url.url import Url

if TYPE_CHECKING:
    from warcio.statusandheaders import StatusAndHeaders

RENAMED: Final = "x-archive-orig-"
_OF_SENDING: Final = frozenset(("content-encoding", "content-length", "transfer-encoding"))
ARCHIVED_AT: Final = "memento-datetime"  # RFC 7089: when an imported page was archived
_PHRASES: Final = {
    200: "OK",
    204: "No Content",
    301: "Moved Permanently",
    302: "Found",
    303: "See Other",
    304: "Not Modified",
    307: "Temporary Redirect",
    308: "Permanent Redirect",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    410: "Gone",
    429: "Too Many Requests",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}  # for people: HTTP/2 has none, and nobody needs them
REDACTED: Final = "[redacted]"  # in place of a value that may be a secret


def answer_head(page: Page) -> "StatusAndHeaders":
    from warcio.statusandheaders import StatusAndHeaders

    headers = [_as_archived(name, value) for name, value in page.headers if name != ARCHIVED_AT]
    headers.append(("content-length", str(len(page.body))))
    return StatusAndHeaders(
        f"{page.status} {_PHRASES.get(page.status, '')}".strip(), headers, protocol="HTTP/1.1"
    )


def request_head(url: Url, headers: Iterable[tuple[str, str]]) -> "StatusAndHeaders":
    from warcio.statusandheaders import StatusAndHeaders

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


def warc_date(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03}Z"
