"""After a restore the ledger does not know the payments that were made since the backup: the chain does."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import delete, insert

from gossamer.state.backup.backup_tables import restores
from gossamer.state.pay.ledger import PaymentState, Proof
from gossamer.state.pay.pay_tables import payments
from tests.pay import payers
from tests.pay.shops import BASIC, Shop, opened_shop
from tests.pay.test_proving import QUICK, entries
from tests.servers.chains.facilitator import Facilitator
from tests.servers.chains.fixtures import Chains
from tests.site.server import Site

NOWHERE = "http://127.0.0.1:9"  # nothing listens there


@pytest.fixture
async def shop(tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator) -> AsyncIterator[Shop]:
    nodes = {"base_rpc_url": chains.base.node.url, "solana_rpc_url": chains.solana.url}
    async with opened_shop(tmp_path, site, chains, **nodes, **QUICK) as opened:
        yield opened


async def restore(shop: Shop) -> None:
    """As from a backup of a minute ago, in which there was no payment."""
    now = round(time.time() * 1000)
    moments = {"snapshot_at": now - 60_000, "started_at": now, "finished_at": now}
    async with shop.fetching.visit.service.database.write() as connection:
        await connection.execute(delete(payments))
        await connection.execute(insert(restores).values(id="1", backup_id="1", place="", **moments))


@pytest.mark.parametrize("network", ["base", "solana"])
async def test_a_payment_from_before_a_restore_is_answered_once_and_not_taken_again(
    shop: Shop, network: str
) -> None:
    income, url = payers.Income(shop.chains, network), shop.page()
    payment = await shop.signed(url, network=network)
    assert (await shop.send(url, payment)).status_code == 200
    await restore(shop)
    assert (await shop.send(url, payment)).status_code == 200
    (entry,) = await entries(shop)
    assert (entry.state, entry.proof) == (PaymentState.SETTLED, Proof.CHAIN)
    assert entry.transaction_id
    assert entry.delivered_at is not None
    again = await shop.send(url, payment)
    assert (again.status_code, again.json()["details"]["reason"]) == (402, "payment_already_used")
    assert income.taken() == BASIC


async def test_a_new_payment_after_a_restore_is_taken(shop: Shop) -> None:
    income = payers.Income(shop.chains)
    await restore(shop)
    assert (await shop.buy(shop.page())).status_code == 200
    assert income.taken() == BASIC


async def test_without_a_node_a_spent_payment_is_refused(
    tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    async with opened_shop(tmp_path, site, chains, **QUICK) as shop:
        income, url = payers.Income(chains), shop.page()
        payment = await shop.signed(url)
        assert (await shop.send(url, payment)).status_code == 200
        await restore(shop)
        assert (await shop.send(url, payment)).status_code == 402
        assert income.taken() == BASIC


async def test_nothing_is_sold_while_the_node_is_away(
    tmp_path: Path, site: Site, chains: Chains, facilitator: Facilitator
) -> None:
    async with opened_shop(tmp_path, site, chains, base_rpc_url=NOWHERE, **QUICK) as shop:
        income, url = payers.Income(chains), shop.page()
        payment = await shop.signed(url)
        await restore(shop)
        assert (await shop.send(url, payment)).status_code == 503
        assert await entries(shop) == []
        assert income.taken() == 0
