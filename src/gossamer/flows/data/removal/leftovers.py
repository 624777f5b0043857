"""What pages leave behind outside of their table: their names in the search index, and blobs."""

from collections.abc import Sequence

from gossamer.problems import Problem
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.removal.removed_pages import IndexName, RemovedPage
from gossamer.state.db.database import Database
from gossamer.state.search.search_document import key_of
from gossamer.web.url.url import Url, cache_form


def index_names(tenant: str, pages: Sequence[RemovedPage]) -> dict[str, IndexName]:
    """Pages by their names in the search index. It takes a while, so call it in a thread."""
    names: dict[str, IndexName] = {}
    for page in pages:
        try:
            form = cache_form(Url.parse(page.final_url))
        except Problem:  # a browser may end at any address
            continue
        names[key_of(tenant, form)] = IndexName(page, form)
    return names


async def drop_orphans(database: Database, blobs: Blobs, orphans: Sequence[str]) -> None:
    """Drop blobs that were marked as orphans. If this fails, upkeep drops them later."""
    if orphans:
        await blobs.drop(orphans)
        async with database.write() as connection:
            await orphan_blobs.forget(connection, orphans)
