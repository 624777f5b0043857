"""Paying at the door: quotes, limits, names of payments, the ledger; by the clauses of the specification."""

import asyncio
import base64
import csv
import io
import json
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from sqlalchemy import update
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.http.server.test_server import serving
from tests.doors.services import AS_ADMIN, Visit, Visiting
from tests.pay import payers
from tests.pay.payers import Income
from tests.pay.shops import BASIC, CACHED, UNLIMITED, Shop, opened_shop
from tests.servers.chains import wallets
from tests.servers.chains.facilitator import Facilitator, Fault
from tests.servers.chains.fixtures import PAYER, Chains
from tests.servers.postgres import PostgresServer
from tests.servers.valkey import Valkey
from tests.site.server import Site
from x402.extensions.bazaar import validate_discovery_extension_spec
from x402.extensions.payment_identifier import append_payment_identifier_to_extensions
from x402.http.utils import decode_payment_required_header, encode_payment_signature_header
from x402.schemas import parse_payment_payload, parse_payment_requirements

from gossamer.assembly.api import routes
from gossamer.doors.http.core.routing import path_template
from gossamer.doors.http.docs.discovery import MAX_BYTES, extensions
from gossamer.flows.pages.caching import Caching
from gossamer.flows.pay.quotes import Prices
from gossamer.flows.tenants.admit import wallet
from gossamer.state.pay import payment_list
from gossamer.state.pay.pay_tables import payments
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.pages.page_request import PageRequest
from gossamer.web.pay.x402 import MAX_OFFER_CHARS, NETWORKS

PRO = 15_000
WALLET = "0x" + "ab" * 20
NAMED = "pay_0123456789abcdef"


@pytest.fixture(scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory, site: Site, chains: Chains) -> AsyncIterator[Shop]:
    async with opened_shop(tmp_path_factory.mktemp("shop"), site, chains) as one:
        yield one


async def quoted(shop: Shop, path: str, body: dict[str, Any], **sent: str) -> httpx.Response:
    answer = await shop.fetching.visit.client.post(path, json=body, headers=sent)
    assert answer.status_code == 402, answer.text
    return answer


