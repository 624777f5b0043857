"""Finds out on Solana whether the message that a payer signed was executed and moved the money.

A transaction is known by the signature of the account that pays its fee, the facilitator's. If it did not
name it, the transaction is looked for among those of the payer.
"""

import binascii
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from gossamer.problems import Unavailable
from gossamer.reach.services.chain import SKEW_SECONDS, wrong_network
from gossamer.reach.services.json_rpc import JsonRpc
from gossamer.web.pay import solana
from gossamer.web.pay.solana import TokenBalance
from gossamer.web.pay.transfer import Evidence, Fate, Transfer

MAX_LISTED: Final = 1_000  # of the payer's transactions per request
_GENESIS: Final = 32  # characters of its hash by which CAIP-2 calls a network
_CONFIRMED: Final[Mapping[str, Any]] = {"commitment": "confirmed"}
_WHOLE: Final[Mapping[str, Any]] = {**_CONFIRMED, "encoding": "base64", "maxSupportedTransactionVersion": 0}


class TransactionMeta(msgspec.Struct, rename="camel"):
    err: Any = None
    pre_token_balances: list[TokenBalance] = []
    post_token_balances: list[TokenBalance] = []


class ExecutedTransaction(msgspec.Struct):
    transaction: tuple[str, str]  # and how it is encoded
    meta: TransactionMeta


class ListedSignature(msgspec.Struct, rename="camel"):
    signature: str
    err: Any = None
    block_time: int | None = None


class SolanaChain:
    def __init__(self, network: str, rpc: JsonRpc) -> None:
        self._genesis = network.rpartition(":")[2]
        self._rpc = rpc
        self._is_known = False

    async def find(self, transfer: Transfer, claimed: str = "") -> Evidence:
        await self._check_network()
        if claimed and (found := await self._check(claimed, transfer)):
            return found
        # The time is read before the search, so that no payment can come after the search and before it.
        is_over = await self._now() > transfer.until + SKEW_SECONDS
        async for signature in self._signatures(transfer):
            if found := await self._check(signature, transfer):
                return found
        return Evidence(Fate.NEVER if is_over else Fate.OPEN)

    async def ping(self) -> Mapping[str, Any]:
        await self._check_network()
        return {"slot": await self._rpc.ask(int, "getSlot", {"commitment": "finalized"})}

    async def close(self) -> None:
        await self._rpc.close()

    async def _check_network(self) -> None:
        if not self._is_known:
            if (await self._rpc.ask(str, "getGenesisHash"))[:_GENESIS] != self._genesis:
                raise wrong_network(self._rpc.service)
            self._is_known = True

    async def _check(self, signature: str, transfer: Transfer) -> Evidence | None:
        """The effect of this transaction; None if it is not the signed one."""
        done = await self._rpc.ask(ExecutedTransaction | None, "getTransaction", signature, _WHOLE)  # type: ignore[arg-type]
        if done is None or self._digest(done) != transfer.nonce:
            return None
        balances = done.meta.pre_token_balances, done.meta.post_token_balances
        paid = done.meta.err is None and solana.has_paid(*balances, transfer)
        return Evidence(Fate.PAID, signature) if paid else Evidence(Fate.ELSEWHERE)

    def _digest(self, done: ExecutedTransaction) -> str:
        try:
            return solana.read_signatures(b64decode(done.transaction[0], validate=True)).digest
        except (ValueError, binascii.Error):
            raise Unavailable(self._rpc.service, "its answer makes no sense") from None

    async def _signatures(self, transfer: Transfer) -> AsyncIterator[str]:
        """The payer's transactions in the time in which the payment can have been made, the newest first."""
        options: dict[str, Any] = {**_CONFIRMED, "limit": MAX_LISTED}
        while page := await self._rpc.ask(
            list[ListedSignature], "getSignaturesForAddress", transfer.payer, options
        ):
            for one in page:
                when = transfer.until if one.block_time is None else one.block_time
                if when < transfer.since - SKEW_SECONDS:
                    return
                if one.err is None and when <= transfer.until + SKEW_SECONDS:
                    yield one.signature
            options["before"] = page[-1].signature

    async def _now(self) -> int:
        """The time of the last finalized block."""
        slot = await self._rpc.ask(int, "getSlot", {"commitment": "finalized"})
        return await self._rpc.ask(int, "getBlockTime", slot)
