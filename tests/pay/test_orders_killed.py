"""A server is killed at every write for an order and its credit: nothing is lost, nothing is done twice."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, update
from x402.http.clients.httpx import PaymentError

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.tables import batches
from gossamer.state.pay.pay_tables import credit_grants, orders, payments, wallets
from tests.pay import payers
from tests.pay.shops import BASIC, opened_shop
from tests.pay.test_orders import OrderShop, opening
from tests.servers.chains.fixtures import Chains
from tests.site.server import Site

PAGES = 2
PRICE = PAGES * BASIC
_is_mortal: ContextVar[bool] = ContextVar("is_mortal", default=False)  # whatever a test has called


class Killed(Exception):
    """The process ends here."""


class Mortal:
    """Lets this many writes be made, and then no more; the last one is committed, or it is not."""

    def __init__(self, database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left, self.commits = 0, False
        self._write = database.write
        single = type(database.single)
        fetch = single.fetch

        async def fetch_until_killed(this: Any, *given: Any) -> Any:
            is_last = self._count()
            if is_last and not self.commits:
                raise Killed
            rows = await fetch(this, *given)
            if is_last:
                raise Killed
            return rows

        monkeypatch.setattr(database, "write", self.write)
        monkeypatch.setattr(single, "fetch", fetch_until_killed)

    @asynccontextmanager
    async def until(self, kill: int) -> AsyncIterator[None]:
        """Dies at this write of the block, or right after it."""
        self.left, self.commits = kill // 2 + 1, bool(kill % 2)
        token = _is_mortal.set(True)
        try:
            yield
        finally:
            _is_mortal.reset(token)

    @property
    def is_dead(self) -> bool:
        return self.left <= 0

    @asynccontextmanager
    async def write(self, *, seconds: float | None = None) -> AsyncIterator[AsyncConnection]:
        is_last = self._count()
        async with self._write(seconds=seconds) as connection:
            yield connection
            if is_last and not self.commits:
                raise Killed
        if is_last:
            raise Killed

    def _count(self) -> bool:
        if not _is_mortal.get():
            return False
        self.left -= 1
        if self.left < 0:
            raise Killed
        return self.left == 0


class Customer:
    """A wallet that orders a batch of its own, and asks again until it gets an answer."""

    def __init__(self, shop: OrderShop, name: str) -> None:
        self.shop, self.name = shop, name
        self.address = payers.address("base", name)
        self.body = {"urls": [shop.shop.page() for _ in range(PAGES)]}
        shop.shop.chains.base.fund(self.address, 10 * PRICE)
        self._had = self._has()

    async def order(self) -> httpx.Response | None:
        try:
            answer = await self.shop.order("/batch/fetch", self.body, name=self.name)
        except (Killed, PaymentError):
            return None
        return answer if answer.status_code < 500 else None

    async def order_again(self) -> httpx.Response:
        """After a restart: what the dead process held is free."""
        async with self.shop.service.database.write() as connection:
            await connection.execute(update(payments).values(held_until=payments.c.created_at))
        await self.shop.service.payments.settling.reconcile()
        answer = await self.shop.order("/batch/fetch", self.body, name=self.name)
        assert answer.status_code == 202, answer.text
        return answer

    def paid(self) -> int:
        return self._had - self._has()

    async def count(self) -> tuple[int, int]:
        """Its orders, and its batches."""
        async with self.shop.service.database.read() as connection:
            mine = select(orders.c.tenant_id).where(orders.c.payer == self.address.lower())
            placed = (await connection.scalars(mine)).all()
            made = select(func.count()).select_from(batches).where(batches.c.tenant_id.in_(placed))
            return len(placed), int(await connection.scalar(made) or 0)

    async def answers(self) -> int:
        """How many have left, before the process was killed."""
        given = payments.c.delivered_at.is_not(None)
        mine = select(func.count()).where(payments.c.payer == self.address.lower(), given)
        async with self.shop.service.database.read() as connection:
            return int(await connection.scalar(mine) or 0)

    async def credit(self) -> tuple[int, int]:
        """What it has, and how many grants it came from."""
        payer = self.address.lower()
        async with self.shop.service.database.read() as connection:
            has = await connection.scalar(select(wallets.c.credit).where(wallets.c.payer == payer))
            grants = select(func.count()).select_from(credit_grants).where(credit_grants.c.payer == payer)
            return int(has or 0), int(await connection.scalar(grants) or 0)

    def _has(self) -> int:
        (balance,) = self.shop.shop.chains.base.balances(self.address)
        return int(balance)


@pytest.fixture
async def shop(tmp_path: Path, database_url: str, site: Site, chains: Chains) -> AsyncIterator[OrderShop]:
    async with opened_shop(tmp_path, site, chains, database_url=database_url) as shop:
        yield OrderShop(shop)


@pytest.fixture
def mortal(shop: OrderShop, monkeypatch: pytest.MonkeyPatch) -> Mortal:
    return Mortal(shop.service.database, monkeypatch)


async def test_an_order_is_paid_once_and_made_once(shop: OrderShop, mortal: Mortal) -> None:
    for kill in itertools.count():
        customer = Customer(shop, f"orders {kill}")
        async with mortal.until(kill):
            await customer.order()
        if not mortal.is_dead:
            break
        if await customer.answers() == 0:
            answer = await customer.order_again()
            assert (await shop.get(answer.headers["location"], answer)).json()["total"] == PAGES
        assert (customer.paid(), await customer.count()) == (PRICE, (1, 1)), kill
        assert await customer.credit() == (0, 0)
    assert kill >= 12


async def test_what_was_not_delivered_becomes_credit_once(shop: OrderShop, mortal: Mortal) -> None:
    for kill in itertools.count():
        customer = Customer(shop, f"credited {kill}")
        answer = await customer.order()
        assert answer is not None
        canceled = await shop.client.delete(f"/api/jobs/{answer.json()['jobId']}", headers=opening(answer))
        assert canceled.json()["status"] == "canceled"
        async with mortal.until(kill):
            try:
                await shop.service.payments.orders.reconcile()
            except Killed:
                assert await customer.credit() in ((0, 0), (PRICE, 1))
        await shop.closed(answer)
        await shop.service.payments.orders.reconcile()
        assert await customer.credit() == (PRICE, 1), kill
        if not mortal.is_dead:
            break
    assert kill >= 3


async def test_credit_is_spent_once(shop: OrderShop, mortal: Mortal) -> None:
    for kill in itertools.count():
        customer = Customer(shop, f"spends {kill}")
        answer = await customer.order()
        assert answer is not None
        await shop.client.delete(f"/api/jobs/{answer.json()['jobId']}", headers=opening(answer))
        await shop.closed(answer)
        assert await customer.credit() == (PRICE, 1)
        async with mortal.until(kill):
            await customer.order()
        if not mortal.is_dead:
            break
        if await customer.answers() == 1:
            again = await customer.order_again()
            assert again.json() != answer.json()
        assert (customer.paid(), await customer.count()) == (PRICE, (2, 2)), kill
        assert await customer.credit() == (0, 1)
    assert kill >= 10
