"""Endpoints for the tenants, for admins."""

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.admin.job_shapes import EXAMPLE_DELETION, ShownJob, accept
from gossamer.doors.http.api.admin.jobs import Cursor
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.tenants.quotas import QuotaLeft, Quotas
from gossamer.flows.tenants.tenant_limits import LimitInForce, TenantLimits, TierInUse
from gossamer.flows.tenants.tenant_list import TenantList, unknown_tenant
from gossamer.state.jobs.deletions import Deletion, DeletionKind
from gossamer.state.tenants.tenant_rows import CountedTenant
from gossamer.state.tenants.tenants import Role, Tier

MAX_LISTED: Final = 100


class ShownTenant(msgspec.Struct, rename="camel"):
    """A customer, and how much it has."""

    id: str
    email: str
    name: str
    created_at: str
    keys: Annotated[int, Meta(description="Keys that are accepted.")]
    users: Annotated[int, Meta(description="People who may sign in.")]
    crawls: int
    last_used_at: Annotated[str | None, Meta(description="The last use of one of its keys.")]
    renders_today: int
    tiers: Annotated[list[TierInUse], Meta(description="With their limits, and what is used of them.")]
    quotas: Annotated[
        dict[str, list[QuotaLeft]] | UnsetType,
        Meta(description="By tier, with what is used of them; left out in lists."),
    ] = UNSET


class ShownTenants(msgspec.Struct, rename="camel"):
    """Tenants, newest first."""

    tenants: list[ShownTenant]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class TenantQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which tenants to list."""

    email: Annotated[
        Annotated[str, Meta(max_length=254)] | None,
        Meta(description="Only tenants whose email begins like this."),
    ] = None
    cursor: Annotated[Cursor | None, Meta(description="The `nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Tenants in a page.")] = 50


class TenantsEndpoints(Struct, frozen=True):
    tenants: TenantList
    limits: TenantLimits
    quotas: Quotas
    deleter: Deleter

    async def list_tenants(self, exchange: Exchange, query: TenantQuery) -> ShownTenants:
        page = await self.tenants.list_page(email=query.email, cursor=query.cursor, limit=query.limit)
        tiers = await self.limits.look(page.tenants)
        return ShownTenants([_to_api(*each) for each in zip(page.tenants, tiers, strict=True)], page.cursor)

    async def get_tenant(self, exchange: Exchange, id: str) -> ShownTenant:
        tenant = await self.tenants.get(id)
        (tiers,) = await self.limits.look([tenant])
        shown = _to_api(tenant, tiers)
        shown.quotas = {one.tier: await self.quotas.left_in(id, Tier(one.tier)) for one in tiers}
        return shown

    async def delete_tenant(self, exchange: Exchange, id: str) -> Response:
        deletion = Deletion(DeletionKind.TENANT, id, exchange.caller.tenant_id)
        job = await self.deleter.accept(deletion, None, exchange.actor)
        if job is None:
            raise unknown_tenant()
        return accept(job)

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/admin/tenants",
                handler=self.list_tenants,
                needs=Role.ADMIN,
                tag="Keys",
                summary="List tenants, newest first",
                description="Uses and renders appear within a minute.",
                example=ShownTenants([_EXAMPLE], None),
            ),
            Route(
                method="GET",
                path="/api/admin/tenants/{id}",
                handler=self.get_tenant,
                needs=Role.ADMIN,
                tag="Keys",
                summary="Get a tenant",
                parameters={"id": "The tenant's id."},
                problems=(problems.NOT_FOUND,),
                example=_EXAMPLE,
            ),
            Route(
                method="DELETE",
                path="/api/admin/tenants/{id}",
                handler=self.delete_tenant,
                needs=Role.ADMIN,
                tag="Keys",
                control=True,
                summary="Delete a tenant, with everything that it has",
                description="Its keys, people, sessions and links are gone at once, and its work ends. The "
                "job removes its crawls, audits, batches, jobs, cached pages, pages in the search index and "
                "its usage. The log of activity stays. Your own tenant, and the one of callers who pay "
                "without a key, cannot be deleted.",
                status=202,
                answers=ShownJob,
                parameters={"id": "The tenant's id."},
                problems=(problems.NOT_FOUND, problems.UNPROCESSABLE_ENTITY),
                example=EXAMPLE_DELETION,
            ),
        ]


def _to_api(counted: CountedTenant, tiers: list[TierInUse]) -> ShownTenant:
    tenant, counts = counted.tenant, counted.counts
    return ShownTenant(
        id=tenant.id,
        email=tenant.email,
        name=tenant.name,
        created_at=timestamps.from_ms(tenant.created_at),
        keys=counts.keys,
        users=counts.users,
        crawls=counts.crawls,
        last_used_at=timestamps.from_ms(counts.last_used_at),
        renders_today=counts.renders_today,
        tiers=tiers,
    )


_EXAMPLE: Final = ShownTenant(
    id="01JGGR2Z3W0000000000000000",
    email="team@example.com",
    name="",
    created_at="2026-01-01T12:00:00.000Z",
    keys=2,
    users=1,
    crawls=14,
    last_used_at="2026-01-02T08:30:00.000Z",
    renders_today=120,
    tiers=[TierInUse("pro", 2, [LimitInForce("renders-pro", "tenant", 1_000, 86_400, 120)])],
)
