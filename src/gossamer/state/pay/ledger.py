# ruff: noqa: S608 - only constants are put into these statements
"""Ledger: every payment for a request, from the moment it is seen.

    reserved ─→ verified ─→ served ─→ settled ─→ (delivered)
        │ └────────────────→ │ ├──→ pending ─→ settled     it is not known whether money was moved
        └───────────┴────────┴─┴───────┴────→ released     none was
                                      settled ─→ released  the chain shows that none came to us
    reserved, verified ─→ settled                          credit has paid it, and no money moves

A row is reserved before anything else happens, so of several requests with the same authorisation one has it.
A request holds its payment under a token with a lease, and every step checks the token: a request that was
too slow can write nothing. `verified` is written only if verifying or serving takes long, since it changes
nothing for requests that find the payment. `served` is written before money is asked to move. So if the
server is killed, a payment that was served is known to be uncertain, and one that was not is untouched.

A settled payment is owed an answer until it is delivered: to a client that sends the same payment again, or
another payment of the same payer for the same request. So a payment is not marked as served while an older
one of its payer is open for the same request, or while credit of its payer covers it; that is used first.

`proof` names the source that confirms a settlement. While it is empty, the payment is unproven, and the chain
can still overrule it.

Every step is one statement, on `Database.single` or an open connection, and returns whether it was made.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import fields
from sqlalchemy import exists, select, text
from ulid import ULID

from gossamer.state.db.bulk import BulkStatement, bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.db.single import Executor
from gossamer.state.pay.pay_tables import orders, payments

LEASE: Final = 10.0  # seconds for which a payment is held; renewed while its request is served
_BATCH: Final = 100
_LIVE: Final = text(
    "state <> 'released'"
)  # in the words of the partial indexes, which are not used otherwise


class PaymentState(StrEnum):
    RESERVED = "reserved"  # seen, and held by one request
    VERIFIED = "verified"  # good; its request is being served
    SERVED = "served"  # the answer is there, the money is being asked for
    PENDING = "pending"  # it is not known whether the money was moved
    SETTLED = "settled"  # it was
    RELEASED = "released"  # it was not


class Proof(StrEnum):
    """The source that confirms the money of a settled payment."""

    NONE = ""  # no proof yet
    FACILITATOR = "facilitator"  # it named the transaction
    CHAIN = "chain"  # the transaction was looked up


_BEFORE: Final[Mapping[PaymentState, tuple[PaymentState, ...]]] = {
    PaymentState.VERIFIED: (PaymentState.RESERVED,),
    PaymentState.SERVED: (PaymentState.RESERVED, PaymentState.VERIFIED),
    PaymentState.PENDING: (PaymentState.SERVED,),
    PaymentState.SETTLED: (PaymentState.SERVED, PaymentState.PENDING),
    PaymentState.RELEASED: (
        PaymentState.RESERVED,
        PaymentState.VERIFIED,
        PaymentState.SERVED,
        PaymentState.PENDING,
    ),
}


class PaymentKey(NamedTuple):
    """The identity of a payment: its authorisation, and the client's own identifier."""

    network: str  # CAIP-2
    payer: str
    nonce: str
    identifier: str | None


class NewEntry(Struct, frozen=True, kw_only=True):
    """A payment that is to be reserved."""

    network: str  # CAIP-2
    payer: str
    nonce: str
    version: int  # of x402
    asset: str
    pay_to: str
    amount: int  # atomic units
    endpoint: str
    request_hash: str
    request_id: str
    identifier: str | None  # the client's own identifier
    wire_json: str | None  # the payment as facilitators get it; None once it has ended
    lasts_until: int  # when the authorisation expires

    @property
    def key(self) -> PaymentKey:
        return PaymentKey(self.network, self.payer, self.nonce, self.identifier)


class LedgerEntry(NewEntry, frozen=True, kw_only=True):
    """A payment's row."""

    id: str
    state: PaymentState
    token: str  # of the request that holds it
    held_until: int
    reason: str = ""  # why it was released, or is in doubt
    transaction_id: str = ""
    proof: Proof = Proof.NONE
    created_at: int
    verified_at: int | None = None
    served_at: int | None = None
    settled_at: int | None = None
    ended_at: int | None = None
    delivered_at: int | None = None
    credit: int = 0  # that has paid it instead of money: all of the amount, or nothing

    @property
    def wallet(self) -> tuple[str, str]:
        return self.network, self.payer


