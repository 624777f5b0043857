"""Memory in the search index: an entry is indexed as a page, under the id of its store instead of a tenant's.

So it is analysed, ranked and embedded as pages are, and no search over pages finds it. Its address says where
it is; namespace and tags are facets.
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, unquote

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.tables import search_pages
from gossamer.state.search import search_rows
from gossamer.state.search.search_document import IndexedDocument, IndexEntry, build_entry, facet
from gossamer.web.memory.memory_text import MemoryTexts
from gossamer.web.url.url import digest

ORIGIN: Final = "https://memory.invalid/"  # of no server: nothing ever asks it
MAX_PAGES: Final = 2**40  # what a store may have is counted by the store

Facets = tuple[tuple[str, ...], ...]


def analyse_texts(texts: MemoryTexts) -> IndexEntry:
    """The terms of an entry, before it is known where it will be. This takes a while: call it in a thread."""
    document = IndexedDocument(
        url=ORIGIN,
        title=texts.title,
        description=texts.description,
        text=texts.outlined.text,
        headings=texts.outlined.headings,
        language="",
        seen_at=0.0,
    )
    return build_entry("", ORIGIN, document)


def place(
    analysed: IndexEntry, store_id: str, namespace_id: str, key: str, tags: Sequence[str], at: int
) -> IndexEntry:
    """The analysed texts as the entry of a key, written at this time."""
    row = analysed.row._replace(
        name=name_of(namespace_id, key),
        tenant_id=store_id,
        site=namespace_id,
        url=key,
        final_url=address_of(namespace_id, key),
        seen_at=at,
    )
    own = [facet("tenant", store_id), namespace_facet(namespace_id), *map(tag_facet, tags)]
    return IndexEntry(row, tuple(own), analysed.terms)


def narrow(namespace_ids: Sequence[str], tags: Sequence[str]) -> Facets:
    """Facets of searches: an entry is in one of the namespaces, and has all of the tags."""
    namespaces = (tuple(map(namespace_facet, namespace_ids)),) if namespace_ids else ()
    return (*namespaces, *((tag_facet(tag),) for tag in tags))


def namespace_facet(namespace_id: str) -> str:
    return facet("namespace", namespace_id)


def tag_facet(tag: str) -> str:
    return facet("mark", tag)


def name_of(namespace_id: str, key: str) -> str:
    return digest(f"memory\n{namespace_id}\n{key}")


def address_of(namespace_id: str, key: str) -> str:
    """It has no path, whose words would be searched."""
    return f"{ORIGIN}?{namespace_id}={quote(key, safe='')}"


def read_address(address: str) -> tuple[str, str]:
    """The id of the namespace, and the key."""
    namespace_id, _, key = address.removeprefix(f"{ORIGIN}?").partition("#")[0].partition("=")
    return namespace_id, unquote(key)


async def put(connection: AsyncConnection, store_id: str, entries: Sequence[IndexEntry]) -> None:
    await search_rows.lock(connection, store_id)
    await search_rows.put(connection, store_id, entries, (), MAX_PAGES)


async def drop(connection: AsyncConnection, store_id: str, names: Sequence[str]) -> None:
    """Remove some entries by their names, at most a batch."""
    await search_rows.drop(connection, store_id, search_pages.c.name.in_(names))


async def drop_some(connection: AsyncConnection, store_id: str, namespace_id: str) -> int:
    """Remove a batch of the entries of a namespace; returns how many."""
    return await search_rows.drop(connection, store_id, search_pages.c.site == namespace_id)
