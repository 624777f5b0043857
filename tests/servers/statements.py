"""What tests need not do again, because it comes out the same each time.

SQLAlchemy compiles a statement once for each engine. A test opens three engines for each database, which are
all alike: they share what one of them has compiled, as the requests to one server do.

The revisions that make the schema of an empty SQLite file take half a second of computing. They are run once
in a process; others of its files get the statements that they came to, in the same transaction.
"""

import functools
from collections.abc import Awaitable, Callable
from typing import Any

import aiosqlite
from sqlalchemy import Connection, create_engine, event, inspect
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.engine import Engine
from sqlalchemy.util import LRUCache

from gossamer.state.db import database, revisions

MAX_STATEMENTS = 2_000


def share_compiled() -> None:
    compiled: LRUCache[Any, Any] = LRUCache(MAX_STATEMENTS)
    open_engine = Engine.__init__

    def open_sharing(engine: Engine, *arguments: Any, **named: Any) -> None:
        open_engine(engine, *arguments, **named)
        engine._compiled_cache = compiled

    Engine.__init__ = open_sharing  # type: ignore[method-assign, assignment]
    for dialect in (SQLiteDialect_aiosqlite, PGDialect_asyncpg):  # a part of the cache's key
        dialect.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]
        dialect.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]


def share_revisions() -> None:
    def upgrade(connection: Connection) -> None:
        if connection.dialect.name != "sqlite" or inspect(connection).get_table_names():
            revisions.upgrade(connection)
            return
        statements = statements_of_revisions()

        async def execute(driver: aiosqlite.Connection) -> None:
            """All of them in one turn of its thread."""
            run: Callable[..., Awaitable[Any]] = driver._execute
            await run(lambda: [driver._conn.execute(*each).fetchall() for each in statements])

        connection.connection.dbapi_connection.run_async(execute)  # type: ignore[union-attr]

    database.upgrade = upgrade  # type: ignore[attr-defined]


@functools.lru_cache(maxsize=1)
def statements_of_revisions() -> list[tuple[str, Any]]:
    """What all revisions do to an empty SQLite file, without what they ask it."""
    done: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        if not statement.lstrip().startswith(("SELECT", "PRAGMA")):
            done.append((statement, parameters))

    engine = create_engine("sqlite://")
    event.listen(engine, "before_cursor_execute", note)
    with engine.begin() as connection:
        revisions.upgrade(connection)
    engine.dispose()
    return done
