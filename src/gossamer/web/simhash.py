"""SimHash: 64 bits of a text that change little when the text does.

Every different word votes on each bit, so two texts share about as many bits as they share words. In scripts
that put no spaces between words, pairs of characters vote in their place. Of many words those vote that have
the lowest checksums: chance chooses, but for every text in the same way.

Votes are counted for all words at once, in one long number of 64 bits a word: a product with a number below
2^32 stretches all of their checksums to 64 bits, and folding the number in half, again and again, adds them
up, every eighth bit at a time, so that the sums fit into bytes.

The number is signed, as databases keep 64 bits; a text without words has 0, which is near to nothing.
"""

import re
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import Final
from zlib import crc32

from gossamer.web.words import UNSPACED

NEAR: Final = 3  # bits that may differ
VOTERS: Final = 254  # the most whose sum a byte can hold, with room to tell all from none
MOST_FEATURES: Final = 30_000  # words, or pairs of characters
_MASK: Final = (1 << 64) - 1
_EVERY_BYTE: Final = int.from_bytes(b"\x01" * 8 * VOTERS, "little")
_STRETCH: Final = 0xF1357AEB
_HALVES: Final = [64 << power for power in reversed(range(8))]  # bits of 128 words, of 64, … of one
_FOLDS: Final = [(half, (1 << half) - 1) for half in _HALVES]
_UNSPACED: Final = re.compile(f"[{UNSPACED}]")


def simhash(text: str) -> int:
    return simhash_of(text.split(maxsplit=MOST_FEATURES))


def simhash_of(words: Sequence[str]) -> int:
    """Of a text that was taken apart already."""
    features = set(words[:MOST_FEATURES])
    together = " ".join(features)
    if not together.isascii():
        _pair(features)
        together = " ".join(features)
    if not features:
        return 0
    chosen = list(map(crc32, together.encode("utf-8", "replace").split()))
    if len(chosen) > VOTERS:
        chosen = sorted(chosen)[:VOTERS]
    half = len(chosen) // 2
    found = int("".join(["1" if count > half else "0" for count in _votes(chosen)]), 2)
    return found - (1 << 64) if found >> 63 else found


def distance(one: int, other: int) -> int:
    return ((one ^ other) & _MASK).bit_count()


def is_near(one: int, other: int) -> bool:
    return one != 0 and other != 0 and distance(one, other) <= NEAR


class Neighbours:
    """Texts by their numbers, and for a new one the first that is near. Remembers at most so many.

    Of four quarters three changed bits leave one as it was, so only texts that share a quarter are compared.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._quarters: list[dict[int, list[tuple[int, str]]]] = [{}, {}, {}, {}]
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def find(self, number: int) -> str | None:
        """The key of a text near to this one."""
        if not number:
            return None
        for texts, quarter in zip(self._quarters, _quarters(number), strict=True):
            for known, key in texts.get(quarter, ()):
                if ((known ^ number) & _MASK).bit_count() <= NEAR:  # a call would cost more than this does
                    return key
        return None

    def add(self, number: int, key: str) -> None:
        if not number or self._count >= self._most:
            return
        self._count += 1
        for texts, quarter in zip(self._quarters, _quarters(number), strict=True):
            texts.setdefault(quarter, []).append((number, key))


def _quarters(number: int) -> tuple[int, int, int, int]:
    return number & 0xFFFF, number >> 16 & 0xFFFF, number >> 32 & 0xFFFF, number >> 48 & 0xFFFF


def _votes(checksums: list[int]) -> Iterator[int]:
    """How many of them have each bit set once they are stretched."""
    joined = int.from_bytes(array("Q", checksums).tobytes(), sys.byteorder) * _STRETCH
    for bit in range(8):
        votes = joined >> bit & _EVERY_BYTE
        for half, mask in _FOLDS:
            votes = (votes >> half) + (votes & mask)
        yield from votes.to_bytes(8, "little")


def _pair(features: set[str]) -> None:
    """Where no spaces stand between words, pairs of characters take their place."""
    unspaced = [word for word in features if not word.isascii() and _UNSPACED.search(word)]
    features.difference_update(unspaced)
    for word in sorted(unspaced):
        if len(features) >= MOST_FEATURES:
            break
        run = word[:MOST_FEATURES]
        features.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
