"""SQLAlchemy compiles a statement once for each engine. A test opens three engines for each database, which
are all alike: they share what one of them has compiled, as the requests to one server do."""

from typing import Any

from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.engine import Engine
from sqlalchemy.util import LRUCache

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
