# ruff: noqa: S608 - only constants are put into these statements
"""Bulk statements: raw SQL that works on many rows at once, written once for both databases.

    RAISE = bulk("UPDATE hosts SET pages = pages + given.more FROM {given} WHERE …", rows={"more": "bigint"})
    await RAISE(executor, now, [(1,), (2,)])

PostgreSQL takes the rows as columns of values, SQLite as JSON. In the text, `{given}` stands for the rows,
`{now}` for the time that a test passes in or else the database's own, and each single value for itself by
name. `_WORDS` has what the databases spell differently, or what only one of them has.

    NEXT = for_each("SELECT … WHERE host = {host} ORDER BY due_at LIMIT {most}", rows={"host": "text", …})
    found = await NEXT(executor, now, [("a.example", 20), ("b.example", 5)])  # what each row finds

That is one statement on PostgreSQL, too, where each would cost a round trip. On SQLite, which has no such
join, it is one for each row: they go nowhere.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer.state.db.database import CLOCK
from gossamer.state.db.single import Executor, Rows, run

_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "postgresql": {
        "now": f"COALESCE($1::bigint, {CLOCK['postgresql']})",
        "greatest": "GREATEST",
        "for_update": "FOR UPDATE",
        "skip_locked": "SKIP LOCKED",
    },
    "sqlite": {
        "now": f"COALESCE(?1, {CLOCK['sqlite']})",
        "greatest": "max",
        "for_update": "",  # there is one writer
        "skip_locked": "",
    },
}

_encode: Final = msgspec.json.Encoder().encode


class BulkStatement(Struct, frozen=True):
    postgresql: str
    sqlite: str
    takes_time: bool
    takes_rows: bool

    async def __call__(
        self, executor: Executor, now: int | None, rows: Sequence[tuple[Any, ...]] = (), **values: Any
    ) -> Rows:
        """`values` in the order in which the statement names them."""
        if self.takes_rows and not rows:
            return ()
        single = ((now,) if self.takes_time else ()) + tuple(values.values())
        if executor.dialect.name == "postgresql":
            columns = [list(column) for column in zip(*rows, strict=True)]
            return await run(executor, self.postgresql, *single, *columns)
        many = (_encode(rows).decode(),) if self.takes_rows else ()
        return await run(executor, self.sqlite, *single, *many)


def bulk(
    text: str, *, values: Mapping[str, str] | None = None, rows: Mapping[str, str] | None = None
) -> BulkStatement:
    """Names and PostgreSQL's types of single values and of the columns of the rows."""
    single, columns = values or {}, rows or {}
    takes_time = "{now}" in text
    second = 2 if takes_time else 1
    first = second + len(single)
    names = ", ".join(columns)
    arrays = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(columns.values(), first))
    items = ", ".join(f"json_extract(value, '$[{place}]') AS {name}" for place, name in enumerate(columns))
    return BulkStatement(
        text.format(
            given=f"unnest({arrays}) AS given({names})",
            **{name: f"${place}::{kind}" for place, (name, kind) in enumerate(single.items(), second)},
            **_WORDS["postgresql"],
        ),
        text.format(
            given=f"(SELECT {items} FROM json_each(?{first})) AS given",
            **{name: f"?{place}" for place, name in enumerate(single, second)},
            **_WORDS["sqlite"],
        ),
        takes_time,
        bool(columns),
    )


class EachStatement(Struct, frozen=True):
    postgresql: str
    sqlite: str
    takes_time: bool

    async def __call__(
        self, executor: Executor, now: int | None, rows: Sequence[tuple[Any, ...]]
    ) -> list[Rows]:
        """What each of the rows finds, in their order."""
        time = (now,) if self.takes_time else ()
        if executor.dialect.name != "postgresql":
            return [await run(executor, self.sqlite, *time, *row) for row in rows]
        found: list[list[Any]] = [[] for _ in rows]
        columns = [list(column) for column in zip(*rows, strict=True)]
        for one in await run(executor, self.postgresql, *time, *columns) if rows else ():
            found[one.place - 1].append(one)
        return list(found)


def for_each(text: str, *, rows: Mapping[str, str]) -> EachStatement:
    """A query that is asked for each of the rows; PostgreSQL's types of their columns. An order of the query
    with a limit holds: PostgreSQL can only join it row by row."""
    takes_time = "{now}" in text
    first = 2 if takes_time else 1
    names = ", ".join(rows)
    arrays = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(rows.values(), first))
    asked = text.format(**{name: f"given.{name}" for name in rows}, **_WORDS["postgresql"])
    return EachStatement(
        f"SELECT found.*, given.place FROM unnest({arrays}) WITH ORDINALITY AS given({names}, place)"
        f" CROSS JOIN LATERAL ({asked}) AS found",
        text.format(**{name: f"?{place}" for place, name in enumerate(rows, first)}, **_WORDS["sqlite"]),
        takes_time,
    )


def storable(text: str) -> str:
    """Without what one of the databases refuses: NUL, and halves of surrogate pairs."""
    valid = text if text.isascii() else text.encode("utf-8", "replace").decode()
    return valid.replace("\0", "") if "\0" in valid else valid
