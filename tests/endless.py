"""Searches in which a real database finds no end."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@contextmanager
def endless_searches(*, first: int = 1) -> Iterator[None]:
    """In all that the index is asked, from this question on. A search asks twice: by title, by text."""
    asked = 0

    def ask(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> tuple[str, Any]:
        nonlocal asked
        if "MATCH" not in statement and "@@" not in statement:
            return statement, values
        asked += 1
        return (ENDLESS, ()) if asked >= first else (statement, values)

    event.listen(Engine, "before_cursor_execute", ask, retval=True)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", ask)
