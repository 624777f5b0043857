"""A facilitator that does not do what it should: every answer is a value, or says what is not known."""

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.flows.test_pay import RESOURCE, Ledgerless, signed
from tests.servers.chains import facilitator as servers
from tests.servers.chains.facilitator import Fault

from gossamer.breaker import Breaker
from gossamer.problems import Unavailable
from gossamer.reach.facilitator import KINDS_SECONDS, RETRY_SECONDS, Facilitator, Uncertain
from gossamer.web import x402
from gossamer.web.x402 import BASE_SEPOLIA

TERMS = x402.terms(BASE_SEPOLIA, "0x" + "bb" * 20, 5_000, 300, {})
SECONDS = 0.5
NO_ANSWER = [Fault.DROP, Fault.HANG, Fault.ERROR, Fault.GARBAGE, Fault.NONSENSE]


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Facilitator]:
    opened = servers.Facilitator(Ledgerless())
    yield opened
    opened.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def facilitator(server: servers.Facilitator, clock: Clock) -> AsyncIterator[Facilitator]:
    server.reset()
    breaker = Breaker(failures=3, seconds=60.0)
    opened = Facilitator(
        "cdp", server.url, breaker, verify_seconds=SECONDS, settle_seconds=SECONDS, clock=clock
    )
    yield opened
    await opened.close()
    server.reset()


def wire() -> dict[str, object]:
    return signed().on_wire(TERMS, RESOURCE, {})


async def test_what_it_says_is_a_value(facilitator: Facilitator, server: servers.Facilitator) -> None:
    payment = wire()
    assert (await facilitator.verify(payment, TERMS)).valid
    settlement = await facilitator.settle(payment, TERMS)
    assert (settlement.success, settlement.transaction) == (True, "0xabc")
    verdict = await facilitator.verify(payment, TERMS)
    assert (verdict.valid, verdict.spent) == (False, True)
    assert verdict.reason == "invalid_exact_evm_nonce_already_used"
    again = await facilitator.settle(payment, TERMS)
    assert (again.success, again.spent) == (False, True)
    server.fail("verify", Fault.DECLINE)
    verdict = await facilitator.verify(payment, TERMS)
    assert (verdict.valid, verdict.spent, verdict.reason) == (False, False, "insufficient_funds")
    asked = server.calls[0]
    assert asked.payload["x402Version"] == 2  # whichever version the payment was sent in
    assert asked.requirements["amount"] == "5000"


@pytest.mark.parametrize("fault", NO_ANSWER, ids=lambda fault: fault.name.lower())
async def test_what_it_does_not_say_is_unavailable_and_of_money_uncertain(
    fault: Fault, facilitator: Facilitator, server: servers.Facilitator
) -> None:
    for phase, ask, doubt in (
        ("verify", facilitator.verify, Unavailable),
        ("settle", facilitator.settle, Uncertain),
    ):
        server.fail(phase, fault)
        with pytest.raises(Unavailable) as caught:
            await ask(wire(), TERMS)
        assert type(caught.value) is doubt
        assert server.url not in caught.value.detail
        assert "apology" not in caught.value.detail


async def test_one_that_was_not_reached_has_moved_nothing(
    facilitator: Facilitator, server: servers.Facilitator
) -> None:
    server.stop()
    try:
        with pytest.raises(Unavailable) as caught:
            await facilitator.settle(wire(), TERMS)
        assert type(caught.value) is Unavailable
    finally:
        server.start()


async def test_one_that_keeps_failing_is_left_alone_for_a_while(
    facilitator: Facilitator, server: servers.Facilitator, clock: Clock
) -> None:
    server.fail("verify", Fault.ERROR)
    for _ in range(3):
        with pytest.raises(Unavailable):
            await facilitator.verify(wire(), TERMS)
    server.reset()
    with pytest.raises(Unavailable) as caught:
        await facilitator.settle(wire(), TERMS)
    assert type(caught.value) is Unavailable  # it was not asked
    assert server.calls == []
    clock.now += 60.0
    assert (await facilitator.verify(wire(), TERMS)).valid


async def test_what_it_supports_is_asked_for_now_and_then(
    facilitator: Facilitator, server: servers.Facilitator, clock: Clock
) -> None:
    server.fail("supported", Fault.ERROR)
    assert await facilitator.kind(BASE_SEPOLIA.id) is None
    server.reset()
    assert await facilitator.kind(BASE_SEPOLIA.id) is None  # it was asked a moment ago
    clock.now += RETRY_SECONDS
    assert await facilitator.kind(BASE_SEPOLIA.id) == {}
    assert await facilitator.kind("eip155:1") is None
    assert server.count("supported") == 1
    server.fail("supported", Fault.ERROR)
    clock.now += KINDS_SECONDS
    assert await facilitator.kind(BASE_SEPOLIA.id) == {}  # what it said before holds
    server.reset()
    assert await facilitator.ping() == {"networks": [BASE_SEPOLIA.id]}