_NEW_FIELDS: Final = tuple(each.name for each in fields(NewEntry))
_FIELDS: Final = tuple(each.name for each in fields(LedgerEntry))


class FoundPayment(Struct, frozen=True):
    """A payment as it stands, at the database's time."""

    entry: LedgerEntry
    now: int

    @property
    def held(self) -> bool:
        return self.entry.held_until > self.now


async def find(connection: AsyncConnection, key: PaymentKey, now: int | None = None) -> FoundPayment | None:
    """The payment with this authorisation; otherwise one with the same client identifier."""
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
_RESERVE: Final = bulk(
    f"""
INSERT INTO payments ({", ".join(_NEW)}, state, held_until, reason, transaction_id, proof, created_at)
VALUES ({", ".join(f"{{{name}}}" for name in _NEW)}, 'reserved', {_LATER}, '', '', '', {{now}})
ON CONFLICT DO NOTHING RETURNING held_until, created_at""",
    values=_NEW,
)


def _under_token(change: str, *states: PaymentState, also: str = "", **values: str) -> BulkStatement:
    """A condition for a payment that is held and in one of these states."""
    where = "WHERE id = {id} AND token = {token}" + (f" AND state IN ({_names(states)})" if states else "")
    return bulk(f"{change} {where} {also} RETURNING id", values={"id": "text", "token": "text", **values})


def _step(to: PaymentState, sets: str, also: str = "", **values: str) -> BulkStatement:
    return _under_token(f"UPDATE payments SET state = '{to}', {sets}", *_BEFORE[to], also=also, **values)


def _names(states: Sequence[PaymentState]) -> str:
    return ", ".join(f"'{state}'" for state in states)


# Money was moved, or may have been, and the answer was not given. The first two conditions match their index.
_OPEN: Final = "state <> 'released' AND delivered_at IS NULL AND state IN ('served', 'pending', 'settled')"
_NOTHING_OWED: Final = f"""
AND NOT EXISTS (
    SELECT 1 FROM payments AS older WHERE older.payer = payments.payer
    AND older.request_hash = payments.request_hash AND older.network = payments.network
    AND {_OPEN})
AND NOT EXISTS (
    SELECT 1 FROM wallets WHERE wallets.network = payments.network AND wallets.payer = payments.payer
    AND wallets.credit >= payments.amount)"""


_HOLD_ON: Final = _under_token(f"UPDATE payments SET {_HELD}")
_LET_GO: Final = _under_token("UPDATE payments SET held_until = {now}")
_VERIFIED: Final = _step(PaymentState.VERIFIED, f"verified_at = {{now}}, {_HELD}")
_SET_SERVED: Final = f"verified_at = COALESCE(verified_at, {{now}}), served_at = {{now}}, {_HELD}"
_SERVED: Final = _step(PaymentState.SERVED, _SET_SERVED)
_SERVED_FIRST: Final = _step(PaymentState.SERVED, _SET_SERVED, _NOTHING_OWED)
_PENDING: Final = _step(PaymentState.PENDING, "reason = {reason}", reason="text")
_SETTLED: Final = _step(
    PaymentState.SETTLED,
    "settled_at = {now}, ended_at = {now}, transaction_id = {moved}, proof = {proof}, reason = '', "
    "wire_json = NULL",
    moved="text",
    proof="text",
)
_PAID_BY_CREDIT: Final = _under_token(
    f"UPDATE payments SET state = 'settled', {_SET_SERVED}, settled_at = {{now}}, ended_at = {{now}}, "
    "credit = amount, proof = 'facilitator', reason = 'credit', wire_json = NULL",
    PaymentState.RESERVED,
    PaymentState.VERIFIED,
)
_RELEASED: Final = _step(
    PaymentState.RELEASED, "ended_at = {now}, reason = {reason}, wire_json = NULL", reason="text"
)
_DELIVERED: Final = _under_token(
    "UPDATE payments SET delivered_at = {now}, held_until = {now}", PaymentState.SETTLED
)
_UNCLAIMED_MS: Final = 86_400_000  # for which an answer is owed, before its worth becomes credit
_UNCLAIMED: Final = bulk(
    f"""
UPDATE payments SET delivered_at = {{now}}, reason = 'credited' WHERE id = {{id}} AND state = 'settled'
AND delivered_at IS NULL AND held_until <= {{now}} - {_UNCLAIMED_MS} RETURNING id""",
    values={"id": "text"},
)
_FORGET: Final = _under_token("DELETE FROM payments", PaymentState.RESERVED)
_TAKE: Final = bulk(
    f"""
UPDATE payments SET token = {{new}}, {_HELD} WHERE id = {{id}} AND token = {{token}} AND held_until <= {{now}}
AND delivered_at IS NULL RETURNING {", ".join(payments.c.keys())}""",
    values={"id": "text", "token": "text", "new": "text"},
)

