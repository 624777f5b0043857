"""Ledger: every payment for a request, from the moment it is seen.

    reserved ─→ verified ─→ served ─→ settled ─→ (delivered)
        │           │          ├──→ pending ─→ settled     it is not known whether money was moved
        └───────────┴──────────┴───────┴────→ released     none was

A row is reserved before anything is asked of anybody: of any number of requests with the same authorisation,
one has it. Whoever works on a payment holds it for a while under a token of its own, and every step says so:
who was too slow can write nothing. `served` is written before money is asked to move, so that a payment whose
server was killed then is known to be uncertain; one that was killed before is known to be untouched. What is
settled is owed an answer until it is delivered. Every function works on an open connection; a step that
returns False was not made.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Row, Update, delete, func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection
from ulid import ULID

from gossamer.state.database import clock, insert_into
from gossamer.state.tables import payments

LEASE: Final = 10.0  # seconds for which a payment is held; renewed while its request is served
_BATCH: Final = 100
_LIVE: Final = text("state <> 'released'")  # in these words: a partial index is used for no others


class State(StrEnum):
    RESERVED = "reserved"  # seen, and nobody else's
    VERIFIED = "verified"  # good; its request is being served
    SERVED = "served"  # the answer is there, the money is being asked for
    PENDING = "pending"  # it is not known whether the money was moved
    SETTLED = "settled"  # it was
    RELEASED = "released"  # it was not


_BEFORE: Final[Mapping[State, tuple[State, ...]]] = {
    State.VERIFIED: (State.RESERVED,),
    State.SERVED: (State.VERIFIED,),
    State.PENDING: (State.SERVED,),
    State.SETTLED: (State.SERVED, State.PENDING),
    State.RELEASED: (State.RESERVED, State.VERIFIED, State.SERVED, State.PENDING),
}


class Key(NamedTuple):
    """What a payment is known by: its authorisation, and what the client calls it."""

    network: str  # CAIP-2
    payer: str
    nonce: str
    identifier: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    network: str
    payer: str
    nonce: str
    version: int
    asset: str
    pay_to: str
    amount: int  # atomic units
    endpoint: str
    request_hash: str
    request_id: str
    identifier: str | None
    wire_json: str
    lasts_until: int

    @property
    def key(self) -> Key:
        return Key(self.network, self.payer, self.nonce, self.identifier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    id: str
    network: str
    payer: str
    nonce: str
    state: State
    token: str
    held_until: int
    version: int
    asset: str
    pay_to: str
    amount: int
    endpoint: str
    request_hash: str
    request_id: str
    identifier: str | None
    wire_json: str | None
    lasts_until: int
    reason: str
    transaction_id: str
    created_at: int
    verified_at: int | None
    served_at: int | None
    settled_at: int | None
    ended_at: int | None
    delivered_at: int | None


@dataclass(frozen=True, slots=True)
class Found:
    """A payment as it stands, at the database's time."""

    entry: Entry
    now: int

    @property
    def held(self) -> bool:
        return self.entry.held_until > self.now


async def find(connection: AsyncConnection, key: Key, now: int | None = None) -> Found | None:
    """What is known of this authorisation; else of another one that the client calls by the same name."""
    columns = payments.c
    mine = (columns.network == key.network, columns.payer == key.payer, columns.nonce == key.nonce)
    found = await _first(connection, mine, now)
    if found is None and key.identifier is not None:
        return await _first(connection, (columns.identifier == key.identifier,), now)
    return found


async def reserve(connection: AsyncConnection, new: NewEntry, now: int | None = None) -> Entry | None:
    """None when it is reserved or used already."""
    values = {name: getattr(new, name) for name in NewEntry.__slots__}
    row = insert_into(connection, payments).values(
        **values,
        id=str(ULID()),
        state=State.RESERVED.value,
        token=secrets.token_hex(16),
        held_until=_held(now),
        reason="",
        transaction_id="",
        created_at=clock(now),
    )
    made = (await connection.execute(row.on_conflict_do_nothing().returning(*payments.c))).first()
    return None if made is None else _entry(made)


async def take(connection: AsyncConnection, entry: Entry, now: int | None = None) -> Entry | None:
    """Hold a payment that nobody holds any more; None when somebody was faster."""
    held = _of(entry).where(payments.c.held_until <= clock(now))
    taken = held.values(token=secrets.token_hex(16), held_until=_held(now))
    row = (await connection.execute(taken.returning(*payments.c))).first()
    return None if row is None else _entry(row)


