"""Whatever a facilitator does: never charged without an answer given or offered again, and never twice."""

import base64
import json
from pathlib import Path

import httpx
import pytest

from tests.doors.services import AS_ADMIN
from tests.pay.payers import Income
from tests.pay.shops import BASIC, Shop, opened_shop
from tests.servers.chains.facilitator import Facilitator, Fault
from tests.servers.chains.fixtures import Chains
from tests.site.server import Site

QUICK = {"facilitator_verify_seconds": "1", "facilitator_settle_seconds": "1"}
UNANSWERED = [Fault.DROP, Fault.HANG, Fault.ERROR, Fault.GARBAGE, Fault.NONSENSE]
IN_DOUBT = [*((fault, "base") for fault in UNANSWERED), (Fault.DROP, "solana")]
DONE = [Fault.DONE_THEN_HANG, Fault.DONE_THEN_DROP]


def name(fault: Fault) -> str:
    return fault.name.lower()


def assert_offered_again(answer: httpx.Response) -> None:
    assert answer.status_code == 503, answer.text
    assert int(answer.headers["retry-after"]) > 0
    assert "Worth it" not in answer.text
    assert "127.0.0.1" not in answer.text  # nothing of what we stand on is told


async def assert_paid_once(shop: Shop, income: Income, url: str, payment: dict[str, str]) -> None:
    """Whoever comes back with the payment gets the answer, once."""
    answer = await shop.send(url, payment)
    assert answer.status_code == 200, answer.text
    assert answer.json()["title"] == "Worth it"
    assert income.taken() == BASIC
    assert (await shop.send(url, payment)).status_code == 402
    assert income.taken() == BASIC


