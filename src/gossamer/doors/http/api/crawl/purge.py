"""Deleting stored pages by a filter, in all crawls, for admins."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.job_shapes import EXAMPLE_DELETION, ShownJob, accept
from gossamer.doors.http.api.crawl.crawl_shapes import CrawlId
from gossamer.doors.http.api.crawl.host_names import HostName, host_names
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.routing import Other, Route
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.data.removal.page_removal import PageRemoval, purging
from gossamer.problems import Problem, validation_error
from gossamer.state.crawl.removal.purge import PurgeFilter
from gossamer.state.tenants.tenants import Role
from gossamer.web.outcome.outcome import Outcome


class PageSelection(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which stored pages of all crawls: those that match everything that is given."""

    crawl: Annotated[CrawlId | None, Meta(description="Pages of this crawl.")] = None
    host: Annotated[HostName | None, Meta(description="Pages of this host, as `name` or `name:port`.")] = None
    before: Annotated[
        Annotated[datetime, Meta(tz=True)] | None,
        Meta(description="Pages that were stored before this, such as 2026-01-31T00:00:00Z."),
    ] = None
    outcome: Annotated[Outcome | None, Meta(description="Pages with this outcome.")] = None

    def to_filter(self) -> PurgeFilter:
        hosts = tuple(host_names(self.host)) if self.host is not None else ()
        if self.host is not None and not hosts:
            raise validation_error(
                "This is not the name of a host.", hint="Give example.com or example.com:8080."
            )
        return PurgeFilter(
            crawl_id=self.crawl or "",
            hosts=hosts,
            before=None if self.before is None else round(self.before.timestamp() * 1000),
            outcome=self.outcome.value if self.outcome is not None else "",
        )


class PurgePreview(msgspec.Struct, rename="camel"):
    """What would be deleted. Nothing was."""

    pages: int
    bytes: Annotated[int, Meta(description="The size of these pages as they were fetched.")]
    crawls: Annotated[int, Meta(description="Crawls that have such pages.")]


class PurgeQuery(PageSelection, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which pages: those that match everything that is given. At least one of the filters is needed."""

    dry_run: Annotated[bool, Meta(description="Only tell what would be deleted.")] = False


class PurgeEndpoints(Struct, frozen=True):
    pages: PageRemoval
    deleter: Deleter

    async def delete_pages(self, exchange: Exchange, query: PurgeQuery) -> Response:
        which = query.to_filter()
        deletion = purging(which, exchange.caller.tenant_id)
        if query.dry_run:
            found = await self.pages.count(which)
            return answer(PurgePreview(found.pages, found.bytes, found.crawls))
        job = await self.deleter.accept(deletion, None, exchange.actor)
        if job is None:
            raise Problem(problems.NOT_FOUND, "There are no such pages.")
        return accept(job)

    def routes(self) -> list[Route]:
        return [
            Route(
                method="DELETE",
                path="/api/admin/pages",
                handler=self.delete_pages,
                needs=Role.ADMIN,
                tag="Crawls",
                control=True,
                summary="Delete stored pages of all crawls by a filter",
                description="The job removes the pages that were stored until now and match, their content "
                "and their entries in the search index. The crawls stay, and those that are not over do not "
                "fetch these pages again. The content of a page leaves the disk with the last page that was "
                "stored together with it.",
                status=202,
                answers=ShownJob,
                example=EXAMPLE_DELETION,
                others=(
                    Other(
                        status=200,
                        about="With `dryRun`: what would be deleted.",
                        answers=PurgePreview,
                        example=PurgePreview(1_204, 48_126_400, 3),
                    ),
                ),
            )
        ]
