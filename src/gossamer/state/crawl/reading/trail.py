"""The trail of a URL: how its crawl found it, from a seed on."""

from typing import Final

from msgspec import Struct

from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection

MAX_STEPS: Final = 20


class TrailStep(Struct, frozen=True):
    """A URL that led to the next one: by a link, a redirect, or an entry of a sitemap."""

    url_hash: str
    url: str
    is_sitemap: bool


class Trail(Struct, frozen=True):
    steps: tuple[TrailStep, ...] = ()  # the earliest first; the last one led to the URL itself
    is_whole: bool = True  # it begins with a seed, or with a URL that somebody has added


# The trail ends at a URL of which it is not stored how it was found. Only seeds have a depth of 0.
_TRAIL: Final = bulk(
    """
WITH RECURSIVE trail (step, url_hash, url, depth, as_sitemap, found_on) AS (
    SELECT 0, url_hash, url, depth, as_sitemap, found_on FROM frontier
    WHERE crawl_id = {crawl_id} AND url_hash = {url_hash}
    UNION ALL
    SELECT trail.step + 1, before.url_hash, before.url, before.depth, before.as_sitemap, before.found_on
    FROM trail JOIN frontier AS before
        ON before.crawl_id = {crawl_id} AND before.url_hash = trail.found_on
    WHERE trail.step < {most}
) SELECT step, url_hash, url, depth, as_sitemap, found_on FROM trail ORDER BY step DESC""",
    values={"crawl_id": "text", "url_hash": "text", "most": "int"},
)


async def look(connection: AsyncConnection, crawl_id: str, url_hash: str) -> Trail:
    rows = await _TRAIL(connection, None, crawl_id=crawl_id, url_hash=url_hash, most=MAX_STEPS)
    if not rows:  # the URL is not in the frontier any more
        return Trail(is_whole=False)
    steps = tuple(TrailStep(row.url_hash, row.url, bool(row.as_sitemap)) for row in rows[:-1])
    return Trail(steps, is_whole=rows[0].depth == 0 and rows[0].found_on is None)