@pytest.mark.parametrize("fault", UNANSWERED, ids=name)
async def test_without_a_verdict_nothing_is_done(
    fault: Fault, tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    async with opened_shop(tmp_path, site, chains, **QUICK) as shop:
        income, url = Income(chains), shop.page()
        payment = await shop.signed(url)
        facilitator.fail("verify", fault)
        assert_offered_again(await shop.send(url, payment))
        assert (shop.visits(url), facilitator.count("settle"), income.taken()) == (0, 0, 0)
        facilitator.reset()
        await assert_paid_once(shop, income, url, payment)


@pytest.mark.parametrize(("fault", "network"), IN_DOUBT, ids=str)
async def test_without_a_word_on_the_settlement_it_is_pending(
    fault: Fault, network: str, tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    async with opened_shop(tmp_path, site, chains, **QUICK) as shop:
        income, url = Income(chains, network), shop.page()
        payment = await shop.signed(url, network=network)
        facilitator.fail("settle", fault)
        assert_offered_again(await shop.send(url, payment))
        assert_offered_again(await shop.send(url, payment))
        assert income.taken() == 0
        facilitator.reset()
        await assert_paid_once(shop, income, url, payment)
        assert facilitator.count("settle") == 1


@pytest.mark.parametrize("network", ["base", "solana"])
@pytest.mark.parametrize("fault", DONE, ids=name)
async def test_a_settlement_that_nobody_was_told_of_is_found(
    fault: Fault, network: str, tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    async with opened_shop(tmp_path, site, chains, **QUICK) as shop:
        income, url = Income(chains, network), shop.page()
        payment = await shop.signed(url, network=network)
        facilitator.fail("settle", fault)
        answer = await shop.send(url, payment)
        if answer.status_code != 200:  # the chain was slower than we wait
            assert_offered_again(answer)
            facilitator.reset()
            await assert_paid_once(shop, income, url, payment)
        assert income.taken() == BASIC
        assert (await shop.send(url, payment)).status_code == 402
        assert income.taken() == BASIC


async def test_a_clear_no_is_told_and_nothing_is_taken(
    tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    async with opened_shop(tmp_path, site, chains, **QUICK) as shop:
        income, url = Income(chains), shop.page()
        for phase, visits in (("verify", 0), ("settle", 1)):
            payment = await shop.signed(url)
            facilitator.reset()
            facilitator.fail(phase, Fault.DECLINE)
            answer = await shop.send(url, payment)
            assert answer.status_code == 402, answer.text
            assert "Worth it" not in answer.text
            assert shop.visits(url) == visits
        failed = json.loads(base64.b64decode(answer.headers["payment-response"]))
        assert failed["success"] is False
        assert failed["errorReason"] == "insufficient_funds"
        assert income.taken() == 0


async def test_one_that_is_away_stops_payments_and_nothing_else(
    tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    async with opened_shop(tmp_path, site, chains, **QUICK) as shop:
        income, url = Income(chains), shop.page()
        payment = await shop.signed(url)
        facilitator.stop()
        try:
            assert_offered_again(await shop.send(url, payment))
            assert (await shop.fetching.post("/ok")).status_code == 200  # with a key
            health = (await shop.fetching.visit.client.get("/health")).json()
        finally:
            facilitator.start()
        states = {name: one["status"] for name, one in health["services"]["facilitators"].items()}
        assert states == {"cdp": "unhealthy", "payai": "unhealthy"}
        await assert_paid_once(shop, income, url, payment)


async def offered(shop: Shop) -> list[str]:
    answer = await shop.fetching.visit.client.post("/fetch/basic", json={"url": shop.page()})
    terms = json.loads(base64.b64decode(answer.headers["payment-required"]))
    return [one["network"] for one in terms["accepts"]]


async def test_a_network_stays_on_the_quote_when_its_facilitator_is_away_at_the_next_start(
    tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    both, base = [chains.base.network, chains.solana.network], [chains.base.network]
    async with opened_shop(tmp_path, site, chains, **QUICK) as shop:
        assert await offered(shop) == both
    facilitator.stop()
    try:
        async with opened_shop(tmp_path, site, chains, **QUICK) as shop:
            assert await offered(shop) == both
            payment = await shop.signed(url := shop.page(), network="solana")
            assert_offered_again(await shop.send(url, payment))
            facilitator.start()
            await assert_paid_once(shop, Income(chains, "solana"), url, payment)
        facilitator.stop()
        elsewhere = {**QUICK, "payai_facilitator_url": f"{facilitator.url}/another"}
        async with opened_shop(tmp_path, site, chains, **elsewhere) as shop:
            assert await offered(shop) == base  # what one of them said is not what another would say
    finally:
        facilitator.start()
    facilitator.fail("supported", Fault.DECLINE)  # it takes no payments there any more
    async with opened_shop(tmp_path, site, chains, **QUICK) as shop:
        assert await offered(shop) == base
    facilitator.reset()
    facilitator.fail("supported", Fault.DROP)
    async with opened_shop(tmp_path, site, chains, **QUICK) as shop:
        assert await offered(shop) == base
    facilitator.reset()


NONSENSE = [{"success": "yes"}, {"transaction": ""}, {"transaction": "0xabc"}, {"payer": "0x" + "0e" * 20}]


@pytest.mark.parametrize("told", NONSENSE, ids=str)
async def test_nonsense_about_a_settlement_is_no_payment_and_no_traceback(
    told: dict[str, str], tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    async with opened_shop(tmp_path, site, chains, **QUICK) as shop:
        income, url = Income(chains), shop.page()
        payment = await shop.signed(url)
        facilitator.lie("settle", **told)
        assert_offered_again(await shop.send(url, payment))
        listed = (await shop.fetching.visit.client.get("/api/payments", headers=AS_ADMIN)).json()
        assert ([one["state"] for one in listed["payments"]], listed["revenue"]) == (["pending"], {})
        facilitator.reset()
        await assert_paid_once(shop, income, url, payment)


@pytest.mark.parametrize("fault", [*UNANSWERED, Fault.DECLINE], ids=name)
async def test_base_is_offered_when_it_does_not_say_what_it_supports(
    fault: Fault, tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    facilitator.fail("supported", fault)
    async with opened_shop(tmp_path, site, chains, **QUICK) as shop:
        answer = await shop.fetching.visit.client.post("/fetch/basic", json={"url": shop.page()})
        assert await offered(shop) == [chains.base.network]
        assert [one["network"] for one in answer.json()["accepts"]] == ["base-sepolia"]