def offered(answer: httpx.Response) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The entries of both versions."""
    second = json.loads(base64.b64decode(answer.headers["payment-required"]))
    return answer.json()["accepts"], second["accepts"]


def amounts(answer: httpx.Response) -> set[int]:
    first, second = offered(answer)
    return {int(one["maxAmountRequired"]) for one in first} | {int(one["amount"]) for one in second}


def refused(answer: httpx.Response, code: str) -> dict[str, Any]:
    return dict(assert_problem(answer, code))


urls = st.from_regex(r"https://[a-z]{1,12}\.example/[a-z0-9/]{0,20}", fullmatch=True)
options = st.fixed_dictionaries(
    {},
    optional={
        "timeout": st.integers(10_000, 60_000),
        "cache": st.booleans(),
        "cacheTtl": st.integers(-10, 100_000),
        "maxAge": st.integers(0, 100_000),
        "formats": st.lists(st.sampled_from(["markdown", "text", "links"]), min_size=1, max_size=3),
        "mainContent": st.booleans(),
    },
)


@settings(max_examples=100)
@given(tier=st.sampled_from([("/fetch/basic", BASIC), ("/fetch/pro", PRO)]), url=urls, body=options)
async def test_property_3_tier_pricing_consistency(
    shop: Shop, tier: tuple[str, int], url: str, body: dict[str, Any]
) -> None:
    path, price = tier
    assert amounts(await quoted(shop, path, {"url": url, **body})) == {price}


@settings(max_examples=100)
@given(url=urls, body=options)
async def test_property_4_legacy_endpoint_backward_compatibility(
    shop: Shop, url: str, body: dict[str, Any]
) -> None:
    answers = [await quoted(shop, path, {"url": url, **body}) for path in ("/fetch", "/fetch/basic")]
    (old_first, old_second), (first, second) = map(offered, answers)
    assert old_second == second
    assert [{**one, "resource": "", "description": ""} for one in old_first] == [
        {**one, "resource": "", "description": ""} for one in first
    ]


@settings(max_examples=30)
@given(body=options, path=st.sampled_from(["/fetch", "/fetch/basic"]))
async def test_property_6_cache_hit_returns_reduced_price(
    shop: Shop, path: str, body: dict[str, Any]
) -> None:
    url = shop.page()
    formats = tuple(body.get("formats", ("markdown", "metadata")))
    request = PageRequest(url, formats=formats, main_content=body.get("mainContent", True))
    await shop.fetching.visit.service.reader.read_cached(request, wallet(WALLET), Caching(PUBLIC, 3600))
    cached = {**body, "url": url, "cache": True, "maxAge": 3600}
    assert amounts(await quoted(shop, path, cached)) == {CACHED}
    assert amounts(await quoted(shop, path, {**cached, "cache": False})) == {BASIC}
    assert amounts(await quoted(shop, path, {**cached, "url": url + "?other"})) == {BASIC}


@given(price=st.integers(1, 10**9), discount=st.integers(0, 100))
def test_property_6_the_reduced_price_of_any_price(price: int, discount: int) -> None:
    cached = Prices({"it": price}, discount / 100).cached("it")
    assert 1 <= cached <= price
    assert cached == 1 or abs(cached - price * (100 - discount) / 100) <= 0.5


@settings(max_examples=50)
@given(
    path=st.sampled_from(["/fetch", "/fetch/basic", "/fetch/pro"]),
    body=options,
    payment=st.one_of(st.none(), st.text("abcdef0123456789=", min_size=1)),
)
async def test_property_9_multi_chain_payment_options(
    shop: Shop, path: str, body: dict[str, Any], payment: str | None
) -> None:
    sent = {} if payment is None else {"payment-signature": payment}
    answer = await quoted(shop, path, {"url": "https://site.example/", **body}, **sent)
    first, second = offered(answer)
    assert [NETWORKS[one["network"]].name for one in second] == ["base-sepolia", "solana-devnet"]
    assert [one["network"] for one in first] == ["base-sepolia"]
    assert second[1]["extra"]["feePayer"]
    assert len(answer.headers["payment-required"]) < MAX_OFFER_CHARS


async def test_a_402_is_a_problem_and_an_offer(shop: Shop) -> None:
    answer = await quoted(shop, "/fetch/basic", {"url": "https://site.example/"})
    document = refused(answer, "PAYMENT_REQUIRED")
    assert document["error"] == "PAYMENT-SIGNATURE or X-PAYMENT header is required"
    assert document["x402Version"] == 1
    assert document["details"]["quote"]["price"] == "$0.005"
    assert not document["details"]["quote"]["cached"]
    second: Any = decode_payment_required_header(answer.headers["payment-required"])
    assert second.resource.url == "https://gossamer.example/fetch/basic"


async def test_a_probe_without_a_body_is_told_the_price_and_nonsense_is_not_sold(shop: Shop) -> None:
    client = shop.fetching.visit.client
    probed = await client.post("/fetch/pro")
    assert amounts(probed) == {PRO}
    for body in (b"{", b'{"url": 1}', b'{"uri": "https://site.example/"}'):
        sent = await client.post("/fetch/basic", content=body, headers={"content-type": "application/json"})
        refused(sent, "VALIDATION_ERROR")
    for render, price in (("never", BASIC), ("auto", PRO), ("always", PRO)):
        body_of = {"url": "https://site.example/", "render": render}
        assert amounts(await quoted(shop, "/fetch", body_of)) == {price}


async def test_without_wallets_there_are_no_payments(visiting: Visiting) -> None:
    async with visiting() as visit:
        assert visit.service.payments is None
        answer = await visit.client.post("/fetch/basic", json={"url": "https://site.example/"})
        refused(answer, "UNAUTHORIZED")
        told = (await visit.client.get("/api/prices")).json()
        assert (told["payments"], told["networks"]) == (False, [])
        cheaper = {one["name"] for one in told["prices"] if one["cachedPrice"] != one["price"]}
        assert {"fetch-basic", "search"} <= cheaper
        assert not cheaper & {"memory", "memory-page", "batch-basic"}  # which no cache answers
    async with visiting(wallet_address="0x" + "ab" * 20) as visit:
        assert visit.service.payments is None
        assert len(visit.logged("payments_off")) == 1


async def test_discovery_of_every_priced_route_is_valid_and_small(shop: Shop) -> None:
    service = shop.fetching.visit.service
    priced = [route for route in routes(service) if route.price]
    assert {"/fetch", "/fetch/basic", "/fetch/pro"} <= {route.path for route in priced}
    for route in priced:
        declared = extensions(route)
        checked = validate_discovery_extension_spec(declared["bazaar"])
        assert checked.valid, (route.path, checked.errors)
        assert len(msgspec.json.encode(declared)) <= MAX_BYTES, route.path
        probed = await shop.fetching.visit.client.request(route.method, route.path)
        assert len(probed.headers["payment-required"]) < MAX_OFFER_CHARS, route.path


async def test_discovery_shows_an_answer_of_every_priced_route(shop: Shop) -> None:
    client = shop.fetching.visit.client
    document = (await client.get("/openapi.json")).json()
    for route in routes(shop.fetching.visit.service):
        if not route.price:
            continue
        probed = await client.request(route.method, route.path)
        second = json.loads(base64.b64decode(probed.headers["payment-required"]))
        output = second["extensions"]["bazaar"]["info"]["output"]
        if route.path in ("/api/render", "/memory/export"):
            assert (output["type"], output["example"]) == ("text", route.example)
            continue
        assert output["type"] == "json"
        responses = document["paths"][path_template(route.path)][route.method.lower()]["responses"]
        schema = responses[str(route.status)]["content"]["application/json"]["schema"]
        whole = {**schema, "components": document["components"]}
        assert list(Draft202012Validator(whole).iter_errors(output["example"])) == [], route.path
        if route.order is None and route.tag != "Memory":  # whose answers are what was stored, and no more
            assert set(output["example"]) >= {"requestId"}, route.path  # a whole one
        assert {json.dumps(one["outputSchema"]["output"]) for one in probed.json()["accepts"]} == {
            json.dumps(output)
        }


async def test_unpaid_quotes_are_limited_and_given_back_when_they_are_paid(
    tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    async with opened_shop(tmp_path, site, chains, limit_unpaid="3/60") as shop:
        for _ in range(5):  # each is paid, so none counts
            assert (await shop.buy(shop.page())).status_code == 200
        url = shop.page()
        for left in (2, 1, 0):
            answer = await quoted(shop, "/fetch/basic", {"url": url})
            assert answer.headers["x-ratelimit-remaining"] == str(left)
        over = await shop.fetching.visit.client.post("/fetch/basic", json={"url": url})
        document = refused(over, "RATE_LIMITED")
        assert document["details"]["policy"] == "unpaid"
        assert int(over.headers["retry-after"]) > 0
        # Who was quoted a price may pay it all the same; facilitators are not bothered with the rest.
        payment, before = await signed_for(shop, answer), facilitator.count("verify")
        assert (await shop.send(shop.page(), payment)).status_code == 429
        assert facilitator.count("verify") == before
        assert (await shop.send(url, payment)).status_code == 200
        assert (await shop.fetching.post(url, path="/fetch/basic")).status_code == 200


async def test_a_wallet_is_limited_by_itself(tmp_path: Path, site: Site, chains: Chains) -> None:
    limits = {**UNLIMITED, "limit_wallet": "2/60"}
    async with opened_shop(tmp_path, site, chains, **limits) as shop:
        income = Income(chains)
        for left in ("1", "0"):
            answer = await shop.buy(shop.page())
            assert (answer.status_code, answer.headers["x-ratelimit-remaining"]) == (200, left)
        url = shop.page()
        document = refused(await shop.buy(url), "RATE_LIMITED")
        assert document["details"]["policy"] == "wallet"
        assert income.taken() == 2 * BASIC
        assert shop.visits(url) == 0


async def signed_for(shop: Shop, answer: httpx.Response, name: str = "") -> dict[str, str]:
    """The payment that a 402 asks for, perhaps with a name."""
    terms: Any = decode_payment_required_header(answer.headers["payment-required"])
    payload: Any = await payers.wallet(shop.chains).create_payment_payload(terms)
    if name:
        given: dict[str, Any] = dict(terms.extensions or {})
        append_payment_identifier_to_extensions(given, name)
        payload = payload.model_copy(update={"extensions": given})
    return {"PAYMENT-SIGNATURE": encode_payment_signature_header(payload)}


async def named(shop: Shop, url: str) -> dict[str, str]:
    return await signed_for(shop, await quoted(shop, "/fetch/basic", {"url": url}), NAMED)


async def test_payment_identifier_the_same_payment_gets_the_same_answer(
    shop: Shop, facilitator: Facilitator
) -> None:
    income, url = Income(shop.chains), shop.page()
    first, second = await named(shop, url), await named(shop, url)
    answer = await shop.send(url, first)
    again = await shop.send(url, first)
    assert (answer.status_code, again.status_code) == (200, 200)
    assert again.json() == answer.json()
    assert again.headers["payment-response"] == answer.headers["payment-response"]
    assert again.headers["x-idempotent-replayed"] == "true"
    refused(await shop.send(url, second), "IDEMPOTENCY_KEY_CONFLICT")
    refused(await shop.send(shop.page(), first), "PAYMENT_FAILED")
    assert shop.visits(url) == 1
    assert facilitator.count("settle") == 1
    assert income.taken() == BASIC


async def test_an_idempotency_key_works_for_who_pays(shop: Shop, facilitator: Facilitator) -> None:
    income, url, key = Income(shop.chains), shop.page(), {"Idempotency-Key": "a-key-of-a-payer"}
    first, second = await shop.signed(url), await shop.signed(url)
    answers = [await shop.send(url, {**payment, **key}) for payment in (first, first, second)]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert [answer.json() for answer in answers[1:]] == [answers[0].json()] * 2
    assert shop.visits(url) == 1
    assert facilitator.count("settle") == 1
    assert income.taken() == BASIC
    assert (await shop.send(url, first)).status_code == 402  # it was paid with already
    assert (await shop.send(shop.page(), second)).status_code == 200  # this one was not


async def test_an_idempotency_key_opens_nothing_that_was_not_paid(
    shop: Shop, facilitator: Facilitator
) -> None:
    income, url, key = Income(shop.chains), shop.page(), {"Idempotency-Key": "a-key-for-nothing"}
    payment = {**await shop.signed(url), **key}
    facilitator.fail("settle", Fault.DECLINE)
    for _ in range(3):
        refused(await shop.send(url, payment), "PAYMENT_FAILED")
    assert (facilitator.count("settle"), income.taken()) == (3, 0)
    facilitator.reset()
    assert (await shop.send(url, payment)).status_code == 200
    again = await shop.send(url, {**await shop.signed(url), **key})
    assert (again.status_code, again.headers["x-idempotent-replayed"]) == (200, "true")
    assert (facilitator.count("settle"), income.taken()) == (1, BASIC)


async def test_nothing_found_costs_nothing(shop: Shop, facilitator: Facilitator) -> None:
    income, url = Income(shop.chains), shop.page()
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/search", {"query": "nobodyhaswrittenthis"}),
        ("/extract", {"url": url, "fields": ["price"]}),
        ("/fetch/basic", {"url": url, "include": ["h6"]}),
        ("/fetch/basic", {"url": url, "exclude": ["*"]}),
    ]
    async with shop.buyer() as client:
        for path, body in asked:
            answer = await client.post(path, json=body)
            assert (answer.status_code, "payment-response" in answer.headers) == (200, False), answer.text
    assert (facilitator.count("settle"), income.taken()) == (0, 0)


async def test_payments_with_one_idempotency_key_at_once_pay_once(
    shop: Shop, facilitator: Facilitator
) -> None:
    income, url, key = Income(shop.chains), shop.page(), {"Idempotency-Key": "a-key-for-many"}
    payments = [{**await shop.signed(url), **key} for _ in range(4)]
    answers = await asyncio.gather(*(shop.send(url, payment) for payment in payments))
    assert [answer.status_code for answer in answers] == [200] * 4
    assert (shop.visits(url), facilitator.count("settle"), income.taken()) == (1, 1, BASIC)


async def test_a_payment_that_went_elsewhere_is_no_revenue(
    tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    """On EVM chains a nonce is its payer's: between our two questions it can pay for something else."""
    async with opened_shop(tmp_path, site, chains) as shop:
        income, url = Income(chains), shop.page()
        payment = await shop.signed(url)
        facilitator.before = partial(_spend_elsewhere, chains)
        assert (await shop.send(url, payment)).status_code == 200  # nobody can tell
        facilitator.before = None
        refused(await shop.send(url, payment), "PAYMENT_FAILED")
        assert income.taken() == 0
        told = (await shop.fetching.visit.client.get("/api/payments", headers=AS_ADMIN)).json()
        assert (told["revenue"], told["unproven"]) == ({}, {"/fetch/basic": "$0.005"})
        assert [one["transaction"] for one in told["payments"]] == [""]


