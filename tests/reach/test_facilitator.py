"""A facilitator that does not do what it should: every answer is a value, or says what is not known."""

import io
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest
from tests.flows.counters import RESOURCE, TRANSACTION, Ledgerless, signed
from tests.servers.chains import facilitator as servers
from tests.servers.chains.facilitator import Fault

from gossamer.concurrency.breaker import Breaker
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.reach.services.facilitator import KINDS_SECONDS, RETRY_SECONDS, Facilitator, Uncertain
from gossamer.web.pay import x402
from gossamer.web.pay.x402 import BASE_SEPOLIA

TERMS = x402.terms(BASE_SEPOLIA, "0x" + "bb" * 20, 5_000, 300, {})
PATIENT_SECONDS = 30.0  # a busy machine answers late, and that is not what is tested
HASTY_SECONDS = 2.0  # for what never answers
TURNED_AWAY = {
    Fault.UNAUTHORIZED: "key refused",
    Fault.FORBIDDEN: "key refused",
    Fault.UNPAID: "it wants its own bill paid",
    Fault.BUSY: "it has too much to do",
}
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
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
async def facilitator(
    request: pytest.FixtureRequest, server: servers.Facilitator, clock: Clock, stream: io.StringIO
) -> AsyncIterator[Facilitator]:
    """Patient, or with the deadline that the test gives it."""
    server.reset()
    seconds = getattr(request, "param", PATIENT_SECONDS)
    opened = Facilitator(
        "cdp",
        f"{server.url}/platform/v2/x402",
        Breaker(failures=3, seconds=60.0),
        Log(stream),
        verify_seconds=seconds,
        settle_seconds=seconds,
        clock=clock,
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
    assert (settlement.success, settlement.transaction) == (True, TRANSACTION)
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


@pytest.mark.parametrize(
    ("fault", "facilitator"),
    [(fault, HASTY_SECONDS if fault is Fault.HANG else PATIENT_SECONDS) for fault in NO_ANSWER],
    ids=[fault.name.lower() for fault in NO_ANSWER],
    indirect=["facilitator"],
)
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


OTHER = "0x" + "0e" * 20
HASH = "0x" + "5c" * 32
SIGNATURE = "5" * 87  # 64 bytes in base58: as Solana's are
NO_TRUTH = ["yes", "true", 1, 1.0, None, [], [True], {}, ...]
NO_TRANSACTION = [
    ...,
    None,
    "",
    "0x",
    HASH[:-1],
    HASH + "0",
    HASH[2:],
    "0x" + "zz" * 32,
    SIGNATURE,
    7,
    [HASH],
]
ELSEWHERE = [{"payer": OTHER}, {"payer": "nobody"}, {"payer": 1}]
OF_ANOTHER_NETWORK = [{"network": "eip155:137"}, {"network": "base"}, {"network": 84532}]


@pytest.mark.parametrize(
    "told",
    [*({"isValid": value} for value in NO_TRUTH), *ELSEWHERE, {"isValid": "no"}, {"invalidReason": 1}],
    ids=str,
)
async def test_a_verdict_that_is_not_well_formed_is_none(
    told: dict[str, Any], facilitator: Facilitator, server: servers.Facilitator
) -> None:
    server.lie("verify", **told)
    with pytest.raises(Unavailable, match="makes no sense"):
        await facilitator.verify(wire(), TERMS)


@pytest.mark.parametrize(
    "told",
    [
        *({"success": value} for value in NO_TRUTH),
        *({"transaction": value} for value in NO_TRANSACTION),
        *ELSEWHERE,
        *OF_ANOTHER_NETWORK,
    ],
    ids=str,
)
async def test_a_settlement_that_is_not_well_formed_leaves_open_whether_money_was_moved(
    told: dict[str, Any], facilitator: Facilitator, server: servers.Facilitator
) -> None:
    server.lie("settle", **told)
    with pytest.raises(Uncertain, match="makes no sense"):
        await facilitator.settle(wire(), TERMS)


@pytest.mark.parametrize(
    "told",
    [{}, {"payer": ...}, {"payer": None}, {"network": ...}, {"network": "base-sepolia"}, {"extra": [1]}],
    ids=str,
)
async def test_what_it_need_not_say_it_may_leave_out(
    told: dict[str, Any], facilitator: Facilitator, server: servers.Facilitator
) -> None:
    server.lie("verify", **told)
    server.lie("settle", **told)
    payment = wire()
    assert (await facilitator.verify(payment, TERMS)).valid
    settlement = await facilitator.settle(payment, TERMS)
    assert (settlement.success, settlement.transaction) == (True, HASH)


@pytest.mark.parametrize("transaction", [..., None, "", HASH, "made up"])
async def test_a_refusal_names_a_transaction_or_none(
    transaction: Any, facilitator: Facilitator, server: servers.Facilitator
) -> None:
    server.lie("settle", success=False, errorReason="insufficient_funds", transaction=transaction)
    settlement = await facilitator.settle(wire(), TERMS)
    assert (settlement.success, settlement.reason) == (False, "insufficient_funds")
    assert settlement.transaction == (HASH if transaction == HASH else "")


def test_transactions_are_called_as_on_their_network() -> None:
    assert x402.BASE.is_transaction(HASH)
    assert x402.BASE.is_transaction(HASH.upper().replace("X", "x"))
    assert not x402.BASE.is_transaction(SIGNATURE)
    assert x402.SOLANA.is_transaction(SIGNATURE)
    for wrong in (HASH, SIGNATURE[:-3], SIGNATURE + "55", SIGNATURE[:-1] + "0", "", "5" * 100_000):
        assert not x402.SOLANA.is_transaction(wrong)


async def test_a_refusal_with_400_is_a_value_too(
    facilitator: Facilitator, server: servers.Facilitator
) -> None:
    server.fail("verify", Fault.REJECT)
    verdict = await facilitator.verify(wire(), TERMS)
    assert (verdict.valid, verdict.spent, verdict.reason) == (False, False, "insufficient_funds")
    server.fail("settle", Fault.REJECT)
    settlement = await facilitator.settle(wire(), TERMS)
    assert (settlement.success, settlement.transaction) == (False, "")
    assert settlement.reason == "insufficient_funds"


async def test_a_payment_that_it_does_not_understand_is_refused_and_others_are_not(
    facilitator: Facilitator, server: servers.Facilitator
) -> None:
    server.fail("verify", Fault.INVALID)
    for _ in range(10):
        verdict = await facilitator.verify(wire(), TERMS)
        assert (verdict.valid, verdict.reason) == (False, "invalid_request")
    server.reset()
    assert (await facilitator.verify(wire(), TERMS)).valid
    server.fail("settle", Fault.INVALID)  # of money it has said nothing
    with pytest.raises(Uncertain):
        await facilitator.settle(wire(), TERMS)


@pytest.mark.parametrize("fault", TURNED_AWAY, ids=lambda fault: fault.name.lower())
async def test_one_that_turns_us_away_has_moved_nothing_and_is_told_of_once(
    fault: Fault, facilitator: Facilitator, server: servers.Facilitator, stream: io.StringIO
) -> None:
    for phase in servers.PHASES:
        server.fail(phase, fault)
    asked = [lambda: facilitator.verify(wire(), TERMS), lambda: facilitator.settle(wire(), TERMS)]
    for ask in [*asked, *asked, facilitator.ping]:  # more often than it may fail
        with pytest.raises(Unavailable) as caught:
            await ask()
        assert type(caught.value) is Unavailable
        assert caught.value.members["details"]["reason"] == TURNED_AWAY[fault]
    (line,) = [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]
    assert line["event"] == "facilitator_refuses_us"
    assert TURNED_AWAY[fault] in line["message"]
    server.reset()
    assert (await facilitator.verify(wire(), TERMS)).valid
    server.fail("verify", fault)
    with pytest.raises(Unavailable):
        await facilitator.verify(wire(), TERMS)
    assert len(stream.getvalue().splitlines()) == 2


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


async def test_money_is_asked_for_once_where_a_kept_connection_breaks(
    facilitator: Facilitator, server: servers.Facilitator
) -> None:
    assert (await facilitator.verify(wire(), TERMS)).valid  # so that there is one
    payment = wire()
    server.fail("settle", Fault.DONE_THEN_DROP)
    with pytest.raises(Uncertain):
        await facilitator.settle(payment, TERMS)
    assert server.count("settle") == 1
    assert (await facilitator.verify(payment, TERMS)).spent
    server.fail("verify", Fault.DROP)
    with pytest.raises(Unavailable):
        await facilitator.verify(payment, TERMS)
    assert server.count("verify") == 4  # that it may be asked again


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
