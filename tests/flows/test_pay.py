"""Payments through all that can happen to them: never charged twice, never charged without an answer."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select, update
from tests.flows.counters import NOW, PAYEE, PRICE, RESOURCE, Counter, opened_counter, purchase, signed
from tests.servers.chains.facilitator import Fault

from gossamer.flows.pay.quotes import Purchase
from gossamer.flows.pay.settling import OFFERED_MS
from gossamer.problems import Problem, Unavailable
from gossamer.state.pay import ledger
from gossamer.state.pay.ledger import PaymentState
from gossamer.state.pay.pay_tables import payments as table
from gossamer.state.tenants import tenants
from gossamer.state.webhooks import endpoints
from gossamer.state.webhooks.endpoints import WebhookEndpoint
from gossamer.state.webhooks.webhook_tables import webhook_deliveries
from gossamer.web.pay import x402
from gossamer.web.pay.x402 import BASE_SEPOLIA


@pytest.fixture(scope="module")
async def counter(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Counter]:
    async with opened_counter(tmp_path_factory.mktemp("ledger")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def as_new(counter: Counter) -> None:
    counter.server.reset()
    counter.clock.now = NOW
    counter.chain.moves, counter.chain.says = True, None


def fails(counter: Counter, phase: str, fault: Fault | None) -> None:
    counter.server.reset()
    if fault is not None:
        counter.server.fail(phase, fault)


FAULTS = [None, Fault.DROP, Fault.ERROR, Fault.GARBAGE, Fault.NONSENSE, Fault.DECLINE, Fault.DONE_THEN_DROP]
events = st.one_of(
    st.tuples(
        st.just("send"),
        st.sampled_from(["verify", "settle"]),
        st.sampled_from(FAULTS),
        st.sampled_from(["", "failed", "verified", "settled"]),
    ),
    st.tuples(st.sampled_from(["reconcile", "time_passes"])),
)


@settings(max_examples=60)
@given(story=st.lists(events, max_size=8))
async def test_never_charged_twice_and_never_without_an_answer(counter: Counter, story: list[Any]) -> None:
    payment = signed()
    for event in story:
        if event[0] == "send":
            _, phase, fault, ends = event
            fails(counter, phase, fault)
            await counter.send(payment, ends=ends)
        elif event[0] == "reconcile":
            await counter.payments.settling.reconcile()
        else:
            await counter.time_passes()
        assert counter.chain.moved.count(payment.nonce) <= 1
        assert counter.given.count(payment.nonce) <= counter.chain.moved.count(payment.nonce)
    counter.server.reset()
    await counter.time_passes()
    last = await counter.send(payment)
    assert last in ("served", "used")
    assert counter.given.count(payment.nonce) == counter.chain.moved.count(payment.nonce) == 1
    assert (await counter.entry(payment)).state is PaymentState.SETTLED
    assert await counter.send(payment) == "used"


async def test_what_was_killed_before_money_was_asked_for_is_released(counter: Counter) -> None:
    payment = signed()
    assert await counter.send(payment, ends="verified") == "killed"
    assert await counter.send(payment) == "PAYMENT_IN_USE"
    await counter.time_passes()
    await counter.payments.settling.reconcile()
    entry = await counter.entry(payment)
    assert (entry.state, entry.reason, entry.wire_json) == (PaymentState.RELEASED, "abandoned", None)
    assert await counter.send(payment, page="another") == "served"


async def test_that_it_is_good_is_written_where_that_or_the_work_takes_long(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = signed()
    call = await counter.payments.admit(payment, purchase())
    assert (await counter.entry(payment)).state is PaymentState.RESERVED
    monkeypatch.setattr("gossamer.flows.pay.settling.RENEW_SECONDS", 0.01)
    async with counter.payments.serving(call), asyncio.timeout(30):
        while (await counter.entry(payment)).state is not PaymentState.VERIFIED:
            await asyncio.sleep(0.01)
        await counter.payments.settle(call)
        held_until = (await counter.entry(payment)).held_until
        while (await counter.entry(payment)).held_until == held_until:  # for as long as it is worked on
            await asyncio.sleep(0.01)
    entry = await counter.entry(payment)
    assert entry.state is PaymentState.SETTLED
    assert entry.verified_at is not None
    assert entry.served_at is not None
    assert entry.created_at <= entry.verified_at <= entry.served_at

    monkeypatch.setattr("gossamer.flows.pay.pay.RENEW_SECONDS", 0.0)
    payment = signed()
    await counter.payments.admit(payment, purchase())
    assert (await counter.entry(payment)).state is PaymentState.VERIFIED


async def test_a_settlement_in_doubt_is_found_by_its_nonce(counter: Counter) -> None:
    payment = signed()
    counter.server.fail("settle", Fault.ERROR)
    assert await counter.send(payment) == "unavailable"
    assert (await counter.entry(payment)).state is PaymentState.PENDING
    await counter.payments.settling.reconcile()  # not spent: it stays in doubt, and nobody is charged behind
    assert (await counter.entry(payment)).state is PaymentState.PENDING
    assert payment.nonce not in counter.chain.moved
    assert await counter.send(payment, page="another") == "used"
    counter.chain.moved.append(payment.nonce)  # it arrives late
    counter.server.reset()
    await counter.payments.settling.reconcile()
    entry = await counter.entry(payment)
    assert (entry.state, entry.delivered_at) == (PaymentState.SETTLED, None)
    assert await counter.send(payment) == "served"
    assert await counter.send(payment) == "used"
    assert counter.server.count("settle") == 0


@pytest.mark.parametrize("moves", [True, False])
async def test_a_failure_that_may_not_be_one_is_a_doubt(counter: Counter, moves: bool) -> None:
    payment = signed()
    counter.chain.moves, counter.chain.says = moves, "transaction_failed"
    assert await counter.send(payment) == ("served" if moves else "unavailable")
    counter.chain.moves, counter.chain.says = True, None
    assert await counter.send(payment) == ("used" if moves else "served")
    assert counter.chain.moved.count(payment.nonce) == 1


async def test_money_that_came_by_another_way_is_taken_for_the_answer(counter: Counter) -> None:
    payment = signed()
    call = await counter.payments.admit(payment, purchase())
    counter.chain.moved.append(payment.nonce)  # anybody can send an authorisation to the chain
    assert await counter.serve(call, payment, "") == "served"
    assert (await counter.entry(payment)).state is PaymentState.SETTLED


async def test_what_stays_in_doubt_is_answered_when_it_can_move_no_money_any_more(counter: Counter) -> None:
    payment = signed()
    counter.server.fail("settle", Fault.ERROR)
    assert await counter.send(payment) == "unavailable"
    counter.server.fail("verify", Fault.ERROR)
    counter.clock.now = NOW + 299
    assert await counter.send(payment) == "unavailable"
    counter.clock.now = NOW + 301
    again = x402.mismatch(payment, x402.terms(BASE_SEPOLIA, PAYEE, PRICE, 300, {}), RESOURCE, NOW + 301)
    assert again == "authorization_expired"
    assert await counter.send(payment) == "served"
    entry = await counter.entry(payment)
    assert (entry.state, entry.reason) == (PaymentState.RELEASED, "given_in_doubt")


async def test_a_doubt_ends_when_nobody_comes_back(counter: Counter) -> None:
    payment = signed()
    counter.server.fail("settle", Fault.ERROR)
    assert await counter.send(payment) == "unavailable"
    async with counter.database.write() as connection:  # long ago, by the database's clock
        await connection.execute(
            update(table).where(table.c.nonce == payment.nonce).values(lasts_until=NOW * 0 - OFFERED_MS)
        )
    await counter.payments.settling.reconcile()
    assert (await counter.entry(payment)).reason == "expired"


async def test_who_was_too_slow_asks_for_no_money(counter: Counter) -> None:
    payment = signed()
    call = await counter.payments.admit(payment, purchase())
    await counter.time_passes()
    assert await counter.send(payment) == "served"
    with pytest.raises(Problem, match="used by another"):
        await counter.payments.settle(call)
    assert counter.chain.moved.count(payment.nonce) == 1


async def test_a_settlement_is_told_also_when_it_cannot_be_written_down(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = signed()

    async def away(*_: Any, **__: Any) -> bool:
        raise Unavailable("database", "gone fishing")

    with monkeypatch.context() as patched:
        patched.setattr(ledger, "mark_settled", away)
        patched.setattr(ledger, "mark_delivered", away)
        assert await counter.send(payment) == "served"
    assert (await counter.entry(payment)).state is PaymentState.SERVED
    await counter.time_passes()
    await counter.payments.settling.reconcile()
    assert (await counter.entry(payment)).state is PaymentState.SETTLED
    assert counter.chain.moved.count(payment.nonce) == 1


async def test_settling_goes_on_when_whoever_asked_is_gone(counter: Counter) -> None:
    payment = signed()
    call = await counter.payments.admit(payment, purchase())
    counter.server.fail("settle", Fault.DONE_THEN_HANG)

    async def serve() -> None:
        async with counter.payments.serving(call):
            await counter.payments.settle(call)

    serving = asyncio.create_task(serve())
    await counter.server.reached("settle")
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    counter.server.reset()  # it is let go, without an answer
    await asyncio.gather(*counter.payments._tasks, return_exceptions=True)
    assert (await counter.entry(payment)).state is PaymentState.SETTLED
    await counter.time_passes()
    assert await counter.send(payment) == "served"
    assert counter.chain.moved.count(payment.nonce) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"value": "1"}, "amount_mismatch"),
        ({"value": "1500"}, "amount_mismatch"),  # the cached price, for what is not cached
        ({"to": "0x" + "00" * 20}, "recipient_mismatch"),
        ({"validBefore": str(int(NOW))}, "authorization_expired"),
    ],
)
async def test_what_was_not_asked_for_is_refused_before_anybody_is_asked(
    counter: Counter, changes: dict[str, Any], reason: str
) -> None:
    assert await counter.send(signed(**changes)) == f"refused: {reason}"
    assert counter.server.calls == []


async def test_quotes_are_honoured_and_what_was_unpaid_is_given_back(counter: Counter) -> None:
    quotes, wanted = counter.payments.quotes, purchase("quoted")
    unpaid: Callable[[], Any] = lambda: quotes.unpaid(wanted.client)  # noqa: E731
    first = await unpaid()
    cached = Purchase(
        **{name: getattr(wanted, name) for name in Purchase.__struct_fields__} | {"cached": True}
    )
    assert await quotes.ask(cached, first) == 1_500
    assert await quotes.takes(wanted, 1_500)  # the cache has lost it since
    assert await quotes.takes(cached, PRICE)
    assert not await quotes.takes(purchase("another"), 1_500)
    used = (await unpaid()).tally.used
    stamp = await quotes.claim(cached)
    assert stamp is not None
    assert await quotes.claim(cached) is None  # once
    await quotes.give_back(cached, stamp)
    assert (await unpaid()).tally.used == used


async def test_operators_hear_once_what_became_of_a_payment(counter: Counter) -> None:
    async with counter.database.write() as connection:
        tenant = (await tenants.ensure_tenant(connection, "operator@example.com")).id
        listener = WebhookEndpoint(
            tenant_id=tenant,
            owner=tenant,
            url="http://127.0.0.1:9/",
            events=("payment.*",),
            for_operators=True,
        )
        await endpoints.add(connection, listener)
        stranger = WebhookEndpoint(tenant_id=tenant, owner=tenant, url="http://127.0.0.1:9/", events=("*",))
        await endpoints.add(connection, stranger)
    paid, doubted = signed(), signed()
    assert await counter.send(paid) == "served"
    counter.server.fail("settle", Fault.ERROR)
    assert await counter.send(doubted) == "unavailable"
    counter.chain.moved.append(doubted.nonce)
    counter.server.reset()
    for _ in range(2):
        await counter.payments.settling.reconcile()
    rows = webhook_deliveries.c
    async with counter.database.read() as connection:
        found = (await connection.execute(select(rows.sender, rows.event, rows.body).order_by(rows.id))).all()
    assert [row.event for row in found] == ["payment.settled", "payment.in_doubt", "payment.settled"]
    assert {row.sender for row in found} == {listener.id}
    told = [msgspec.json.decode(row.body) for row in found]
    assert told[1]["id"] == told[2]["id"] == (await counter.entry(doubted)).id
    assert told[0]["amount"] == str(PRICE)
    assert doubted.nonce not in found[1].body