def _spend_elsewhere(chains: Chains, phase: str, body: Any) -> None:
    if phase != "settle":
        return
    payer, requirements = wallets.evm(PAYER), body["paymentRequirements"]
    sent = json.loads(json.dumps(body["paymentPayload"]))
    sent["accepted"] = {**requirements, "amount": "1", "payTo": payer.address}
    authorization = {**sent["payload"]["authorization"], "to": payer.address, "value": "1"}
    signature = payer.sign_typed_data(
        {
            "name": requirements["extra"]["name"],
            "version": requirements["extra"]["version"],
            "chainId": int(requirements["network"].partition(":")[2]),
            "verifyingContract": requirements["asset"],
        },
        {
            "TransferWithAuthorization": [
                {"name": "from", "type": "address"},
                {"name": "to", "type": "address"},
                {"name": "value", "type": "uint256"},
                {"name": "validAfter", "type": "uint256"},
                {"name": "validBefore", "type": "uint256"},
                {"name": "nonce", "type": "bytes32"},
            ]
        },
        {
            **authorization,
            **{name: int(authorization[name]) for name in ("value", "validAfter", "validBefore")},
        },
    ).signature
    sent["payload"] = {"authorization": authorization, "signature": "0x" + bytes(signature).hex()}
    payload = parse_payment_payload(sent)
    done = chains.base.settle(payload, parse_payment_requirements(2, sent["accepted"]))
    assert done.success, done