_UNPROVEN: Final = "WHERE id = {id} AND state = 'settled' AND proof = '' RETURNING id"
_PROVEN: Final = bulk(
    f"UPDATE payments SET proof = 'chain', transaction_id = {{moved}} {_UNPROVEN}",
    values={"id": "text", "moved": "text"},
)
_DISPROVEN: Final = bulk(
    f"""
UPDATE payments SET state = 'released', settled_at = NULL, ended_at = {{now}}, reason = {{reason}}
{_UNPROVEN}""",
    values={"id": "text", "reason": "text"},
)


async def reserve(executor: Executor, new: NewEntry, now: int | None = None) -> LedgerEntry | None:
    """Reserve a payment; None if it is reserved or used already."""
    values = {name: getattr(new, name) for name in _NEW_FIELDS}
    values |= {"id": str(ULID()), "token": secrets.token_hex(16)}
    made = await _RESERVE(executor, now, **{name: values[name] for name in _NEW})
    if not made:
        return None
    values |= {"held_until": made[0].held_until, "created_at": made[0].created_at}
    return LedgerEntry(**values, state=PaymentState.RESERVED)


async def take(executor: Executor, entry: LedgerEntry, now: int | None = None) -> LedgerEntry | None:
    """Hold a payment whose lease has run out; None when another request was faster."""
    taken = await _TAKE(executor, now, id=entry.id, token=entry.token, new=secrets.token_hex(16))
    return entry_of(taken[0]) if taken else None


async def renew(executor: Executor, entry: LedgerEntry, now: int | None = None) -> bool:
    return await _apply(executor, _HOLD_ON, entry, now)


async def let_go(executor: Executor, entry: LedgerEntry, now: int | None = None) -> bool:
    """End the lease early; the next request may hold it."""
    return await _apply(executor, _LET_GO, entry, now)


async def mark_verified(executor: Executor, entry: LedgerEntry, now: int | None = None) -> bool:
    return await _apply(executor, _VERIFIED, entry, now)


async def mark_served(executor: Executor, entry: LedgerEntry, now: int | None = None) -> bool:
    return await _apply(executor, _SERVED, entry, now)


async def mark_served_if_first(executor: Executor, entry: LedgerEntry, now: int | None = None) -> bool:
    """Mark it as served only if nothing is owed to its payer: no other payment is open for the same request,
    and no credit covers it."""
    return await _apply(executor, _SERVED_FIRST, entry, now)


async def mark_paid_by_credit(executor: Executor, entry: LedgerEntry, now: int | None = None) -> bool:
    """In the transaction that takes its amount from the payer's credit."""
    return await _apply(executor, _PAID_BY_CREDIT, entry, now)


async def mark_pending(executor: Executor, entry: LedgerEntry, reason: str) -> bool:
    return await _apply(executor, _PENDING, entry, reason=reason)


async def mark_settled(
    executor: Executor,
    entry: LedgerEntry,
    transaction: str,
    proof: Proof = Proof.NONE,
    now: int | None = None,
) -> bool:
    """It stays held until its answer is delivered, or the lease runs out."""
    return await _apply(executor, _SETTLED, entry, now, moved=transaction, proof=str(proof))


