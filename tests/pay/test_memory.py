"""A wallet has a memory of its own: whoever pays for a call has proven whose it is."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.doors.services import AS_ADMIN
from tests.pay.payers import Income
from tests.pay.shops import Shop, opened_shop
from tests.servers.chains.fixtures import Chains
from tests.site.server import Site

CALL, PAGE = 1_000, 6_000  # millionths of a dollar
HERE = "/memory/entries/notes/secret"


@pytest.fixture(scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory, site: Site, chains: Chains) -> AsyncIterator[Shop]:
    folder = tmp_path_factory.mktemp("memory")
    async with opened_shop(folder, site, chains, memory_wallet_entries=2) as one:
        yield one


@pytest.fixture
async def buyers(shop: Shop) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    async with shop.buyer("base") as one, shop.buyer("solana") as other:
        yield one, other


async def test_each_wallet_reads_and_searches_what_it_has_paid_to_remember(
    shop: Shop, buyers: tuple[httpx.AsyncClient, httpx.AsyncClient]
) -> None:
    one, other = buyers
    income = Income(shop.chains)
    assert (await one.put(HERE, json={"value": "mine is amber"})).status_code == 200
    assert (await one.get(HERE)).json()["value"] == "mine is amber"
    assert income.taken() == 2 * CALL
    strangers = Income(shop.chains, "solana")
    assert (await other.get(HERE)).status_code == 404
    found = await other.post("/memory/search", json={"query": "amber"})
    assert (found.status_code, found.json()["results"]) == (200, [])
    assert (await other.get("/memory")).json()["entries"] == 0
    assert strangers.taken() == 2 * CALL  # what is not there costs nothing
    assert (await one.get("/memory/search?query=amber")).json()["results"][0]["entry"]["key"] == "secret"
    admin = shop.fetching.visit.client
    assert (await admin.get(HERE, headers=AS_ADMIN)).status_code == 404


async def test_a_wallet_exports_and_deletes_everything_and_has_a_quota(
    shop: Shop, buyers: tuple[httpx.AsyncClient, httpx.AsyncClient]
) -> None:
    one, other = buyers
    assert (await other.put(HERE, json={"value": "theirs"})).status_code == 200
    for key in ("secret", "b"):
        await one.put(f"/memory/entries/notes/{key}", json={"value": key})
    income = Income(shop.chains)
    full = await one.put("/memory/entries/notes/c", json={"value": 1})
    assert (full.status_code, full.json()["code"]) == (429, "QUOTA_EXCEEDED")
    assert income.taken() == 0
    exported = await one.get("/memory/export")
    assert exported.status_code == 200
    assert len(exported.text.splitlines()) == 2
    assert "theirs" not in exported.text
    assert (await one.delete("/memory")).json() == {"deleted": 2}
    assert income.taken() == 2 * CALL
    assert (await other.get(HERE)).json()["value"] == "theirs"


async def test_a_page_costs_more_and_only_if_it_is_remembered(
    shop: Shop, buyers: tuple[httpx.AsyncClient, httpx.AsyncClient]
) -> None:
    one, _ = buyers
    income = Income(shop.chains)
    gone = shop.page("<p>Gone", status="404 Not Found")
    assert (await one.put("/memory/pages/notes/page", json={"url": gone})).status_code == 422
    assert income.taken() == 0
    kept = await one.put("/memory/pages/notes/page", json={"url": shop.page()})
    assert (kept.status_code, kept.json()["title"]) == (200, "Worth it")
    assert income.taken() == PAGE


async def test_nobody_reads_memory_without_a_key_or_a_payment(shop: Shop) -> None:
    client = shop.fetching.visit.client
    for path in ("/memory", HERE, "/memory/export", "/memory/search?query=amber"):
        asked = await client.get(path)
        assert asked.status_code == 402
        assert "amber" not in asked.json().get("detail", "")
