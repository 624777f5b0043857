"""Moved pages leave the search index. Where they have moved to is another page, which is indexed by itself.

Pages that are gone leave it when the answer that says so is indexed, as in any crawl.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import select

from gossamer.problems import Problem
from gossamer.state.crawl.crawl_tables import crawls
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.tables import search_pages
from gossamer.state.search import search_drops, search_rows
from gossamer.state.search.search_document import gone_page
from gossamer.state.search.search_drops import Extent
from gossamer.web.url.url import Url, cache_form

_crawls: Final = crawls.c


async def drop_words(connection: AsyncConnection, moved: Sequence[tuple[str, str]], now: int | None) -> None:
    """Of pages, by crawl and URL. The crawls are locked; the index of a tenant is locked here."""
    if not moved:
        return
    owners = select(_crawls.id, _crawls.tenant_id).where(_crawls.id.in_({crawl_id for crawl_id, _ in moved}))
    tenants = {row.id: row.tenant_id for row in await connection.execute(owners)}
    forms: dict[str, set[str]] = {}
    for crawl_id, url in moved:
        if form := _form(url):
            forms.setdefault(tenants[crawl_id], set()).add(form)
    for tenant, own in sorted(forms.items()):
        names = [gone_page(tenant, form, 0).name for form in own]
        await search_rows.drop(connection, tenant, search_pages.c.name.in_(names))
        for form in sorted(own):
            await search_drops.add(connection, tenant, Extent("page", form), now=now)


def _form(url: str) -> str:
    try:
        return cache_form(Url.parse(url))
    except Problem:
        return ""
