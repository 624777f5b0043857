"""The types of the search index: documents, rows, queries and matches."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer.state.pages.page_key import site_of
from gossamer.web.html.dates import unix_time
from gossamer.web.search.passages import Heading
from gossamer.web.search.question import Phrase, Question
from gossamer.web.search.words import clean, words
from gossamer.web.url.url import Url, digest

MAX_TITLE_CHARS: Final = 300
MAX_DESCRIPTION_CHARS: Final = 1_000
MAX_TEXT_CHARS: Final = 100_000
MAX_WORDS: Final = 14_000  # of a text; PostgreSQL stores positions up to 16,383 for a row


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedDocument:
    """A page as the search index takes it."""

    url: str  # where it was read
    title: str
    description: str
    text: str  # up to what the index takes
    language: str
    seen_at: float  # Unix seconds
    published_at: str | None = None  # ISO 8601, as the page says
    headings: tuple[Heading, ...] = ()  # in `text`


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A page that was found. Its texts are untrusted."""

    url: str
    title: str
    snippet: str  # plain text, with matches between double asterisks
    seen_at: float
    published_at: float | None


class IndexRow(NamedTuple):
    """A stored page; times are in milliseconds."""

    name: str
    tenant_id: str
    site: str
    url: str  # in its cache form
    final_url: str
    seen_at: int
    published_at: int | None
    title: str
    description: str
    text: str


class IndexEntry(NamedTuple):
    """The row of a page, and the words by which it is found."""

    row: IndexRow
    facets: tuple[str, ...]
    title: list[str]
    description: list[str]
    body: list[str]


class GonePage(NamedTuple):
    """A page that is gone since a point in time."""

    name: str
    url: str
    seen_at: int


class SearchQuery(NamedTuple):
    """A question in the terms of the index. A page has one facet of each group."""

    facets: tuple[tuple[str, ...], ...]
    all_of: tuple[tuple[Phrase, ...], ...]
    none_of: tuple[Phrase, ...]
    tenants: tuple[str, ...]
    since: int  # milliseconds
    limit: int

    @classmethod
    def of(cls, question: Question, tenants: tuple[str, ...], now: float) -> "SearchQuery":
        facets = [tuple(facet("tenant", tenant) for tenant in tenants)]
        if question.site:
            facets.append((facet("site", question.site),))
        if question.language:
            facets.append((facet("language", question.language),))
        since = round((question.since(now) or 0.0) * 1000)
        return cls(tuple(facets), question.all_of, question.none_of, tenants, since, question.limit)


def key_of(tenant: str, url: str) -> str:
    return digest(f"{tenant}\n{url}")


def build_entry(tenant: str, form: str, document: IndexedDocument) -> IndexEntry:
    """Build the entry of a document; `form` is the cache form of its URL."""
    row = IndexRow(
        key_of(tenant, form),
        tenant,
        site_of(form),
        form,
        document.url,
        round(document.seen_at * 1000),
        _milliseconds(document.published_at),
        clean(document.title, MAX_TITLE_CHARS),
        clean(document.description, MAX_DESCRIPTION_CHARS),
        clean(document.text, MAX_TEXT_CHARS),
    )
    return IndexEntry(
        row,
        _facets(tenant, document),
        words(row.title, MAX_TITLE_CHARS),
        words(row.description, MAX_DESCRIPTION_CHARS),
        words(row.text, MAX_WORDS),
    )


def gone_page(tenant: str, form: str, seen_at: int) -> GonePage:
    return GonePage(key_of(tenant, form), form, seen_at)


def facet(kind: str, value: str) -> str:
    """Return one word for a filter of searches, in letters that both databases accept unchanged."""
    return kind[0] + digest(value)[:24]


def _facets(tenant: str, document: IndexedDocument) -> tuple[str, ...]:
    language = document.language.partition("-")[0].partition("_")[0].strip().lower()
    found = [facet("tenant", tenant), *(facet("site", host) for host in _domains(document.url))]
    return (*found, facet("language", language)) if language else tuple(found)


def _domains(url: str) -> Iterable[str]:
    """Return the host and its parent domains."""
    labels = Url.parse(url).host.split(".")
    return (".".join(labels[start:]) for start in range(len(labels)))


def _milliseconds(text: str | None) -> int | None:
    seconds = unix_time(text or "")
    return None if seconds is None else round(seconds * 1000)
