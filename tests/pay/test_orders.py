"""Batches, crawls and audits that wallets order: paid for when accepted, and the rest becomes credit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, update

from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quota, Quotas
from gossamer.problems import QUOTA_EXCEEDED, Problem
from gossamer.state.db.tables import jobs
from gossamer.state.pay.pay_tables import orders
from tests.doors.crawls import Web, crawling
from tests.doors.renders import RENDERED, app_page
from tests.doors.services import AS_ADMIN
from tests.pay import payers
from tests.pay.payers import Income
from tests.pay.shops import BASIC, Shop, opened_shop, signed_for
from tests.servers.chains.fixtures import PAYER, Chains
from tests.site.server import Site

GONE = "<!doctype html><title>Not found</title><p>404"
CRAWL, AUDIT, RENDER = 5_000, 10_000, 15_000  # for each page


@dataclass(frozen=True)
class OrderShop:
    """A shop that sells long work."""

    shop: Shop

    @property
    def service(self) -> Any:
        return self.shop.fetching.visit.service

    @property
    def client(self) -> httpx.AsyncClient:
        return self.shop.fetching.visit.client

    async def order(
        self, path: str, body: dict[str, Any], sent: dict[str, str] | None = None, **options: Any
    ) -> httpx.Response:
        async with self.shop.buyer(**options) as client:
            return await client.post(path, json=body, headers=sent)

    async def get(self, path: str, answer: httpx.Response, **sent: str) -> httpx.Response:
        """As the payer of an order."""
        return await self.client.get(path, headers={**opening(answer), **sent})

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        stop = asyncio.Event()
        task = asyncio.create_task(self.service.worker().run(stop))
        try:
            async with crawling(self.shop.fetching.visit):
                yield
        finally:
            stop.set()
            await task

    async def closed(self, answer: httpx.Response) -> dict[str, Any]:
        """The order, when its rest has become credit."""
        async with asyncio.timeout(60):
            while True:
                await self.service.payments.orders.reconcile()
                found: dict[str, Any] = (await self.get(f"/api/orders/{order_id(answer)}", answer)).json()
                if found["closedAt"]:
                    return found
                await asyncio.sleep(0.05)

    async def credit(self, name: str = PAYER) -> str:
        listed = await self.client.get(
            "/api/payments", params={"payer": payers.address("base", name)}, headers=AS_ADMIN
        )
        found = listed.json()["credit"]
        return found[0]["credit"] if found else "$0"

    async def count(self, table: Any) -> int:
        async with self.service.database.read() as connection:
            return int(await connection.scalar(select(func.count()).select_from(table)))


def opening(answer: httpx.Response) -> dict[str, str]:
    return {"Authorization": f"Bearer {answer.headers['x-order-capability']}"}


def order_id(answer: httpx.Response) -> str:
    return str(answer.headers["x-order-capability"].split("_")[1])


@pytest.fixture
async def shop(tmp_path: Path, database_url: str, site: Site, chains: Chains) -> AsyncIterator[OrderShop]:
    async with opened_shop(tmp_path, site, chains, database_url=database_url) as shop:
        yield OrderShop(shop)


@pytest.fixture(scope="module")
async def one_shop(
    tmp_path_factory: pytest.TempPathFactory, site: Site, chains: Chains
) -> AsyncIterator[OrderShop]:
    """For tests that leave no credit behind."""
    async with opened_shop(tmp_path_factory.mktemp("shop"), site, chains) as shop:
        yield OrderShop(shop)


async def test_a_batch_is_paid_for_when_accepted_and_its_failed_pages_become_credit(shop: OrderShop) -> None:
    income = Income(shop.shop.chains)
    pages = [shop.shop.page(), shop.shop.page(), shop.shop.page(GONE, status="404 Not Found")]
    answer = await shop.order("/batch/fetch", {"urls": pages})
    assert answer.status_code == 202, answer.text
    assert income.taken() == 3 * BASIC
    assert not any(shop.shop.visits(page) for page in pages)
    accepted = answer.json()
    assert answer.headers["location"] == accepted["statusUrl"]
    async with shop.working():
        order = await shop.closed(answer)
    assert (order["pages"], order["done"], order["credit"]) == (3, 2, "$0.005")
    shown = (await shop.get(accepted["statusUrl"], answer)).json()
    assert (shown["ok"], shown["notOk"]) == (2, 1)
    assert len((await shop.get(accepted["resultsUrl"], answer)).json()["results"]) == 3
    assert (await shop.get(accepted["eventsUrl"], answer)).json()["events"]
    assert (await shop.get(f"/api/jobs/{accepted['jobId']}", answer)).json()["status"] == "done"
    assert await shop.credit() == "$0.005"

    paid_by_credit = await shop.shop.buy(shop.shop.page())
    assert (paid_by_credit.status_code, paid_by_credit.headers["x-credit-spent"]) == (200, "$0.005")
    assert (income.taken(), await shop.credit()) == (3 * BASIC, "$0")
    paid = await shop.shop.buy(shop.shop.page())
    assert (paid.status_code, "x-credit-spent" in paid.headers) == (200, False)
    assert income.taken() == 4 * BASIC
    listed = (await shop.client.get("/api/payments", headers=AS_ADMIN)).json()
    assert listed["revenue"] == {"/batch/fetch": "$0.015", "/fetch/basic": "$0.005"}
    assert [one["credit"] for one in listed["payments"]] == ["$0", "$0.005", "$0"]
    assert listed["payments"][2]["order"] == {
        "kind": "batch",
        "id": accepted["batchId"],
        "pages": 3,
        "done": 2,
        "credit": "$0.005",
    }


async def test_a_crawl_is_quoted_by_its_pages_and_unused_ones_become_credit(
    shop: OrderShop, site: Site
) -> None:
    income, web = Income(shop.shop.chains), Web.on(site.origins(1)[0])
    body = {"seeds": [web.seed], "sitemaps": False, "maxPages": 10}
    asked = await shop.client.post("/api/crawls", json=body)
    assert asked.status_code == 402
    quote = asked.json()["details"]["quote"]
    assert (quote["amount"], quote["pages"], quote["pagePrice"]) == (str(10 * CRAWL), 10, "$0.005")
    answer = await shop.order("/api/crawls", body)
    assert (answer.status_code, income.taken()) == (202, 10 * CRAWL)
    async with shop.working():
        order = await shop.closed(answer)
    assert (order["done"], order["credit"]) == (3, "$0.035")
    where = answer.headers["location"]
    pages = (await shop.get(f"{where}/pages", answer)).json()["pages"]
    assert {page["url"] for page in pages} == web.urls
    content = await shop.get(f"{where}/pages/{pages[0]['pageId']}/content", answer)
    assert content.status_code == 200
    async with shop.shop.buyer() as client:  # the index of a wallet is its own
        found = await client.post("/search", json={"query": "leaf"})
    assert "said" not in found.text


async def test_an_audit_is_paid_by_its_pages_and_shared_work_once(shop: OrderShop) -> None:
    income = Income(shop.shop.chains)
    body = {"url": shop.shop.page(), "options": {"maxPages": 1}}
    first, second = [await shop.order("/audits", body) for _ in range(2)]
    assert (first.status_code, second.status_code, income.taken()) == (202, 202, 2 * AUDIT)
    assert first.json() == second.json()  # one job, while it is queued
    async with shop.working():
        done = [await shop.closed(answer) for answer in (first, second)]
    assert [(order["done"], order["credit"]) for order in done] == [(1, "$0"), (0, "$0.01")]
    report = await shop.get(first.json()["reportUrl"], first)
    assert report.json()["status"] == "done"
    third = await shop.order("/audits", body)
    assert (third.headers["x-credit-spent"], income.taken()) == ("$0.01", 2 * AUDIT)


async def test_what_is_canceled_or_deleted_becomes_credit_as_far_as_it_was_not_done(shop: OrderShop) -> None:
    urls = [shop.shop.page() for _ in range(2)]
    canceled = await shop.order("/batch/fetch", {"urls": urls})
    gone = await shop.client.delete(f"/api/jobs/{canceled.json()['jobId']}", headers=opening(canceled))
    assert gone.json()["status"] == "canceled"
    assert (await shop.closed(canceled))["credit"] == "$0.01"

    deleted = await shop.order("/batch/fetch", {"urls": [*urls, shop.shop.page(GONE, status="404 X")]})
    async with shop.working():
        where = deleted.headers["location"]
        async with asyncio.timeout(60):
            while (await shop.get(where, deleted)).json()["pending"]:
                await asyncio.sleep(0.02)
        removed = await shop.client.delete(where, headers=opening(deleted))
        assert removed.status_code == 202
        assert (await shop.closed(deleted))["credit"] == "$0.005"  # what was delivered stays paid
    assert (await shop.get(where, deleted)).status_code == 404
    early = await shop.order("/api/crawls", {"seeds": [urls[0]], "maxPages": 2})
    assert (await shop.client.delete(early.headers["location"], headers=opening(early))).status_code == 202
    assert (await shop.closed(early))["credit"] == "$0.01"


async def test_two_requests_do_not_spend_the_same_credit(shop: OrderShop) -> None:
    answer = await shop.order("/batch/fetch", {"urls": [shop.shop.page()]})
    await shop.client.delete(answer.headers["location"], headers=opening(answer))
    assert (await shop.closed(answer))["walletCredit"] == "$0.005"
    income = Income(shop.shop.chains)
    answers = await asyncio.gather(*(shop.shop.buy(shop.shop.page()) for _ in range(4)))
    assert [one.status_code for one in answers] == [200] * 4
    assert sum("x-credit-spent" in one.headers for one in answers) == 1
    assert (income.taken(), await shop.credit()) == (3 * BASIC, "$0")


async def test_the_same_payment_or_key_gets_the_same_job(shop: OrderShop) -> None:
    income, body = Income(shop.shop.chains), {"urls": [shop.shop.page()]}
    payment = await signed_for(shop.client, payers.wallet(shop.shop.chains), "/batch/fetch", body)
    first, again = [await shop.client.post("/batch/fetch", json=body, headers=payment) for _ in range(2)]
    assert (first.status_code, again.status_code, income.taken()) == (202, 202, BASIC)
    assert first.json() == again.json()
    assert "x-order-capability" not in again.headers  # a settled payment is public, and proves nothing

    key = {"Idempotency-Key": "a-key-of-this-test"}
    one, two = [await shop.order("/batch/fetch", body, key) for _ in range(2)]
    assert (one.status_code, two.status_code, income.taken()) == (202, 202, 2 * BASIC)
    assert one.json() == two.json() != first.json()
    assert one.headers["x-order-capability"] == two.headers["x-order-capability"]
    other = await shop.order("/batch/fetch", {"urls": [shop.shop.page()]}, key)
    assert (other.status_code, other.json()["code"]) == (409, "IDEMPOTENCY_KEY_CONFLICT")
    assert (income.taken(), await shop.count(orders), await shop.count(jobs)) == (2 * BASIC, 2, 2)


async def test_many_requests_with_one_payment_are_one_job(shop: OrderShop) -> None:
    income, body = Income(shop.shop.chains), {"urls": [shop.shop.page()]}
    payment = await signed_for(shop.client, payers.wallet(shop.shop.chains), "/batch/fetch", body)
    sending = [shop.client.post("/batch/fetch", json=body, headers=payment) for _ in range(10)]
    answers = await asyncio.gather(*sending)
    assert {one.status_code for one in answers} <= {202, 409}
    assert len({one.json()["jobId"] for one in answers if one.status_code == 202}) == 1
    assert (income.taken(), await shop.count(orders), await shop.count(jobs)) == (BASIC, 1, 1)


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/batch/fetch", {"urls": ["https://example.com/"], "include": ["::"]}, "INVALID_SELECTOR"),
        ("/batch/fetch", {"urls": []}, "VALIDATION_ERROR"),
        ("/api/crawls", {"seeds": ["http://10.0.0.1/"], "maxPages": 2}, "INVALID_URL"),
        ("/api/crawls", {"seeds": ["https://example.com/"], "maxPages": 1_001}, "UNPROCESSABLE_ENTITY"),
        ("/audits", {"url": "http://10.0.0.1/"}, "INVALID_URL"),
    ],
)
async def test_what_is_refused_is_refused_before_money_moves(
    one_shop: OrderShop, path: str, body: dict[str, Any], code: str
) -> None:
    income = Income(one_shop.shop.chains)
    answer = await one_shop.order(path, body)
    assert (answer.json()["code"], income.taken()) == (code, 0)
    assert await one_shop.count(orders) == 0


async def test_what_is_refused_after_the_payment_becomes_credit(
    shop: OrderShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quota is used up while the payment is settled: by then the endpoint has been tried out."""
    income, check, checks = Income(shop.shop.chains), Quotas.check, 0

    async def use_up(quotas: Quotas, caller: Caller, *wanted: Quota) -> None:
        nonlocal checks
        checks += 1
        if checks > 1:
            raise Problem(QUOTA_EXCEEDED, "No job is left for this hour.")
        await check(quotas, caller, *wanted)

    with monkeypatch.context() as patch:
        patch.setattr(Quotas, "check", use_up)
        refused = await shop.order("/batch/fetch", {"urls": [shop.shop.page()] * 2})
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (QUOTA_EXCEEDED.status, "QUOTA_EXCEEDED")
    assert "credit of your wallet" in problem["hint"]
    assert (income.taken(), await shop.credit(), await shop.count(jobs)) == (2 * BASIC, "$0.01", 0)
    again = await shop.order("/batch/fetch", {"urls": [shop.shop.page()] * 2})
    assert (again.status_code, again.headers["x-credit-spent"]) == (202, "$0.01")
    assert (income.taken(), await shop.credit(), await shop.count(jobs)) == (2 * BASIC, "$0", 1)


