"""Rows about traps: what the worker of a host has learned of it, and what it did not follow.

Both are written in the transaction that proves the lease of the host, so a host has one author at a time.
"""

from collections.abc import Iterable
from operator import itemgetter
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct
from sqlalchemy import select

from gossamer.state.crawl.crawl_tables import crawl_traps, trap_states
from gossamer.state.db.bulk import bulk, storable
from gossamer.state.db.connection import AsyncConnection
from gossamer.web.crawl.traps.host_traps import TrapState
from gossamer.web.crawl.traps.trap import TrapCount

MAX_STATES: Final = 1_000  # hosts that are read at once
MAX_LISTED: Final = 100  # traps of a crawl that are shown
LATE_MS: Final = 10_000  # within which a transaction that began earlier may still end
MAX_PATTERN_CHARS: Final = 500


class TrapNews(NamedTuple):
    """What was learned of a host in a crawl since the last time."""

    crawl_id: str
    state: TrapState
    counts: tuple[TrapCount, ...]


class StoredTrap(Struct, frozen=True):
    """A trap of a crawl as it is stored."""

    kind: str
    pattern: str
    host: str
    cut: int
    example: str
    since: int


_KEEP: Final = bulk(
    """
INSERT INTO trap_states (crawl_id, host, state_json, updated_at)
SELECT crawl_id, host, state_json, {now} FROM {given} WHERE true
ON CONFLICT (crawl_id, host) DO UPDATE
SET state_json = excluded.state_json, updated_at = excluded.updated_at""",
    rows={"crawl_id": "text", "host": "text", "state_json": "text"},
)
_COUNT: Final = bulk(
    """
INSERT INTO crawl_traps (crawl_id, host, kind, pattern, cut, example, since)
SELECT crawl_id, host, kind, pattern, cut, example, {now} FROM {given} WHERE true
ON CONFLICT (crawl_id, host, kind, pattern) DO UPDATE SET cut = crawl_traps.cut + excluded.cut""",
    rows={
        "crawl_id": "text",
        "host": "text",
        "kind": "text",
        "pattern": "text",
        "cut": "bigint",
        "example": "text",
    },
)
_decoder: Final = msgspec.json.Decoder(TrapState)


async def keep(connection: AsyncConnection, news: Iterable[tuple[str, TrapNews]], now: int | None) -> None:
    """Write what was learned, by host. The crawls are locked."""
    found = sorted(((each.crawl_id, host, each) for host, each in news), key=itemgetter(0, 1))
    states = [(crawl_id, host, _encode(each.state)) for crawl_id, host, each in found]
    await _KEEP(connection, now, states)
    counts: dict[tuple[str, str, str, str], tuple[int, str]] = {}
    for crawl_id, host, each in found:
        for one in each.counts:
            key = (crawl_id, host, one.kind.value, storable(one.pattern)[:MAX_PATTERN_CHARS])
            cut, example = counts.get(key, (0, storable(one.example)))
            counts[key] = cut + one.cut, example
    await _COUNT(connection, now, [(*key, *value) for key, value in sorted(counts.items())])


async def states(
    connection: AsyncConnection, crawl_id: str, *, since: int = 0
) -> list[tuple[str, TrapState, int]]:
    """Hosts, what was learned of them, and when; those that were written about that time or later."""
    here = trap_states.c
    query = select(here.host, here.state_json, here.updated_at).where(here.crawl_id == crawl_id)
    if since:
        query = query.where(here.updated_at > since - LATE_MS)
    rows = await connection.execute(query.order_by(here.updated_at.desc()).limit(MAX_STATES))
    return [(row.host, _decoder.decode(row.state_json), row.updated_at) for row in rows]


async def listing(connection: AsyncConnection, crawl_id: str, limit: int = MAX_LISTED) -> list[StoredTrap]:
    """The traps that a crawl has met; those that would have cost most come first."""
    here = crawl_traps.c
    columns = [here[name] for name in StoredTrap.__struct_fields__]
    query = select(*columns).where(here.crawl_id == crawl_id)
    ordered = query.order_by(here.cut.desc(), here.host, here.kind, here.pattern).limit(limit)
    return [StoredTrap(**row._mapping) for row in await connection.execute(ordered)]


def _encode(state: TrapState) -> str:
    return storable(msgspec.json.encode(state).decode())
