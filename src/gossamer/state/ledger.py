# ruff: noqa: S608 - what is put into these statements are other parts of them
"""Ledger: every payment for a request, from the moment it is seen.

    reserved ─→ verified ─→ served ─→ settled ─→ (delivered)
        │ └────────────────→ │ ├──→ pending ─→ settled     it is not known whether money was moved
        └───────────┴────────┴─┴───────┴────→ released     none was

A row is reserved before anything is asked of anybody: of any number of requests with the same authorisation,
one has it. Whoever works on a payment holds it for a while under a token of its own, and every step says so:
who was too slow can write nothing. `verified` is written only where that or the work takes long, since it
changes nothing for those who find the payment. `served` is written before money is asked to move, so that a
payment whose server was killed then is known to be uncertain; one that was killed before is known to be
untouched. What is settled is owed an answer until it is delivered.

Every step is one statement, for `Database.single` or an open connection; one that returns False was not made.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection
from ulid import ULID

from gossamer.state.alone import Hand
from gossamer.state.database import clock
from gossamer.state.given import Statement, given
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
    State.SERVED: (State.RESERVED, State.VERIFIED),
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
    reason: str = ""
    transaction_id: str = ""
    created_at: int
    verified_at: int | None = None
    served_at: int | None = None
    settled_at: int | None = None
    ended_at: int | None = None
    delivered_at: int | None = None


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


_NEW: Final = {
    "id": "text",
    "token": "text",
    "network": "text",
    "payer": "text",
    "nonce": "text",
    "version": "smallint",
    "asset": "text",
    "pay_to": "text",
    "amount": "bigint",
    "endpoint": "text",
    "request_hash": "text",
    "request_id": "text",
    "identifier": "text",
    "wire_json": "text",
    "lasts_until": "bigint",
}
_LATER: Final = f"{{now}} + {round(LEASE * 1000)}"
_HELD: Final = f"held_until = {_LATER}"
_RESERVE: Final = given(
    f"""
INSERT INTO payments ({", ".join(_NEW)}, state, held_until, reason, transaction_id, created_at)
VALUES ({", ".join(f"{{{name}}}" for name in _NEW)}, 'reserved', {_LATER}, '', '', {{now}})
ON CONFLICT DO NOTHING RETURNING held_until, created_at""",
    values=_NEW,
)


def _under_token(change: str, *states: State, **values: str) -> Statement:
    """Of a payment that is held, in one of these states."""
    names = ", ".join(f"'{state}'" for state in states)
    where = "WHERE id = {id} AND token = {token}" + (f" AND state IN ({names})" if states else "")
    return given(f"{change} {where} RETURNING id", values={"id": "text", "token": "text", **values})


def _step(to: State, sets: str, **values: str) -> Statement:
    return _under_token(f"UPDATE payments SET state = '{to}', {sets}", *_BEFORE[to], **values)


_HOLD_ON: Final = _under_token(f"UPDATE payments SET {_HELD}")
_LET_GO: Final = _under_token("UPDATE payments SET held_until = {now}")
_VERIFIED: Final = _step(State.VERIFIED, f"verified_at = {{now}}, {_HELD}")
_SERVED: Final = _step(
    State.SERVED, f"verified_at = COALESCE(verified_at, {{now}}), served_at = {{now}}, {_HELD}"
)
_PENDING: Final = _step(State.PENDING, "reason = {reason}", reason="text")
_SETTLED: Final = _step(
    State.SETTLED,
    "settled_at = {now}, ended_at = {now}, transaction_id = {moved}, reason = '', wire_json = NULL",
    moved="text",
)
_RELEASED: Final = _step(
    State.RELEASED, "ended_at = {now}, reason = {reason}, wire_json = NULL", reason="text"
)
_DELIVERED: Final = _under_token(
    "UPDATE payments SET delivered_at = {now}, held_until = {now}", State.SETTLED
)
_FORGET: Final = _under_token("DELETE FROM payments", State.RESERVED)
_TAKE: Final = given(
    f"""
