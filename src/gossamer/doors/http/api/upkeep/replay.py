"""Reading stored pages again by the rules of today, for admins."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from gossamer.doors.http.api.admin.job_shapes import EXAMPLE_DELETION, ShownJob, accept
from gossamer.doors.http.api.crawl.purge import PageSelection
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.data.repair import replayer as replaying
from gossamer.flows.data.repair.replayer import Replayer
from gossamer.state.tenants.tenants import Role
from gossamer.web.outcome.outcome import Outcome


class ReplayBody(PageSelection, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Which pages: those that match everything that is given, and all without a filter."""

    refetch: Annotated[
        bool, Meta(description="Fetch them again instead of reading what is stored. Their crawls go on.")
    ] = False


class ReplayEndpoints(Struct, frozen=True):
    replayer: Replayer

    async def replay_pages(self, exchange: Exchange, body: ReplayBody) -> Response:
        tenant = exchange.caller.tenant_id
        return accept(
            await self.replayer.queue(body.to_filter(), exchange.actor, tenant, refetch=body.refetch)
        )

    def routes(self) -> list[Route]:
        return [
            Route(
                method="POST",
                path="/api/admin/pages/replay",
                handler=self.replay_pages,
                needs=Role.ADMIN,
                tag="Operations",
                control=True,
                summary="Read stored pages again by the rules of today",
                description="The job reads the content that is kept, as a crawl does: title, description, "
                "language, canonical address, directives, links, hash and outcome. Pages that have changed "
                "are written and indexed again. Its result tells how many, and shows one.",
                status=202,
                answers=ShownJob,
                example_body=ReplayBody(host="example.com", outcome=Outcome.EMPTY),
                example=_EXAMPLE,
            )
        ]


_EXAMPLE: Final = msgspec.structs.replace(EXAMPLE_DELETION, kind=replaying.KIND, subject="")
