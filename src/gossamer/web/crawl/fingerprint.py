"""Fingerprints: 128 bits of a text that find near-duplicates.

A text is treated as the set of its pairs of neighbouring words. The 64 pairs with the lowest checksums are a
sample, random but chosen in the same way for every text, and each of them sets one bit (MinHash, bottom-k).
The share of bits that two fingerprints have in common is therefore about the share of pairs that their texts
have in common.

Some pairs come before all others, whatever their checksums: those whose first word begins with p or d, or
with one of a few letters of other alphabets. In most languages about a tenth of all pairs are such, so a text
of some seven hundred words has enough of them, and its other pairs need not be looked at. Chinese and
Japanese write no spaces between words: three characters count as a pair there, and come first by the end of
the code of the first one.

A shorter text has few such pairs. The checksums of its words, or of its characters where no spaces are
written, are packed into one large integer, 64 bits each; one multiplication and one addition then mix each
with its neighbour.
"""

import re
from array import array
from collections.abc import Iterator
from struct import pack
from typing import Final
from zlib import crc32

from gossamer.web.search.words import UNSPACED

SAMPLE: Final = 64  # pairs
MAX_WORDS: Final = 30_000  # of a text; the rest is ignored
MAX_BYTES: Final = 10 * MAX_WORDS  # the same for texts with longer words
_BITS: Final = 128
_MIX: Final = 0x4F1BBCDD  # below 2^31, so that no sum leaves its 64 bits
_SPARE: Final = 3  # times the sample is taken first, because pairs repeat
_OTHER_SPACES: Final = (b"\t", b"\n", b"\v", b"\f", b"\r")
_FIRST_PAIR: Final = re.compile(  # the first set passes over most words, which is cheaper than two choices
    rb" (?=[pd\xc3-\xdf])((?:[pd]|[\xc3-\xdf][\x80\x9c\xb4\xbf])[^ ]*+) ++(?=([^ ]++))"
)
_FIRST_UNSPACED: Final = "".join(chr(code) for code in range(0x3000, 0xA000) if code & 0x3F < 8)
_FIRST_CHARACTERS: Final = re.compile(f"[{_FIRST_UNSPACED}][\u3000-\u9fff]{{2}}")
_NOT_UNSPACED: Final = bytes(
    {*range(256)} - {0xE0, 0xE1, *range(0xE3, 0xEA), 0xF0}
)  # no such character begins so
_UNSPACED: Final = re.compile(f"[{UNSPACED}]+")
_MARKED: Final = re.compile(b"\x01")
_BAND_BITS: Final = 11
_BAND: Final = (1 << _BAND_BITS) - 1
_BANDS: Final = tuple(enumerate(range(0, _BITS - _BAND_BITS, _BAND_BITS)))
_MAX_CHAIN: Final = 200  # texts with the same band that are compared


def fingerprint(text: str) -> str:
    """32 hexadecimal digits; empty for a text without words."""
    return fingerprint_of(text, text.encode("utf-8", "replace"))


def fingerprint_of(text: str, written: bytes) -> str:
    """The same, of a text that was written in UTF-8 already."""
    if len(written) > MAX_BYTES:
        written = written[:MAX_BYTES]
        text = written.decode("utf-8", "ignore")
    spaced = b" " + written
    for other in _OTHER_SPACES:
        spaced = spaced.replace(other, b" ")
    has_unspaced = bool(written.translate(None, _NOT_UNSPACED))
    first = {
        crc32(word) * _MIX + crc32(following) & 0xFFFFFFFF for word, following in _FIRST_PAIR.findall(spaced)
    }
    if has_unspaced:
        characters = " ".join(_FIRST_CHARACTERS.findall(text))
        first.update(map(crc32, characters.encode().split()))
    sample = sorted(first)[:SAMPLE]
    if len(sample) < SAMPLE:
        words = _words(spaced, has_unspaced=has_unspaced)
        if not words:
            return ""
        sample += sorted(_low_pairs(words).difference(sample))[: SAMPLE - len(sample)]
    bits = 0
    for pair in sample:
        bits |= 1 << pair % _BITS
    return f"{bits:032x}"


def is_near(one: str, other: str) -> bool:
    return bool(one and other) and _are_near(int(one, 16), int(other, 16))


def distance(one: str, other: str) -> int:
    """The number of bits that differ: about two for each pair of words that only one of the texts has."""
    return (int(one or "0", 16) ^ int(other or "0", 16)).bit_count()


class Neighbours:
    """Known fingerprints with their keys, at most `max_known` of them. Finds those near to a given one.

    Only fingerprints that share one of eleven bands of bits are compared. If at most ten bits differ,
    at least one band is the same; if a few more differ, one almost always is.
    """

    def __init__(self, max_known: int) -> None:
        self._max_known = max_known
        self._known: list[tuple[int, str]] = []
        self._newest: dict[int, int] = {}  # by band and its bits
        self._older = array("i")  # for each fingerprint and band, the one before that shares it

    def __len__(self) -> int:
        return len(self._known)

    def find(self, print_: str) -> str | None:
        """The key of a text near to this one."""
        return next(self.near(print_), None)

    def near(self, print_: str) -> Iterator[str]:
        """The keys of all texts near to this one."""
        bits = int(print_ or "0", 16)
        for index in self._candidates(bits):
            known, key = self._known[index]
            if _are_near(known, bits):
                yield key

    def add(self, print_: str, key: str) -> None:
        if not print_ or len(self._known) >= self._max_known:
            return
        bits, index = int(print_, 16), len(self._known)
        self._known.append((bits, key))
        for place, shift in _BANDS:
            name = place << _BAND_BITS | bits >> shift & _BAND
            self._older.append(self._newest.get(name, -1))
            self._newest[name] = index

    def _candidates(self, bits: int) -> set[int]:
        found: set[int] = set()
        for place, shift in _BANDS:
            own = bits >> shift & _BAND
            index = self._newest.get(place << _BAND_BITS | own, -1) if own else -1
            for _ in range(_MAX_CHAIN):
                if index < 0:
                    break
                found.add(index)
                index = self._older[index * len(_BANDS) + place]
        return found


def _are_near(one: int, other: int) -> bool:
    """Whether at most a quarter of the bits set in either are not set in both."""
    return 4 * (one ^ other).bit_count() <= (one | other).bit_count()


def _words(spaced: bytes, *, has_unspaced: bool) -> list[bytes]:
    if has_unspaced:
        spaced = _UNSPACED.sub(_space_out, spaced.decode("utf-8", "replace")).encode("utf-8", "replace")
    return spaced.split(None, MAX_WORDS)[:MAX_WORDS]


def _space_out(characters: re.Match[str]) -> str:
    return f" {' '.join(characters[0])} "


def _low_pairs(words: list[bytes]) -> set[int]:
    """The pairs with the lowest checksums: enough for a sample, or all pairs."""
    checksums = int.from_bytes(pack(f"<{len(words)}Q", *map(crc32, words)), "little")
    pairs = (checksums * _MIX + (checksums >> 64)).to_bytes(8 * len(words), "little")
    below = 256 * SAMPLE * _SPARE // len(words) + 1
    if below < 64 and len(found := _pairs_below(pairs, below)) >= SAMPLE:
        return found
    return set(array("I", pairs)[::2])  # the low half of each


def _pairs_below(pairs: bytes, below: int) -> set[int]:
    """The pairs whose lower half has a highest byte below this."""
    marks = b"\x01" * below + bytes(256 - below)
    found = _MARKED.finditer(pairs[3::8].translate(marks))
    return {int.from_bytes(pairs[8 * at.start() : 8 * at.start() + 4], "little") for at in found}
