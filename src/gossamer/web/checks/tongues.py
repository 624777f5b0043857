"""Which language a text is in, where it is clear. A handful of common words tells the common ones apart."""

import re
from collections import Counter
from typing import Final

ENOUGH: Final = 80  # words
MOST: Final = 5_000  # words that are looked at
CLEAR: Final = 0.12  # of all words are common words of the language
AHEAD: Final = 1.7  # times as many as in any other
DIFFERENT: Final = 6  # common words, or it is a coincidence
_WORD: Final = re.compile(r"[^\W\d_]{2,}")  # single letters are variables and initials
_COMMON: Final = {
    language: frozenset(word for word in words.split() if len(word) > 1)
    for language, words in {
        "en": "the of and to in is that for it as was with be by on not he this are or his from at which "
        "but have "
        "an they you were their can will has if when what your we use all",
        "de": "der die und das ist nicht von sie mit ein eine den des dem zu auf für im als auch es sich "
        "wird werden "
        "oder aus bei nach wie einer einem einen sind wenn kann nur noch",
        "fr": "le la les de des et est une un du que qui dans pour pas sur au avec ce il sont par plus "
        "ne se vous nous "
        "aux cette ou mais être leur",
        "es": "el la los las de que y en un una es por con no para del se al lo como su más o pero sus "
        "le ha este "
        "esta son entre cuando muy",
        "it": "il di che la e un una per non è del della le con si da dei nel alla più sono come anche "
        "gli delle "
        "questo essere ha loro",
        "pt": "o de que e do da em um uma para com não os no se na por mais as dos como mas ao das à seu "
        "sua ou ser "
        "quando muito são",
        "nl": "de het een en van is dat die in te niet op zijn met voor er aan om ook als bij maar door "
        "naar dan "
        "worden wordt deze kan",
        "sv": "och att det som en är på för av med den till inte har om ett men var jag kan så de vid "
        "eller från",
        "pl": "i w na z się nie że do to jest jak o po od przez dla ale tak które który ich oraz tylko być",
    }.items()
}
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


def languages_of(text: str) -> tuple[str, ...]:
    """The languages that it may be in; none where that is not clear."""
    text = text[: MOST * 8]
    letters = len(_LETTER.findall(text))
    if letters < ENOUGH * 3:
        return ()
    for languages, script in _SCRIPTS.items():
        share = len(script.findall(text)) / letters
        if share > (0.1 if languages == ("ja",) else 0.5):
            return languages
    return _by_words(text)


def _by_words(text: str) -> tuple[str, ...]:
    counts = Counter(word.lower() for word in _WORD.findall(text)[:MOST])
    total = counts.total()
    if total < ENOUGH:
        return ()
    shares = sorted(
        ((sum(counts[word] for word in words) / total, language) for language, words in _COMMON.items()),
        reverse=True,
    )
    (best, language), (second, _) = shares[:2]
    known = sum(word in counts for word in _COMMON[language])
    return (language,) if best >= CLEAR and best >= AHEAD * second and known >= DIFFERENT else ()
