"""Orders: long work that a wallet has bought, from its payment to the count of what was delivered.

    placed ─→ counted ─→ closed
       │         │          what was not delivered is credit of the wallet
       │         how many pages were delivered, from the rows of the work, once it is over or deleted
       in the transaction that creates the work: one order for each payment

Each step is made once: the first by its primary key, the others by the column that they fill. The work itself
knows nothing of its order. Whoever removes its rows calls `count_deleted` in the same transaction.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import fields
from sqlalchemy import ColumnElement, and_, case, exists, func, or_, select, update

from gossamer.state.crawl.crawl_tables import crawled_pages, crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.db.tables import audits, batch_results, jobs
from gossamer.state.pay.ledger import PaymentState, Proof
from gossamer.state.pay.pay_tables import orders, payments
from gossamer.state.pay.wallet_credit import CreditReason, Grant, grant
from gossamer.web.outcome.outcome import Outcome

LAST_PAGES_MS: Final = 60_000  # in which a crawl that was stopped stores the pages that it had begun
_BATCH: Final = 100
_orders: Final = orders.c


class OrderKind(StrEnum):
    BATCH = "batch"
    CRAWL = "crawl"
    AUDIT = "audit"


class NewOrder(Struct, frozen=True, kw_only=True):
    payment_id: str
    network: str
    payer: str
    tenant_id: str  # of the wallet
    kind: OrderKind
    subject: str  # the id of the batch, the crawl or the audit
    job_id: str | None
    request_hash: str
    repeat_key: str | None
    pages: int  # that were paid for
    page_price: int
    answer_json: str


class Order(NewOrder, frozen=True, kw_only=True):
    created_at: int
    done: int | None = None  # pages that were delivered; None until the work is over
    closed_at: int | None = None

    @property
    def rest(self) -> int:
        """What was paid for and not delivered, in atomic units; 0 until that is known."""
        return 0 if self.done is None else (self.pages - self.done) * self.page_price


_FIELDS: Final = tuple(each.name for each in fields(Order))


async def place(connection: AsyncConnection, new: NewOrder, now: int | None = None) -> Order | None:
    """In the transaction that creates the work. None if there is one for this payment or key; then roll back.

    Work that was ordered before, and is shared, is not delivered twice: all of it becomes credit."""
    shared = await connection.scalar(select(exists().where(_orders.subject == new.subject)))
    values: dict[str, Any] = {each.name: getattr(new, each.name) for each in fields(NewOrder)}
    row = insert_into(connection, orders).values(**values, created_at=clock(now), done=0 if shared else None)
    placed = (await connection.execute(row.on_conflict_do_nothing().returning(*_orders))).first()
    return None if placed is None else _order(placed)


async def get(connection: AsyncConnection, payment_id: str) -> Order | None:
    return await _first(connection, _orders.payment_id == payment_id)


async def find_repeat(connection: AsyncConnection, repeat_key: str) -> Order | None:
    return await _first(connection, _orders.repeat_key == repeat_key)


async def list_some(connection: AsyncConnection, payment_ids: Sequence[str]) -> dict[str, Order]:
    """The orders of these payments, by the payment."""
    found = await connection.execute(select(orders).where(_orders.payment_id.in_(payment_ids)))
    return {row.payment_id: _order(row) for row in found}


async def has_open(connection: AsyncConnection) -> bool:
    return bool(await connection.scalar(select(exists().where(_orders.closed_at.is_(None)))))


async def count_done(connection: AsyncConnection, now: int | None = None) -> int:
    """Count what was delivered of orders whose work is over; returns how many orders."""
    over = _counted(and_(_orders.closed_at.is_(None), _orders.done.is_(None), _is_over(now)))
    return (await connection.execute(over)).rowcount


async def count_deleted(connection: AsyncConnection, subject: str, seen_by: str | None) -> None:
    """Count what was delivered until now. In the transaction that deletes the work, or its tenant, and before
    the rows go; only if this tenant (None: anybody) may delete it."""
    here = and_(or_(_orders.subject == subject, _orders.tenant_id == subject), _orders.done.is_(None))
    if seen_by is not None:
        here = and_(here, _orders.tenant_id == seen_by)
    found = (await connection.execute(select(_orders.subject, _orders.job_id).where(here))).all()
    if not found:
        return
    # Whoever adds pages to the work holds one of these rows, so none is added after this.
    for column, ids in ((jobs.c.job_id, [row.job_id for row in found]), (crawls.c.id, [subject])):
        await connection.execute(select(column).where(column.in_(ids)).order_by(column).with_for_update())
    await connection.execute(_counted(here))


async def list_counted(connection: AsyncConnection) -> list[Order]:
    """Orders that can be closed: counted, and their payment is proven, or shown to be none."""
    sure = or_(payments.c.proof != Proof.NONE, payments.c.state == PaymentState.RELEASED)
    query = (
        select(orders)
        .join(payments, payments.c.id == _orders.payment_id)
        .where(_orders.closed_at.is_(None), _orders.done.is_not(None), sure)
        .order_by(_orders.payment_id)
        .limit(_BATCH)
    )
    return [_order(row) for row in await connection.execute(query)]


async def close(connection: AsyncConnection, order: Order, now: int | None = None) -> bool:
    """Close a counted order, and turn the rest into credit. False if that was done before."""
    paid = exists().where(
        payments.c.id == order.payment_id,
        payments.c.state == PaymentState.SETTLED,
        payments.c.proof != Proof.NONE,
    )
    closing = update(orders).where(
        _orders.payment_id == order.payment_id, _orders.closed_at.is_(None), _orders.done.is_not(None)
    )
    closing = closing.values(closed_at=clock(now))
    row = (await connection.execute(closing.returning(*_orders, paid.label("paid")))).first()
    if row is None:
        return False
    closed = _order(row)
    if row.paid and closed.rest:
        reason = CreditReason.NOT_DONE
        given = Grant(closed.payment_id, closed.network, closed.payer, closed.rest, reason)
        await grant(connection, given, now)
    return True


def _counted(which: ColumnElement[bool]) -> Any:
    """At most what was paid for: a crawl may store a page or two more."""
    done = case((_orders.kind == OrderKind.BATCH, _batch_pages()), else_=_audit_pages())
    done = case((_orders.kind == OrderKind.CRAWL, _crawl_pages(_orders.subject, Outcome.OK)), else_=done)
    return update(orders).where(which).values(done=case((done > _orders.pages, _orders.pages), else_=done))


def _batch_pages() -> Any:
    rows = batch_results.c
    return _count(batch_results, rows.job_id == _orders.subject, rows.ok)


def _crawl_pages(crawl_id: Any, outcome: Outcome | None = None) -> Any:
    rows = crawled_pages.c
    those = () if outcome is None else (rows.outcome == outcome.value,)
    return _count(crawled_pages, rows.crawl_id == crawl_id, *those)


def _audit_pages() -> Any:
    """The pages that the report is about, whatever their outcome: it tells what is wrong with them."""
    its = select(audits.c.crawl_id).where(audits.c.id == _orders.subject).scalar_subquery()
    reported = exists().where(audits.c.id == _orders.subject, audits.c.report_json.is_not(None))
    of_site = exists().where(audits.c.id == _orders.subject, audits.c.crawl_id.is_not(None))
    return case((and_(reported, of_site), _crawl_pages(its)), (reported, 1), else_=0)


def _count(table: Any, *conditions: ColumnElement[bool]) -> Any:
    return select(func.count()).select_from(table).where(*conditions).scalar_subquery()


def _is_over(now: int | None) -> ColumnElement[bool]:
    job = exists().where(jobs.c.job_id == _orders.job_id, jobs.c.status.in_(("queued", "running")))
    last = crawls.c.finished_at > clock(now) - LAST_PAGES_MS
    active = or_(crawls.c.state.in_(("running", "paused")), and_(crawls.c.in_progress > 0, last))
    crawl = exists().where(crawls.c.id == _orders.subject, active)
    return and_(~job, ~crawl)


async def _first(connection: AsyncConnection, where: ColumnElement[bool]) -> Order | None:
    row = (await connection.execute(select(orders).where(where))).first()
    return None if row is None else _order(row)


def _order(row: Any) -> Order:
    return Order(**{**{name: getattr(row, name) for name in _FIELDS}, "kind": OrderKind(row.kind)})
