"""Transfer: a payment as a chain sees it, and its state on the chain."""

from enum import StrEnum

from msgspec import Struct


class Transfer(Struct, frozen=True, kw_only=True):
    asset: str
    payer: str
    pay_to: str
    amount: int  # atomic units, at least
    nonce: str
    since: float  # Unix seconds; it can only have been made in this period
    until: float


class Fate(StrEnum):
    PAID = "paid"  # the money has come
    ELSEWHERE = "gone_elsewhere"  # the authorisation was used or canceled, but the money did not come to us
    NEVER = "never_moved"  # it was not used, and has expired
    OPEN = "open"  # it may still come, or the chain does not know


class Evidence(Struct, frozen=True):
    fate: Fate
    transaction: str = ""  # of what was paid

    @property
    def is_unpaid(self) -> bool:
        return self.fate in (Fate.ELSEWHERE, Fate.NEVER)
