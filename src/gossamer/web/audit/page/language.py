"""Tells which language a text is in, by its script or by a handful of common words."""

import re
from collections import Counter
from functools import cache
from importlib import resources
from typing import Final

MIN_WORDS: Final = 80
MAX_WORDS: Final = 5_000
MIN_SHARE: Final = 0.12  # of all words, that are common words of the language
MIN_LEAD: Final = 1.7  # times the share of any other language
MIN_DISTINCT: Final = 6  # common words; fewer are a coincidence
_WORD: Final = re.compile(r"[^\W\d_]{2,}")  # single letters are variables and initials
_SCRIPTS: Final = {
    ("ja",): re.compile("[\u3040-\u30ff]"),
    ("ko",): re.compile("[\uac00-\ud7af]"),
    ("zh", "ja"): re.compile("[\u4e00-\u9fff]"),
    ("ru", "uk", "be", "bg", "sr", "mk", "kk", "ky", "mn", "tg"): re.compile("[\u0400-\u04ff]"),
    ("el",): re.compile("[\u0370-\u03ff]"),
    ("he", "yi"): re.compile("[\u0590-\u05ff]"),
    ("ar", "fa", "ur", "ps", "ckb"): re.compile("[\u0600-\u06ff]"),
    ("th",): re.compile("[\u0e00-\u0e7f]"),
    ("hi", "mr", "ne", "sa"): re.compile("[\u0900-\u097f]"),
}
_LETTER: Final = re.compile(r"[^\W\d_]")


def detect_languages(text: str) -> tuple[str, ...]:
    """The languages that the text may be in; none if that is not clear."""
    text = text[: MAX_WORDS * 8]
    letters = len(_LETTER.findall(text))
    if letters < MIN_WORDS * 3:
        return ()
    for languages, script in _SCRIPTS.items():
        share = len(script.findall(text)) / letters
        if share > (0.1 if languages == ("ja",) else 0.5):
            return languages
    return _by_words(text)


@cache
def _common_words() -> dict[str, frozenset[str]]:
    """The words of `common_words.txt` by language, without single letters."""
    text = resources.files("gossamer.web.audit.page").joinpath("common_words.txt").read_text("utf-8")
    lines = (line.partition(":") for line in text.splitlines() if not line.startswith("#"))
    return {
        language: frozenset(word for word in words.split() if len(word) > 1) for language, _, words in lines
    }


def _by_words(text: str) -> tuple[str, ...]:
    common = _common_words()
    counts = Counter(word.lower() for word in _WORD.findall(text)[:MAX_WORDS])
    total = counts.total()
    if total < MIN_WORDS:
        return ()
    shares = sorted(
        ((sum(counts[word] for word in words) / total, language) for language, words in common.items()),
        reverse=True,
    )
    (best, language), (second, _) = shares[:2]
    known = sum(word in counts for word in common[language])
    return (language,) if best >= MIN_SHARE and best >= MIN_LEAD * second and known >= MIN_DISTINCT else ()
