"""Tokens: about how many a language model makes of a text.

Every model splits text in its own way, by a vocabulary of megabytes that no other model shares. So tokens are
counted by rule: a word, a number or a run of signs is priced by its script and its length. ASCII is counted
in bytes: a table turns all but one class of them into spaces, and splitting leaves the runs of that class.

`scripts/bench tokens` sets the prices, so that most texts come near the median of what the vocabularies of
current models make of them; docs/performance.md says how near. The same text always has the same count. The
weight of texts that are joined by empty lines is at most the sum of their weights and one `GAP` for each
empty line.
"""

import re
from collections.abc import Sequence
from string import ascii_letters, digits, punctuation
from typing import Final, NamedTuple

GAP: Final = 100  # hundredths of a token, like every weight here
MAX_TOKENS_PER_CHAR: Final = 2
_PRICED_CHARS: Final = 64  # lengths with a price in the table; each further character costs the same
_SAMPLES: Final = 16  # parts of a text that its estimate is made from,
_SAMPLE_CHARS: Final = 512  # and the length of each

_LATIN_1: Final = "\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u00ff"
_VIETNAMESE: Final = "\u0110\u0111\u01a1\u01af\u01b0\u0300-\u036f\u1ea0-\u1eff"
_LATIN_EXTENDED: Final = "\u0100-\u010f\u0112-\u01a0\u01a2-\u01ae\u01b1-\u02af\u1e00-\u1e9f"
_KANA: Final = "\u3040-\u30ff"
_HAN: Final = "\u2e80-\u2fff\u3100-\u9fff\uf900-\ufaff"
_WIDE: Final = "\u3000-\u303f\uff00-\uffef"  # punctuation and full-width letters
_HANGUL: Final = "\u1100-\u11ff\uac00-\ud7af"
_GREEK: Final = "\u0370-\u03ff"
_CYRILLIC: Final = "\u0400-\u052f"
_NOT_RUSSIAN: Final = "\u0402-\u040f\u044a\u0452-\u045f\u0490-\u052f"  # of Cyrillic, or rare in Russian
_CAUCASIAN: Final = "\u0530-\u058f\u10a0-\u10ff"  # Armenian, Georgian
_HEBREW: Final = "\u0590-\u05ff"
_ARABIC: Final = "\u0600-\u08ff"
_SOUTH_ASIAN: Final = "\u0900-\u0eff\u1000-\u109f\u1780-\u17ff"
_COSTLY: Final = "\u0a00-\u0a7f\u0b00-\u0b7f"  # Gurmukhi and Odia, of which vocabularies know little
_SIGNS: Final = "\u0080-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7\u02b0-\u02ff\u2000-\u2bff"
_KNOWN: Final = (
    f"{_LATIN_1}{_VIETNAMESE}{_LATIN_EXTENDED}{_KANA}{_HAN}{_WIDE}{_HANGUL}{_GREEK}{_CYRILLIC}{_CAUCASIAN}"
    f"{_HEBREW}{_ARABIC}{_SOUTH_ASIAN}{_SIGNS}"
)
# The most frequent characters of Chinese in simplified characters: vocabularies have many pairs of them.
_FREQUENT_HAN: Final = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后"
    "作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因"
    "只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应"
    "战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿"
    "原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太"
    "量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界"
    "达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今"
    "切院让识候带导争运"
)


class _Prices(NamedTuple):
    """The price of a run of characters by its length."""

    known: list[int]  # by length
    rate: int  # of each character beyond these lengths

    def weigh(self, runs: Sequence[str | bytes]) -> int:
        try:
            return sum(map(self.known.__getitem__, map(len, runs)))
        except IndexError:  # a run that is longer than the table
            over = [max(0, len(run) - _PRICED_CHARS) for run in runs]
            return sum(
                self.known[len(run) - more] + more * self.rate for run, more in zip(runs, over, strict=True)
            )


def _price(first: int, free: int = 1, rate: int = 0, *, later: int | None = None) -> _Prices:
    """Price a run: `first` for `free` characters, `rate` for each further one, `later` beyond 16."""
    later = rate if later is None else later
    known = [
        first + rate * max(0, min(length, 16) - free) + later * max(0, length - 16)
        for length in range(_PRICED_CHARS + 1)
    ]
    return _Prices(known, later)


def _bytes_of(text: str) -> bytes:
    """A table that keeps these bytes, and turns all others into spaces."""
    return bytes(byte if chr(byte) in text else 32 for byte in range(256))


