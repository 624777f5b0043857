"""Sums of payments, on both databases."""

from msgspec.structs import replace
from tests.contract.pay.test_ledger import NEW, NOW, do, reserved

from gossamer.state.db.database import Database
from gossamer.state.pay import ledger
from gossamer.state.pay.ledger import NewEntry, Proof
from gossamer.state.pay.payment_totals import PaymentTotals, sum_payments


async def settled(database: Database, new: NewEntry, proof: Proof, *, delivered: bool) -> None:
    entry = await reserved(database, new)
    await do(database, ledger.mark_served, entry, NOW)
    await do(database, ledger.mark_settled, entry, "0xabc", proof, NOW)
    if delivered:
        await do(database, ledger.mark_delivered, entry, NOW)


async def test_settled_payments_are_summed_by_endpoint_and_network(database: Database) -> None:
    other = replace(NEW, nonce="0x02", endpoint="/search", amount=7)
    await settled(database, NEW, Proof.CHAIN, delivered=True)
    await settled(database, replace(NEW, nonce="0x03", amount=300), Proof.NONE, delivered=False)
    await settled(database, other, Proof.FACILITATOR, delivered=False)
    await settled(database, replace(other, nonce="0x04", network="eip155:137"), Proof.NONE, delivered=True)
    await reserved(database, replace(NEW, nonce="0x05"))  # no money was moved
    async with database.read() as connection:
        assert await sum_payments(connection) == [
            PaymentTotals("/fetch/basic", NEW.network, 2, amount=5_300, proven=5_000, delivered=5_000),
            PaymentTotals("/search", "eip155:137", 1, amount=7, proven=0, delivered=7),
            PaymentTotals("/search", NEW.network, 1, amount=7, proven=7, delivered=0),
        ]
