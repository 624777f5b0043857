"""What the endpoints of memory share: queries, conditions and examples."""

import re
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.problems import Problem, validation_error
from gossamer.web.memory.memory_answer import MemoryKey
from gossamer.web.memory.memory_entry import MemoryEntry, PageSource
from gossamer.web.memory.memory_names import DEFAULT_NAMESPACE
from gossamer.web.memory.memory_request import MemoryPage, MemoryWrite, Namespace
from gossamer.web.outcome.outcome import Outcome

MAX_AT_ONCE: Final = 100  # entries in one call
MAX_LISTED: Final = 500
MAX_BODY: Final = 8_000_000  # bytes; JSON may escape every character of a value
PRICE: Final = "memory"
PAGE_PRICE: Final = "memory-page"

_ETAG: Final = re.compile(r'"(\d{1,18})"')


class EntriesQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which entries."""

    namespace: Annotated[Namespace, Meta(description="Where they are.")] = DEFAULT_NAMESPACE
    prefix: Annotated[str, Meta(max_length=256, description="Only keys that begin so.")] = ""
    tag: Annotated[str, Meta(max_length=64, description="Only entries with this tag.")] = ""
    cursor: Annotated[str, Meta(max_length=256, description="The `nextCursor` of the last answer.")] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Entries in one answer.")] = 50


class EntryQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which version of an entry."""

    version: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="An earlier version that is kept.")
    ] = None


class ExportQuery(msgspec.Struct, forbid_unknown_fields=True):
    """What to export."""

    namespace: Annotated[Namespace | None, Meta(description="Only this namespace.")] = None


class NewEntries(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Entries to write: all of them or, if one is refused, none."""

    entries: Annotated[tuple[MemoryWrite, ...], Meta(min_length=1, max_length=MAX_AT_ONCE)]


class EntryKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which entries."""

    keys: Annotated[tuple[MemoryKey, ...], Meta(min_length=1, max_length=MAX_AT_ONCE)]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((one.namespace, one.key) for one in self.keys))


class KeyedPage(MemoryPage, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A page to remember, and where to keep it."""

    namespace: Namespace = DEFAULT_NAMESPACE
    key: str


class MemorySearchRequest(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What to search for, and where."""

    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=400,
            description='A question in plain words, or words, "phrases", beginnings*, -not, this OR that.',
            examples=["what does the user prefer"],
        ),
    ]
    namespaces: Annotated[
        tuple[Namespace, ...], Meta(max_length=50, description="Where; the default is everywhere.")
    ] = ()
    tags: Annotated[
        tuple[str, ...], Meta(max_length=10, description="Only entries that have all of these tags.")
    ] = ()
    limit: Annotated[int, Meta(ge=1, le=50, description="The most results.")] = 10


class MemorySearchQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The same in an address, with one namespace and one tag."""

    query: Annotated[str, Meta(min_length=1, max_length=400, description="A question in plain words.")]
    namespace: Annotated[Namespace | None, Meta(description="Where; the default is everywhere.")] = None
    tag: Annotated[str, Meta(max_length=64, description="Only entries with this tag.")] = ""
    limit: Annotated[int, Meta(ge=1, le=50, description="The most results.")] = 10

    def to_request(self) -> MemorySearchRequest:
        namespaces = () if self.namespace is None else (self.namespace,)
        return MemorySearchRequest(self.query, namespaces, (self.tag,) if self.tag else (), self.limit)


def etag_of(entry: MemoryEntry) -> str:
    return f'"{entry.version}"'


def expected_version(exchange: Exchange, given: int | None = None) -> int | None:
    """The version that the request wants to find, by its headers or by `ifVersion`."""
    match, none_match = exchange.header(b"if-match"), exchange.header(b"if-none-match")
    if match is None and none_match is None:
        return given
    if given is not None or (match is not None and none_match is not None):
        raise validation_error("Give one of `ifVersion`, If-Match and If-None-Match.")
    if none_match is not None:
        if none_match != "*":
            raise validation_error("If-None-Match takes only * here: write if there is no such entry.")
        return 0
    tag = _ETAG.fullmatch(match or "")
    if tag is None:
        raise validation_error('If-Match is not the ETag of an entry, such as "3".')
    return int(tag[1])


def precondition(exchange: Exchange, conflict: Problem) -> Problem:
    """The problem of a version that is not the expected one. Who asks by a header is told so by 412."""
    by_header = exchange.header(b"if-match") is not None or exchange.header(b"if-none-match") is not None
    if not by_header or conflict.kind is not problems.VERSION_CONFLICT:
        return conflict
    return Problem(
        problems.PRECONDITION_FAILED, conflict.detail, hint=conflict.hint, details=dict(conflict.details)
    )


def charge(exchange: Exchange) -> None:
    """A wallet pays for this answer."""
    exchange.outcome = Outcome.OK


EXAMPLE_ENTRY: Final = MemoryEntry(
    namespace="research",
    key="plan",
    version=3,
    format="markdown",
    size=39,
    title="Plan",
    tags=("draft",),
    created_at="2026-01-01T12:00:00.000Z",
    updated_at="2026-01-01T12:30:00.000Z",
    value="# Plan\n\nRead three sources first.",
)
EXAMPLE_PAGE: Final = MemoryEntry(
    namespace="research",
    key="rope",
    version=1,
    format="markdown",
    size=56,
    title="Silk rope",
    created_at="2026-01-01T12:00:00.000Z",
    updated_at="2026-01-01T12:00:00.000Z",
    source=PageSource(
        "https://example.com/rope", "https://example.com/rope", "2026-01-01T12:00:00.000Z", "web"
    ),
)
