"""What became of a payment is looked up on its chain: paid, gone elsewhere, never moved, or open."""

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.problems import Unavailable
from gossamer.reach.services import chain_evm, chain_solana
from gossamer.reach.services.chain import SKEW_SECONDS, Chain
from gossamer.reach.services.chain_evm import EvmChain
from gossamer.reach.services.chain_solana import SolanaChain
from gossamer.reach.services.json_rpc import JsonRpc
from gossamer.state.pay import payment_list
from gossamer.state.pay.ledger import LedgerEntry, PaymentState, Proof
from gossamer.web.pay import evm, x402
from gossamer.web.pay.evm import EventLog
from gossamer.web.pay.transfer import Evidence, Fate, Transfer
from tests.doors.services import AS_ADMIN
from tests.pay import payers
from tests.pay.shops import BASIC, Shop, opened_shop
from tests.pay.test_chains import PRICE, signed, terms
from tests.servers.chains.facilitator import Facilitator, Fault
from tests.servers.chains.fixtures import PAYEE, Chains
from tests.servers.chains.node import Node
from tests.site.server import Site

NETWORKS = ["base", "solana"]
STRANGER = "stranger"
BASE = x402.BASE_SEPOLIA.id
INVENTED = {"base": "0x" + "5c" * 32, "solana": "5" * 87}


@pytest.fixture(scope="module")
def own_chains() -> Iterator[Chains]:
    """Time passes on them."""
    opened = Chains()
    opened.solana.fund(payers.address("solana", STRANGER), 0)
    yield opened
    opened.close()


def node_url(chains: Chains, network: str) -> str:
    chain = getattr(chains, network)
    return str(chain.url if payers.is_solana(network) else chain.node.url)


def opened_chain(network: str, url: str) -> Chain:
    rpc = JsonRpc(f"node of {network}", url)
    if payers.is_solana(network):
        return SolanaChain(x402.SOLANA_DEVNET.id, rpc)
    return EvmChain(x402.BASE_SEPOLIA.id, rpc)


