"""Single statements: a change that is one statement needs no round trips to begin and commit a transaction.

`Database.executor` gives a `SingleStatement` where the database can make the whole change in one statement,
and a connection in a transaction where it takes several. `run` works on either.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from sqlalchemy import Dialect

from gossamer.state.db.connection import AsyncConnection


class SingleStatement(Protocol):
    @property
    def dialect(self) -> Dialect: ...

    async def fetch(self, statement: str, parameters: Sequence[Any]) -> Sequence[Any]:
        """The rows, with values by name and by position. All of the statement is committed, or nothing."""


Executor = AsyncConnection | SingleStatement  # what runs a raw statement
Rows = Sequence[Any]


async def run(executor: Executor, statement: str, *parameters: Any) -> Rows:
    if not isinstance(executor, AsyncConnection):
        return await executor.fetch(statement, parameters)
    result = await executor.exec_driver_sql(statement, parameters)
    return result.all() if result.returns_rows else ()
