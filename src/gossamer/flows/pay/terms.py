"""Quote payment terms: the ways to pay an amount now, one for each network.

On Solana the terms name the account that pays the fee, which only the facilitator knows. Its last answer is
kept in the database, for a server that starts while the facilitator does not answer.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from gossamer.flows.pay.payee import Payee
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.db.database import Database
from gossamer.state.pay import facilitator_kinds
from gossamer.web.pay import x402
from gossamer.web.pay.x402 import PaymentTerms

Extra = Mapping[str, Any]  # what a facilitator adds to the terms


class AllTerms(Struct, frozen=True):
    database: Database
    log: Log
    _kept: dict[str, Extra | None] = field(default_factory=dict)  # by network: what the database has

    async def quote(self, payees: Iterable[Payee], amount: int, seconds: int) -> list[PaymentTerms]:
        """The terms for all networks, except those whose facilitator has never answered."""
        made = await asyncio.gather(*(self._terms(payee, amount, seconds) for payee in payees))
        return [terms for terms in made if terms is not None]

    async def learn(self, payee: Payee) -> Extra | None:
        """What the facilitator adds to the terms; None if it takes no payments or has never answered."""
        network = payee.network.id
        added = await payee.facilitator.kind(network)
        try:
            if network not in self._kept:
                async with self.database.read() as connection:
                    self._kept[network] = await facilitator_kinds.find(
                        connection, payee.facilitator.url, network
                    )
            if payee.facilitator.has_answered and added != self._kept[network]:
                await self._keep(payee, added)
        except Unavailable as away:
            self.log.warning("kinds_unkept", "what a facilitator supports is not kept", why=away.detail)
        return added if payee.facilitator.has_answered else self._kept.get(network)

    async def _terms(self, payee: Payee, amount: int, seconds: int) -> PaymentTerms | None:
        extra = {} if payee.network.is_evm else await self.learn(payee)
        return None if extra is None else x402.terms(payee.network, payee.address, amount, seconds, extra)

    async def _keep(self, payee: Payee, added: Extra | None) -> None:
        hand, url, network = self.database.single, payee.facilitator.url, payee.network.id
        if added is None:
            await facilitator_kinds.drop(hand, url, network)
        else:
            await facilitator_kinds.save(hand, url, network, added)
        self._kept[network] = added
