"""What was paid for and not answered is given to who asks again: their new payment is not charged."""

import asyncio
import itertools
from collections import Counter as Tally
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.flows.counters import NOW, Counter, opened_counter, purchase, signed
from tests.servers.chains.facilitator import Fault

from gossamer.flows.pay import owed
from gossamer.problems import Problem
from gossamer.state.pay import payment_list
from gossamer.state.pay.ledger import PaymentState
from gossamer.web.pay.x402 import Payment

payers = (f"0x{number:040x}" for number in itertools.count(10**9))


@pytest.fixture(scope="module")
async def counter(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Counter]:
    async with opened_counter(tmp_path_factory.mktemp("ledger")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def as_new(counter: Counter) -> None:
    counter.server.reset()
    counter.clock.now = NOW
    counter.chain.moves, counter.chain.says = True, None
    counter.given.clear()


class Payer:
    def __init__(self) -> None:
        self.address = next(payers)
        self.signed: list[Payment] = []

    def sign(self, **changes: Any) -> Payment:
        self.signed.append(signed(**{"from": self.address}, **changes))
        return self.signed[-1]

    def moved(self, counter: Counter) -> int:
        return sum(counter.chain.moved.count(payment.nonce) for payment in self.signed)


@pytest.fixture
def payer() -> Payer:
    return Payer()


async def test_who_asks_again_with_a_new_payment_is_not_charged_for_it(
    counter: Counter, payer: Payer
) -> None:
    first, second, third = payer.sign(), payer.sign(), payer.sign()
    assert await counter.send(first, ends="settled") == "killed"
    await counter.time_passes()
    assert await counter.send(second) == "served"
    assert counter.given == [first.nonce]
    assert payer.moved(counter) == 1
    assert (await counter.entry(first)).delivered_at is not None
    released = await counter.entry(second)
    assert (released.state, released.reason) == (PaymentState.RELEASED, "owed_before")
    assert await counter.send(first) == "used"
    assert await counter.send(third) == "served"  # nothing is owed any more
    assert counter.given == [first.nonce, third.nonce]
    assert await counter.send(second) == "served"  # it was never used
    assert payer.moved(counter) == 3


async def test_the_receipt_is_that_of_the_payment_that_was_charged(counter: Counter, payer: Payer) -> None:
    assert await counter.send(payer.sign(), ends="settled") == "killed"
    await counter.time_passes()
    old = await counter.entry(payer.signed[0])
    call = await counter.payments.admit(payer.sign(), purchase())
    async with counter.payments.serving(call):
        await counter.payments.settle(call)
    assert call.entry.id == old.id
    assert old.transaction_id
    assert call.entry.transaction_id == old.transaction_id


@pytest.mark.parametrize("other", [{"page": "another"}, {"payer": Payer()}], ids=["request", "payer"])
async def test_it_is_owed_to_this_payer_for_this_request(
    counter: Counter, payer: Payer, other: dict[str, Any]
) -> None:
    assert await counter.send(payer.sign(), ends="settled") == "killed"
    await counter.time_passes()
    who: Payer = other.get("payer", payer)
    assert await counter.send(who.sign(), page=other.get("page", "page")) == "served"
    assert counter.given == [who.signed[-1].nonce]
    assert await counter.send(payer.sign()) == "served"
    assert counter.given[1:] == [payer.signed[0].nonce]


async def test_a_payment_that_is_not_good_gets_nothing_that_is_owed(counter: Counter, payer: Payer) -> None:
    """Anybody can name a payer; only who signs is one."""
    assert await counter.send(payer.sign(), ends="settled") == "killed"
    await counter.time_passes()
    counter.server.fail("verify", Fault.DECLINE)
    assert await counter.send(payer.sign()) == "refused: insufficient_funds"
    assert counter.given == []


async def test_of_two_who_ask_at_once_one_gets_what_is_owed_and_one_pays(
    counter: Counter, payer: Payer
) -> None:
    assert await counter.send(payer.sign(), ends="settled") == "killed"
    await counter.time_passes()
    asked = [payer.sign() for _ in range(8)]
    assert await asyncio.gather(*map(counter.send, asked)) == ["served"] * 8
    assert payer.moved(counter) == 8  # of nine payments
    assert Tally(counter.given)[payer.signed[0].nonce] == 1
    assert len(set(counter.given)) == 8


async def test_what_is_in_doubt_is_resolved_before_anything_is_charged(
    counter: Counter, payer: Payer
) -> None:
    first = payer.sign()
    counter.server.fail("settle", Fault.ERROR)
    assert await counter.send(first) == "unavailable"
    assert await counter.send(payer.sign()) == "unavailable"  # still
    assert payer.moved(counter) == 0
    counter.server.reset()
    assert await counter.send(payer.sign()) == "served"
    assert counter.given == [first.nonce]
    assert counter.chain.moved.count(first.nonce) == payer.moved(counter) == 1


async def test_what_was_moved_unseen_is_found_before_anything_is_charged(
    counter: Counter, payer: Payer
) -> None:
    first = payer.sign()
    call = await counter.payments.admit(first, purchase())
    counter.server.fail("settle", Fault.DONE_THEN_DROP)
    counter.server.fail("verify", Fault.ERROR)
    assert await counter.serve(call, first, "") == "unavailable"
    counter.server.reset()
    assert await counter.send(payer.sign()) == "served"
    assert (counter.given, payer.moved(counter)) == ([first.nonce], 1)


async def test_a_payment_that_another_server_holds_is_waited_for(counter: Counter, payer: Payer) -> None:
    """It was killed a moment ago, which cannot be told from one that is slow."""
    first = payer.sign()
    assert await counter.send(first, ends="settled") == "killed"
    asking = asyncio.create_task(counter.send(payer.sign()))
    await counter.server.reached("verify")
    await asyncio.sleep(5 * owed._POLL_SECONDS)
    assert not asking.done()
    await counter.time_passes()
    assert await asking == "served"
    assert (counter.given, payer.moved(counter)) == ([first.nonce], 1)


async def test_nobody_waits_for_ever_and_then_nothing_is_charged(
    counter: Counter, payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owed, "WAIT_SECONDS", 0.3)
    assert await counter.send(payer.sign(), ends="settled") == "killed"
    call = await counter.payments.admit(payer.sign(), purchase())
    with pytest.raises(Problem, match="earlier payment of yours"):
        async with counter.payments.serving(call):
            await counter.payments.settle(call)
    entry = await counter.entry(payer.signed[1])
    assert (entry.state, payer.moved(counter)) == (PaymentState.RELEASED, 1)


@pytest.mark.parametrize("gone", [False, True])
async def test_two_clients_pay_at_once_and_a_client_that_went_away_is_waited_for(
    counter: Counter, payer: Payer, gone: bool
) -> None:
    first, second = payer.sign(), payer.sign()
    call = await counter.payments.admit(first, purchase())
    counter.server.fail("settle", Fault.DONE_THEN_HANG, payer=payer.address)

    async def settle() -> None:
        async with counter.payments.serving(call):
            await counter.payments.settle(call, lambda: gone)

    settling = asyncio.create_task(settle())
    await counter.server.reached("settle")
    again = asyncio.create_task(counter.send(second))
    async with asyncio.timeout(30):
        while counter.server.count("verify") < 2:
            await asyncio.sleep(0.01)
        if gone:
            await asyncio.sleep(5 * owed._POLL_SECONDS)
            assert counter.server.count("settle") == 1
        else:
            while counter.server.count("settle") < 2:
                await asyncio.sleep(0.01)
        counter.server.reset()
        await settling
        if gone:  # as the door does it
            await counter.payments.settling.let_go(call.entry)
        assert await again == "served"
    assert counter.given == [(first if gone else second).nonce]
    assert payer.moved(counter) == (1 if gone else 2)


async def test_a_slow_answer_is_not_given_to_another(counter: Counter, payer: Payer) -> None:
    call = await counter.payments.admit(payer.sign(), purchase())
    async with counter.payments.serving(call):
        await counter.payments.settle(call)
    async with counter.payments.delivering(call):
        asking = asyncio.create_task(counter.send(payer.sign()))
        async with asyncio.timeout(30):
            while counter.server.count("verify") < 2:
                await asyncio.sleep(0.01)
        await asyncio.sleep(5 * owed._POLL_SECONDS)
        assert not asking.done()
    assert await asking == "served"
    assert counter.given == [payer.signed[1].nonce]
    assert payer.moved(counter) == 2


async def test_what_is_owed_has_no_age(counter: Counter, payer: Payer) -> None:
    first = payer.sign()
    assert await counter.send(first, ends="settled") == "killed"
    await counter.time_passes()
    counter.clock.now += 400 * 86_400
    assert await counter.send(payer.sign(validBefore=str(int(counter.clock.now) + 300))) == "served"
    assert (counter.given, payer.moved(counter)) == ([first.nonce], 1)


FAULTS = [None, Fault.DROP, Fault.ERROR, Fault.NONSENSE, Fault.DECLINE, Fault.DONE_THEN_DROP]
events = st.one_of(
    st.tuples(
        st.just("send"),
        st.sampled_from(["verify", "settle"]),
        st.sampled_from(FAULTS),
        st.sampled_from(["", "failed", "verified", "settled"]),
    ),
    st.tuples(st.just("reconcile")),
)


@settings(max_examples=60)
@given(story=st.lists(events, max_size=8))
async def test_money_moves_once_for_each_answer_however_often_it_is_asked_for(
    counter: Counter, story: list[Any]
) -> None:
    """A new payment each time, as clients sign one; between two of them, leases run out."""
    payer, given_before = Payer(), len(counter.given)
    for event in story:
        counter.server.reset()
        if event[0] == "send":
            _, phase, fault, ends = event
            if fault is not None:
                counter.server.fail(phase, fault)
            await counter.send(payer.sign(), ends=ends)
        else:
            await counter.payments.settling.reconcile()
        await counter.time_passes()
        answers = len(counter.given) - given_before
        assert answers <= payer.moved(counter) <= answers + 1
    counter.server.reset()
    if payer.moved(counter) > len(counter.given) - given_before:
        assert await counter.send(payer.sign()) == "served"
    assert payer.moved(counter) == len(counter.given) - given_before
    assert len(set(counter.given)) == len(counter.given)
    async with counter.database.read() as connection:
        listed = await payment_list.list_entries(connection, payer=payer.address, limit=100)
    assert sum(entry.delivered_at is not None for entry in listed) == payer.moved(counter)
