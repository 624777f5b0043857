"""EVM chains: whether an address was mistyped (EIP-55), and what a transaction has moved (EIP-3009).

https://eips.ethereum.org/EIPS/eip-55, https://eips.ethereum.org/EIPS/eip-3009

Addresses are checked by Keccak as it was before it became SHA-3. The standard library lacks it, and the
packages that have it are large. This one is slow, and used once at the start.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from gossamer.web.pay.transfer import Transfer

_RATE: Final = 136  # bytes that are taken in at a time
_ROUNDS: Final = 24
_WORD: Final = (1 << 64) - 1
_HASH: Final = re.compile("0x[0-9a-fA-F]{64}")

# Function and events of the contract: Keccak of their signatures.
AUTHORIZATION_STATE: Final = "0xe94a0102"  # authorizationState(address,bytes32)
AUTHORIZATION_USED: Final = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
AUTHORIZATION_CANCELED: Final = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81"
TRANSFER: Final = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


Quantity = Annotated[str, Meta(pattern="^0x[0-9a-fA-F]+$")]  # a number as nodes write it


class EventLog(msgspec.Struct, rename="camel", frozen=True):
    """An event that a contract wrote in a transaction."""

    address: str
    topics: list[str]
    data: Annotated[str, Meta(pattern="^0x[0-9a-fA-F]*$")]
    transaction_hash: str


def is_transaction(text: str) -> bool:
    return _HASH.fullmatch(text) is not None


def state_call(transfer: Transfer) -> str:
    """Asks the token whether the authorisation was used or canceled."""
    return AUTHORIZATION_STATE + _pad(transfer.payer)[2:] + transfer.nonce[2:]


def ending_topics(transfer: Transfer) -> list[str | list[str]]:
    """The topics of the logs that say how the authorisation ended."""
    return [[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], _pad(transfer.payer), transfer.nonce]


def has_paid(logs: Sequence[EventLog], transfer: Transfer) -> bool:
    """Whether a transaction with these logs has used this authorisation to pay us. The token logs the
    transfer directly after the authorisation; other transfers do not count."""
    token = [log for log in logs if log.address.lower() == transfer.asset.lower()]
    return any(_is_use(one, transfer) and _is_transfer(other, transfer) for one, other in pairwise(token))


def _is_use(log: EventLog, transfer: Transfer) -> bool:
    return _lower(log) == [AUTHORIZATION_USED, _pad(transfer.payer), transfer.nonce]


def _is_transfer(log: EventLog, transfer: Transfer) -> bool:
    sides = [TRANSFER, _pad(transfer.payer), _pad(transfer.pay_to)]
    return _lower(log) == sides and int(log.data[2:] or "0", 16) >= transfer.amount


def _lower(log: EventLog) -> list[str]:
    return [topic.lower() for topic in log.topics]


def _pad(address: str) -> str:
    return "0x" + address[2:].lower().rjust(64, "0")


def fault(address: str) -> str:
    """The fault of an address of 0x and 40 hexadecimal digits; empty if there is none."""
    digits = address[2:]
    if not int(digits, 16):
        return "the zero address is nobody's"
    is_checked = digits not in (digits.lower(), digits.upper())
    if is_checked and digits != _checksum(digits.lower()):
        return "its capitals do not fit its digits (EIP-55): something in it was mistyped"
    return ""


def _checksum(digits: str) -> str:
    """The digits in the mixed case of EIP-55."""
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
    mixed = [columns[x - 1] ^ _rotate(columns[(x + 1) % 5], 1) for x in range(5)]
    moved = [0] * 25
    x, y, distance = 1, 0, 0
    moved[0] = lanes[0] ^ mixed[0]
    for step in range(1, 25):
        distance += step
        moved[y + 5 * ((2 * x + 3 * y) % 5)] = _rotate(lanes[x + 5 * y] ^ mixed[x], distance % 64)
        x, y = y, (2 * x + 3 * y) % 5
    return [
        moved[at] ^ (~moved[at - at % 5 + (at + 1) % 5] & moved[at - at % 5 + (at + 2) % 5])
        for at in range(25)
    ]


def _rotate(word: int, distance: int) -> int:
    return (word << distance | word >> (64 - distance)) & _WORD


def _constants() -> Iterator[int]:
    register = 1
    for _ in range(_ROUNDS):
        constant = 0
        for place in range(7):
            constant |= (register & 1) << ((1 << place) - 1)
            register = register << 1 ^ (register >> 7) * 0x171
        yield constant
