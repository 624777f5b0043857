"""Solana: addresses, and who signed a transaction. https://solana.com/docs/core/transactions"""

import hashlib
from typing import Final, NamedTuple

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_SIGNATURE: Final = 64
_KEY: Final = 32
_VERSIONED: Final = 0x80


def fault(address: str) -> str:
    """What is wrong with an address in base58; empty where nothing is."""
    raw = from_base58(address)
    if len(raw) != _KEY:
        return f"it has {len(raw)} bytes, where an address has {_KEY}: it was mistyped or cut off"
    return "" if any(raw) else "the address of the system program is nobody's"


class Signed(NamedTuple):
    """What a partially signed transaction says of itself."""

    signers: tuple[str, ...]  # the first pays the fee
    digest: str  # SHA-256 of the message: the signatures before it can be changed by others, it cannot


def signed(transaction: bytes) -> Signed:
    """Raises ValueError for what is no transaction."""
    signatures, at = _compact(transaction, 0)
    message = transaction[at + signatures * _SIGNATURE :]
    at = 1 if message[:1] and message[0] & _VERSIONED else 0
    head = message[at : at + 3]
    keys, at = _compact(message, at + 3)
    needed = head[0] if len(head) == 3 else 0
    if not 0 < needed <= keys or needed != signatures or len(message) < at + keys * _KEY + _KEY:
        raise ValueError("not a Solana transaction")
    signers = tuple(base58(message[at + n * _KEY : at + (n + 1) * _KEY]) for n in range(needed))
    return Signed(signers, hashlib.sha256(message).hexdigest())


def base58(raw: bytes) -> str:
    number, digits = int.from_bytes(raw), ""
    while number:
        number, digit = divmod(number, 58)
        digits = _ALPHABET[digit] + digits
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + digits


def from_base58(text: str) -> bytes:
    """Raises ValueError for what is none."""
    number = 0
    for digit in text:
        number = number * 58 + _ALPHABET.index(digit)
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)


def _compact(raw: bytes, at: int) -> tuple[int, int]:
    """A number in one to three bytes of seven bits each, and where it ends."""
    number = 0
    for place in range(3):
        if at + place >= len(raw):
            break
        number |= (raw[at + place] & 0x7F) << (7 * place)
        if raw[at + place] < _VERSIONED:
            return number, at + place + 1
    raise ValueError("not a Solana transaction")
