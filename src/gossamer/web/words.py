"""Words: a text as what can be looked for in it, the same for every language and every database.

Case, accents and the width of characters are smoothed, what is no letter, digit or mark parts words, and in
scripts that put no spaces between words every character is one: there, a word of a question is a phrase.
"""

import unicodedata
from typing import Final

LONGEST_WORD: Final = 64
MOST_CHARACTERS: Final = 150_000  # of a text whose words are taken

# Han, kana, Thai, Lao, Tibetan, Burmese, Khmer, as the inside of a character class.
UNSPACED: Final = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED: Final = tuple(
    range(ord(UNSPACED[start]), ord(UNSPACED[start + 2]) + 1) for start in range(0, len(UNSPACED), 3)
)


def words(text: str, most: int) -> list[str]:
    """At most so many, in their order."""
    folded = unicodedata.normalize("NFC", text[:MOST_CHARACTERS]).translate(_FOLDED)
    found = folded[:MOST_CHARACTERS].split(maxsplit=most)[:most]
    if max(map(len, found), default=0) <= LONGEST_WORD:
        return found
    return [word[:LONGEST_WORD] for word in found]


def aligned(text: str) -> str:
    """The words of a text at the places where they stand: as long as the text is, in its NFC form."""
    return text.translate(_ALIGNED)


def clean(text: str, longest: int) -> str:
    """One line of visible text: nothing that is shown as nothing, no two spaces in a row."""
    tidied = unicodedata.normalize("NFC", text[: 2 * longest]).translate(_CLEANED).strip(" ")
    return (" ".join(tidied.split()) if "  " in tidied else tidied)[:longest]


class _Folded(dict[int, str]):
    def __missing__(self, code: int) -> str:
        self[code] = folded = "".join(map(_spaced, _fold(chr(code))))
        return folded


class _Aligned(dict[int, str]):
    def __missing__(self, code: int) -> str:
        folded = _FOLDED[code].strip()
        self[code] = one = folded if len(folded) == 1 else chr(code) if folded else " "
        return one


class _Cleaned(dict[int, str]):
    def __missing__(self, code: int) -> str:
        category = unicodedata.category(chr(code))
        invisible = category in ("Cf", "Cs", "Cn", "Co")
        self[code] = one = "" if invisible else " " if category[0] in "CZ" else chr(code)
        return one


def _fold(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cf":  # a soft hyphen, a joiner: within a word, and not seen
        return ""
    if category[0] not in "LNM":
        return " "
    smoothed = "".join(one for one in unicodedata.normalize("NFKD", character) if not _is_accent(one))
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", smoothed.casefold()))


def _spaced(character: str) -> str:
    if unicodedata.category(character)[0] not in "LNM":
        return " "
    return f" {character} " if any(ord(character) in script for script in _UNSPACED) else character


def _is_accent(mark: str) -> bool:
    """Latin accents, Hebrew and Arabic points; not what belongs to a letter in India, Thailand or Japan."""
    kind = unicodedata.combining(mark)
    return kind == 1 or 10 <= kind <= 36 or kind >= 200


# Filled as characters are met.
_FOLDED: Final = _Folded()
_ALIGNED: Final = _Aligned()
_CLEANED: Final = _Cleaned()
