"""The ledger of payments, on both databases."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.state.db.database import Database, open_database
from gossamer.state.pay import ledger, payment_list
from gossamer.state.pay.ledger import LedgerEntry, NewEntry, PaymentState, Proof
from gossamer.state.pay.payment_list import PaymentFilter

NOW = 1_800_000_000_000
LEASE = round(ledger.LEASE * 1000)
NEW = NewEntry(
    network="eip155:84532",
    payer="0x" + "aa" * 20,
    nonce="0x" + "01" * 32,
    version=2,
    asset="0x" + "cc" * 20,
    pay_to="0x" + "bb" * 20,
    amount=5_000,
    endpoint="/fetch/basic",
    request_hash="a" * 64,
    request_id="wl_1",
    identifier=None,
    wire_json="{}",
    lasts_until=NOW + 300_000,
)


async def reserved(database: Database, new: NewEntry = NEW, now: int = NOW) -> LedgerEntry:
    async with database.write() as connection:
        entry = await ledger.reserve(connection, new, now)
    assert entry is not None
    return entry


async def do(database: Database, step: Any, entry: LedgerEntry, *arguments: Any) -> Any:
    async with database.write() as connection:
        return await step(connection, entry, *arguments)


async def known(database: Database, new: NewEntry = NEW, now: int = NOW) -> ledger.FoundPayment | None:
    async with database.read() as connection:
        return await ledger.find(connection, new.key, now)


async def test_a_payment_goes_its_way(database: Database) -> None:
    entry = await reserved(database)
    assert entry.state is PaymentState.RESERVED
    assert await do(database, ledger.mark_verified, entry, NOW + 1)
    assert await do(database, ledger.mark_served, entry, NOW + 2)
    assert await do(database, ledger.mark_settled, entry, "0xabc", Proof.FACILITATOR, NOW + 3)
    assert await do(database, ledger.mark_delivered, entry, NOW + 4)
    found = await known(database, now=NOW + 4)
    assert found is not None
    ended = found.entry
    assert (ended.state, ended.transaction_id, ended.wire_json) == (PaymentState.SETTLED, "0xabc", None)
    times = (
        ended.created_at,
        ended.verified_at,
        ended.served_at,
        ended.settled_at,
        ended.ended_at,
        ended.delivered_at,
    )
    assert times == (NOW, NOW + 1, NOW + 2, NOW + 3, NOW + 3, NOW + 4)
    assert not found.held


async def test_of_many_at_once_one_has_it(database_url: str) -> None:
    databases = [open_database(database_url) for _ in range(4)]
    await databases[0].migrate()

    async def attempt(database: Database) -> LedgerEntry | None:
        async with database.write() as connection:
            return await ledger.reserve(connection, NEW)

    made = await asyncio.gather(*(attempt(database) for database in databases for _ in range(10)))
    assert sum(entry is not None for entry in made) == 1
    for database in databases:
        await database.close()


async def test_what_was_released_may_be_tried_again_and_both_are_kept(database: Database) -> None:
    first = await reserved(database)
    assert await do(database, ledger.mark_verified, first, NOW)
    assert await do(database, ledger.release, first, "not_charged", NOW)
    assert await known(database) is None
    second = await reserved(database)
    assert second.id != first.id
    async with database.read() as connection:
        listed = await payment_list.list_entries(connection, limit=10)
    assert [(entry.id, entry.state) for entry in listed] == [
        (second.id, PaymentState.RESERVED),
        (first.id, PaymentState.RELEASED),
    ]


async def test_of_what_was_no_payment_nothing_is_kept(database: Database) -> None:
    entry = await reserved(database)
    assert await do(database, ledger.forget, entry)
    assert await known(database) is None
    entry = await reserved(database)
    assert await do(database, ledger.mark_verified, entry, NOW)
    assert not await do(database, ledger.forget, entry)


async def test_payments_differ_by_network_payer_and_nonce(database: Database) -> None:
    for new in (
        NEW,
        replace(NEW, network="eip155:137"),
        replace(NEW, payer="0x" + "ab" * 20),
        replace(NEW, nonce="0x" + "02" * 32),
    ):
        await reserved(database, new)


async def test_who_was_too_slow_can_write_nothing(database: Database) -> None:
    entry = await reserved(database)
    assert await do(database, ledger.mark_verified, entry, NOW)
    assert await do(database, ledger.take, entry, NOW + LEASE - 1) is None
    taken = await do(database, ledger.take, entry, NOW + LEASE)
    assert taken is not None
    assert taken.token != entry.token
    for step in (ledger.mark_served, ledger.renew, ledger.mark_delivered):
        assert not await do(database, step, entry, NOW)
    assert not await do(database, ledger.mark_settled, entry, "0x", Proof.NONE, NOW)
    assert not await do(database, ledger.release, entry, "why", NOW)
    assert await do(database, ledger.mark_served, taken, NOW)


async def test_who_holds_on_keeps_it(database: Database) -> None:
    entry = await reserved(database)
    assert await do(database, ledger.renew, entry, NOW + LEASE - 1)
    assert await do(database, ledger.take, entry, NOW + LEASE) is None
    assert await do(database, ledger.let_go, entry, NOW + LEASE)
    assert await do(database, ledger.take, entry, NOW + LEASE) is not None


async def test_a_name_is_of_one_payment(database: Database) -> None:
    named = replace(NEW, identifier="c" * 64)
    entry = await reserved(database, named)
    other = replace(named, nonce="0x" + "02" * 32)
    async with database.write() as connection:
        assert await ledger.reserve(connection, other, NOW) is None
    found = await known(database, other)
    assert found is not None
    assert found.entry.id == entry.id
    assert await known(database, replace(other, identifier=None)) is None
    assert await do(database, ledger.release, entry, "not_charged", NOW)
    await reserved(database, other)


async def test_what_was_left_behind_is_found(database: Database) -> None:
    numbers = {name: f"0x{number:064x}" for number, name in enumerate(("held", "dead", "doubt", "done"))}
    entries = {name: await reserved(database, replace(NEW, nonce=nonce)) for name, nonce in numbers.items()}
    for name in ("doubt", "done"):
        assert await do(database, ledger.mark_verified, entries[name], NOW)
        assert await do(database, ledger.mark_served, entries[name], NOW)
    assert await do(database, ledger.mark_pending, entries["doubt"], "no answer")
    assert await do(database, ledger.mark_settled, entries["done"], "0x", Proof.NONE, NOW)
    assert await do(database, ledger.renew, entries["held"], NOW + LEASE)
    async with database.read() as connection:
        found = await ledger.find_left_behind(connection, NOW + LEASE)
    assert {one.entry.nonce for one in found} == {numbers["dead"], numbers["doubt"]}
    assert {one.now for one in found} == {NOW + LEASE}


async def test_the_list_and_the_revenue(database: Database) -> None:
    for number in range(5):
        entry = await reserved(
            database,
            replace(NEW, nonce=f"0x{number:064x}", amount=1_000 * (number + 1), payer=f"0x{number % 2:040x}"),
        )
        assert await do(database, ledger.mark_verified, entry, NOW)
        assert await do(database, ledger.mark_served, entry, NOW)
        if number < 4:
            assert await do(database, ledger.mark_settled, entry, "0x", Proof.FACILITATOR, NOW)
    async with database.read() as connection:
        page = await payment_list.list_entries(connection, limit=2)
        rest = await payment_list.list_entries(connection, limit=10, before=page[-1].id)
        assert [entry.amount for entry in page + rest] == [5_000, 4_000, 3_000, 2_000, 1_000]
        settled = await payment_list.list_entries(
            connection, limit=10, state=PaymentFilter.SETTLED, payer=f"0x{0:040x}"
        )
        assert [entry.amount for entry in settled] == [3_000, 1_000]
        assert await payment_list.revenue(connection) == {"/fetch/basic": 10_000}


STEPS: dict[str, Any] = {
    "verified": lambda connection, entry: ledger.mark_verified(connection, entry, NOW),
    "served": lambda connection, entry: ledger.mark_served(connection, entry, NOW),
    "pending": lambda connection, entry: ledger.mark_pending(connection, entry, "why"),
    "settled": lambda connection, entry: ledger.mark_settled(connection, entry, "0x", Proof.FACILITATOR, NOW),
    "released": lambda connection, entry: ledger.release(connection, entry, "why", NOW),
    "delivered": lambda connection, entry: ledger.mark_delivered(connection, entry, NOW),
}
DRAWN = {
    ("reserved", "verified"),
    ("reserved", "served"),
    ("reserved", "released"),
    ("verified", "served"),
    ("verified", "released"),
    ("served", "pending"),
    ("served", "settled"),
    ("served", "released"),
    ("pending", "settled"),
    ("pending", "released"),
    ("settled", "delivered"),
}


@settings(max_examples=25)
@given(steps=st.lists(st.sampled_from(list(STEPS)), min_size=1, max_size=12), number=st.integers(0, 2**64))
async def test_only_the_steps_that_are_drawn_are_made(
    database: Database, steps: list[str], number: int
) -> None:
    async with database.write() as connection:
        entry = await ledger.reserve(connection, replace(NEW, nonce=f"{number}-{steps}"), NOW)
        if entry is None:  # an example that was run before
            return
        at = "reserved"
        for step in steps:
            made = await STEPS[step](connection, entry)
            assert made == ((at, step) in DRAWN), (at, step)
            at = step if made and step != "delivered" else at


async def stepped(database: Database, number: int, *steps: str, **changes: Any) -> LedgerEntry:
    entry = await reserved(database, replace(NEW, nonce=f"0x{number:064x}", **changes))
    async with database.write() as connection:
        for step in steps:
            assert await STEPS[step](connection, entry), step
    return entry


OPEN = [("served",), ("served", "pending"), ("served", "settled")]
CLOSED = [(), ("verified",), ("released",), ("served", "settled", "delivered"), ("served", "released")]


@pytest.mark.parametrize("steps", OPEN, ids="-".join)
async def test_a_payment_is_not_served_before_an_older_one_that_was_not_answered(
    database: Database, steps: tuple[str, ...]
) -> None:
    older = await stepped(database, 1, *steps)
    new = await stepped(database, 2)
    assert not await do(database, ledger.mark_served_if_first, new, NOW)
    async with database.read() as connection:
        (found,) = await ledger.find_open(connection, new, NOW + LEASE - 1)
        assert (found.entry.id, found.held) == (older.id, True)
        (found,) = await ledger.find_open(connection, new, NOW + LEASE)
        assert not found.held
    assert await do(database, ledger.mark_served, new, NOW)  # all the same, by whoever knows better


@pytest.mark.parametrize("steps", CLOSED, ids=lambda steps: "-".join(steps) or "reserved")
async def test_what_took_no_money_or_was_answered_stands_in_nobodys_way(
    database: Database, steps: tuple[str, ...]
) -> None:
    await stepped(database, 1, *steps)
    new = await stepped(database, 2)
    assert await do(database, ledger.mark_served_if_first, new, NOW)


OTHERS = {"payer": "0x" + "ab" * 20, "request_hash": "b" * 64, "network": "eip155:137"}


@pytest.mark.parametrize("field", OTHERS)
async def test_only_the_same_payer_request_and_network_is_owed(database: Database, field: str) -> None:
    await stepped(database, 1, "served", "settled", **{field: OTHERS[field]})
    new = await stepped(database, 2)
    async with database.read() as connection:
        assert await ledger.find_open(connection, new) == []
    assert await do(database, ledger.mark_served_if_first, new, NOW)


async def test_of_many_who_come_back_at_once_one_has_what_is_owed(database_url: str) -> None:
    databases = [open_database(database_url) for _ in range(4)]
    await databases[0].migrate()
    owed = await stepped(databases[0], 1, "served", "settled")

    async def attempt(database: Database) -> LedgerEntry | None:
        async with database.write() as connection:
            return await ledger.take(connection, owed, NOW + LEASE)

    taken = await asyncio.gather(*(attempt(database) for database in databases for _ in range(10)))
    assert sum(entry is not None for entry in taken) == 1
    for database in databases:
        await database.close()


async def test_what_was_delivered_is_taken_by_nobody(database: Database) -> None:
    """Also by who has seen it a moment before, when nobody held it any more."""
    seen = await stepped(database, 1, "served", "settled")
    assert await do(database, ledger.mark_delivered, seen, NOW + LEASE + 1)
    assert await do(database, ledger.take, seen, NOW + LEASE + 2) is None


async def test_the_chain_overrules_only_what_nobody_vouches_for(database: Database) -> None:
    entry = await stepped(database, 1, "served", "settled")
    assert not await do(database, ledger.mark_disproven, entry, "gone_elsewhere", NOW)
    assert not await do(database, ledger.mark_proven, entry, "0xother")
    for number, step in ((2, ledger.mark_proven), (3, ledger.mark_disproven)):
        entry = await stepped(database, number, "served")
        assert await do(database, ledger.mark_settled, entry, "", Proof.NONE, NOW)
        async with database.read() as connection:
            (found,) = await ledger.find_unproven(connection, [NEW.network])
            assert found.entry.id == entry.id
            assert await ledger.find_unproven(connection, ["eip155:137"]) == []
        assert await do(database, step, entry, "0xabc")
        assert not await do(database, step, entry, "0xabc")
    async with database.read() as connection:
        listed = await payment_list.list_entries(connection, limit=10)
        assert [(one.state, one.proof, one.transaction_id) for one in listed] == [
            (PaymentState.RELEASED, Proof.NONE, ""),
            (PaymentState.SETTLED, Proof.CHAIN, "0xabc"),
            (PaymentState.SETTLED, Proof.FACILITATOR, "0x"),
        ]
        assert await payment_list.revenue(connection) == {"/fetch/basic": 10_000}
        assert await payment_list.revenue(connection, proven=False) == {}


async def test_what_is_owed_and_what_is_unproven_are_listed(database: Database) -> None:
    await stepped(database, 1, "served", "settled", "delivered")
    owed = await stepped(database, 2, "served", "settled")
    doubted = await stepped(database, 3, "served")
    assert await do(database, ledger.mark_settled, doubted, "", Proof.NONE, NOW)
    assert await do(database, ledger.mark_delivered, doubted, NOW)
    await stepped(database, 4, "served", "pending")
    async with database.read() as connection:
        for wanted, entry in ((PaymentFilter.OWED, owed), (PaymentFilter.UNPROVEN, doubted)):
            listed = await payment_list.list_entries(connection, state=wanted, limit=10)
            assert [one.id for one in listed] == [entry.id]
        for state in PaymentState:
            listed = await payment_list.list_entries(connection, state=PaymentFilter(state), limit=10)
            assert {one.state for one in listed} <= {state}


@pytest.mark.parametrize("amount", [0, -1])
async def test_nothing_is_no_price(database: Database, amount: int) -> None:
    with pytest.raises(Exception, match="amount_is_positive"):
        await reserved(database, replace(NEW, amount=amount))
