"""Balances move by exactly the price, and by nothing when there is nothing to pay for."""

import asyncio
import base64
import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.doors.services import AS_ADMIN
from tests.pay.payers import Income
from tests.pay.shops import BASIC, CACHED, Shop, opened_shop
from tests.servers.chains.facilitator import Facilitator
from tests.servers.chains.fixtures import POOR, Chains
from tests.servers.daemon import free_port
from tests.site.server import Site

CLIENTS = [
    ("base", 2),
    ("base", 1),
    ("solana", 2),
    ("base_mainnet", 2),
    ("base_mainnet", 1),
    ("polygon", 2),
    ("solana_mainnet", 2),
]


@pytest.fixture(scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory, site: Site, chains: Chains) -> AsyncIterator[Shop]:
    async with opened_shop(tmp_path_factory.mktemp("shop"), site, chains) as one:
        yield one


@pytest.fixture(scope="module")
async def real_shop(
    tmp_path_factory: pytest.TempPathFactory, site: Site, chains: Chains
) -> AsyncIterator[Shop]:
    """It quotes the real networks, as far as it knows."""
    folder = tmp_path_factory.mktemp("real_shop")
    async with opened_shop(folder, site, chains, **chains.mainnet_settings) as one:
        yield one


def receipt(response: httpx.Response, version: int = 2) -> dict[str, Any]:
    name = "payment-response" if version == 2 else "x-payment-response"
    told: dict[str, Any] = json.loads(base64.b64decode(response.headers[name]))
    return told


@pytest.mark.parametrize(("network", "version"), CLIENTS)
async def test_a_buyer_pays_the_price_and_then_the_cached_price(
    network: str, version: int, shop: Shop, real_shop: Shop, facilitator: Facilitator
) -> None:
    ours = shop if network in ("base", "solana") else real_shop
    url, income, body = ours.page(), Income(ours.chains, network), {"cache": True}
    for due, visits in ((BASIC, "MISS"), (CACHED, "HIT")):
        before = income.taken()
        answer = await ours.buy(url, network=network, version=version, body=body)
        assert answer.status_code == 200, answer.text
        assert answer.json()["title"] == "Worth it"
        assert answer.headers["x-cache-status"] == visits
        assert income.taken() - before == due
        told = receipt(answer, version)
        assert told["success"]
        assert told["transaction"]
    assert ours.visits(url) == 1
    assert (facilitator.count("verify"), facilitator.count("settle")) == (2, 2)


async def test_nothing_is_taken_for_what_went_wrong(shop: Shop, facilitator: Facilitator) -> None:
    income, site = Income(shop.chains), shop.fetching.site
    cases: dict[str, tuple[str, dict[str, Any], int]] = {
        "refused": (f"http://127.0.0.1:{free_port()}/", {}, 502),
        "blocked": ("http://127.0.0.2/", {}, 400),
        "redirected to what is blocked": (site.url("/redirect-to?url=http://127.0.0.3/"), {}, 400),
        "too slow": (site.url("/first-byte-late"), {"timeout": 1000}, 502),
        "dropped": (site.url("/drop"), {}, 502),
        "too large": (site.url("/huge-declared"), {}, 502),
        "missing": (shop.page("<h1>Not found</h1>", status="404 Not Found"), {}, 200),
        "empty": (shop.page("<html><body></body></html>"), {}, 200),
        "a challenge": (shop.page(CHALLENGE, status="403 Forbidden"), {}, 200),
    }
    answers = await asyncio.gather(*(shop.buy(url, body=body) for url, body, _ in cases.values()))
    for (name, (_, _, status)), answer in zip(cases.items(), answers, strict=True):
        assert answer.status_code == status, f"{name}: {answer.text}"
        assert status != 200 or answer.json()["outcome"] != "ok", name
        assert "payment-response" not in answer.headers, name
    assert facilitator.count("settle") == 0
    assert income.taken() == 0