async def test_the_parts_of_a_payment_that_do_not_fit_are_told(shop: Shop, facilitator: Facilitator) -> None:
    url = shop.page()
    payment = json.loads(base64.b64decode((await shop.signed(url))["PAYMENT-SIGNATURE"]))
    accepted = payment["accepted"]
    changed: dict[str, Any] = {
        "amount_mismatch": {"accepted": {**accepted, "amount": "1"}},
        "asset_mismatch": {"accepted": {**accepted, "asset": accepted["payTo"]}},
        "recipient_mismatch": {"accepted": {**accepted, "payTo": accepted["asset"]}},
        "resource_mismatch": {"resource": {"url": "https://gossamer.example/fetch/pro"}},
        "network_mismatch": {"accepted": {**accepted, "network": "eip155:8453"}},
    }
    for reason, change in changed.items():
        header = base64.b64encode(json.dumps({**payment, **change}).encode()).decode()
        answer = await shop.send(url, {"PAYMENT-SIGNATURE": header})
        document = refused(answer, "PAYMENT_FAILED")
        assert document["details"]["reason"] == reason
        assert document["accepts"]
    pro = await shop.fetching.visit.client.post(
        "/fetch/pro",
        json={"url": url},
        headers={"X-PAYMENT": base64.b64encode(json.dumps(
            {"x402Version": 1, "scheme": "exact", "network": "base-sepolia", "payload": payment["payload"]}
        ).encode()).decode()},
    )  # fmt: skip
    assert refused(pro, "PAYMENT_FAILED")["details"]["reason"] == "amount_mismatch"
    assert facilitator.count("verify") == 0


