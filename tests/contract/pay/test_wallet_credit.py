"""The credit of wallets, on both databases."""

import asyncio

import pytest
from msgspec.structs import replace
from tests.contract.pay.test_ledger import NEW, NOW, do, reserved

from gossamer.state.db.database import Database
from gossamer.state.pay import ledger, payment_list, wallet_credit
from gossamer.state.pay.ledger import LedgerEntry, PaymentState, Proof
from gossamer.state.pay.wallet_credit import CreditReason, Grant, NotCovered

DAY = 86_400_000


def grant(payment_id: str, amount: int) -> Grant:
    return Grant(payment_id.rjust(26, "0"), NEW.network, NEW.payer, amount, CreditReason.NOT_DONE)


async def give(database: Database, given: Grant) -> bool:
    async with database.write() as connection:
        return await wallet_credit.grant(connection, given, NOW)


async def spend(database: Database, entry: LedgerEntry) -> bool:
    try:
        async with database.write() as connection:
            await wallet_credit.spend(connection, entry, NOW)
    except NotCovered:
        return False
    return True


async def has(database: Database) -> int:
    async with database.read() as connection:
        return await wallet_credit.balance(connection, NEW.network, NEW.payer)


async def test_a_payment_becomes_credit_once(database: Database) -> None:
    given = await asyncio.gather(*(give(database, grant("1", 7_000)) for _ in range(5)))
    assert (sorted(given), await has(database)) == ([False] * 4 + [True], 7_000)
    assert await give(database, grant("2", 1_000))
    assert await has(database) == 8_000


async def test_the_same_credit_is_not_spent_twice(database: Database) -> None:
    await give(database, grant("1", 2 * NEW.amount + 1))
    entries = [await reserved(database, replace(NEW, nonce=f"0x{number:064x}")) for number in range(6)]
    spent = await asyncio.gather(*(spend(database, entry) for entry in entries))
    assert (sum(spent), await has(database)) == (2, 1)
    async with database.read() as connection:
        listed = await payment_list.list_entries(connection, limit=10)
        assert await payment_list.revenue(connection) == {NEW.endpoint: 0}
    paid = [entry for entry in listed if entry.state is PaymentState.SETTLED]
    assert [(entry.credit, entry.proof) for entry in paid] == [(NEW.amount, Proof.FACILITATOR)] * 2


async def test_a_payment_that_is_not_held_takes_no_credit(database: Database) -> None:
    await give(database, grant("1", NEW.amount))
    entry = await reserved(database)
    assert not await spend(database, replace(entry, token="another"))
    assert await has(database) == NEW.amount


async def test_credit_that_covers_a_payment_comes_first(database: Database) -> None:
    entry = await reserved(database)
    await give(database, grant("1", NEW.amount - 1))
    other = await reserved(database, replace(NEW, nonce="0x" + "02" * 32, request_hash="b" * 64))
    assert await do(database, ledger.mark_served_if_first, other, NOW)
    await give(database, grant("2", 1))
    assert not await do(database, ledger.mark_served_if_first, entry, NOW)


@pytest.mark.parametrize("proof", [Proof.FACILITATOR, Proof.NONE])
async def test_an_owed_answer_can_become_credit_after_a_day_if_it_is_proven(
    database: Database, proof: Proof
) -> None:
    entry = await reserved(database)
    await do(database, ledger.mark_served, entry, NOW)
    await do(database, ledger.mark_settled, entry, "0xabc", proof, NOW)
    later = NOW + DAY + round(ledger.LEASE * 1000)
    async with database.read() as connection:
        assert await ledger.find_unclaimed(connection, later - 1) == []
        found = await ledger.find_unclaimed(connection, later)
    assert [one.id for one in found] == ([entry.id] if proof else [])
    assert await do(database, ledger.mark_unclaimed, entry, later)
    assert not await do(database, ledger.mark_unclaimed, entry, later)
