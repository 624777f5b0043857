"""Endpoints for archives of crawled pages, for admins."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.job_shapes import EXAMPLE_DELETION, ShownJob, accept
from gossamer.doors.http.api.crawl.crawl_shapes import CrawlId
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.data.archive import restorer as restoring
from gossamer.flows.data.archive.restorer import ArchiveRestorer
from gossamer.state.crawl.upkeep.archives import Archive
from gossamer.state.tenants.tenants import Role


class ArchivesQuery(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Which archives, and how many."""

    crawl: Annotated[CrawlId | None, Meta(description="Archives of this crawl.")] = None
    before: Annotated[CrawlId | None, Meta(description="The id of the last one that you have seen.")] = None
    limit: Annotated[int, Meta(ge=1, le=200, description="How many at most.")] = 50


class ShownArchive(msgspec.Struct, rename="camel"):
    """Pages of a crawl that are in files."""

    id: str
    tenant: str
    crawl: str
    from_: Annotated[str, Meta(description="When its first page was crawled.")] = msgspec.field(name="from")
    to: Annotated[str, Meta(description="When its last page was crawled.")]
    pages: int
    bodies: Annotated[int, Meta(description="Pages whose content it has.")]
    bytes: Annotated[int, Meta(description="The size of its files.")]
    blobs: Annotated[list[str], Meta(description="The names of its files in the store of blobs.")]
    created_at: str
    restored_at: Annotated[str | None, Meta(description="When pages of it were put back last.")]


class ArchiveList(msgspec.Struct, rename="camel"):
    """Archives, the newest first."""

    archives: list[ShownArchive]


class ArchivesEndpoints(Struct, frozen=True):
    restorer: ArchiveRestorer

    async def list_archives(self, exchange: Exchange, query: ArchivesQuery) -> ArchiveList:
        found = await self.restorer.listing(
            crawl_id=query.crawl or "", before=query.before or "", limit=query.limit
        )
        return ArchiveList([_to_api(archive) for archive in found])

    async def restore_archive(self, exchange: Exchange, id: CrawlId) -> Response:
        return accept(await self.restorer.queue(id, exchange.actor, exchange.caller.tenant_id))

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/admin/archives",
                handler=self.list_archives,
                needs=Role.ADMIN,
                tag="Operations",
                summary="List the archives of crawled pages",
                example=ArchiveList([_EXAMPLE]),
            ),
            Route(
                method="POST",
                path="/api/admin/archives/{id}/restore",
                handler=self.restore_archive,
                needs=Role.ADMIN,
                tag="Operations",
                control=True,
                summary="Put the pages of an archive back into their crawl",
                description="The job puts rows and content back, and queues them for the search index. A "
                "page that the crawl has again stays as it is. The archive stays.",
                status=202,
                answers=ShownJob,
                parameters={"id": "The archive's id."},
                problems=(problems.NOT_FOUND,),
                example=_EXAMPLE_JOB,
            ),
        ]


def _to_api(archive: Archive) -> ShownArchive:
    return ShownArchive(
        id=archive.id,
        tenant=archive.tenant_id,
        crawl=archive.crawl_id,
        from_=timestamps.from_ms(archive.first_at),
        to=timestamps.from_ms(archive.last_at),
        pages=archive.pages,
        bodies=archive.bodies,
        bytes=archive.bytes,
        blobs=archive.blobs,
        created_at=timestamps.from_ms(archive.created_at),
        restored_at=timestamps.from_ms(archive.restored_at),
    )


_EXAMPLE: Final = ShownArchive(
    id="01JGGR5A1B2C3D4E5F6G7H8J9K",
    tenant="01JGGQZ8N1M2P3Q4R5S6T7V8W9",
    crawl="01JGGR0V4M7N2P5R8T1W4Y7Z0B",
    from_="2026-01-01T12:00:00.000Z",
    to="2026-01-01T18:30:00.000Z",
    pages=500,
    bodies=480,
    bytes=6_200_000,
    blobs=[
        "archives/01jggr5a1b2c3d4e5f6g7h8j9k.ndjson.gz",
        "archives/01jggr5a1b2c3d4e5f6g7h8j9k.warc.gz",
    ],
    created_at="2026-04-02T00:03:00.000Z",
    restored_at=None,
)
_EXAMPLE_JOB: Final = msgspec.structs.replace(EXAMPLE_DELETION, kind=restoring.KIND, subject=_EXAMPLE.id)
