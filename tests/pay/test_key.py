"""A facilitator that wants to know who asks: every request is signed, and the key stays here."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.doors.services import AS_ADMIN
from tests.pay.payers import Income
from tests.pay.shops import BASIC, Shop, opened_shop
from tests.reach.test_facilitator_key import KEY_ID, PRIVATE, SECRETS
from tests.servers.chains.doorman import Doorman
from tests.servers.chains.facilitator import Facilitator, Fault
from tests.servers.chains.fixtures import Chains
from tests.site.server import Site

PATH = "/platform/v2/x402"


@pytest.fixture(scope="module")
def guarded(chains: Chains) -> Iterator[Facilitator]:
    """It settles on Base for those whom its doorman lets in."""
    opened = Facilitator(chains.base, doorman=Doorman(KEY_ID, PRIVATE["EdDSA"].public_key()))
    yield opened
    opened.close()


@asynccontextmanager
async def keyed_shop(
    folder: Path, site: Site, chains: Chains, guarded: Facilitator, algorithm: str = "EdDSA"
) -> AsyncIterator[Shop]:
    guarded.reset()
    flags = {
        "cdp_facilitator_url": f"{guarded.url}{PATH}",
        "cdp_api_key_id": KEY_ID,
        "cdp_api_key_secret": SECRETS[algorithm],
    }
    async with opened_shop(folder, site, chains, **flags) as shop:
        yield shop


def assert_kept(shop: Shop, guarded: Facilitator, *told: str) -> None:
    """Neither the key nor what it signed is anywhere but where it belongs."""
    logged = shop.fetching.visit.stream.getvalue()
    for secret in (*SECRETS.values(), *(token.removeprefix("Bearer ") for token in guarded.shown)):
        for text in (logged, repr(shop.fetching.visit.service.settings), *told):
            assert secret not in text
            assert json.dumps(secret)[1:-1] not in text


@pytest.mark.parametrize("algorithm", SECRETS)
async def test_a_payment_is_settled_by_a_facilitator_that_knows_us(
    algorithm: str, tmp_path: Path, site: Site, chains: Chains, guarded: Facilitator, facilitator: Facilitator
) -> None:
    guarded.doorman = Doorman(KEY_ID, PRIVATE[algorithm].public_key())
    async with keyed_shop(tmp_path, site, chains, guarded, algorithm) as shop:
        income, url = Income(chains), shop.page()
        answer = await shop.buy(url)
        assert answer.status_code == 200, answer.text
        assert income.taken() == BASIC
        health = (await shop.fetching.visit.client.get("/health", headers=AS_ADMIN)).json()
        states = {name: one["status"] for name, one in health["services"]["facilitators"].items()}
        assert states == {"cdp": "healthy", "payai": "healthy"}
        assert (guarded.count("verify"), guarded.count("settle")) == (1, 1)
        assert guarded.doorman.refusals == []
        assert len(set(guarded.shown)) == len(guarded.shown) >= 3  # each for one request
        assert (await shop.buy(shop.page(), network="solana")).status_code == 200
        assert facilitator.count("settle") == 1
        assert set(facilitator.shown) == {""}  # the other facilitator is shown nothing
        assert_kept(shop, guarded, answer.text, str(answer.headers), json.dumps(health))


async def test_with_a_key_that_is_refused_nothing_is_done_or_taken(
    tmp_path: Path, site: Site, chains: Chains, guarded: Facilitator
) -> None:
    ours = Doorman(KEY_ID, PRIVATE["EdDSA"].public_key())
    guarded.doorman = Doorman(KEY_ID, Ed25519PrivateKey.generate().public_key())
    async with keyed_shop(tmp_path, site, chains, guarded) as shop:
        income, url = Income(chains), shop.page()
        payment = await shop.signed(url)
        refused = await shop.send(url, payment)
        assert (refused.status_code, refused.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert int(refused.headers["retry-after"]) > 0
        assert (shop.visits(url), guarded.calls, income.taken()) == (0, [], 0)
        health = (await shop.fetching.visit.client.get("/health")).json()
        told: dict[str, Any] = health["services"]["facilitators"]["cdp"]
        assert (told["status"], told["reason"]) == ("unhealthy", "key refused")
        (line,) = shop.fetching.visit.logged("facilitator_refuses_us")
        assert (line["level"], "key refused" in line["message"]) == ("error", True)
        assert guarded.doorman.refusals
        assert_kept(shop, guarded, refused.text, str(refused.headers), json.dumps(health))
        guarded.doorman = ours
        assert (await shop.send(url, payment)).status_code == 200  # the payment was not used up
        assert income.taken() == BASIC


async def test_a_key_that_is_taken_away_before_the_money_moves_leaves_it_where_it_is(
    tmp_path: Path, site: Site, chains: Chains, guarded: Facilitator
) -> None:
    guarded.doorman = Doorman(KEY_ID, PRIVATE["EdDSA"].public_key())
    async with keyed_shop(tmp_path, site, chains, guarded) as shop:
        income, url = Income(chains), shop.page()
        payment = await shop.signed(url)
        guarded.fail("settle", Fault.UNAUTHORIZED)
        refused = await shop.send(url, payment)
        assert refused.status_code == 503
        assert "settlement_pending" not in refused.text  # it is known that nothing was moved
        assert "Worth it" not in refused.text
        guarded.fail("settle", Fault.REJECT)
        declined = await shop.send(url, payment)
        assert (declined.status_code, income.taken()) == (402, 0)
        guarded.reset()
        assert (await shop.send(url, payment)).status_code == 200
        assert income.taken() == BASIC
