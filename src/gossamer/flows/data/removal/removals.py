"""How each kind of subject is removed, put together once."""

from collections.abc import Mapping
from typing import Self

from msgspec import Struct

from gossamer.flows.data.removal.audit_removal import AuditRemoval
from gossamer.flows.data.removal.batch_removal import BatchRemoval
from gossamer.flows.data.removal.crawl_removal import CrawlRemoval
from gossamer.flows.data.removal.deleter import Removal
from gossamer.flows.data.removal.memory_removal import MemoryRemoval
from gossamer.flows.data.removal.page_removal import PageRemoval
from gossamer.flows.data.removal.tenant_removal import TenantRemoval
from gossamer.flows.tenants.admit import Admission
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.db.database import Database
from gossamer.state.jobs.deletions import DeletionKind
from gossamer.state.pages.page_cache import PageCache
from gossamer.state.search.search_index import SearchIndex


class Removals(Struct, frozen=True):
    crawl: CrawlRemoval
    audit: AuditRemoval
    batch: BatchRemoval
    pages: PageRemoval
    tenant: TenantRemoval
    memory: MemoryRemoval

    @classmethod
    def on(
        cls, database: Database, blobs: Blobs, cache: PageCache, index: SearchIndex, admission: Admission
    ) -> Self:
        crawl, batch = CrawlRemoval(database, blobs), BatchRemoval(database, blobs)
        memory = MemoryRemoval(database)
        tenant = TenantRemoval(database, crawl, batch, memory, cache, index, admission)
        return cls(crawl, AuditRemoval(crawl), batch, PageRemoval(database, blobs), tenant, memory)

    @property
    def by_kind(self) -> Mapping[DeletionKind, Removal]:
        return {kind: getattr(self, kind.value) for kind in DeletionKind}
