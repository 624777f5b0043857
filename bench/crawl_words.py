# ruff: noqa: RUF001 - one of the languages is written in Cyrillic
"""Words of several languages, made by rule: as many, and used as unevenly, as on real pages."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Final

VOCABULARY: Final = 24_000  # words of each language
SHORT, USUAL = 120, 3_000  # ranks: frequent words are short in every language
SAMPLE: Final = 5_000  # words whose length is taken for the length of all


@dataclass(frozen=True, slots=True)
class Syllables:
    """What the words of a language are made of."""

    onsets: Sequence[str]
    nuclei: Sequence[str]
    codas: Sequence[str]
    space: str = " "
    stop: str = ". "
    longest: int = 4  # syllables


NOTHING: Final = [""]


def _parts(text: str) -> list[str]:
    return text.split()


def _characters(first: int, count: int) -> tuple[str, ...]:
    return tuple(map(chr, range(first, first + count)))


ENGLISH: Final = Syllables(
    [*_parts("b c d f g h l m n p r s t w st tr th ch"), *NOTHING * 2],
    _parts("a e i o u a e i o ea ou"),
    [*_parts("n r s t l d ck nd st ng"), *NOTHING * 9],
)
GERMAN: Final = Syllables(
    [*_parts("b d f g h k l m n r s t w z sch st gr"), *NOTHING],
    _parts("a e i o u ä ö ü ei au ie"),
    [*_parts("n r s t l ch cht nd st ng"), *NOTHING * 6],
)
SPANISH: Final = Syllables(
    [*_parts("b c d f g l m n p r s t v z ll qu br tr pr"), *NOTHING],
    _parts("a e i o u á é í ó ie ue"),
    [*_parts("n r s l"), *NOTHING * 4],
)
RUSSIAN: Final = Syllables(
    [*_parts("б в г д ж з к л м н п р с т х ч ш ст пр тр"), *NOTHING],
    _parts("а е и о у ы я ю"),
    [*_parts("н р с т л й м в ть ст"), *NOTHING * 4],
)
# Chinese and Japanese are written without spaces.
CHINESE: Final = Syllables(_characters(0x4E00, 3_000), ("",), ("",), space="", stop="。", longest=3)
JAPANESE: Final = Syllables(
    _characters(0x5B00, 1_800), ("", "", "", *_characters(0x3042, 60)), ("",), space="", stop="。", longest=3
)
# One after the other for the hosts of a web: half of them are in one language, as on the real one.
LANGUAGES: Final = {
    "en": ENGLISH,
    "de": GERMAN,
    "es": SPANISH,
    "ru": RUSSIAN,
    "zh": CHINESE,
    "ja": JAPANESE,
}
OF_HOSTS: Final = ("en", "de", "en", "ru", "en", "zh", "en", "es", "en", "ja")


class Words:
    """The vocabulary of a language. A word of rank n is used as often as the first one, divided by n."""

    def __init__(self, code: str) -> None:
        self.code = code
        rules = LANGUAGES[code]
        self.space, self.stop = rules.space, rules.stop
        self.all = _made(rules, random.Random(f"words of {code}"))
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self.all) + 1)))
        drawn = self.draw(random.Random(f"length of {code}"), SAMPLE)
        self.bytes = sum(len((word + self.space).encode()) for word in drawn) / SAMPLE

    def draw(self, chance: random.Random, count: int) -> list[str]:
        return chance.choices(self.all, cum_weights=self._weights, k=count)

    def join(self, words: Sequence[str]) -> str:
        return self.space.join(words)


@cache
def words_of(code: str) -> Words:
    return Words(code)


def _made(rules: Syllables, chance: random.Random) -> list[str]:
    made: dict[str, None] = {}
    while len(made) < VOCABULARY:
        rank = len(made)
        count = 1 if rank < SHORT else 2 if rank < USUAL else chance.randint(2, rules.longest)
        made["".join(_syllable(rules, chance) for _ in range(count))] = None
    return list(made)


def _syllable(rules: Syllables, chance: random.Random) -> str:
    return chance.choice(rules.onsets) + chance.choice(rules.nuclei) + chance.choice(rules.codas)
