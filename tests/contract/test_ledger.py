"""The ledger of payments, on both databases."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.state import ledger
from gossamer.state.database import Database, open_database
from gossamer.state.ledger import Entry, NewEntry, State

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


async def reserved(database: Database, new: NewEntry = NEW, now: int = NOW) -> Entry:
    async with database.write() as connection:
        entry = await ledger.reserve(connection, new, now)
    assert entry is not None
    return entry


async def do(database: Database, step: Any, entry: Entry, *arguments: Any) -> Any:
    async with database.write() as connection:
        return await step(connection, entry, *arguments)


async def known(database: Database, new: NewEntry = NEW, now: int = NOW) -> ledger.Found | None:
    async with database.read() as connection:
        return await ledger.find(connection, new.key, now)


async def test_a_payment_goes_its_way(database: Database) -> None:
    entry = await reserved(database)
    assert entry.state is State.RESERVED
    assert await do(database, ledger.verified, entry, NOW + 1)
    assert await do(database, ledger.served, entry, NOW + 2)
    assert await do(database, ledger.settled, entry, "0xabc", NOW + 3)
    assert await do(database, ledger.delivered, entry, NOW + 4)
    found = await known(database, now=NOW + 4)
    assert found is not None
    ended = found.entry
    assert (ended.state, ended.transaction_id, ended.wire_json) == (State.SETTLED, "0xabc", None)
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

    async def attempt(database: Database) -> Entry | None:
        async with database.write() as connection:
            return await ledger.reserve(connection, NEW)

    made = await asyncio.gather(*(attempt(database) for database in databases for _ in range(10)))
    assert sum(entry is not None for entry in made) == 1
    for database in databases:
        await database.close()


async def test_what_was_released_may_be_tried_again_and_both_are_kept(database: Database) -> None:
    first = await reserved(database)
    assert await do(database, ledger.verified, first, NOW)
    assert await do(database, ledger.released, first, "not_charged", NOW)
    assert await known(database) is None
    second = await reserved(database)
    assert second.id != first.id
    async with database.read() as connection:
        listed = await ledger.listing(connection, limit=10)
    assert [(entry.id, entry.state) for entry in listed] == [
        (second.id, State.RESERVED),
        (first.id, State.RELEASED),
    ]


async def test_of_what_was_no_payment_nothing_is_kept(database: Database) -> None:
    entry = await reserved(database)
    assert await do(database, ledger.forget, entry)
    assert await known(database) is None
    entry = await reserved(database)
    assert await do(database, ledger.verified, entry, NOW)
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
    assert await do(database, ledger.verified, entry, NOW)
    assert await do(database, ledger.take, entry, NOW + LEASE - 1) is None
    taken = await do(database, ledger.take, entry, NOW + LEASE)
    assert taken is not None
    assert taken.token != entry.token
    for step in (ledger.served, ledger.hold_on, ledger.delivered):
        assert not await do(database, step, entry, NOW)
    for end in (ledger.settled, ledger.released):
        assert not await do(database, end, entry, "why", NOW)
    assert await do(database, ledger.served, taken, NOW)


async def test_who_holds_on_keeps_it(database: Database) -> None:
    entry = await reserved(database)
    assert await do(database, ledger.hold_on, entry, NOW + LEASE - 1)
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
    assert await do(database, ledger.released, entry, "not_charged", NOW)
    await reserved(database, other)


async def test_what_was_left_behind_is_found(database: Database) -> None:
    numbers = {name: f"0x{number:064x}" for number, name in enumerate(("held", "dead", "doubt", "done"))}
    entries = {name: await reserved(database, replace(NEW, nonce=nonce)) for name, nonce in numbers.items()}
    for name in ("doubt", "done"):
        assert await do(database, ledger.verified, entries[name], NOW)
        assert await do(database, ledger.served, entries[name], NOW)
    assert await do(database, ledger.pending, entries["doubt"], "no answer")
    assert await do(database, ledger.settled, entries["done"], "0x", NOW)
    assert await do(database, ledger.hold_on, entries["held"], NOW + LEASE)
    async with database.read() as connection:
        found = await ledger.left_behind(connection, NOW + LEASE)
    assert {one.entry.nonce for one in found} == {numbers["dead"], numbers["doubt"]}
    assert {one.now for one in found} == {NOW + LEASE}


async def test_the_list_and_the_revenue(database: Database) -> None:
    for number in range(5):
        entry = await reserved(
            database,
            replace(NEW, nonce=f"0x{number:064x}", amount=1_000 * (number + 1), payer=f"0x{number % 2:040x}"),
        )
        assert await do(database, ledger.verified, entry, NOW)
        assert await do(database, ledger.served, entry, NOW)
        if number < 4:
            assert await do(database, ledger.settled, entry, "0x", NOW)
    async with database.read() as connection:
        page = await ledger.listing(connection, limit=2)
        rest = await ledger.listing(connection, limit=10, before=page[-1].id)
        assert [entry.amount for entry in page + rest] == [5_000, 4_000, 3_000, 2_000, 1_000]
        settled = await ledger.listing(connection, limit=10, state=State.SETTLED, payer=f"0x{0:040x}")
        assert [entry.amount for entry in settled] == [3_000, 1_000]
        assert await ledger.revenue(connection) == {"/fetch/basic": 10_000}


STEPS: dict[str, Any] = {
    "verified": lambda connection, entry: ledger.verified(connection, entry, NOW),
    "served": lambda connection, entry: ledger.served(connection, entry, NOW),
    "pending": lambda connection, entry: ledger.pending(connection, entry, "why"),
    "settled": lambda connection, entry: ledger.settled(connection, entry, "0x", NOW),
    "released": lambda connection, entry: ledger.released(connection, entry, "why", NOW),
    "delivered": lambda connection, entry: ledger.delivered(connection, entry, NOW),
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


@pytest.mark.parametrize("amount", [0, -1])
async def test_nothing_is_no_price(database: Database, amount: int) -> None:
    with pytest.raises(Exception, match="amount_is_positive"):
        await reserved(database, replace(NEW, amount=amount))
