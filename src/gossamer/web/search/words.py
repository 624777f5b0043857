"""Words: split a text into searchable words, the same way for every language and every database.

Case, accents and character width are normalised. Everything but letters, digits and marks separates words. In
scripts without spaces between words every character is a word, so a word of a query becomes a phrase there.
"""

import unicodedata
from typing import Final

MAX_WORD_CHARS: Final = 64
MAX_TEXT_CHARS: Final = 150_000  # of a text that is split

# Han, kana, Thai, Lao, Tibetan, Burmese and Khmer, for use inside a character class.
UNSPACED: Final = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED: Final = tuple(
    range(ord(UNSPACED[start]), ord(UNSPACED[start + 2]) + 1) for start in range(0, len(UNSPACED), 3)
)


def words(text: str, most: int) -> list[str]:
    """Return the first words of a text, at most `most`."""
    folded = unicodedata.normalize("NFC", text[:MAX_TEXT_CHARS]).translate(_FOLDED)
    found = folded[:MAX_TEXT_CHARS].split(maxsplit=most)[:most]
    if max(map(len, found), default=0) <= MAX_WORD_CHARS:
        return found
    return [word[:MAX_WORD_CHARS] for word in found]


def align(text: str) -> str:
    """Normalise the words of a text in place; the result is as long as the text in NFC form."""
    return text.translate(_ALIGNED)


def is_unspaced(word: str) -> bool:
    """Whether a word is one character of a script without spaces between words."""
    return len(word) == 1 and any(ord(word) in script for script in _UNSPACED)


def clean(text: str, longest: int) -> str:
    """Return the visible text on one line, without repeated spaces."""
    tidied = unicodedata.normalize("NFC", text[: 2 * longest]).translate(_CLEANED).strip(" ")
    return (" ".join(tidied.split()) if "  " in tidied else tidied)[:longest]


class _FoldTable(dict[int, str]):
    def __missing__(self, code: int) -> str:
        self[code] = folded = "".join(map(_space, _fold(chr(code))))
        return folded


class _AlignTable(dict[int, str]):
    def __missing__(self, code: int) -> str:
        folded = _FOLDED[code].strip()
        self[code] = one = folded if len(folded) == 1 else chr(code) if folded else " "
        return one


class _CleanTable(dict[int, str]):
    def __missing__(self, code: int) -> str:
        category = unicodedata.category(chr(code))
        invisible = category in ("Cf", "Cs", "Cn", "Co")
        self[code] = one = "" if invisible else " " if category[0] in "CZ" else chr(code)
        return one


def _fold(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cf":  # invisible inside a word, such as a soft hyphen or a joiner
        return ""
    if category[0] not in "LNM":
        return " "
    smoothed = "".join(one for one in unicodedata.normalize("NFKD", character) if not _is_accent(one))
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", smoothed.casefold()))


def _space(character: str) -> str:
    if unicodedata.category(character)[0] not in "LNM":
        return " "
    return f" {character} " if is_unspaced(character) else character


def _is_accent(mark: str) -> bool:
    """Whether a mark is a Latin accent, or a Hebrew or Arabic point; other marks are part of a letter."""
    kind = unicodedata.combining(mark)
    return kind == 1 or 10 <= kind <= 36 or kind >= 200


# Filled on first use of each character.
_FOLDED: Final = _FoldTable()
_ALIGNED: Final = _AlignTable()
_CLEANED: Final = _CleanTable()
