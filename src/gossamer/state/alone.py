"""Alone: a change that is one statement, without the round trips that begin and commit a transaction.

`Database.alone` gives an `Alone` where the database can do the whole of a change in one statement, and a
transaction where it takes several: who has something to do in either, says it to `run`.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from sqlalchemy import Dialect
from sqlalchemy.ext.asyncio import AsyncConnection


class Alone(Protocol):
    @property
    def dialect(self) -> Dialect: ...

    async def fetch(self, statement: str, parameters: Sequence[Any]) -> Sequence[Any]:
        """The rows, with values by name and by place. All of it is committed, or none."""


Hand = AsyncConnection | Alone  # what a raw statement may be handed to
Rows = Sequence[Any]


async def run(hand: Hand, statement: str, *parameters: Any) -> Rows:
    if not isinstance(hand, AsyncConnection):
        return await hand.fetch(statement, parameters)
    done = await hand.exec_driver_sql(statement, parameters)
    return done.all() if done.returns_rows else ()