def _class_of(byte: int) -> str:
    sign = chr(byte)
    if byte > 127 or sign in "\n\t":
        return "x" if byte > 127 else sign
    if sign.isalpha() or sign.isdigit():
        return "a" if sign.isalpha() else "0"
    return "." if sign in punctuation else " "


_RUNS: Final = (
    (_bytes_of(ascii_letters), _price(93, 6, 34, later=25)),
    (_bytes_of(digits), _price(120, 3, 39)),
    (_bytes_of(punctuation), _price(108, 1, 22)),
)
# Pairs and triples of classes: letters (a), digits, punctuation (.), and anything that is not ASCII (x).
_CLASSES: Final = "".join(map(_class_of, range(256))).encode()
_LINES: Final = bytes(byte if chr(byte) in ".\n\t " else 97 for byte in range(256))  # all else is "a"
_BORDER: Final = 22  # between a letter and a digit
_WITHIN: Final = -75  # a sign between two letters is often one token with what follows
# The end of a line is one token with the sign before it, unless the next line is indented.
_GAPS: Final = (b"a\n", b".\n ", b".\n\t", b"a  ", b".  ", b"a\t", b".\t")
# An accent inside a word joins what was counted as two words.
_ACCENTS: Final = tuple(
    (re.compile(f"[{accents}](?<=[A-Za-z][{accents}])(?=[A-Za-z])"), price)
    for accents, price in ((_LATIN_1, -54), (_LATIN_EXTENDED, -48), (_VIETNAMESE, -85))
)
# Runs without an ASCII character, so they are looked for in the other characters alone.
_NOT_ASCII: Final = re.compile("[^\x00-\x7f]+")
_OTHERS: Final = tuple(
    (re.compile(pattern), prices)
    for pattern, prices in (
        (f"[{_LATIN_1}]", _price(96)),
        (f"[{_LATIN_EXTENDED}]", _price(116)),
        (f"[{_HAN}]", _price(110)),
        (f"[{_FREQUENT_HAN}]", _price(-59)),
        (f"[{_WIDE}]", _price(73)),
        (f"[{_KANA}]+", _price(78, 1, 60)),
        (f"[{_HANGUL}]+", _price(99, 1, 50)),
        (f"[{_GREEK}]+", _price(72, 1, 35)),
        (f"[{_CYRILLIC}]+", _price(105, 1, 14)),
        (f"[{_NOT_RUSSIAN}]", _price(90)),
        (f"[{_CAUCASIAN}]+", _price(115, 3, 29)),
        (f"[{_HEBREW}]+", _price(72, 1, 46)),
        (f"[{_ARABIC}]+", _price(44, 1, 35)),
        (f"(?:(?![{_COSTLY}])[{_SOUTH_ASIAN}])+", _price(60, 1, 39)),
        (f"[{_COSTLY}]", _price(90)),
        (f"[{_SIGNS}]", _price(79)),
        (f"[^\x00-\x7f{_KNOWN}]", _price(200)),
    )
)


def count(text: str) -> int:
    return to_tokens(weigh(text))


def estimate(text: str) -> int:
    """Count the tokens of a text; of a long one, of evenly spaced samples of it."""
    if len(text) <= _SAMPLES * _SAMPLE_CHARS:
        return count(text)
    step = len(text) // _SAMPLES
    samples = [text[at * step : at * step + _SAMPLE_CHARS] for at in range(_SAMPLES)]
    return to_tokens(sum(map(weigh, samples)) * len(text) // (_SAMPLES * _SAMPLE_CHARS))


def to_tokens(weight: int) -> int:
    return -(-weight // 100)


def weigh(text: str) -> int:
    """Weigh a text in hundredths of a token, so that weights can be added up."""
    weight = _weigh_ascii(text.encode("utf-8", "replace"))
    return weight if text.isascii() else weight + _weigh_others(text)


def _weigh_ascii(data: bytes) -> int:
    weight = sum(prices.weigh(data.translate(kept).split()) for kept, prices in _RUNS)
    classes = data.translate(_CLASSES)
    weight += _BORDER * (classes.count(b"0a") + classes.count(b"a0")) + _WITHIN * classes.count(b"a.a")
    lines = classes.translate(_LINES)
    return weight + GAP * sum(map(lines.count, _GAPS))


def _weigh_others(text: str) -> int:
    others = " ".join(_NOT_ASCII.findall(text))
    weight = sum(prices.weigh(runs.findall(others)) for runs, prices in _OTHERS)
    return weight + sum(price * len(accents.findall(text)) for accents, price in _ACCENTS)