async def mark_proven(executor: Executor, entry: LedgerEntry, transaction: str) -> bool:
    """The chain has the transaction. A request that holds the payment goes on."""
    return bool(await _PROVEN(executor, None, id=entry.id, moved=transaction))


async def mark_disproven(executor: Executor, entry: LedgerEntry, reason: str, now: int | None = None) -> bool:
    """The chain shows that no money has come, and none will."""
    return bool(await _DISPROVEN(executor, now, id=entry.id, reason=reason))


async def release(executor: Executor, entry: LedgerEntry, reason: str, now: int | None = None) -> bool:
    return await _apply(executor, _RELEASED, entry, now, reason=reason)


async def mark_delivered(executor: Executor, entry: LedgerEntry, now: int | None = None) -> bool:
    return await _apply(executor, _DELIVERED, entry, now)


async def mark_unclaimed(executor: Executor, entry: LedgerEntry, now: int | None = None) -> bool:
    """Nobody came back for its answer. In the transaction that turns it into credit."""
    return bool(await _UNCLAIMED(executor, now, id=entry.id))


async def forget(executor: Executor, entry: LedgerEntry) -> bool:
    """Delete what turned out not to be a payment: anyone can send such requests."""
    return await _apply(executor, _FORGET, entry)


OWED: Final = (payments.c.state == PaymentState.SETTLED, payments.c.delivered_at.is_(None))
UNPROVEN: Final = (payments.c.state == PaymentState.SETTLED, payments.c.proof == Proof.NONE)


async def find_left_behind(connection: AsyncConnection, now: int | None = None) -> list[FoundPayment]:
    """Payments that have not ended and whose lease has run out."""
    where = (payments.c.ended_at.is_(None), payments.c.held_until <= clock(now))
    return await _find_all(connection, where, (payments.c.held_until, payments.c.id), now)


async def find_open(
    connection: AsyncConnection, entry: LedgerEntry, now: int | None = None
) -> list[FoundPayment]:
    """Other payments of the same payer for the same request that were not answered: the oldest first."""
    same = [payments.c[name] == getattr(entry, name) for name in ("payer", "request_hash", "network")]
    where = (*same, payments.c.id != entry.id, text(_OPEN))
    return await _find_all(connection, where, (payments.c.id,), now)


async def find_unclaimed(connection: AsyncConnection, now: int | None = None) -> list[LedgerEntry]:
    """Proven payments whose answer was owed for a day, and that are no order."""
    where = (
        _LIVE,
        *OWED,
        payments.c.proof != Proof.NONE,
        payments.c.held_until <= clock(now) - _UNCLAIMED_MS,
        ~exists().where(orders.c.payment_id == payments.c.id),
    )
    order = (payments.c.payer, payments.c.request_hash)  # of the index, which is not used otherwise
    return [one.entry for one in await _find_all(connection, where, order, now)]


async def find_unproven(connection: AsyncConnection, networks: Iterable[str]) -> list[FoundPayment]:
    """Settled payments on these networks without a proof: the newest first."""
    where = (*UNPROVEN, payments.c.network.in_(networks))
    return await _find_all(connection, where, (payments.c.id.desc(),), None)


async def _first(connection: AsyncConnection, same: Sequence[Any], now: int | None) -> FoundPayment | None:
    return next(iter(await _find_all(connection, (*same, _LIVE), (), now)), None)


async def _find_all(
    connection: AsyncConnection, where: Sequence[Any], order: Sequence[Any], now: int | None
) -> list[FoundPayment]:
    query = select(payments, clock(now).label("now")).where(*where).order_by(*order).limit(_BATCH)
    return [FoundPayment(entry_of(row), row.now) for row in await connection.execute(query)]


async def _apply(
    executor: Executor, step: BulkStatement, entry: LedgerEntry, now: int | None = None, **values: Any
) -> bool:
    return bool(await step(executor, now, id=entry.id, token=entry.token, **values))


def entry_of(row: Any) -> LedgerEntry:
    values = {name: getattr(row, name) for name in _FIELDS}
    return LedgerEntry(**{**values, "state": PaymentState(row.state), "proof": Proof(row.proof)})
