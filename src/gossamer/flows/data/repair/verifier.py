"""Compares rows, blobs and the search index, and repairs what is safe to repair.

    missing blob        a row names it, and it is not there: its pages are stored without content from then on
    stray blob          it is there, and no row names it: it is dropped
    unindexed page      it has content, and search does not know it: it is queued for the index

An archive, a cached page or a result of a batch whose blob is missing is only told: its content is nowhere.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Final

import msgspec
from msgspec import Struct, field
from sqlalchemy import select

from gossamer.flows.data.removal.leftovers import index_names
from gossamer.state.blobs import orphan_blobs
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.crawled_pages import USUAL_OUTCOME, StoredPage
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.removal.removed_pages import RemovedPage
from gossamer.state.crawl.upkeep import named_blobs
from gossamer.state.crawl.upkeep.named_blobs import NamedBlob
from gossamer.state.db.database import Database
from gossamer.state.db.tables import search_pages
from gossamer.state.search import index_queue

NAMES_AT_ONCE: Final = 500
BLOBS_AT_ONCE: Final = 20  # whose pages are looked up in the index together
MAX_SHOWN: Final = 20  # of each kind


class Verification(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What does not fit together."""

    blobs: int  # that are stored
    missing: int
    strays: int
    unindexed: int
    repaired: int
    examples: dict[str, list[str]]

    @property
    def is_good(self) -> bool:
        return self.missing + self.strays + self.unindexed == self.repaired


class _Findings(Struct):
    blobs: int = 0
    missing: int = 0
    strays: int = 0
    unindexed: int = 0
    repaired: int = 0
    examples: dict[str, list[str]] = field(default_factory=dict)

    def show(self, kind: str, text: str) -> None:
        shown = self.examples.setdefault(kind, [])
        if len(shown) < MAX_SHOWN:
            shown.append(text)


class Verifier(Struct, frozen=True):
    database: Database
    blobs: Blobs
    crawls: Crawls
    indexes: bool = True  # there is a search index

    async def verify(self, *, repair: bool = False) -> Verification:
        findings = _Findings()
        stored = await self._find_strays(findings, repair=repair)
        for kind in named_blobs.kinds():
            await self._find_missing(kind, stored, findings, repair=repair)
        if self.indexes:
            await self._find_unindexed(findings, repair=repair)
        return Verification(**{name: getattr(findings, name) for name in _Findings.__struct_fields__})

    async def queue_all(self, crawl_id: str = "") -> int:
        """Queue everything that has content for the index; returns how many batches."""
        queued, after = 0, ("", "")
        while True:
            async with self.database.read() as connection:
                some = await named_blobs.next_blobs(connection, after, BLOBS_AT_ONCE, crawl_id)
            for owner in sorted({owner for owner, _ in some}):
                async with self.database.write() as connection:
                    found = await named_blobs.pages_in(connection, owner, [b for o, b in some if o == owner])
                    if found is not None:
                        queued += await index_queue.add_again(connection, found.pages)
            if len(some) < BLOBS_AT_ONCE:
                return queued
            after = some[-1]

    async def _find_strays(self, findings: _Findings, *, repair: bool) -> set[int]:
        """Returns the hashes of the names of all blobs, because there may be millions."""
        stored: set[int] = set()
        async for names in self._list_blobs():
            stored.update(map(hash, names))
            findings.blobs += len(names)
            async with self.database.read() as connection:
                strays = sorted(set(names) - await named_blobs.named(connection, names))
            findings.strays += len(strays)
            for name in strays:
                findings.show("strays", name)
            if repair and strays:
                async with self.database.write() as connection:
                    await orphan_blobs.mark(connection, strays)
                findings.repaired += len(strays)
        return stored

    async def _list_blobs(self) -> AsyncGenerator[list[str]]:
        """The names of our blobs, some at a time."""
        names: list[str] = []
        for prefix in named_blobs.OURS:
            async for name, _ in self.blobs.listing(prefix):
                names.append(name)
                if len(names) == NAMES_AT_ONCE:
                    yield names
                    names = []
        if names:
            yield names

    async def _find_missing(self, kind: str, stored: set[int], findings: _Findings, *, repair: bool) -> None:
        after = ""
        while True:
            async with self.database.read() as connection:
                some = await named_blobs.next_names(connection, kind, after, NAMES_AT_ONCE)
            for blob in some:
                if hash(blob.name) not in stored and await self._is_missing(blob):
                    findings.missing += 1
                    findings.show("missing", f"{blob.name} ({kind})")
                    if repair and kind == "crawled":
                        async with self.database.write() as connection:
                            await named_blobs.forget_content(connection, blob.name)
                        findings.repaired += 1
            if len(some) < NAMES_AT_ONCE:
                return
            after = some[-1].name

    async def _is_missing(self, blob: NamedBlob) -> bool:
        """It may have been stored since the blobs were listed."""
        return await self.blobs.get(blob.name) is None

    async def _find_unindexed(self, findings: _Findings, *, repair: bool) -> None:
        after = ("", "")
        while True:
            async with self.database.read() as connection:
                some = await named_blobs.next_blobs(connection, after, BLOBS_AT_ONCE)
            for owner in sorted({owner for owner, _ in some}):
                lost = await self._unindexed_of(owner, [blob for crawl, blob in some if crawl == owner])
                findings.unindexed += len(lost)
                for page in lost:
                    findings.show("unindexed", page.final_url)
                if repair and lost:
                    async with self.database.write() as connection:
                        await index_queue.add_again(connection, lost)
                    findings.repaired += len(lost)
            if len(some) < BLOBS_AT_ONCE:
                return
            after = some[-1]

    async def _unindexed_of(self, crawl_id: str, blobs: Sequence[str]) -> list[StoredPage]:
        crawl = await self.crawls.get(crawl_id)
        if crawl is None or crawl.is_private:
            return []
        async with self.database.read() as connection:
            found = await named_blobs.pages_in(connection, crawl_id, blobs)
            waiting = await index_queue.queued(connection, crawl_id, blobs)
        pages = (
            [page for page in found.pages if _is_for_search(page) and page.blob not in waiting]
            if found
            else []
        )
        names = await asyncio.to_thread(index_names, crawl.tenant_id, [_as_removed(page) for page in pages])
        async with self.database.read() as connection:
            query = select(search_pages.c.name).where(search_pages.c.name.in_(names))
            known = set((await connection.scalars(query)).all())
        lost = {one.page.url_hash for name, one in names.items() if name not in known}
        return [page for page in pages if page.url_hash in lost]


def _is_for_search(page: StoredPage) -> bool:
    return page.outcome == USUAL_OUTCOME and "noindex" not in page.directives.split(",")


def _as_removed(page: StoredPage) -> RemovedPage:
    return RemovedPage(page.url_hash, page.final_url, page.host, page.crawled_at, page.blob)