async def test_a_capability_opens_its_own_order_and_nothing_else(one_shop: OrderShop) -> None:
    shop, chains = one_shop, one_shop.shop.chains
    chains.base.fund(payers.address("base", "another"), 10 * BASIC)
    body = {"urls": [shop.shop.page()]}
    mine = await shop.order("/batch/fetch", body)
    other = await shop.order("/batch/fetch", body, name="another")
    assert mine.json()["batchId"] != other.json()["batchId"]
    assert (await shop.get(mine.headers["location"], mine)).status_code == 200
    closed = [
        other.headers["location"],
        other.json()["resultsUrl"],
        other.json()["eventsUrl"],
        f"/api/orders/{order_id(other)}",
        "/api/jobs",
        "/api/crawls",
        "/audits",
        "/api/pages",
        "/api/usage",
        "/api/payments",
    ]
    assert {path: (await shop.get(path, mine)).status_code for path in closed} == dict.fromkeys(closed, 403)
    for path in ("/fetch/basic", "/batch/fetch", "/api/crawls"):
        refused = await shop.client.post(path, json=body, headers=opening(mine))
        assert refused.status_code == 403, path
    assert (await shop.client.get(mine.headers["location"])).status_code == 401
    forged = mine.headers["x-order-capability"][:-2] + "xx"
    for wrong in (forged, "cap_", "cap_x", f"cap_{order_id(other)}_{forged.split('_')[2]}"):
        answer = await shop.client.get(mine.headers["location"], headers={"Authorization": f"Bearer {wrong}"})
        assert answer.status_code == 401, wrong
    assert (await shop.get("/api/prices", mine)).status_code == 200


