"""Solana: addresses, signers of a transaction, and what it has moved. https://solana.com/docs/core/transactions"""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from gossamer.web.pay.transfer import Transfer

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_SIGNATURE: Final = 64
_MAX_SIGNATURE_CHARS: Final = 88  # in base58
_KEY: Final = 32
_VERSIONED: Final = 0x80


def fault(address: str) -> str:
    """The fault of an address in base58; empty if there is none."""
    raw = from_base58(address)
    if len(raw) != _KEY:
        return f"it has {len(raw)} bytes, where an address has {_KEY}: it was mistyped or cut off"
    return "" if any(raw) else "the address of the system program is nobody's"


def is_signature(text: str) -> bool:
    """Whether this can be the first signature of a transaction, which is its id."""
    try:
        return len(text) <= _MAX_SIGNATURE_CHARS and len(from_base58(text)) == _SIGNATURE
    except ValueError:
        return False


class Units(msgspec.Struct, frozen=True):
    amount: Annotated[str, Meta(pattern="^[0-9]+$")]


class TokenBalance(msgspec.Struct, rename={"units": "uiTokenAmount"}, frozen=True):
    """The balance of an account in a token."""

    mint: str
    units: Units
    owner: str = ""


def has_paid(before: Sequence[TokenBalance], after: Sequence[TokenBalance], transfer: Transfer) -> bool:
    """Whether the payee's balance grew by this amount."""
    return _held(after, transfer) - _held(before, transfer) >= transfer.amount


def _held(balances: Sequence[TokenBalance], transfer: Transfer) -> int:
    ours = (transfer.asset, transfer.pay_to)
    return sum(int(one.units.amount) for one in balances if (one.mint, one.owner) == ours)


class Signed(NamedTuple):
    """The contents of a partially signed transaction."""

    signers: tuple[str, ...]  # the first pays the fee
    digest: str  # SHA-256 of the message, which others cannot change, unlike the signatures


def read_signatures(transaction: bytes) -> Signed:
    """Raises `ValueError` if this is not a transaction."""
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
    """Raises `ValueError` if this is not base58."""
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
