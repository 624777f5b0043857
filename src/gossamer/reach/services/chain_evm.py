"""Finds out on an EVM chain whether an EIP-3009 authorisation was used, and for which transfer.

The token says whether an authorisation was used; the transaction's logs say where the money went. The
transaction is found by its hash if the facilitator named it, else by the log that names payer and nonce, in
the blocks of the time in which it can have been made.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from gossamer.reach.services.chain import SKEW_SECONDS, wrong_network
from gossamer.reach.services.json_rpc import JsonRpc
from gossamer.web.pay import evm
from gossamer.web.pay.evm import EventLog, Quantity
from gossamer.web.pay.transfer import Evidence, Fate, Transfer

MAX_BLOCKS: Final = 500  # per request for logs; nodes bound that
_FIRST_STEP: Final = 64
_SUCCESS: Final = "0x1"


class Block(msgspec.Struct):
    number: Quantity
    timestamp: Quantity


class TransactionReceipt(msgspec.Struct):
    """The receipt of a transaction."""

    status: str
    logs: list[EventLog]


class EvmChain:
    def __init__(self, network: str, rpc: JsonRpc) -> None:
        self._id = int(network.rpartition(":")[2])
        self._rpc = rpc
        self._is_known = False

    async def find(self, transfer: Transfer, claimed: str = "") -> Evidence:
        await self._check_network()
        if claimed and await self._is_paid(claimed, transfer):
            return Evidence(Fate.PAID, claimed)
        head, now = await self._block("latest")
        call = {"to": transfer.asset, "data": evm.state_call(transfer)}
        if not int(await self._rpc.ask(Quantity, "eth_call", call, hex(head)), 16):
            return Evidence(Fate.NEVER if now > transfer.until + SKEW_SECONDS else Fate.OPEN)
        return await self._find_end(transfer, head)

    async def ping(self) -> Mapping[str, Any]:
        await self._check_network()
        return {"block": (await self._block("latest"))[0]}

    async def close(self) -> None:
        await self._rpc.close()

    async def _check_network(self) -> None:
        if not self._is_known:
            if int(await self._rpc.ask(Quantity, "eth_chainId"), 16) != self._id:
                raise wrong_network(self._rpc.service)
            self._is_known = True

    async def _find_end(self, transfer: Transfer, head: int) -> Evidence:
        """How an authorisation ended that was used or canceled."""
        async for log in self._logs(transfer, head):
            if await self._is_paid(log.transaction_hash, transfer):
                return Evidence(Fate.PAID, log.transaction_hash)
            return Evidence(Fate.ELSEWHERE)
        return Evidence(Fate.OPEN)  # this node has no logs that old

    async def _logs(self, transfer: Transfer, head: int) -> AsyncIterator[EventLog]:
        first = await self._first_block(transfer.since - SKEW_SECONDS, head)
        last = await self._first_block(transfer.until + SKEW_SECONDS, head)
        for start in range(first, last + 1, MAX_BLOCKS):
            wanted = {
                "address": transfer.asset,
                "topics": evm.ending_topics(transfer),
                "fromBlock": hex(start),
                "toBlock": hex(min(start + MAX_BLOCKS - 1, last)),
            }
            for log in await self._rpc.ask(list[EventLog], "eth_getLogs", wanted):
                yield log

    async def _is_paid(self, transaction: str, transfer: Transfer) -> bool:
        done = await self._rpc.ask(TransactionReceipt | None, "eth_getTransactionReceipt", transaction)  # type: ignore[arg-type]
        return done is not None and done.status == _SUCCESS and evm.has_paid(done.logs, transfer)

    async def _first_block(self, moment: float, head: int) -> int:
        """The first block that is not before this moment; the last block if all are before it."""
        step, above, below = _FIRST_STEP, head, max(0, head - _FIRST_STEP)
        while below and (await self._block(hex(below)))[1] >= moment:
            step, above = step * 2, below
            below = max(0, below - step)
        while below < above:
            middle = (below + above) // 2
            if (await self._block(hex(middle)))[1] >= moment:
                above = middle
            else:
                below = middle + 1
        return below

    async def _block(self, name: str) -> tuple[int, int]:
        """Its number and its time."""
        found = await self._rpc.ask(Block, "eth_getBlockByNumber", name, False)
        return int(found.number, 16), int(found.timestamp, 16)
