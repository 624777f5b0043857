"""What receivers are told of work; and webhooks that a crawl or a batch is asked for with."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer.problems import Problem, validation_error
from gossamer.web.url.sent_headers import HEADER_VALUE

MAX_HEADER_CHARS: Final = 8_192  # of all headers together
MAX_METADATA_CHARS: Final = 8_192
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")  # RFC 9110 5.6.2
# What belongs to the connection or describes the body (RFC 9110 7.6.1), and what proves who has sent it.
REFUSED_HEADERS: Final = frozenset(
    {
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-firecrawl-signature",
    }
)
_SIGNED: Final = "webhook-"  # all that begin with this


class LongWork(StrEnum):
    CRAWL = "crawl"
    BATCH = "batch"


class WorkEvent(StrEnum):
    STARTED = "started"
    PAGE = "page"  # one or more pages have a result
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"


class WebhookRequest(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Where to tell what happens to the work, and what of it."""

    url: Annotated[
        str, Meta(min_length=1, max_length=2_048, description="Events are posted here. It must be public.")
    ]
    events: Annotated[
        tuple[WorkEvent, ...], Meta(max_length=10, description="Only these; by default all of them.")
    ] = ()
    headers: Annotated[
        dict[str, str],
        Meta(max_length=20, description="Headers to send along; their values are never shown."),
    ] = {}
    metadata: Annotated[
        dict[str, str], Meta(max_length=50, description="Texts of yours that every event repeats.")
    ] = {}
    shape: Annotated[
        str,
        Meta(
            pattern="^(gossamer|firecrawl(-[0-9a-f]{2})?)$",
            description="`firecrawl`: events as receivers that were written for Firecrawl read them.",
        ),
    ] = "gossamer"

    def check(self) -> None:
        """Raises `Problem` for headers that cannot be sent, or too much of anything."""
        check_headers(self.headers, field="webhook.headers")
        _check_size("metadata", "webhook.metadata", self.metadata, MAX_METADATA_CHARS)

    def __repr__(self) -> str:
        """Header values may be secret, and so may the address."""
        return f"{type(self).__name__}(events={self.events!r}, headers={list(self.headers)!r})"


class AcceptedWebhook(Struct, frozen=True, kw_only=True, rename="camel"):
    """The webhook of work that was accepted."""

    url: str
    events: tuple[WorkEvent, ...]
    secret: Annotated[
        str,
        Meta(description="Signs the events, as Standard Webhooks say. It is the same for all of your work."),
    ]


class EventPage(Struct, frozen=True, omit_defaults=True):
    """A page with a result, as an event is stored."""

    id: str  # of the page in a crawl, or its index in a batch
    url: str
    ok: bool = True  # it is the page that was asked for
    has_content: bool = True
    change: str = ""  # what a visit found, if the crawl is kept fresh


class StoredEvent(Struct, frozen=True, omit_defaults=True):
    """What happened. Its time, and the work that it happened to, are known where it is stored."""

    event: WorkEvent
    pages: tuple[EventPage, ...] = ()
    error: str = ""


class ToldPage(Struct, frozen=True, rename="camel"):
    """A page with a result."""

    id: str
    url: str
    ok: bool
    result_url: str
    change: str | UnsetType = UNSET  # `new`, `changed`, `moved` or `gone`, if the crawl is kept fresh


class ToldWork(Struct, frozen=True, kw_only=True, rename="camel"):
    """What an event is about."""

    id: str
    status_url: str
    results_url: str | UnsetType = UNSET
    pages: tuple[ToldPage, ...] | UnsetType = UNSET
    error: str | UnsetType = UNSET
    metadata: Mapping[str, str]


class EventBody(Struct, frozen=True):
    """The body of a webhook."""

    type: str  # such as `crawl.page`
    timestamp: str
    data: Any


def check_headers(headers: Mapping[str, str], *, field: str) -> None:
    """Raises `Problem` for headers that cannot be sent."""
    for name, value in headers.items():
        _check_header(name, value, field)
    _check_size("headers", field, headers, MAX_HEADER_CHARS)


def _check_header(name: str, value: str, field: str) -> None:
    lower = name.lower()
    if not _HEADER_NAME.fullmatch(name) or lower in REFUSED_HEADERS or lower.startswith(_SIGNED):
        raise _refuse(
            field,
            f"The header {name[:100]!r} cannot be sent with webhooks.",
            "Headers of the connection, of the body and of the signature are set by the sender.",
        )
    if not HEADER_VALUE.fullmatch(value):
        hint = "A value is one line without control characters."
        raise _refuse(field, f"The header {name!r} has a value that cannot be sent.", hint)


def _check_size(what: str, field: str, given: Mapping[str, str], most: int) -> None:
    if sum(len(name) + len(value) for name, value in given.items()) > most:
        raise _refuse(field, f"The {what} of the webhook are too long.", f"At most {most:,} characters.")


def _refuse(field: str, detail: str, hint: str) -> Problem:
    return validation_error(detail, hint=hint, details={"field": field})