UPDATE payments SET token = {{new}}, {_HELD} WHERE id = {{id}} AND token = {{token}} AND held_until <= {{now}}
RETURNING {", ".join(payments.c.keys())}""",
    values={"id": "text", "token": "text", "new": "text"},
)


async def reserve(hand: Hand, new: NewEntry, now: int | None = None) -> Entry | None:
    """None when it is reserved or used already."""
    values = {name: getattr(new, name) for name in NewEntry.__slots__}
    values |= {"id": str(ULID()), "token": secrets.token_hex(16)}
    made = await _RESERVE(hand, now, **{name: values[name] for name in _NEW})
    if not made:
        return None
    values |= {"held_until": made[0].held_until, "created_at": made[0].created_at}
    return Entry(**values, state=State.RESERVED)


async def take(hand: Hand, entry: Entry, now: int | None = None) -> Entry | None:
    """Hold a payment that nobody holds any more; None when somebody was faster."""
    taken = await _TAKE(hand, now, id=entry.id, token=entry.token, new=secrets.token_hex(16))
    return _entry(taken[0]) if taken else None


async def hold_on(hand: Hand, entry: Entry, now: int | None = None) -> bool:
    return await _made(hand, _HOLD_ON, entry, now)


async def let_go(hand: Hand, entry: Entry, now: int | None = None) -> bool:
    """As it stands; the next one may hold it."""
    return await _made(hand, _LET_GO, entry, now)


async def verified(hand: Hand, entry: Entry, now: int | None = None) -> bool:
    return await _made(hand, _VERIFIED, entry, now)


async def served(hand: Hand, entry: Entry, now: int | None = None) -> bool:
    return await _made(hand, _SERVED, entry, now)


async def pending(hand: Hand, entry: Entry, reason: str) -> bool:
    return await _made(hand, _PENDING, entry, reason=reason)


async def settled(hand: Hand, entry: Entry, transaction: str, now: int | None = None) -> bool:
    """It stays held until its answer is delivered, or its holder is gone."""
    return await _made(hand, _SETTLED, entry, now, moved=transaction)


async def released(hand: Hand, entry: Entry, reason: str, now: int | None = None) -> bool:
    return await _made(hand, _RELEASED, entry, now, reason=reason)


async def delivered(hand: Hand, entry: Entry, now: int | None = None) -> bool:
    return await _made(hand, _DELIVERED, entry, now)


async def forget(hand: Hand, entry: Entry) -> bool:
    """Of what did not even turn out to be a payment nothing is kept: anybody can send it."""
    return await _made(hand, _FORGET, entry)


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


async def revenue(connection: AsyncConnection, *, proven: bool = True) -> dict[str, int]:
    """What was settled with a transaction to show, or without, by endpoint, in atomic units."""
    shown = payments.c.transaction_id != "" if proven else payments.c.transaction_id == ""
    query = select(payments.c.endpoint, func.sum(payments.c.amount)).group_by(payments.c.endpoint)
    rows = await connection.execute(query.where(payments.c.state == State.SETTLED, shown))
    return {endpoint: int(total) for endpoint, total in rows}


async def _first(
    connection: AsyncConnection, same: Sequence[ColumnElement[bool]], now: int | None
) -> Found | None:
    row = (await connection.execute(select(payments, clock(now).label("now")).where(*same, _LIVE))).first()
    return None if row is None else Found(_entry(row), row.now)


async def _made(hand: Hand, step: Statement, entry: Entry, now: int | None = None, **values: Any) -> bool:
    return bool(await step(hand, now, id=entry.id, token=entry.token, **values))


def _entry(row: Any) -> Entry:
    values = {name: getattr(row, name) for name in Entry.__slots__}
    return Entry(**{**values, "state": State(row.state)})
