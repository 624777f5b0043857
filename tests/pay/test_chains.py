"""The chains and the facilitator that the other tests stand on are as strict as the real ones."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import httpx
import pytest
from x402 import x402Client
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.schemas import PaymentRequired, PaymentRequirements
from x402.schemas.v1 import PaymentRequiredV1, PaymentRequirementsV1

from gossamer.settings.settings import Settings
from tests.pay import payers
from tests.pay.payers import Income
from tests.servers.chains import wallets
from tests.servers.chains.facilitator import Facilitator, Fault
from tests.servers.chains.fixtures import PAYEE, POOR, Chains

PRICE = 1234


def terms(chains: Chains, network: str, **other: Any) -> PaymentRequirements:
    chain = getattr(chains, network)
    domain = {"name": "USDC" if network == "base" else "USD Coin", "version": "2"}
    given = {
        "scheme": "exact",
        "network": chain.network,
        "asset": chain.asset,
        "amount": str(PRICE),
        "pay_to": payers.address(network, PAYEE),
        "max_timeout_seconds": 300,
        "extra": {"feePayer": chain.fee_payer} if payers.is_solana(network) else domain,
    }
    return PaymentRequirements(**{**given, **other})


async def signed(client: x402Client, asked: PaymentRequirements) -> Any:
    return await client.create_payment_payload(PaymentRequired(accepts=[asked]))


def asking(facilitator: Facilitator, seconds: float = 30) -> HTTPFacilitatorClient:
    return HTTPFacilitatorClient(FacilitatorConfig(url=facilitator.url, timeout=seconds))


@pytest.mark.parametrize("network", ["base", "solana", "base_mainnet", "polygon", "solana_mainnet"])
async def test_a_payment_moves_its_price_once(network: str, chains: Chains, facilitator: Facilitator) -> None:
    asked, income = terms(chains, network), Income(chains, network)
    payload = await signed(payers.wallet(chains, network), asked)
    async with asking(facilitator) as client:
        assert (await client.verify(payload, asked)).is_valid
        assert income.taken() == 0
        settled = await client.settle(payload, asked)
        assert settled.success
        assert settled.network == asked.network
        again = await client.verify(payload, asked)
        assert not again.is_valid
        assert not (await client.settle(payload, asked)).success
    assert income.taken() == PRICE
    assert (facilitator.count("verify"), facilitator.count("settle")) == (2, 2)


async def test_it_speaks_the_first_version_too(chains: Chains, facilitator: Facilitator) -> None:
    two, income = terms(chains, "base"), Income(chains, "base")
    asked = PaymentRequirementsV1(
        scheme="exact",
        network="base-sepolia",
        max_amount_required=two.amount,
        resource="http://127.0.0.1/",
        description="",
        mime_type="application/json",
        pay_to=two.pay_to,
        max_timeout_seconds=300,
        asset=two.asset,
        extra=two.extra,
    )
    payload = await payers.wallet(chains).create_payment_payload(PaymentRequiredV1(accepts=[asked], error=""))
    async with asking(facilitator) as client:
        assert (await client.verify(payload, asked)).is_valid
        assert (await client.settle(payload, asked)).success
    assert income.taken() == PRICE


async def test_it_refuses_what_is_not_so(chains: Chains, facilitator: Facilitator) -> None:
    asked, income = terms(chains, "base"), Income(chains, "base")
    payload = await signed(payers.wallet(chains), asked)
    poor = await signed(payers.wallet(chains, name=POOR), asked)
    forged = payload.model_copy(deep=True)
    forged.payload["authorization"]["value"] = str(PRICE * 2)
    dearer = asked.model_copy(update={"amount": str(PRICE * 2)})
    elsewhere = asked.model_copy(update={"pay_to": wallets.evm("stranger").address})
    expired = await signed(payers.wallet(chains), terms(chains, "base", max_timeout_seconds=1))
    cases = [(poor, asked), (forged, asked), (forged, dearer), (payload, dearer), (payload, elsewhere)]
    async with asking(facilitator) as client:
        for given, wanted in [*cases, (expired, asked)]:
            assert not (await client.verify(given, wanted)).is_valid
    assert income.taken() == 0


async def test_a_solana_signature_ends_with_its_blockhash(chains: Chains, facilitator: Facilitator) -> None:
    asked, income = terms(chains, "solana"), Income(chains, "solana")
    payload = await signed(payers.wallet(chains, "solana"), asked)
    chains.solana.expire()
    async with asking(facilitator) as client:
        assert not (await client.settle(payload, asked)).success
        assert (await client.settle(await signed(payers.wallet(chains, "solana"), asked), asked)).success
    assert income.taken() == PRICE


FAULTS = {
    Fault.DROP: httpx.RemoteProtocolError,
    Fault.HANG: httpx.ReadTimeout,
    Fault.ERROR: ValueError,
    Fault.GARBAGE: ValueError,
    Fault.NONSENSE: ValueError,
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.lower())
async def test_it_fails_as_it_is_told(fault: Fault, chains: Chains, facilitator: Facilitator) -> None:
    asked, income = terms(chains, "base"), Income(chains, "base")
    payload = await signed(payers.wallet(chains), asked)
    for phase in ("verify", "settle"):
        facilitator.fail(phase, fault)
        async with asking(facilitator, seconds=0.2) as client:
            with pytest.raises(FAULTS[fault]):
                await getattr(client, phase)(payload, asked)
        assert facilitator.count(phase) == 1
    assert income.taken() == 0


@pytest.mark.parametrize(
    "fault", [Fault.DONE_THEN_HANG, Fault.DONE_THEN_DROP], ids=lambda one: one.name.lower()
)
async def test_it_can_settle_and_never_say_so(fault: Fault, chains: Chains, facilitator: Facilitator) -> None:
    asked, income = terms(chains, "base"), Income(chains, "base")
    payload = await signed(payers.wallet(chains), asked)
    facilitator.fail("settle", fault)
    async with asking(facilitator, seconds=5) as client:
        settling = asyncio.create_task(client.settle(payload, asked))
        await until(lambda: income.taken() == PRICE)
        facilitator.reset()
        with pytest.raises(httpx.RemoteProtocolError):
            await settling


async def test_it_can_be_away_and_come_back(chains: Chains, facilitator: Facilitator) -> None:
    payload, asked = await signed(payers.wallet(chains), terms(chains, "base")), terms(chains, "base")
    facilitator.stop()
    async with asking(facilitator) as client:
        with pytest.raises(httpx.ConnectError):
            await client.verify(payload, asked)
        facilitator.start()
        assert (await client.verify(payload, asked)).is_valid


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.01)


async def test_nothing_is_left_to_a_default(chains: Chains) -> None:
    """Services here ask only the local facilitator, and these tests can reach nothing else."""
    for settings in (chains.settings, chains.mainnet_settings):
        addresses = {name: value for name, value in settings.items() if name.endswith("_url")}
        assert addresses.keys() == {one.name for one in fields(Settings) if one.name.endswith("itator_url")}
        assert all(value.startswith("http://127.0.0.1:") for value in addresses.values())
    for host in ("facilitator.example", b"facilitator.example"):  # no question for it is sent even here
        with pytest.raises(PermissionError):
            sys.audit("socket.getaddrinfo", host, 443, 0, 0, 0)
    with pytest.raises(PermissionError):
        sys.audit("socket.connect", None, ("192.0.2.1", 443))
