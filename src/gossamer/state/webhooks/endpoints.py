"""Webhook endpoints: who is told what.

An owner registers endpoints for everything of its own. Work can bring one of its own, which is bound to it:
that one hears of nothing else, and is removed with the work.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from sqlalchemy import Row, delete, func, insert, select, text, union_all, update
from ulid import ULID

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.webhooks.webhook_tables import (
    LISTENING,
    ended_work,
    webhook_deliveries,
    webhook_endpoints,
    webhook_subscriptions,
)
from gossamer.web.webhooks.attempt import DisabledReason
from gossamer.web.webhooks.event_type import EventType, is_chosen

NATIVE: Final = "gossamer"
PAGES_PER_EVENT: Final = 50  # at most, so that a body is bounded
HEADERS_KEPT_MS: Final = 2 * 86_400_000  # after the end of the work, when all was told or given up

_rows: Final = webhook_endpoints.c
_is_listening: Final = text(LISTENING)  # in the words of the partial indexes


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEndpoint:
    id: str = field(default_factory=lambda: str(ULID()))
    tenant_id: str
    owner: str  # the tenant, or a wallet of the public tenant
    url: str
    events: tuple[str, ...]  # patterns
    work_id: str | None = None  # that it is bound to
    for_operators: bool = False  # hears of alerts and payments too
    description: str = ""
    shape: str = NATIVE
    metadata: Mapping[str, str] = field(default_factory=dict)
    headers_sealed: bytes | None = field(default=None, repr=False)
    secret_sealed: bytes | None = field(default=None, repr=False)  # None: the owner's secret signs
    old_secret_sealed: bytes | None = field(default=None, repr=False)
    old_secret_until: int | None = None
    created_at: int = 0
    updated_at: int = 0
    disabled_at: int | None = None
    disabled_reason: DisabledReason | None = None
    failures: int = 0  # since the last success
    failing_since: int | None = None
    held_until: int | None = None
    delivered_at: int | None = None

    def hears(self, event: EventType) -> bool:
        return is_chosen(event, self.events) and (self.for_operators or not event.is_for_operators)

    @property
    def pages_per_event(self) -> int:
        """Receivers that were written for another product expect each page by itself."""
        return PAGES_PER_EVENT if self.shape == NATIVE else 1


async def add(connection: AsyncConnection, new: WebhookEndpoint, *, now: int | None = None) -> None:
    await connection.execute(
        insert(webhook_endpoints).values(
            id=new.id,
            tenant_id=new.tenant_id,
            owner=new.owner,
            work_id=new.work_id,
            for_operators=new.for_operators,
            url=new.url,
            events=",".join(new.events),
            description=new.description,
            shape=new.shape,
            metadata_json=msgspec.json.encode(new.metadata).decode(),
            headers_sealed=new.headers_sealed,
            secret_sealed=new.secret_sealed,
            created_at=clock(now),
            updated_at=clock(now),
        )
    )


async def get(connection: AsyncConnection, endpoint_id: str) -> WebhookEndpoint | None:
    row = (await connection.execute(select(webhook_endpoints).where(_rows.id == endpoint_id))).first()
    return None if row is None else _endpoint(row)


async def list_registered(
    connection: AsyncConnection, owner: str | None, *, before: str | None = None, limit: int = 100
) -> list[WebhookEndpoint]:
    """Those of an owner, or of all, without the bound ones; the newest first."""
    query = select(webhook_endpoints).where(_rows.work_id.is_(None))
    if owner is not None:
        query = query.where(_rows.owner == owner)
    if before is not None:
        query = query.where(_rows.id < before)
    found = await connection.execute(query.order_by(_rows.id.desc()).limit(limit))
    return [_endpoint(row) for row in found]


async def count_registered(connection: AsyncConnection, tenant_id: str) -> int:
    query = select(func.count()).where(_rows.tenant_id == tenant_id, _rows.work_id.is_(None))
    return await connection.scalar(query) or 0


async def list_listening(
    connection: AsyncConnection, tenant_id: str, owner: str, subjects: Collection[str]
) -> list[WebhookEndpoint]:
    """Who may want to hear of these: the owner's endpoints, and those that are bound to one of them."""
    own = select(webhook_endpoints).where(
        _rows.tenant_id == tenant_id, _rows.owner == owner, _rows.work_id.is_(None), _is_listening
    )
    bound = select(webhook_endpoints).where(
        _rows.work_id.in_(subjects), _rows.tenant_id == tenant_id, _is_listening
    )
    return [_endpoint(row) for row in await connection.execute(union_all(own, bound))]


