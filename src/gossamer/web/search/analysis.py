"""Analysis: the terms of a page by which it is found, and how much it is about each of them.

A term is the stem of a word in the language of the page. The weight of a term is what BM25 calls the
frequency part, over all fields of the page: a word in the title, a heading, the URL or the first words below
the main heading counts as if the text had it several times. It is computed once, when the page is indexed, so
a search compares pages without reading them. How rare a term is, is known when somebody searches
(`state/search/lexicon`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from gossamer.web.search.languages import guess_language, has_stems, main_part, stems_of
from gossamer.web.search.words import words
from gossamer.web.url.url import Url

MAX_TITLE_WORDS: Final = 60
MAX_ABOUT_WORDS: Final = 600  # of headings and the description
MAX_WORDS: Final = 14_000  # of a text; PostgreSQL stores positions up to 16,383 for a row
MAX_FORMS: Final = 2_000  # of a page

TITLE: Final = 14.0
HEADING: Final = 5.0
LEAD: Final = 14.0
DESCRIPTION: Final = 3.0
ADDRESS: Final = 3.0
LEAD_WORDS: Final = 20
MAX_HEADINGS_COUNTED: Final = 2  # headings that have the same word
SATURATION: Final = 12.0  # how soon repeating a word adds nothing
USUAL_WORDS: Final = 2_000  # a word in a longer text counts less
LENGTH: Final = 0.5  # how much less
TOP_LEVEL: Final = 35
ABOUT_LEVEL: Final = 18  # a page is about the words with this level, wherever it has them
_LEVELS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


class PageTexts(NamedTuple):
    """The texts of a page that are searched."""

    url: str
    title: str
    headings: Sequence[str]
    description: str
    text: str
    language: str
    lead: str = ""  # what stands below the main heading


class Analysis(Struct, frozen=True):
    """The terms of a page. `title`, `about` and `body` are in the order of the page."""

    language: str  # that the stems are of; empty if there are none
    title: list[str]
    about: list[str]  # of headings, the lead, the description and the URL, and what the text says most
    body: list[str]
    forms: list[str]  # words that differ from their stems, each once
    terms: list[str]  # each once
    unchanged: list[str]  # words that are their own stems, each once
    weights: str  # the terms by level, see `level_of`


def analyse(page: PageTexts) -> Analysis:
    found = words(page.text, MAX_WORDS)
    title = words(page.title, MAX_TITLE_WORDS)
    headings = words(" ".join(page.headings), MAX_ABOUT_WORDS)
    description = words(page.description, MAX_ABOUT_WORDS)
    address = _address_words(page.url)
    lead = words(page.lead, LEAD_WORDS)
    language = _language(page.language, found)
    stems: Mapping[str, str] = stems_of(language) if language else _Same()
    body_terms, title_terms, heading_terms, lead_terms, description_terms, address_terms = (
        [stems[word] for word in field] for field in (found, title, headings, lead, description, address)
    )
    fields = (
        (title_terms, TITLE, 1),
        (heading_terms, HEADING, MAX_HEADINGS_COUNTED),
        (lead_terms, LEAD, 1),
        (description_terms, DESCRIPTION, 1),
        (address_terms, ADDRESS, 1),
    )
    levels = _levels(body_terms, fields)
    about = [*heading_terms, *lead_terms, *description_terms, *address_terms]
    about += [term for term, level in levels.items() if level >= ABOUT_LEVEL]
    distinct = {*found, *title, *headings, *description, *address}
    forms = [word for word in distinct if stems[word] != word]
    unchanged = [word for word in distinct if word in levels]
    return Analysis(
        language,
        title_terms,
        about,
        body_terms,
        sorted(forms)[:MAX_FORMS],
        list(levels),
        unchanged,
        _written(levels),
    )


def level_of(weights: str, term: str, *, is_prefix: bool = False) -> int:
    """The level of a term in the weights of a page, or the highest of those that begin so; 0 for none."""
    return highest_level(weights, (f" {term}" if is_prefix else f" {term} ",))


def highest_level(weights: str, needles: Iterable[str]) -> int:
    """The highest level of terms that are given between spaces; 0 if there is none."""
    first = min((at for needle in needles if (at := weights.find(needle)) >= 0), default=-1)
    return 0 if first < 0 else _LEVELS.index(weights[weights.rindex("\n", 0, first) + 1])


def _language(declared: str, found: Sequence[str]) -> str:
    language = main_part(declared) or guess_language(found)
    return language if has_stems(language) else ""


def _levels(body: Sequence[str], fields: Iterable[tuple[Sequence[str], float, int]]) -> dict[str, int]:
    """The level of each term; fields are terms, how much one counts, and how often it does."""
    slack = SATURATION * (1 - LENGTH + LENGTH * len(body) / USUAL_WORDS)
    weights: dict[str, float] = dict(Counter(body))
    for field, boost, most in fields:
        for term, times in Counter(field).items():
            weights[term] = weights.get(term, 0.0) + boost * min(times, most)
    scale = TOP_LEVEL + 0.999
    return {term: int(max(1.0, scale * weight / (weight + slack))) for term, weight in weights.items()}


def _written(levels: Mapping[str, int]) -> str:
    """One line for each level, the highest first: the level, and its terms between spaces."""
    lines: dict[int, list[str]] = {}
    for term, level in levels.items():
        lines.setdefault(level, []).append(term)
    return "".join(f"\n{_LEVELS[level]} {' '.join(lines[level])} " for level in sorted(lines, reverse=True))


def _address_words(url: str) -> list[str]:
    """The words of a path: of `/docs/git-reset.html`, docs, git and reset."""
    parts = Url.parse(url).path.rpartition(".")
    return words(parts[0] if parts[0] and "/" not in parts[2] else "".join(parts), MAX_TITLE_WORDS)


class _Same(dict[str, str]):
    """Every word is its own stem."""

    def __missing__(self, word: str) -> str:
        return word
