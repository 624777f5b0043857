"""SimHash: 64 bits of a text that change little when the text does.

Every different word votes on each bit, so two texts share about as many bits as they share words. In scripts
that put no spaces between words, pairs of characters vote in their place. Of many words those vote that have
the lowest checksums: chance chooses, but for every text in the same way.

Votes are counted for all words at once, in one long number of 64 bits a word: a product with a number below
2^32 stretches all of their checksums to 64 bits, and the rest modulo 2^64 - 1 adds them up, every eighth bit
at a time, so that the sums fit into bytes.

The number is signed, as databases keep 64 bits; a text without words has 0, which is near to nothing.
"""

import re
import sys
from array import array
from collections.abc import Iterable, Iterator
from typing import Final
from zlib import crc32

from gossamer.web.words import UNSPACED

NEAR: Final = 3  # bits that may differ
VOTERS: Final = 254  # the most whose sum a byte can hold, with room to tell all from none
MOST_FEATURES: Final = 30_000  # words, or pairs of characters
_MASK: Final = (1 << 64) - 1
_EVERY_BYTE: Final = int.from_bytes(b"\x01" * 8 * VOTERS, "little")
_STRETCH: Final = 0xF1357AEB
_UNSPACED: Final = re.compile(f"[{UNSPACED}]")


def simhash(text: str) -> int:
    features = set(text.encode("utf-8", "replace").split(maxsplit=MOST_FEATURES)[:MOST_FEATURES])
    if not text.isascii():
        _pair(features)
    if not features:
        return 0
    chosen = sorted(map(crc32, features))[:VOTERS]
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
        self._quarters: dict[tuple[int, int], list[tuple[int, str]]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def find(self, number: int) -> str | None:
        """The key of a text near to this one."""
        if not number:
            return None
        for quarter in _quarters(number):
            for known, key in self._quarters.get(quarter, ()):
                if distance(known, number) <= NEAR:
                    return key
        return None

    def add(self, number: int, key: str) -> None:
        if not number or self._count >= self._most:
            return
        self._count += 1
        for quarter in _quarters(number):
            self._quarters.setdefault(quarter, []).append((number, key))


def _quarters(number: int) -> Iterable[tuple[int, int]]:
    return ((place, number >> 16 * place & 0xFFFF) for place in range(4))


def _votes(checksums: list[int]) -> Iterator[int]:
    """How many of them have each bit set once they are stretched."""
    joined = int.from_bytes(array("Q", checksums).tobytes(), sys.byteorder) * _STRETCH
    for bit in range(8):
        yield from ((joined >> bit & _EVERY_BYTE) % _MASK).to_bytes(8, "little")


def _pair(features: set[bytes]) -> None:
    """Where no spaces stand between words, pairs of characters take their place."""
    unspaced = [word for word in features if not word.isascii() and _UNSPACED.search(word.decode())]
    features.difference_update(unspaced)
    for word in sorted(unspaced):
        if len(features) >= MOST_FEATURES:
            break
        run = word.decode()[:MOST_FEATURES]
        features.update(run[at : at + 2].encode() for at in range(max(1, len(run) - 1)))
