"""EVM addresses: whether one was mistyped. https://eips.ethereum.org/EIPS/eip-55

The check is by Keccak as it was before it became SHA-3, which the standard library does not have; what has it
is large, and needed for nothing else. This one is slow, and asked once at the start.
"""

from collections.abc import Iterator
from typing import Final

_RATE: Final = 136  # bytes that are taken in at a time
_ROUNDS: Final = 24
_WORD: Final = (1 << 64) - 1


def fault(address: str) -> str:
    """What is wrong with an address of 0x and 40 hexadecimal digits; empty where nothing is."""
    digits = address[2:]
    if not int(digits, 16):
        return "the zero address is nobody's"
    is_checked = digits not in (digits.lower(), digits.upper())
    if is_checked and digits != _checked(digits.lower()):
        return "its capitals do not fit its digits (EIP-55): something in it was mistyped"
    return ""


def _checked(digits: str) -> str:
    """With the letters in capitals that are to be."""
    marks = keccak_256(digits.encode()).hex()
    return "".join(
        digit.upper() if mark >= "8" else digit for digit, mark in zip(digits, marks, strict=False)
    )


def keccak_256(data: bytes, suffix: int = 0x01) -> bytes:
    """With the suffix 0x06 it is SHA3-256. https://keccak.team/keccak_specs_summary.html"""
    padded = bytearray(data) + bytes([suffix])
    padded += bytes(-len(padded) % _RATE)
    padded[-1] |= 0x80
    lanes = [0] * 25  # the one of column x and row y is at x + 5y
    for start in range(0, len(padded), _RATE):
        for at in range(_RATE // 8):
            lanes[at] ^= int.from_bytes(padded[start + 8 * at : start + 8 * at + 8], "little")
        for constant in _constants():
            lanes = _round(lanes)
            lanes[0] ^= constant
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:4])


def _round(lanes: list[int]) -> list[int]:
    columns = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20] for x in range(5)]
    mixed = [columns[x - 1] ^ _turned(columns[(x + 1) % 5], 1) for x in range(5)]
    moved = [0] * 25
    x, y, distance = 1, 0, 0
    moved[0] = lanes[0] ^ mixed[0]
    for step in range(1, 25):
        distance += step
        moved[y + 5 * ((2 * x + 3 * y) % 5)] = _turned(lanes[x + 5 * y] ^ mixed[x], distance % 64)
        x, y = y, (2 * x + 3 * y) % 5
    return [
        moved[at] ^ (~moved[at - at % 5 + (at + 1) % 5] & moved[at - at % 5 + (at + 2) % 5])
        for at in range(25)
    ]


def _turned(word: int, distance: int) -> int:
    return (word << distance | word >> (64 - distance)) & _WORD


def _constants() -> Iterator[int]:
    register = 1
    for _ in range(_ROUNDS):
        constant = 0
        for place in range(7):
            constant |= (register & 1) << ((1 << place) - 1)
            register = register << 1 ^ (register >> 7) * 0x171
        yield constant
