"""Which crawls have pages in a blob. A blob goes with the last crawl that has one."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from sqlalchemy import delete, select

from gossamer.state.blobs import orphan_blobs
from gossamer.state.crawl.crawl_tables import crawl_blobs
from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection

_blobs: Final = crawl_blobs.c
_ADD: Final = bulk(
    """
INSERT INTO crawl_blobs (blob, crawl_id, links_offset, links_size)
SELECT blob, crawl_id, links_offset, links_size FROM {given} WHERE true
ON CONFLICT (blob, crawl_id) DO NOTHING""",
    rows={"blob": "text", "crawl_id": "text", "links_offset": "bigint", "links_size": "bigint"},
)


class LinksAt(NamedTuple):
    """Where the links of a crawl's pages are."""

    blob: str
    offset: int
    size: int


NO_LINKS: Final[Mapping[str, LinksAt]] = MappingProxyType({})


async def add(
    connection: AsyncConnection,
    stored: Collection[tuple[str, str]],
    links: Mapping[str, LinksAt] = NO_LINKS,
) -> None:
    """These blobs, each with its crawl, have pages now. `links` are by crawl."""
    places = {(at.blob, crawl_id): (at.offset, at.size) for crawl_id, at in links.items()}
    await _ADD(connection, None, [(*key, *places.get(key, (None, None))) for key in sorted(stored)])


async def links_of(
    connection: AsyncConnection, crawl_id: str, *, after: str = "", limit: int
) -> list[LinksAt]:
    """Where the links of a crawl's pages are kept, in the order in which they were stored."""
    query = (
        select(_blobs.blob, _blobs.links_offset, _blobs.links_size)
        .where(_blobs.crawl_id == crawl_id, _blobs.links_size.is_not(None), _blobs.blob > after)
        .order_by(_blobs.blob)
        .limit(limit)
    )
    return [LinksAt(*row) for row in await connection.execute(query)]


async def links_in(connection: AsyncConnection, crawl_id: str, blobs: Collection[str]) -> dict[str, LinksAt]:
    """The same of some blobs, by their names."""
    query = select(_blobs.blob, _blobs.links_offset, _blobs.links_size).where(
        _blobs.crawl_id == crawl_id, _blobs.links_size.is_not(None), _blobs.blob.in_(blobs)
    )
    return {row.blob: LinksAt(*row) for row in await connection.execute(query)}


class ReleasedBlobs(NamedTuple):
    """How many blobs a crawl has given up, and which of them nobody needs any more."""

    number: int
    orphans: Sequence[str]


async def release(connection: AsyncConnection, crawl_id: str, most: int) -> ReleasedBlobs:
    """The crawl has no pages any more: give up to `most` of its blobs, and mark those that no other crawl
    needs."""
    own = select(_blobs.blob).where(_blobs.crawl_id == crawl_id).order_by(_blobs.blob).limit(most)
    names = (await connection.scalars(own)).all()
    if not names:
        return ReleasedBlobs(0, ())
    return ReleasedBlobs(len(names), await give_up(connection, crawl_id, names))


async def give_up(connection: AsyncConnection, crawl_id: str, names: Sequence[str]) -> Sequence[str]:
    """The crawl has no pages in these blobs any more: mark those that no other crawl needs, and return
    them."""
    if not names:
        return ()
    # The rows of all crawls are locked, in one order: of two crawls that are deleted at once, the second one
    # sees that it is the last.
    every = select(_blobs.blob).where(_blobs.blob.in_(names)).order_by(_blobs.blob, _blobs.crawl_id)
    await connection.execute(every.with_for_update())
    mine = delete(crawl_blobs).where(_blobs.crawl_id == crawl_id, _blobs.blob.in_(names))
    given_up = (await connection.scalars(mine.returning(_blobs.blob))).all()
    kept = select(_blobs.blob).where(_blobs.blob.in_(given_up))
    needed = set((await connection.scalars(kept)).all())
    orphans = [name for name in sorted(given_up) if name not in needed]
    await orphan_blobs.mark(connection, orphans)
    return orphans