async def list_operators(connection: AsyncConnection) -> list[WebhookEndpoint]:
    query = select(webhook_endpoints).where(text(f"for_operators AND {LISTENING}"))
    return [_endpoint(row) for row in await connection.execute(query)]


async def change(
    connection: AsyncConnection, endpoint_id: str, values: Mapping[str, Any], *, now: int | None = None
) -> None:
    changed = update(webhook_endpoints).where(_rows.id == endpoint_id)
    await connection.execute(changed.values(**values, updated_at=clock(now)))


async def remove(connection: AsyncConnection, endpoint_ids: Sequence[str]) -> int:
    """With everything that they were sent, or were to be sent."""
    sent = delete(webhook_deliveries).where(webhook_deliveries.c.sender.in_(endpoint_ids))
    await connection.execute(sent)
    gone = delete(webhook_endpoints).where(_rows.id.in_(endpoint_ids))
    return (await connection.execute(gone)).rowcount


async def remove_work(connection: AsyncConnection, work_ids: Sequence[str]) -> None:
    """The work is deleted: nothing of it is kept, nor told."""
    await connection.execute(delete(ended_work).where(ended_work.c.work_id.in_(work_ids)))
    bound = (await connection.scalars(select(_rows.id).where(_rows.work_id.in_(work_ids)))).all()
    if bound:
        await remove(connection, bound)


async def end_work(connection: AsyncConnection, work_ids: Sequence[str], *, now: int | None = None) -> None:
    """The end was told, so nothing more is heard by endpoints that are bound to it."""
    over = update(webhook_endpoints).where(_rows.work_id.in_(work_ids))
    await connection.execute(over.values(ended_at=clock(now)))


async def reopen_work(connection: AsyncConnection, work_id: str) -> None:
    """The work goes on, and will end again."""
    await connection.execute(update(webhook_endpoints).where(_rows.work_id == work_id).values(ended_at=None))


async def forget_headers(connection: AsyncConnection, *, now: int | None = None) -> None:
    """They may be secret, and nobody needs them when the work is long over."""
    old = update(webhook_endpoints).where(
        _rows.headers_sealed.is_not(None), _rows.ended_at <= clock(now) - HEADERS_KEPT_MS
    )
    await connection.execute(old.values(headers_sealed=None))


async def adopt(connection: AsyncConnection) -> int:
    """Move what a server before revision 0007 subscribed, or a backup of it contains. The id is the work's,
    because deliveries that are queued name it."""
    if await connection.scalar(select(webhook_subscriptions.c.work_id).limit(1)) is None:
        return 0
    taken = delete(webhook_subscriptions).returning(*webhook_subscriptions.columns)
    rows = (await connection.execute(taken)).all()
    for row in rows:
        names = [f"{row.kind}.{name}" for name in row.events.split(",") if name]
        await connection.execute(
            insert_into(connection, webhook_endpoints)
            .values(
                id=row.work_id,
                tenant_id=row.tenant_id,
                owner=row.owner,
                work_id=row.work_id,
                url=row.url,
                events=",".join(names),
                shape=row.shape,
                metadata_json=row.metadata_json,
                headers_sealed=row.headers_sealed,
                created_at=row.created_at,
                updated_at=row.created_at,
                ended_at=row.ended_at,
            )
            .on_conflict_do_nothing()
        )
        if row.ended_at is None:  # it may be over already: the sweep looks
            kind = "crawl" if row.kind == "crawl" else "job"
            left = insert_into(connection, ended_work).values(work_id=row.work_id, kind=kind)
            await connection.execute(left.on_conflict_do_nothing())
    return len(rows)


def _endpoint(row: Row[Any]) -> WebhookEndpoint:
    return WebhookEndpoint(
        id=row.id,
        tenant_id=row.tenant_id,
        owner=row.owner,
        work_id=row.work_id,
        for_operators=bool(row.for_operators),
        url=row.url,
        events=tuple(name for name in row.events.split(",") if name),
        description=row.description,
        shape=row.shape,
        metadata=msgspec.json.decode(row.metadata_json, type=dict[str, str]),
        headers_sealed=row.headers_sealed,
        secret_sealed=row.secret_sealed,
        old_secret_sealed=row.old_secret_sealed,
        old_secret_until=row.old_secret_until,
        created_at=row.created_at,
        updated_at=row.updated_at,
        disabled_at=row.disabled_at,
        disabled_reason=DisabledReason(row.disabled_reason) if row.disabled_reason else None,
        failures=row.failures,
        failing_since=row.failing_since,
        held_until=row.held_until,
        delivered_at=row.delivered_at,
    )
