"""What the search index is given, what it keeps of it, and what it answers with."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer.state.page_key import site_of
from gossamer.web.dates import unix_time
from gossamer.web.question import Phrase, Question
from gossamer.web.url import Url, digest
from gossamer.web.words import clean, words

LONGEST_TITLE: Final = 300  # characters
LONGEST_DESCRIPTION: Final = 1_000
LONGEST_TEXT: Final = 100_000
MOST_WORDS: Final = 14_000  # of a text: PostgreSQL knows the place of the first 16,383 of a row


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A page, as far as it can be found by its words."""

    url: str  # where it was read
    title: str
    description: str
    text: str  # as much of it as the index takes
    language: str
    seen_at: float  # Unix seconds
    published_at: str | None = None  # ISO 8601, as the page says


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A page that was found. Strangers wrote its texts."""

    url: str
    title: str
    snippet: str  # plain text, with what was looked for between double asterisks
    seen_at: float
    published_at: float | None


class Row(NamedTuple):
    """A page as it is kept; times in milliseconds."""

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


class Entry(NamedTuple):
    """A page's row, and the words that it is found by."""

    row: Row
    facets: tuple[str, ...]
    title: list[str]
    description: list[str]
    body: list[str]


class Gone(NamedTuple):
    """A page that is not to be found any more, as of a moment."""

    name: str
    url: str
    seen_at: int


class Sought(NamedTuple):
    """A question as it is asked of the index: of these facets, one of each."""

    facets: tuple[tuple[str, ...], ...]
    all_of: tuple[tuple[Phrase, ...], ...]
    none_of: tuple[Phrase, ...]
    tenants: tuple[str, ...]
    since: int  # milliseconds
    limit: int

    @classmethod
    def of(cls, question: Question, tenants: tuple[str, ...], now: float) -> "Sought":
        facets = [tuple(facet("tenant", tenant) for tenant in tenants)]
        if question.site:
            facets.append((facet("site", question.site),))
        if question.language:
            facets.append((facet("language", question.language),))
        since = round((question.since(now) or 0.0) * 1000)
        return cls(tuple(facets), question.all_of, question.none_of, tenants, since, question.limit)


def name_of(tenant: str, url: str) -> str:
    return digest(f"{tenant}\n{url}")


def entry(tenant: str, form: str, document: Document) -> Entry:
    """`form` is the cache form of the document's URL."""
    row = Row(
        name_of(tenant, form),
        tenant,
        site_of(form),
        form,
        document.url,
        round(document.seen_at * 1000),
        _milliseconds(document.published_at),
        clean(document.title, LONGEST_TITLE),
        clean(document.description, LONGEST_DESCRIPTION),
        clean(document.text, LONGEST_TEXT),
    )
    return Entry(
        row,
        _facets(tenant, document),
        words(row.title, LONGEST_TITLE),
        words(row.description, LONGEST_DESCRIPTION),
        words(row.text, MOST_WORDS),
    )


def gone(tenant: str, form: str, seen_at: int) -> Gone:
    return Gone(name_of(tenant, form), form, seen_at)


def facet(kind: str, value: str) -> str:
    """One word for what a search can be narrowed by, in letters that both databases take as they are."""
    return kind[0] + digest(value)[:24]


def _facets(tenant: str, document: Document) -> tuple[str, ...]:
    language = document.language.partition("-")[0].partition("_")[0].strip().lower()
    found = [facet("tenant", tenant), *(facet("site", host) for host in _domains(document.url))]
    return (*found, facet("language", language)) if language else tuple(found)


def _domains(url: str) -> Iterable[str]:
    """The host and all that it is below."""
    labels = Url.parse(url).host.split(".")
    return (".".join(labels[start:]) for start in range(len(labels)))


def _milliseconds(text: str | None) -> int | None:
    seconds = unix_time(text or "")
    return None if seconds is None else round(seconds * 1000)
