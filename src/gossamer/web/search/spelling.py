"""Spelling: which words differ from another by a typing error."""

from collections.abc import Iterator
from typing import Final

MIN_CHARS: Final = 4  # of a word that may be misspelt
MAX_CHARS: Final = 24
LONG_CHARS: Final = 6  # from this length on, a word may have two errors
MAX_DISTANCE: Final = 2

_ALPHABETS: Final = (
    "abcdefghijklmnopqrstuvwxyz",
    "абвгдежзиклмнопрстуфхцчшщъыьэюя",
    "αβγδεζηθικλμνξοπρστυφχψω",
)


def may_be_misspelt(word: str) -> bool:
    return MIN_CHARS <= len(word) <= MAX_CHARS and word.isalpha()


def variants(word: str) -> list[str]:
    """All words with one error less: a letter that is missing, too many, wrong, or swapped with the next."""
    alphabet = next((letters for letters in _ALPHABETS if word[0] in letters), "")
    return sorted(set(_edits(word, alphabet)) - {word})


def _edits(word: str, alphabet: str) -> Iterator[str]:
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in alphabet:
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]


def distance(one: str, other: str) -> int:
    """Errors between two words, swapped letters counting once; more than allowed counts as too many."""
    most = MAX_DISTANCE if len(one) >= LONG_CHARS else 1
    too_many = MAX_DISTANCE + 1
    if abs(len(one) - len(other)) > most:
        return too_many
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        current = [row]
        for column, their in enumerate(other, 1):
            cost = min(last[column] + 1, current[-1] + 1, last[column - 1] + (letter != their))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == their:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > most:
            return too_many
        before, last = last, current
    return last[-1] if last[-1] <= most else too_many
