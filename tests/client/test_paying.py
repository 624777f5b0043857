"""The library pays for calls, within limits. The money is counted on a chain of our own."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from gossamer import Client, PaymentRequired, Spending, X402Payer
from gossamer.client.http import HttpTransport
from gossamer.client.paying import Paying, signed_amount
from gossamer.client.retrying import Retrying
from tests.pay import payers
from tests.pay.payers import Income
from tests.pay.shops import BASIC, CACHED, Shop, opened_shop
from tests.servers.chains.fixtures import Chains
from tests.site.server import Site


@pytest.fixture
async def shop(tmp_path: Path, site: Site, chains: Chains) -> AsyncIterator[Shop]:
    async with opened_shop(tmp_path, site, chains) as shop:
        yield shop


def buyer(shop: Shop, spending: Spending) -> Client:
    visit = shop.fetching.visit
    app = httpx.ASGITransport(visit.service.app(), client=("127.0.0.1", 40000))
    http = HttpTransport("http://test", seconds=60, transport=app)
    return Client(Paying(Retrying(http), X402Payer(payers.wallet(shop.chains)), spending))


async def test_a_page_is_bought_once_and_then_from_the_cache(shop: Shop, chains: Chains) -> None:
    income, spending, url = Income(chains), Spending(), shop.page()
    async with buyer(shop, spending) as web:
        assert (await web.fetch(url, cache=True)).title == "Worth it"
        assert income.taken() == spending.spent == BASIC
        assert (await web.fetch(url, cache=True)).cache
        assert income.taken() == spending.spent == BASIC + CACHED


@pytest.mark.parametrize("spending", [Spending(max_per_call=BASIC - 1), Spending(max_in_total=BASIC - 1)])
async def test_nothing_is_paid_beyond_a_limit(shop: Shop, chains: Chains, spending: Spending) -> None:
    income, url = Income(chains), shop.page()
    async with buyer(shop, spending) as web:
        with pytest.raises(PaymentRequired) as caught:
            await web.fetch(url)
    assert caught.value.code == "SPENDING_LIMIT_REACHED"
    assert income.taken() == spending.spent == shop.visits(url) == 0


async def test_what_could_not_be_had_is_not_paid(shop: Shop, chains: Chains) -> None:
    income, spending = Income(chains), Spending()
    async with buyer(shop, spending) as web:
        with pytest.raises(Exception, match="FETCH_FAILED"):
            await web.fetch("http://127.0.0.1:9/")
    assert income.taken() == spending.spent == 0


async def test_without_a_payer_the_offer_is_told(shop: Shop) -> None:
    app = httpx.ASGITransport(shop.fetching.visit.service.app(), client=("127.0.0.1", 40000))
    async with Client(HttpTransport("http://test", seconds=60, transport=app)) as web:
        with pytest.raises(PaymentRequired) as caught:
            await web.fetch(shop.page())
    assert caught.value.status == 402
    assert caught.value.offer
    with pytest.raises(Exception, match="PAYMENT_INVALID"):
        signed_amount("no payment")
