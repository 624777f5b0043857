"""Looks up a payment on a chain, through a node that the operator configured."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from gossamer.problems import Unavailable
from gossamer.web.pay.transfer import Evidence, Transfer

SKEW_SECONDS: Final = 120.0  # by which our clock and the chain's may differ


class Chain(Protocol):
    async def find(self, transfer: Transfer, claimed: str = "") -> Evidence:
        """Look up a transfer; `claimed` is the transaction that the facilitator named.
        Raises `Unavailable`."""

    async def ping(self) -> Mapping[str, Any]: ...

    async def close(self) -> None: ...


def wrong_network(service: str) -> Unavailable:
    return Unavailable(service, "it is a node of another network", retry_after=60)