async def hold_on(connection: AsyncConnection, entry: Entry, now: int | None = None) -> bool:
    return await _made(connection, _of(entry).values(held_until=_held(now)))


async def let_go(connection: AsyncConnection, entry: Entry, now: int | None = None) -> bool:
    """As it stands; the next one may hold it."""
    return await _made(connection, _of(entry).values(held_until=clock(now)))


async def verified(connection: AsyncConnection, entry: Entry, now: int | None = None) -> bool:
    step = _step(entry, State.VERIFIED).values(verified_at=clock(now), held_until=_held(now))
    return await _made(connection, step)


async def served(connection: AsyncConnection, entry: Entry, now: int | None = None) -> bool:
    step = _step(entry, State.SERVED).values(served_at=clock(now), held_until=_held(now))
    return await _made(connection, step)


async def pending(connection: AsyncConnection, entry: Entry, reason: str) -> bool:
    return await _made(connection, _step(entry, State.PENDING).values(reason=reason))


async def settled(
    connection: AsyncConnection, entry: Entry, transaction: str, now: int | None = None
) -> bool:
    """It stays held until its answer is delivered, or its holder is gone."""
    step = _step(entry, State.SETTLED).values(
        settled_at=clock(now), ended_at=clock(now), transaction_id=transaction, reason="", wire_json=None
    )
    return await _made(connection, step)


async def released(connection: AsyncConnection, entry: Entry, reason: str, now: int | None = None) -> bool:
    step = _step(entry, State.RELEASED).values(ended_at=clock(now), reason=reason, wire_json=None)
    return await _made(connection, step)


async def delivered(connection: AsyncConnection, entry: Entry, now: int | None = None) -> bool:
    done = _of(entry).where(payments.c.state == State.SETTLED)
    return await _made(connection, done.values(delivered_at=clock(now), held_until=clock(now)))


async def forget(connection: AsyncConnection, entry: Entry) -> bool:
    """Of what did not even turn out to be a payment nothing is kept: anybody can send it."""
    gone = delete(payments).where(
        payments.c.id == entry.id, payments.c.token == entry.token, payments.c.state == State.RESERVED
    )
    return (await connection.execute(gone)).rowcount == 1


async def left_behind(connection: AsyncConnection, now: int | None = None) -> list[Found]:
    """Payments that are not at their end and that nobody holds."""
    query = select(payments, clock(now).label("now")).where(
        payments.c.ended_at.is_(None), payments.c.held_until <= clock(now)
    )
    rows = await connection.execute(query.order_by(payments.c.held_until, payments.c.id).limit(_BATCH))
    return [Found(_entry(row), row.now) for row in rows]


async def listing(
    connection: AsyncConnection,
    *,
    before: str | None = None,
    state: State | None = None,
    payer: str | None = None,
    limit: int,
) -> list[Entry]:
    """The newest first."""
    query = select(payments).order_by(payments.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(payments.c.id < before)
    if state is not None:
        query = query.where(payments.c.state == state)
    if payer is not None:
        query = query.where(payments.c.payer == payer)
    return [_entry(row) for row in await connection.execute(query)]


async def revenue(connection: AsyncConnection) -> dict[str, int]:
    """What was settled, by endpoint, in atomic units."""
    query = select(payments.c.endpoint, func.sum(payments.c.amount)).group_by(payments.c.endpoint)
    rows = await connection.execute(query.where(payments.c.state == State.SETTLED))
    return {endpoint: int(total) for endpoint, total in rows}


async def _first(
    connection: AsyncConnection, same: Sequence[ColumnElement[bool]], now: int | None
) -> Found | None:
    row = (await connection.execute(select(payments, clock(now).label("now")).where(*same, _LIVE))).first()
    return None if row is None else Found(_entry(row), row.now)


def _of(entry: Entry) -> Update:
    return update(payments).where(payments.c.id == entry.id, payments.c.token == entry.token)


def _step(entry: Entry, to: State) -> Update:
    return _of(entry).where(payments.c.state.in_(_BEFORE[to])).values(state=to.value)


async def _made(connection: AsyncConnection, step: Update) -> bool:
    return (await connection.execute(step)).rowcount == 1


def _held(now: int | None) -> ColumnElement[int]:
    return clock(now) + round(LEASE * 1000)


def _entry(row: Row[Any]) -> Entry:
    values = dict(row._mapping)
    values.pop("now", None)
    return Entry(**{**values, "state": State(row.state)})