async def test_prices_are_open_to_all(shop: Shop) -> None:
    told = (await shop.fetching.visit.client.get("/api/prices")).json()
    assert told["payments"]
    assert told["quoteSeconds"] == 300
    by_name = {one["name"]: one for one in told["prices"]}
    basic, pro = by_name["fetch-basic"], by_name["fetch-pro"]
    assert (basic["price"], basic["cachedPrice"], basic["endpoints"]) == (
        "$0.005",
        "$0.0015",
        ["/fetch", "/fetch/basic"],
    )
    assert (pro["amount"], pro["cachedAmount"]) == ("15000", "4500")
    assert [one["name"] for one in told["networks"]] == ["base-sepolia", "solana-devnet"]
    assert [one["facilitator"] for one in told["networks"]] == ["cdp", "payai"]


async def test_the_ledger_is_for_admins_as_a_list_and_as_a_table(
    tmp_path: Path, site: Site, chains: Chains
) -> None:
    async with opened_shop(tmp_path, site, chains) as shop:
        visit = shop.fetching.visit
        for _ in range(3):
            assert (await shop.buy(shop.page())).status_code == 200
        assert (await shop.buy(shop.page("", status="404 Not Found"))).status_code == 200
        page = (await visit.client.get("/api/payments?limit=3", headers=AS_ADMIN)).json()
        assert [one["state"] for one in page["payments"]] == ["released", "settled", "settled"]
        assert page["revenue"] == {"/fetch/basic": "$0.015"}
        newest = page["payments"][1]
        assert (newest["amount"], newest["price"], newest["network"]) == ("5000", "$0.005", "base-sepolia")
        assert newest["transaction"]
        assert newest["deliveredAt"]
        rest = await visit.client.get(f"/api/payments?cursor={page['nextCursor']}", headers=AS_ADMIN)
        assert len(rest.json()["payments"]) == 1
        assert rest.json()["nextCursor"] is None
        only = await visit.client.get("/api/payments?state=settled", headers=AS_ADMIN)
        assert len(only.json()["payments"]) == 3
        shown = "0x" + newest["payer"][2:].upper()  # in capitals, as in the mixed case that wallets show
        for accept in ("application/json", "text/csv"):
            sent = {**AS_ADMIN, "Accept": accept}
            of_payer = await visit.client.get(f"/api/payments?payer={shown}", headers=sent)
            assert of_payer.text.count(newest["payer"]) == 4
        assert (await visit.client.get(f"/api/payments?payer={WALLET}", headers=AS_ADMIN)).json()[
            "payments"
        ] == []
        table = await visit.client.get("/api/payments", headers={**AS_ADMIN, "Accept": "text/csv"})
        assert table.headers["content-type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(table.text)))
        assert [row["state"] for row in rows] == ["released", "settled", "settled", "settled"]
        assert [row["amount"] for row in rows] == ["5000"] * 4
        assert (await visit.client.get("/api/payments")).status_code == 401
        text = (await visit.client.get("/metrics", headers=AS_ADMIN)).text
        assert 'gossamer_payments_total{network="base-sepolia",state="settled"} 3.0' in text
        assert 'gossamer_payments_total{network="base-sepolia",state="released"} 1.0' in text
        assert 'gossamer_revenue_dollars_total{endpoint="/fetch/basic"} 0.015' in text
        lines = [line for line in visit.logged("request") if line["paymentNetwork"]]
        assert {(line["paymentNetwork"], line["paymentAmount"]) for line in lines} == {
            ("base-sepolia", "5000")
        }


async def test_on_the_servers_of_a_large_installation(
    tmp_path: Path, site: Site, chains: Chains, postgres: PostgresServer, own_valkey: Valkey
) -> None:
    flags = {"database_url": postgres.url, "redis_url": own_valkey.url}
    async with opened_shop(tmp_path, site, chains, **flags) as shop:
        income, url = Income(chains), shop.page()
        for due in (BASIC, BASIC + CACHED):
            assert (await shop.buy(url, body={"cache": True})).status_code == 200
            assert income.taken() == due
        payment = await shop.signed(url)
        answers = await asyncio.gather(*(shop.send(url, payment) for _ in range(20)))
        statuses = [answer.status_code for answer in answers]
        assert statuses.count(200) == 1
        assert set(statuses) <= {200, 402, 409}
        own_valkey.kill()  # quotes are forgotten; the ledger is not
        assert (await shop.send(url, payment)).status_code == 402
        assert (await shop.buy(shop.page())).status_code == 200
        assert income.taken() == 3 * BASIC + CACHED


async def test_the_pages_say_how_to_pay_and_what_a_402_looks_like(shop: Shop, visit: Visit) -> None:
    client = shop.fetching.visit.client
    page = (await client.get("/docs")).text
    assert '<section id="paying" class="topic">' in page
    assert "in USDC on base-sepolia or solana-devnet" in page
    assert "Needs an API key or a payment" in page
    without = (await visit.client.get("/docs")).text
    assert "paying" not in without
    assert "or a payment" not in without
    real = await quoted(shop, "/fetch", {"url": shop.page()})
    for name in ("payment-required", "payment-failed"):
        answer = await client.get(f"/problems/{name}", headers={"Accept": "application/json"})
        example, headers = answer.json()["example"], answer.json()["headers"]
        assert example.keys() | {"hint"} == real.json().keys()
        assert example["accepts"][0].keys() == real.json()["accepts"][0].keys()
        assert example["details"]["quote"].keys() == real.json()["details"]["quote"].keys()
        offer: Any = decode_payment_required_header(headers["PAYMENT-REQUIRED"])
        assert (offer.x402_version, offer.accepts[0].amount) == (
            2,
            example["accepts"][0]["maxAmountRequired"],
        )
        assert (
            f"PAYMENT-REQUIRED: {headers['PAYMENT-REQUIRED']}" in (await client.get(f"/problems/{name}")).text
        )


async def test_the_documentation_says_what_it_costs(shop: Shop) -> None:
    document = (await shop.fetching.visit.client.get("/openapi.json")).json()
    told = document["paths"]["/fetch/pro"]["post"]
    assert "$0.015 a call, $0.0045" in told["description"]
    assert "base-sepolia or solana-devnet" in told["description"]
    assert "402" in told["responses"]


async def test_who_went_away_before_it_was_settled_is_not_charged(shop: Shop) -> None:
    income, url = Income(shop.chains), shop.page()
    payment = await shop.signed(url)
    went, body = asyncio.Event(), json.dumps({"url": url}).encode()

    async def receive() -> dict[str, Any]:
        if not went.is_set():
            went.set()
            return {"type": "http.request", "body": body}
        return {"type": "http.disconnect"}

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    visit = shop.fetching.visit
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/fetch/basic",
        "query_string": b"",
        "headers": [
            (b"content-type", b"application/json"),
            (b"payment-signature", payment["PAYMENT-SIGNATURE"].encode()),
        ],
        "client": ("127.0.0.1", 1),
    }
    await visit.service.app()(scope, receive, send)
    assert sent == []
    assert income.taken() == 0
    assert (await shop.send(url, payment)).status_code == 200
    assert income.taken() == BASIC


