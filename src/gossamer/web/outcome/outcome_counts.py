"""How many pages had each outcome."""

from collections.abc import Iterable

from msgspec import Struct


class OutcomeCounts(Struct, frozen=True):
    """How many pages had each outcome."""

    ok: int = 0
    blocked: int = 0
    soft_404: int = 0
    login_wall: int = 0
    parked: int = 0
    empty: int = 0
    error: int = 0

    @classmethod
    def total(cls, many: Iterable["OutcomeCounts"]) -> "OutcomeCounts":
        counts = list(many)
        return cls(*(sum(getattr(one, name) for one in counts) for name in cls.__struct_fields__))
