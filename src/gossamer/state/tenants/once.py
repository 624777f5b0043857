"""Once: a row written in the transaction of an effect keeps the effect from happening twice.

    try:
        async with database.write() as connection:
            … the effect …
            await once.remember(connection, scope, fingerprint, answer, ttl_seconds=60)
    except once.AlreadyDone as done:
        … the effect is rolled back; `done.answer` is what was answered the first time …

Of any number of such transactions at the same time, one commits; the others wait for it and get its answer.
"""

from typing import Final

from sqlalchemy import delete, select

from gossamer.problems import IDEMPOTENCY_KEY_CONFLICT, Problem
from gossamer.state.db import tables
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock, insert_into

_FORGET_BATCH: Final = 5_000  # a short transaction: others wait for it


class AlreadyDone(Exception):
    """It has happened before. Leaving the transaction with this undoes what happened in it."""

    def __init__(self, answer: bytes) -> None:
        super().__init__("already done")
        self.answer = answer


async def remember(
    connection: AsyncConnection,
    scope: str,
    fingerprint: str,
    answer: bytes,
    ttl_seconds: int,
    now: int | None = None,
) -> None:
    """Keep `answer` under `scope`, unless one is kept there that has not expired.

    `scope` says what must not happen twice, `fingerprint` what was asked; both are SHA-256 in hex.
    """
    while not await _take(connection, scope, fingerprint, answer, ttl_seconds, now):
        kept = await recall(connection, scope, now)
        if kept is None:
            continue  # it expired between the two statements
        if kept[0] != fingerprint:
            raise Problem(
                IDEMPOTENCY_KEY_CONFLICT,
                "The Idempotency-Key was already used with a different request body.",
                hint="Use a new key for a new request, or wait until this one is forgotten.",
            )
        raise AlreadyDone(kept[1])


async def recall(connection: AsyncConnection, scope: str, now: int | None = None) -> tuple[str, bytes] | None:
    """The fingerprint and the answer that are kept under `scope`."""
    once = tables.once.c
    query = select(once.fingerprint, once.answer).where(once.scope == scope, once.expires_at > clock(now))
    row = (await connection.execute(query)).first()
    return None if row is None else (row.fingerprint, row.answer)


async def forget_expired(connection: AsyncConnection, now: int | None = None) -> int:
    """Delete a batch of expired rows; returns how many. 0: none is left."""
    once = tables.once.c
    expired = select(once.scope).where(once.expires_at <= clock(now)).limit(_FORGET_BATCH)
    done = await connection.execute(
        delete(tables.once).where(once.scope.in_(expired.with_for_update(skip_locked=True)))
    )
    return done.rowcount


async def _take(
    connection: AsyncConnection,
    scope: str,
    fingerprint: str,
    answer: bytes,
    ttl_seconds: int,
    now: int | None,
) -> bool:
    new = insert_into(connection, tables.once).values(
        scope=scope,
        fingerprint=fingerprint,
        answer=answer,
        created_at=clock(now),
        expires_at=clock(now) + ttl_seconds * 1000,
    )
    kept = ("fingerprint", "answer", "created_at", "expires_at")
    taken = new.on_conflict_do_update(
        index_elements=["scope"],
        set_={name: new.excluded[name] for name in kept},
        where=tables.once.c.expires_at <= clock(now),
    ).returning(tables.once.c.scope)
    return (await connection.execute(taken)).first() is not None
