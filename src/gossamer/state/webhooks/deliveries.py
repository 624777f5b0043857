"""Webhooks that are to be delivered.

A delivery is queued in the transaction of what it tells about. A process takes those that are due for a while
and tries; if it does not say how that ended, another process tries again. The id and the body stay the same,
so a receiver can tell a repeat from news.

Deliveries of an endpoint are taken in their order and few at a time. When one fails, the others wait too, and
then one goes ahead of them (`endpoint_health`): a receiver that is away is not asked for each of them, and
delays no other receiver.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from sqlalchemy import BigInteger, ColumnElement, bindparam, case, delete, func, or_, select, update
from ulid import ULID

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into
from gossamer.state.webhooks.webhook_tables import webhook_deliveries, webhook_endpoints
from gossamer.web.webhooks.attempt import AttemptReason, DeliveryAttempt

TAKEN_MS: Final = 45_000  # longer than a round of attempts takes
FORGET_BATCH: Final = 1_000
# Seconds until the next attempt; after the last one it is given up.
PAUSES: Final = (5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200)
MAX_RETRY_AFTER: Final = PAUSES[-1]
DEADLINE_MS: Final = 2 * 86_400_000  # after which a failure gives up everything as old
ENDPOINT_AT_ONCE: Final = 4
ATTEMPTS_KEPT: Final = 20
_FINAL: Final = (AttemptReason.GONE, AttemptReason.DISABLED)  # no further attempt would help
_LOOKED_AT: Final = 500  # of those that are due

_rows: Final = webhook_deliveries.c
_endpoints: Final = webhook_endpoints.c
_attempts: Final = msgspec.json.Decoder(list[DeliveryAttempt])


class NewDelivery(Struct, frozen=True, kw_only=True):
    sender: str  # the endpoint, or the name of a sender that settings know
    url: str = ""  # empty: where the endpoint says
    event: str  # such as `alert.raised`
    body: str
    owner: str = ""
    subject: str = ""
    key: str | None = None  # the sender is told once of an event with a key
    not_before: int = 0


class WebhookDelivery(Struct, frozen=True):
    """A delivery that was taken."""

    id: str
    sender: str
    url: str
    event: str
    body: str
    created_at: int
    attempt: int  # from 1
    attempts_json: str
    resent_at: int | None
    owner: str
    subject: str

    @property
    def endpoint(self) -> tuple[str, str]:
        return self.sender, self.url

    @property
    def attempts(self) -> list[DeliveryAttempt]:
        """Those before."""
        return _attempts.decode(self.attempts_json)


TAKEN: Final = tuple(_rows[name] for name in WebhookDelivery.__struct_fields__)
_HELD: Final = bindparam("not_before", type_=BigInteger)


async def queue(
    connection: AsyncConnection, new: Sequence[NewDelivery], *, now: int | None = None
) -> list[str]:
    """The ids that they would have; one whose key is there already is not queued again."""
    ids = _ids(len(new))
    rows = [
        {
            "id": delivery_id,
            "sender": one.sender,
            "url": one.url,
            "event": one.event,
            "body": one.body,
            "attempt": 0,
            "failure": "",
            "owner": one.owner,
            "subject": one.subject,
            "event_key": one.key,
            "not_before": one.not_before,
        }
        for delivery_id, one in zip(ids, new, strict=True)
    ]
    if rows:
        due = case((clock(now) < _HELD, _HELD), else_=clock(now))
        added = insert_into(connection, webhook_deliveries).values(created_at=clock(now), due_at=due)
        await connection.execute(added.on_conflict_do_nothing(), rows)
    return ids


async def are_due(connection: AsyncConnection, *, now: int | None = None) -> bool:
    first = select(_rows.id).where(_rows.due_at <= clock(now)).limit(1)
    return await connection.scalar(first) is not None


async def until_due(connection: AsyncConnection, *, now: int | None = None) -> int | None:
    """The milliseconds until the next one is due; None if there is none."""
    left: int | None = await connection.scalar(select(func.min(_rows.due_at) - clock(now)))
    return left


async def take_due(
    connection: AsyncConnection, limit: int, *, now: int | None = None
) -> list[WebhookDelivery]:
    """Take some of those that are due, the oldest first: few of one endpoint, and one if it failed before.
    An endpoint is taken with them, until `release_endpoint`."""
    oldest = (
        select(_rows.id, _rows.sender, _rows.url, _rows.due_at, _endpoints.failures)
        .outerjoin(webhook_endpoints, _endpoints.id == _rows.sender)
        .where(_rows.due_at <= clock(now), _is_free(now))
        .order_by(_rows.due_at, _rows.id)
        .limit(_LOOKED_AT)
        .subquery()
    )
    turn = func.row_number().over(
        partition_by=(oldest.c.sender, oldest.c.url), order_by=(oldest.c.due_at, oldest.c.id)
    )
    room = case((oldest.c.failures > 0, 1), else_=ENDPOINT_AT_ONCE)
    ranked = select(oldest, turn.label("turn"), room.label("room")).subquery()
    query = select(ranked.c.id, ranked.c.sender, ranked.c.url).where(ranked.c.turn <= ranked.c.room)
    query = query.order_by(ranked.c.due_at, ranked.c.id).limit(limit)
    chosen = (await connection.execute(query)).all()
    ours = await _take_endpoints(connection, {row.sender for row in chosen if not row.url}, now)
    ids = [row.id for row in chosen if row.url or row.sender in ours]
    # Locked by themselves, because rows cannot be locked below a window.
    free = select(_rows.id).where(_rows.id.in_(ids), _rows.due_at <= clock(now))
    taken = (
        update(webhook_deliveries)
        .where(_rows.id.in_(free.with_for_update(skip_locked=True)))
        .values(attempt=_rows.attempt + 1, due_at=clock(now) + TAKEN_MS)
        .returning(*TAKEN)
    )
    return sorted((WebhookDelivery(*row) for row in await connection.execute(taken)), key=lambda one: one.id)


async def _take_endpoints(
    connection: AsyncConnection, endpoint_ids: Collection[str], now: int | None
) -> set[str]:
    """Those that no other process has taken meanwhile; and those that are not there, which stop nobody."""
    ordered = sorted(endpoint_ids)
    if not ordered:
        return set()
    known = select(_endpoints.id).where(_endpoints.id.in_(ordered)).order_by(_endpoints.id)
    there = set((await connection.scalars(known.with_for_update())).all())
    taken = update(webhook_endpoints).where(_endpoints.id.in_(there), _is_free(now))
    taken = taken.values(taken_until=clock(now) + TAKEN_MS).returning(_endpoints.id)
    return set((await connection.scalars(taken)).all()) | (set(ordered) - there)


def _is_free(now: int | None) -> ColumnElement[bool]:
    return or_(_endpoints.taken_until.is_(None), _endpoints.taken_until <= clock(now))


async def release_endpoint(connection: AsyncConnection, endpoint_id: str) -> None:
    """What was taken with it has been tried, or given back."""
    free = update(webhook_endpoints).where(_endpoints.id == endpoint_id).values(taken_until=None)
    await connection.execute(free)


async def queue_taken(
    connection: AsyncConnection, new: NewDelivery, *, now: int | None = None
) -> WebhookDelivery:
    """Queue a delivery that the caller tries at once; if it does not, another process does."""
    (delivery_id,) = await queue(connection, [new], now=now)
    taken = update(webhook_deliveries).where(_rows.id == delivery_id)
    taken = taken.values(attempt=1, due_at=clock(now) + TAKEN_MS)
    return WebhookDelivery(*(await connection.execute(taken.returning(*TAKEN))).one())


async def end_attempt(
    connection: AsyncConnection,
    delivery: WebhookDelivery,
    made: DeliveryAttempt,
    *,
    is_last: bool = False,
    now: int | None = None,
) -> bool:
    """Write how the attempt ended. False: it failed, and was the last one."""
    time = now if now is not None else await connection.scalar(select(clock())) or 0
    values: dict[str, Any] = {"attempts_json": _append(delivery, made)}
    mine = update(webhook_deliveries).where(_rows.id == delivery.id)
    if made.reason.is_good:
        values |= {"delivered_at": time, "due_at": None, "failure": ""}
        await connection.execute(mine.values(values))
        return True
    wait = None if is_last else _pause(delivery, made, time)
    values |= {"due_at": None if wait is None else time + wait * 1000, "failure": made.reason.value}
    # Another process may have taken it meanwhile, and even delivered it.
    mine = mine.where(_rows.delivered_at.is_(None), _rows.attempt == delivery.attempt)
    await connection.execute(mine.values(values))
    return wait is not None


def _pause(delivery: WebhookDelivery, made: DeliveryAttempt, time: int) -> int | None:
    """Seconds until the next attempt; None: there is none."""
    is_old = (delivery.resent_at or delivery.created_at) <= time - DEADLINE_MS
    if made.reason in _FINAL or is_old or delivery.attempt > len(PAUSES):
        return None
    return max(PAUSES[delivery.attempt - 1], min(made.retry_after or 0, MAX_RETRY_AFTER))


def _append(delivery: WebhookDelivery, made: DeliveryAttempt) -> str:
    return msgspec.json.encode([*delivery.attempts, made][-ATTEMPTS_KEPT:]).decode()


async def hold_others(
    connection: AsyncConnection,
    failed: Sequence[WebhookDelivery],
    milliseconds: int,
    *,
    now: int | None = None,
) -> None:
    """These have just failed: let the others of their endpoint wait, and give up those that are too old."""
    sender, url = failed[0].endpoint
    others = select(_rows.id).where(
        _rows.sender == sender,
        _rows.url == url,
        _rows.due_at <= clock(now) + milliseconds,
        _rows.id.not_in([one.id for one in failed]),
    )
    age = func.coalesce(_rows.resent_at, _rows.created_at)
    changes: Sequence[tuple[Any, Mapping[str, Any]]] = (
        (age <= clock(now) - DEADLINE_MS, {"due_at": None, "failure": AttemptReason.EXPIRED.value}),
        (age > clock(now) - DEADLINE_MS, {"due_at": clock(now) + milliseconds}),
    )
    for which, values in changes:
        # Another process may do the same; neither waits for the other.
        free = others.where(which).with_for_update(skip_locked=True)
        await connection.execute(update(webhook_deliveries).where(_rows.id.in_(free)).values(values))


async def give_back(
    connection: AsyncConnection, untried: Sequence[WebhookDelivery], *, now: int | None = None
) -> None:
    """They were taken and not tried, because an earlier one of their endpoint failed, or took long."""
    for one in untried:
        mine = update(webhook_deliveries).where(_rows.id == one.id, _rows.attempt == one.attempt)
        await connection.execute(mine.values(attempt=one.attempt - 1, due_at=clock(now)))


async def give_up_waiting(connection: AsyncConnection, sender: str) -> None:
    """The endpoint was disabled. They can be sent again when it is not any more."""
    waiting = update(webhook_deliveries).where(_rows.sender == sender, _rows.due_at.is_not(None))
    await connection.execute(waiting.values(due_at=None, failure=AttemptReason.DISABLED.value))


async def count_old(connection: AsyncConnection, before: int) -> int:
    """Deliveries that are over, and older than this."""
    return await connection.scalar(select(func.count()).where(*_is_old(before))) or 0


async def forget_old(connection: AsyncConnection, before: int) -> int:
    """Delete a batch of those, and return how many. 0: none is left."""
    old = select(_rows.id).where(*_is_old(before)).limit(FORGET_BATCH)
    return (await connection.execute(delete(webhook_deliveries).where(_rows.id.in_(old)))).rowcount


def _is_old(before: int) -> tuple[ColumnElement[bool], ...]:
    return _rows.created_at <= before, _rows.due_at.is_(None)


def _ids(count: int) -> list[str]:
    """In order, although they are made in the same millisecond."""
    first: Any = int.from_bytes(ULID().bytes)
    return [str(ULID.from_bytes((first + place).to_bytes(16))) for place in range(count)]