@pytest.fixture(params=NETWORKS)
def network(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def chain(network: str, own_chains: Chains) -> AsyncIterator[Chain]:
    opened = opened_chain(network, node_url(own_chains, network))
    yield opened
    await opened.close()


class Signed:
    """A payment on one of the chains, as the ledger knows it."""

    def __init__(self, chains: Chains, network: str, asked: Any, payload: Any) -> None:
        self._chain, self._asked, self._payload = getattr(chains, network), asked, payload
        on = x402.NETWORKS[self._chain.network]
        authorization = x402._authorization(payload.payload) if on.is_evm else None
        payer, nonce = x402._evm_key(authorization) if authorization else x402._solana_key(payload.payload)
        self.transfer = Transfer(
            asset=self._chain.asset,
            payer=payer,
            pay_to=payers.address(network, PAYEE),
            amount=PRICE,
            nonce=nonce,
            since=time.time(),
            until=time.time() + 300,
        )

    def settle(self) -> str:
        done = self._chain.settle(self._payload, self._asked)
        assert done.success
        return str(done.transaction)


async def sign(chains: Chains, network: str, pay_to: str = PAYEE) -> Signed:
    asked = terms(chains, network, pay_to=payers.address(network, pay_to))
    return Signed(chains, network, asked, await signed(payers.wallet(chains, network), asked))


async def test_what_was_paid_is_found_with_and_without_its_transaction(
    own_chains: Chains, network: str, chain: Chain
) -> None:
    one = await sign(own_chains, network)
    assert await chain.find(one.transfer) == Evidence(Fate.OPEN)
    assert await chain.find(one.transfer, INVENTED[network]) == Evidence(Fate.OPEN)
    transaction = one.settle()
    for _ in range(3):
        (await sign(own_chains, network)).settle()  # others come after it
    for claimed in (transaction, "", INVENTED[network]):
        assert await chain.find(one.transfer, claimed) == Evidence(Fate.PAID, transaction)


async def test_what_went_elsewhere_is_not_ours(own_chains: Chains, network: str, chain: Chain) -> None:
    other = await sign(own_chains, network, STRANGER)
    transaction = other.settle()
    (await sign(own_chains, network)).settle()  # the same amount, of the same payer, to us: another payment
    for claimed in ("", transaction):
        assert await chain.find(other.transfer, claimed) == Evidence(Fate.ELSEWHERE)


async def test_less_than_was_asked_for_is_not_paid(own_chains: Chains, network: str, chain: Chain) -> None:
    one = await sign(own_chains, network)
    transaction = one.settle()
    for claimed in ("", transaction):
        found = await chain.find(replace(one.transfer, amount=PRICE + 1), claimed)
        assert found == Evidence(Fate.ELSEWHERE)


async def test_a_transaction_of_another_payment_proves_nothing(
    own_chains: Chains, network: str, chain: Chain
) -> None:
    one, other = await sign(own_chains, network), await sign(own_chains, network)
    assert await chain.find(one.transfer, other.settle()) == Evidence(Fate.OPEN)


async def test_what_cannot_move_any_more_has_never_moved(network: str, own_chains: Chains) -> None:
    fresh = Chains()
    chain = opened_chain(network, node_url(fresh, network))
    try:
        one = await sign(fresh, network)
        paid = await sign(fresh, network)
        transaction = paid.settle()
        getattr(fresh, network).pass_time(300)
        assert await chain.find(one.transfer) == Evidence(Fate.OPEN)  # clocks differ
        getattr(fresh, network).pass_time(int(SKEW_SECONDS) + 60)
        assert await chain.find(one.transfer, INVENTED[network]) == Evidence(Fate.NEVER)
        assert await chain.find(paid.transfer) == Evidence(Fate.PAID, transaction)  # however late one looks
    finally:
        await chain.close()
        fresh.close()


async def test_many_blocks_and_many_transactions_are_looked_through(
    own_chains: Chains, network: str, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_evm, "MAX_BLOCKS", 2)
    monkeypatch.setattr(chain_solana, "MAX_LISTED", 2)
    one = await sign(own_chains, network)
    transaction = one.settle()
    for _ in range(7):
        (await sign(own_chains, network)).settle()
    assert await chain.find(one.transfer) == Evidence(Fate.PAID, transaction)


async def test_a_node_of_another_network_is_not_believed(own_chains: Chains, network: str) -> None:
    one = await sign(own_chains, network)
    rpc = JsonRpc("node", node_url(own_chains, network))
    other: Chain = (
        SolanaChain(x402.SOLANA.id, rpc) if payers.is_solana(network) else EvmChain(x402.BASE.id, rpc)
    )
    for ask in (other.find(one.transfer), other.ping()):
        with pytest.raises(Unavailable, match="another network"):
            await ask
    await other.close()


async def test_it_says_how_far_it_is(chain: Chain) -> None:
    (height,) = (await chain.ping()).values()
    assert isinstance(height, int)


ANSWERS = [
    b"",
    b"<html>",
    b"[]",
    b"{}",
    b'{"result": null}',
    b'{"result": 1}',
    b'{"result": "zz"}',
    b'{"result": "0x"}',
    b'{"result": {}}',
    b'{"result": [[]]}',
    b'{"error": {"code": -32005, "message": "a secret"}}',
    b'{"error": "no"}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("says", ANSWERS, ids=lambda says: str(says[:24]))
async def test_a_node_that_talks_nonsense_is_away(says: bytes, own_chains: Chains, network: str) -> None:
    one, node = await sign(own_chains, network), Node({})
    node.says = says
    chain = opened_chain(network, f"{node.url}/v2/a-key?other=key")
    with pytest.raises(Unavailable) as caught:
        await chain.find(one.transfer, INVENTED[network])
    assert "key" not in caught.value.detail
    assert "secret" not in caught.value.detail
    await chain.close()
    node.close()


@pytest.mark.parametrize(("query", "path"), [("", "/v2/key"), ("?api-key=one", "/v2/key?api-key=one")])
async def test_a_key_is_sent_as_it_is_written(query: str, path: str) -> None:
    for base in ("/v2/key", ""):
        rpc = JsonRpc("node", f"https://node.example{base}{query}")
        expected = path if base else f"/{query}"
        assert rpc._endpoint.target(rpc._path) == expected
        await rpc.close()


def test_only_the_transfer_that_follows_its_authorisation_counts() -> None:
    transfer = Transfer(
        asset="0x" + "aa" * 20,
        payer="0x" + "bb" * 20,
        pay_to="0x" + "CC" * 20,
        amount=5,
        nonce="0x" + "01" * 32,
        since=0,
        until=1,
    )

    def padded(byte: str) -> str:
        return "0x" + "00" * 12 + byte * 20

    def log(*topics: str, data: str = "0x", address: str = transfer.asset) -> EventLog:
        return EventLog(address, list(topics), data, "0x")

    used = log(evm.AUTHORIZATION_USED, padded("bb"), transfer.nonce)
    other = log(evm.AUTHORIZATION_USED, padded("bb"), "0x" + "02" * 32)
    ours = log(evm.TRANSFER, padded("bb"), padded("cc"), data="0x5")
    away = log(evm.TRANSFER, padded("bb"), padded("dd"), data="0x5")
    little = log(evm.TRANSFER, padded("bb"), padded("cc"), data="0x4")
    forged = log(evm.TRANSFER, padded("bb"), padded("cc"), data="0x5", address="0x" + "ee" * 20)
    assert evm.has_paid([used, ours], transfer)
    assert evm.has_paid([forged, other, away, used, forged, ours], transfer)
    for logs in ([ours, used], [used, away, other, ours], [used, little], [used, forged], [used], [ours], []):
        assert not evm.has_paid(logs, transfer), logs


def test_what_contracts_call_it() -> None:
    def hashed(signature: str) -> str:
        return "0x" + evm.keccak_256(signature.encode()).hex()

    assert hashed("authorizationState(address,bytes32)").startswith(evm.AUTHORIZATION_STATE)
    assert hashed("AuthorizationUsed(address,bytes32)") == evm.AUTHORIZATION_USED
    assert hashed("AuthorizationCanceled(address,bytes32)") == evm.AUTHORIZATION_CANCELED
    assert hashed("Transfer(address,address,uint256)") == evm.TRANSFER


# What that means for payments.

QUICK = {"facilitator_verify_seconds": "5", "facilitator_settle_seconds": "5"}


@pytest.fixture
async def proving_shop(
    tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> AsyncIterator[Shop]:
    """It looks up what facilitators say."""
    nodes = {"base_rpc_url": chains.base.node.url, "solana_rpc_url": chains.solana.url}
    async with opened_shop(tmp_path, site, chains, **nodes, **QUICK) as shop:
        yield shop


async def entries(shop: Shop) -> list[LedgerEntry]:
    async with shop.fetching.visit.service.database.read() as connection:
        return await payment_list.list_entries(connection, limit=100)


async def revenue(shop: Shop) -> tuple[Any, Any]:
    told = (await shop.fetching.visit.client.get("/api/payments", headers=AS_ADMIN)).json()
    return told["revenue"], told["unproven"]


async def prove(shop: Shop) -> None:
    payments = shop.fetching.visit.service.payments
    assert payments is not None
    payments.prover._pauses.clear()
    await payments.prover.prove()


async def test_a_settlement_is_revenue_when_the_chain_shows_it(proving_shop: Shop, network: str) -> None:
    assert (await proving_shop.buy(proving_shop.page(), network=network)).status_code == 200
    await prove(proving_shop)
    (entry,) = await entries(proving_shop)
    assert (entry.state, entry.proof) == (PaymentState.SETTLED, Proof.CHAIN)
    assert entry.transaction_id
    assert await revenue(proving_shop) == ({"/fetch/basic": "$0.005"}, {})
    health = (await proving_shop.fetching.visit.client.get("/health")).json()
    assert {one["status"] for one in health["services"]["chains"].values()} == {"healthy"}


async def test_an_invented_transaction_is_no_revenue(
    proving_shop: Shop, facilitator: Facilitator, monkeypatch: pytest.MonkeyPatch
) -> None:
    income, url = payers.Income(proving_shop.chains), proving_shop.page()
    payment = await proving_shop.signed(url)
    facilitator.lie("settle", transaction=INVENTED["base"])
    assert (await proving_shop.send(url, payment)).status_code == 200
    facilitator.reset()
    await prove(proving_shop)
    assert await revenue(proving_shop) == ({}, {"/fetch/basic": "$0.005"})  # it may still come
    monkeypatch.setattr(chain_evm, "SKEW_SECONDS", -1_000_000.0)  # as if its time were over
    await prove(proving_shop)
    (entry,) = await entries(proving_shop)
    assert (entry.state, entry.reason) == (PaymentState.RELEASED, "never_moved")
    assert await revenue(proving_shop) == ({}, {})
    (line,) = proving_shop.fetching.visit.logged("payment_disproven")
    assert line["transaction"] == INVENTED["base"]
    assert income.taken() == 0


@pytest.mark.parametrize("fault", [Fault.DONE_THEN_DROP, Fault.NONSENSE])
async def test_a_settlement_that_nobody_was_told_of_is_proven(
    proving_shop: Shop, facilitator: Facilitator, network: str, fault: Fault
) -> None:
    """Without the facilitator, which says nothing any more."""
    income, url = payers.Income(proving_shop.chains, network), proving_shop.page()
    payment = await proving_shop.signed(url, network=network)
    facilitator.fail("settle", fault)
    answer = await proving_shop.send(url, payment)
    if fault is Fault.NONSENSE:  # nothing was moved
        assert (answer.status_code, income.taken()) == (503, 0)
        facilitator.reset()
        answer = await proving_shop.send(url, payment)
    assert (answer.status_code, income.taken()) == (200, BASIC)
    (entry,) = await entries(proving_shop)
    await prove(proving_shop)
    (entry,) = await entries(proving_shop)
    assert (entry.state, entry.proof) == (PaymentState.SETTLED, Proof.CHAIN)
    assert entry.transaction_id


async def test_an_authorisation_that_was_used_elsewhere_buys_nothing(
    proving_shop: Shop, facilitator: Facilitator
) -> None:
    """The payer signs the same nonce for themselves, and is faster than our settlement."""
    chains, url = proving_shop.chains, proving_shop.page()
    payment = await proving_shop.signed(url)
    ours = x402.read(payment["PAYMENT-SIGNATURE"], 2)
    assert ours.authorization is not None
    stolen = {**ours.payload["authorization"], "to": payers.address("base", STRANGER)}
    signature = payers.authorize(chains, stolen)

    def steal(phase: str, _: Any) -> None:
        if phase == "settle":
            facilitator.before = None
            chains.base.move(stolen, signature)

    facilitator.before = steal
    answer = await proving_shop.send(url, payment)
    assert answer.status_code in (402, 503), answer.text
    assert "Worth it" not in answer.text
    (entry,) = await entries(proving_shop)
    assert (entry.state, entry.reason) == (PaymentState.RELEASED, "gone_elsewhere")
    assert (await proving_shop.send(url, payment)).status_code == 402


async def test_a_chain_that_is_away_changes_nothing(
    tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    nobody = "http://127.0.0.1:9/a-key"
    async with opened_shop(tmp_path, site, chains, base_rpc_url=nobody, **QUICK) as shop:
        url = shop.page()
        assert (await shop.buy(url)).status_code == 200
        facilitator.fail("settle", Fault.DONE_THEN_DROP)
        assert (await shop.buy(shop.page())).status_code == 200
        await prove(shop)
        assert {(entry.state, entry.proof) for entry in await entries(shop)} == {
            (PaymentState.SETTLED, Proof.NONE)
        }
        assert await revenue(shop) == ({}, {"/fetch/basic": "$0.01"})
        assert "a-key" not in shop.fetching.visit.stream.getvalue()


async def test_what_the_chain_does_not_tell_is_asked_for_less_and_less_often(
    proving_shop: Shop, facilitator: Facilitator
) -> None:
    service, node = proving_shop.fetching.visit.service, proving_shop.chains.base.node.twin()
    facilitator.lie("settle", transaction=INVENTED["base"])
    url = proving_shop.page()
    assert (await proving_shop.send(url, await proving_shop.signed(url))).status_code == 200
    assert service.payments is not None
    now = [0.0]
    before = service.payments.prover
    chain = opened_chain("base", node.url)
    payees = {BASE: replace(before.payees[BASE], chain=chain)}
    proving = replace(before, payees=payees, clock=lambda: now[0], _pauses={})
    asked = []
    for _ in range(2_200):
        node.reset()
        await proving.prove()
        if node.asked:
            asked.append(now[0])
        now[0] += 5.0
    assert asked[:5] == [0.0, 5.0, 15.0, 35.0, 75.0]
    assert 3_600.0 <= asked[-1] - asked[-2] < 3_605.0
    await chain.close()
    node.close()
