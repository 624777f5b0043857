"""Related words: what the pages may say instead of a word of a question, and words that say little.

Somebody who does not know a text asks in other words than it has. The tables are small and general: they know
what technical texts call a folder, not what a page is about. Both are by language; most languages have none.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from gossamer.web.html.vocabulary import read_sections
from gossamer.web.search.languages import stem

LIGHT_WORDS: Final[Mapping[str, frozenset[str]]] = {
    language: frozenset(" ".join(lines).split())
    for language, lines in read_sections("gossamer.web.search", "tables/light_words.txt").items()
}
_LINES: Final = read_sections("gossamer.web.search", "tables/related_words.txt")
_related: Final[dict[str, dict[str, tuple[str, ...]]]] = {}  # by language and stem; made on first use


def is_light(word: str, languages: Sequence[str]) -> bool:
    """Whether a word of a question says little about what is asked for."""
    return any(word in LIGHT_WORDS.get(language, ()) for language in languages)


def related_to(word: str, languages: Sequence[str]) -> tuple[str, ...]:
    """The stems of the words that are said for this one."""
    found = (other for language in languages for other in _of(language).get(stem(word, language), ()))
    return tuple(dict.fromkeys(found))


def _of(language: str) -> Mapping[str, tuple[str, ...]]:
    known = _related.get(language)
    if known is None:
        table: dict[str, dict[str, None]] = {}
        for line in _LINES.get(language, ()):
            stems = dict.fromkeys(stem(word, language) for word in line.split())
            for one in stems:
                table.setdefault(one, {}).update((other, None) for other in stems if other != one)
        known = _related[language] = {one: tuple(others) for one, others in table.items()}
    return known