async def test_a_capability_ends_with_the_data(one_shop: OrderShop) -> None:
    shop = one_shop
    answer = await shop.order("/batch/fetch", {"urls": [shop.shop.page()]})
    assert (await shop.get(answer.headers["location"], answer)).status_code == 200
    async with shop.service.database.write() as connection:
        mine = update(orders).where(orders.c.payment_id == order_id(answer))
        await connection.execute(mine.values(done=1, closed_at=1))
    assert (await shop.get(answer.headers["location"], answer)).status_code == 401


@pytest.mark.parametrize(("network", "version"), [("base", 1), ("base", 2), ("solana", 2)])
async def test_orders_are_paid_in_both_versions_and_on_both_kinds_of_chain(
    one_shop: OrderShop, network: str, version: int
) -> None:
    income = Income(one_shop.shop.chains, network)
    body = {"urls": [one_shop.shop.page(), one_shop.shop.page()]}
    answer = await one_shop.order("/batch/fetch", body, network=network, version=version)
    assert (answer.status_code, income.taken()) == (202, 2 * BASIC)
    assert (await one_shop.get(answer.headers["location"], answer)).json()["total"] == 2


async def test_prices_are_listed_by_page(one_shop: OrderShop) -> None:
    listed = (await one_shop.client.get("/api/prices")).json()["prices"]
    by_page = {one["name"]: one["price"] for one in listed if one["unit"] == "page"}
    assert by_page == {
        "batch-basic": "$0.005",
        "batch-pro": "$0.015",
        "crawl": "$0.005",
        "crawl-rendered": "$0.015",
        "audit": "$0.01",
    }
    empty = await one_shop.client.post("/api/crawls")
    assert (empty.status_code, empty.json()["details"]["quote"]["amount"]) == (402, str(CRAWL))


async def test_a_wallet_buys_a_page_as_a_browser_sees_it(
    one_shop: OrderShop,
) -> None:
    """Paid when it is there: while it is rendered, nobody owes anything."""
    income, url = Income(one_shop.shop.chains), one_shop.shop.fetching.site.url(app_page())
    async with one_shop.working():
        fresh = await one_shop.order("/api/render", {"url": url, "wait": 60})
        assert (fresh.status_code, income.taken()) == (200, RENDER), fresh.text
        assert RENDERED in fresh.content
        cached = await one_shop.order("/api/render", {"url": url})
    assert (cached.status_code, cached.content) == (200, fresh.content)
    assert income.taken() > RENDER
