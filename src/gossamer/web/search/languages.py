"""Languages: which words say little, what language a text is in, and the stem of a word in it.

A stem stands for all forms of a word: `commit` for commits, committed and committing. Pages are indexed by
the stems of their own language, and a question asks for the stems of its likely languages. Both go through
`stem`, so they agree.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gossamer.web.html.vocabulary import read_sections

STOP_WORDS: Final[Mapping[str, frozenset[str]]] = {
    language: frozenset(" ".join(lines).split())
    for language, lines in read_sections("gossamer.web.search", "tables/stop_words.txt").items()
}
MAX_GUESSED_WORDS: Final = 300  # of a text whose language is guessed
MIN_STOP_SHARE: Final = 0.12  # of these, to be sure
MAX_CACHED_STEMS: Final = 200_000  # of a language
_LONGEST: Final = 24  # characters of a word that has a stem
_SHORTEST: Final = 3
_RUSSIAN_ENDINGS: Final = frozenset(("ыи", "ии", "ои", "еи"))
# Endings as in serialise; not those of exercise, promise and precise.
_BRITISH: Final = re.compile(
    "(?<=..(?:al|an|ar|at|en|er|gn|il|im|on|or|ot|ut))is(?=(?:e[drs]?|ers|ing|ations?)$)"
)

# Codes of languages, and the names that Snowball has for their stemmers.
_STEMMERS: Final = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french",
    "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian",
    "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip

LANGUAGES: Final = tuple(_STEMMERS)  # that have stems


class StemCache(dict[str, str]):
    """The stems of one language by word, each computed once."""

    def __init__(self, language: str) -> None:
        super().__init__()
        import snowballstemmer  # it is large, and only what indexes or searches needs it

        self._stem: Any = snowballstemmer.stemmer(_STEMMERS[language]).stemWord
        self._spell = _SPELLINGS.get(language, str)

    def __missing__(self, word: str) -> str:
        if len(self) >= MAX_CACHED_STEMS:
            self.clear()
        has_stem = _SHORTEST <= len(word) <= _LONGEST and word.isalpha()
        self[word] = stem = _fold(self._stem(self._spell(word))) or word if has_stem else word
        return stem


def _spell_russian(word: str) -> str:
    """Restore the letter that endings need, and that `words` has made equal to another."""
    return f"{word[:-1]}й" if word[-2:] in _RUSSIAN_ENDINGS else word


def _spell_english(word: str) -> str:
    """Spell it as Americans do, whose endings the stemmer knows."""
    return _BRITISH.sub("iz", word)


_SPELLINGS: Final = {"ru": _spell_russian, "en": _spell_english}


def _fold(stem: str) -> str:
    return stem.replace("й", "и")


_stems: Final[dict[str, StemCache]] = {}  # made on first use of each language


def main_part(language: str) -> str:
    """`en` of `en-GB`."""
    return language.partition("-")[0].partition("_")[0].strip().lower()


def has_stems(language: str) -> bool:
    return language in _STEMMERS


def stems_of(language: str) -> StemCache:
    """The stems of a language that has some, by word."""
    known = _stems.get(language)
    if known is None:
        known = _stems[language] = StemCache(language)
    return known


def stem(word: str, language: str) -> str:
    """The stem of a folded word; the word itself in a language without stems."""
    return stems_of(language)[word] if has_stems(language) else word


def is_stop_word(word: str, languages: Sequence[str]) -> bool:
    return any(word in STOP_WORDS.get(language, ()) for language in languages)


def guess_language(found: Sequence[str], *, least: float = MIN_STOP_SHARE) -> str:
    """Guess by the stop words among the first words of a text; empty if that is not clear."""
    sample = found[:MAX_GUESSED_WORDS]
    counts = sorted(
        ((sum(word in stops for word in sample), language) for language, stops in STOP_WORDS.items()),
        reverse=True,
    )
    (most, language), (second, _) = counts[:2]
    return language if most > second and most >= max(1.0, least * len(sample)) else ""