CHALLENGE = """<!doctype html><title>Just a moment...</title><script>window._cf_chl_opt={}</script>
<div id="challenge-error-text">Enable JavaScript and cookies to continue</div>"""


async def test_a_payment_that_was_not_taken_pays_for_the_next_request(shop: Shop) -> None:
    income = Income(shop.chains)
    broken = shop.page("<h1>Not found</h1>", status="404 Not Found")
    payment = await shop.signed(broken)
    assert (await shop.send(broken, payment)).json()["outcome"] != "ok"
    assert income.taken() == 0
    url = shop.page()
    assert (await shop.send(url, payment)).status_code == 200
    assert income.taken() == BASIC


async def test_a_key_is_never_charged(shop: Shop, facilitator: Facilitator) -> None:
    income, url = Income(shop.chains), shop.page()
    payment = await shop.signed(url)
    for headers in (AS_ADMIN, {**AS_ADMIN, **payment}):
        answer = await shop.send(url, headers)
        assert answer.status_code == 200
        assert "payment-response" not in answer.headers
    assert facilitator.count("verify") == 0
    assert income.taken() == 0


async def test_a_wallet_without_money_gets_nothing(shop: Shop) -> None:
    income, url = Income(shop.chains), shop.page()
    answer = await shop.buy(url, name=POOR)
    assert answer.status_code == 402
    assert answer.json()["code"] in ("PAYMENT_REQUIRED", "PAYMENT_FAILED")
    assert shop.visits(url) == 0
    assert income.taken() == 0


async def test_p6_a_payment_is_taken_once(shop: Shop, facilitator: Facilitator) -> None:
    income, url, other = Income(shop.chains), shop.page(), shop.page()
    payment = await shop.signed(url)
    assert (await shop.send(url, payment)).status_code == 200
    for again in (url, other):
        answer = await shop.send(again, payment)
        assert answer.status_code == 402
        assert "already" in answer.json()["error"]
    assert (shop.visits(url), shop.visits(other)) == (1, 0)
    assert facilitator.count("settle") == 1
    assert income.taken() == BASIC


async def test_the_cached_price_does_not_buy_what_is_not_cached(shop: Shop) -> None:
    income, url, other = Income(shop.chains), shop.page(), shop.page()
    assert (await shop.buy(url, body={"cache": True})).status_code == 200
    payment = await shop.signed(url, cache=True)  # quoted as cached
    assert (await shop.send(other, payment, cache=True)).status_code == 402
    assert (await shop.send(url, payment, cache=True)).status_code == 200
    assert shop.visits(other) == 0
    assert income.taken() == BASIC + CACHED


async def test_a_quote_is_honoured_when_the_cache_has_changed(shop: Shop) -> None:
    income, url = Income(shop.chains), shop.page()
    full = await shop.signed(url, cache=True)
    assert (await shop.buy(url, body={"cache": True})).status_code == 200
    answer = await shop.send(url, full, cache=True)
    assert (answer.status_code, answer.headers["x-cache-status"]) == (200, "HIT")
    assert income.taken() == 2 * BASIC


async def test_500_requests_with_one_signature_are_one_execution_and_one_settlement(
    shop: Shop, facilitator: Facilitator
) -> None:
    income, url = Income(shop.chains), shop.page(pause=0.5)
    payment = await shop.signed(url)

    async def send() -> httpx.Response:
        while (answer := await shop.send(url, payment)).status_code == 503:
            pass  # a starved machine says that it is busy
        return answer

    async with asyncio.timeout(120):
        answers = await asyncio.gather(*(send() for _ in range(500)))
    statuses = Counter(answer.status_code for answer in answers)
    assert statuses[200] == 1
    assert statuses[200] + statuses[409] + statuses[402] == 500
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"PAYMENT_IN_USE"}
    assert shop.visits(url) == 1
    assert (facilitator.count("verify"), facilitator.count("settle")) == (1, 1)
    assert income.taken() == BASIC
