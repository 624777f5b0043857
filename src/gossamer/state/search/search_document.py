"""The types of the search index: documents, rows, queries and matches."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from gossamer.state.pages.page_key import site_of
from gossamer.web.html.dates import unix_time
from gossamer.web.search.analysis import Analysis, PageTexts, analyse
from gossamer.web.search.fusion import FoundPassage
from gossamer.web.search.languages import main_part
from gossamer.web.search.passages import OutlinedText, TextHeading, clean_outlined, lead_of
from gossamer.web.search.question import Phrase, Question
from gossamer.web.search.terms import Term, forms_of
from gossamer.web.search.words import clean
from gossamer.web.url.url import Url, digest

MAX_TITLE_CHARS: Final = 300
MAX_DESCRIPTION_CHARS: Final = 1_000
MAX_TEXT_CHARS: Final = 100_000
MAX_LEAD_CHARS: Final = 1_000


class IndexedDocument(Struct, frozen=True, kw_only=True):
    """A page as the search index takes it."""

    url: str  # where it was read
    title: str
    description: str
    text: str  # up to what the index takes
    language: str
    seen_at: float  # Unix seconds
    published_at: str | None = None  # ISO 8601, as the page says
    headings: tuple[TextHeading, ...] = ()  # in `text`


class Match(Struct, frozen=True, kw_only=True):
    """A page that was found. Its texts are untrusted."""

    url: str
    title: str
    snippet: str  # plain text, with matches between double asterisks
    seen_at: float
    published_at: float | None
    passages: tuple[FoundPassage, ...] = ()
    missing: tuple[str, ...] = ()  # words of the question that it does not have


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
    language: str = ""  # of its stems
    outline: str = ""  # its headings, see `read_outline`


class IndexEntry(NamedTuple):
    """The row of a page, and the terms by which it is found."""

    row: IndexRow
    facets: tuple[str, ...]
    terms: Analysis


class GonePage(NamedTuple):
    """A page that is gone since a point in time."""

    name: str
    url: str
    seen_at: int


class SearchQuery(NamedTuple):
    """A question in the terms of the index. A page has one facet of each group."""

    facets: tuple[tuple[str, ...], ...]
    terms: tuple[Term, ...]
    none_of: tuple[Phrase, ...]
    tenants: tuple[str, ...]
    since: int  # milliseconds
    limit: int

    @classmethod
    def of(
        cls,
        question: Question,
        terms: tuple[Term, ...],
        languages: Sequence[str],
        tenants: tuple[str, ...],
        now: float,
    ) -> "SearchQuery":
        facets = [tuple(facet("tenant", tenant) for tenant in tenants)]
        if question.site:
            facets.append((facet("site", question.site),))
        if question.language:
            facets.append((facet("language", question.language),))
        since = round((question.since(now) or 0.0) * 1000)
        none_of = tuple(form for phrase in question.none_of for form in forms_of(phrase, languages))
        return cls(tuple(facets), terms, none_of, tenants, since, question.limit)

    def within(self, facets: tuple[tuple[str, ...], ...]) -> "SearchQuery":
        """The same query, for pages that also have one facet of each of these groups."""
        return self._replace(facets=(*self.facets, *facets))


class CandidateFilter(NamedTuple):
    """Which pages are looked at, how many of them at most, and which terms they have."""

    choices: tuple[tuple[int, ...], ...]  # all terms of one of these; by their numbers
    is_about: bool  # they are in its title, its headings or what it says most
    most: int
    after: int = 0  # only pages with higher ids: the newest


def key_of(tenant: str, url: str) -> str:
    return digest(f"{tenant}\n{url}")


def build_entry(tenant: str, form: str, document: IndexedDocument) -> IndexEntry:
    """Build the entry of a document; `form` is the cache form of its URL."""
    outlined = clean_outlined(OutlinedText(document.text, document.headings), MAX_TEXT_CHARS)
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
        outlined.text,
        document.language,
        _write_outline(outlined.headings),
    )
    return entry_of(row, _facets(tenant, document))


def entry_of(row: IndexRow, facets: tuple[str, ...]) -> IndexEntry:
    """Analyse a stored page; its language may be what it says of itself."""
    outline = read_outline(row.outline)
    headings = [row.text[one.at : one.at + one.size] for one in outline]
    lead = lead_of(row.text, outline, MAX_LEAD_CHARS)
    texts = PageTexts(row.final_url, row.title, headings, row.description, row.text, row.language, lead)
    terms = analyse(texts)
    return IndexEntry(row._replace(language=terms.language), facets, terms)


def read_outline(outline: str) -> list[TextHeading]:
    return msgspec.json.decode(outline, type=list[TextHeading]) if outline else []


def _write_outline(headings: Sequence[TextHeading]) -> str:
    return msgspec.json.encode(headings).decode() if headings else ""


def gone_page(tenant: str, form: str, seen_at: int) -> GonePage:
    return GonePage(key_of(tenant, form), form, seen_at)


def facet(kind: str, value: str) -> str:
    """Return one word for a filter of searches, in letters that both databases accept unchanged."""
    return kind[0] + digest(value)[:24]


def _facets(tenant: str, document: IndexedDocument) -> tuple[str, ...]:
    language = main_part(document.language)
    found = [facet("tenant", tenant), *(facet("site", host) for host in _domains(document.url))]
    return (*found, facet("language", language)) if language else tuple(found)


def _domains(url: str) -> Iterable[str]:
    """Return the host and its parent domains."""
    labels = Url.parse(url).host.split(".")
    return (".".join(labels[start:]) for start in range(len(labels)))


def _milliseconds(text: str | None) -> int | None:
    seconds = unix_time(text or "")
    return None if seconds is None else round(seconds * 1000)