async def test_who_went_away_while_the_page_was_fetched_is_not_charged(shop: Shop) -> None:
    income, visit = Income(shop.chains), shop.fetching.visit
    url = shop.fetching.site.url("/first-byte-late?paid")
    payment = await shop.signed(url, timeout=30_000)
    async with serving(visit) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        asking = client.post("/fetch/basic", json={"url": url, "timeout": 30_000}, headers=payment)
        task = asyncio.create_task(asking)
        async with asyncio.timeout(60):
            while not shop.visits(url):
                await asyncio.sleep(0.01)
            task.cancel()
            while (line := visit.logged("request")[-1])["error"] != "CLIENT_GONE":
                await asyncio.sleep(0.01)
    assert line["paymentNetwork"] is None
    assert not visit.logged("internal_error")
    shown = await visit.client.get("/api/payments?limit=1", headers=AS_ADMIN)
    (last,) = shown.json()["payments"]
    assert (last["state"], last["reason"]) == ("released", "not_charged")
    assert income.taken() == 0


async def test_an_answer_that_was_paid_and_not_given_is_given_once(
    shop: Shop, facilitator: Facilitator
) -> None:
    """As after a server that was killed between settling and answering."""
    income, url = Income(shop.chains), shop.page()
    payment = await shop.signed(url)
    assert (await shop.send(url, payment)).status_code == 200
    async with shop.fetching.visit.service.database.write() as connection:
        entry = (await payment_list.list_entries(connection, limit=1))[0]
        await connection.execute(update(payments).where(payments.c.id == entry.id).values(delivered_at=None))
    other = shop.page()
    assert (await shop.send(other, payment)).status_code == 402
    many = await asyncio.gather(*(shop.send(url, payment) for _ in range(5)))
    assert sorted(answer.status_code for answer in many).count(200) == 1
    assert {answer.status_code for answer in many} <= {200, 402, 409}
    assert (await shop.send(url, payment)).status_code == 402
    assert facilitator.count("settle") == 1
    assert income.taken() == BASIC


async def test_a_page_by_get_is_sold_as_one_by_post(shop: Shop) -> None:
    url = shop.page()
    client = shop.fetching.visit.client
    asked = await client.get("/fetch", params={"url": url})
    assert (asked.status_code, amounts(asked)) == (402, {BASIC})
    assert amounts(await client.get("/fetch", params={"url": url, "render": "always"})) == {PRO}
    refused(await client.get("/fetch", params={"url": "nonsense", "formats": "tea"}), "VALIDATION_ERROR")
    async with shop.buyer() as buyer:
        bought = await buyer.get("/fetch", params={"url": url, "cache": "true"})
    assert (bought.status_code, bought.json()["outcome"]) == (200, "ok")
    assert "payment-response" in bought.headers
    assert amounts(await client.get("/fetch", params={"url": url, "cache": "true"})) == {CACHED}
