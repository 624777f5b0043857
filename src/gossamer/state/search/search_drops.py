"""Search drops: what was removed from the search index, so that older queued pages are not added again.

A drop is kept while older pages are queued, and for a minute more, because pages may be in the process of
being stored.
"""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct
from sqlalchemy import delete, func, insert, select

from gossamer.state.crawl.crawl_tables import unindexed
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.db.tables import search_drops
from gossamer.state.pages.page_key import PagePrefix

MINUTE_MS: Final = 60_000

_drops: Final = search_drops.c


class Extent(Struct, frozen=True):
    """One page, a page and all below it, or all URLs with a prefix. URLs are in cache form."""

    reach: Literal["page", "below", "beginning"]
    url: str

    @classmethod
    def of(cls, prefix: PagePrefix) -> "Extent":
        return cls("beginning" if prefix.starred else "below", prefix.text)

    def has(self, url: str) -> bool:
        if self.reach == "page":
            return url == self.url
        return PagePrefix("", self.url, starred=self.reach == "beginning").matches(url)


ALL: Final = Extent("beginning", "")


class Drops(Struct, frozen=True):
    """What a tenant has dropped, and when it was dropped last."""

    pages: Mapping[str, int]
    others: Mapping[Extent, int]

    def cover(self, url: str, seen_at: int) -> bool:
        if self.pages.get(url, -1) >= seen_at:
            return True
        return any(dropped_at >= seen_at and extent.has(url) for extent, dropped_at in self.others.items())


async def add(connection: AsyncConnection, tenant: str, extent: Extent, *, now: int | None = None) -> None:
    dropped = insert(search_drops).values(
        tenant_id=tenant, extent=extent.reach, url=extent.url, dropped_at=clock(now)
    )
    await connection.execute(dropped)


async def since(connection: AsyncConnection, tenant: str, moment: int) -> Drops:
    query = select(_drops.extent, _drops.url, _drops.dropped_at).order_by(_drops.dropped_at)
    rows = await connection.execute(query.where(_drops.tenant_id == tenant, _drops.dropped_at >= moment))
    found = {Extent(reach, url): dropped_at for reach, url, dropped_at in rows}
    return Drops(
        {extent.url: at for extent, at in found.items() if extent.reach == "page"},
        {extent: at for extent, at in found.items() if extent.reach != "page"},
    )


async def forget(connection: AsyncConnection, *, now: int | None = None) -> None:
    """Delete drops that no older page can follow."""
    oldest = select(func.min(unindexed.c.crawled_at)).scalar_subquery()
    settled = clock(now) - MINUTE_MS
    over = (_drops.dropped_at < settled) & (_drops.dropped_at < func.coalesce(oldest, settled))
    await connection.execute(delete(search_drops).where(over))
