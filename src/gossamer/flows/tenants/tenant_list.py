"""The list of tenants, a page at a time, and one of them."""

from collections.abc import Callable, Collection

from msgspec import Struct

from gossamer.problems import NOT_FOUND, Problem
from gossamer.state.db.database import Database
from gossamer.state.tenants import tenant_rows
from gossamer.state.tenants.tenant_rows import CountedTenant
from gossamer.state.tenants.usage import DAY


class TenantPage(Struct, frozen=True):
    tenants: list[CountedTenant]  # newest first
    cursor: str | None  # where the next page begins; None on the last one


class TenantList(Struct, frozen=True):
    database: Database
    clock: Callable[[], float]

    async def list_page(self, *, email: str | None, cursor: str | None, limit: int) -> TenantPage:
        """`email` is the beginning of the addresses to look for, in any case."""
        prefix = None if email is None else email.strip().lower()
        async with self.database.scan() as connection:
            found = await tenant_rows.list_tenants(connection, prefix=prefix, before=cursor, limit=limit + 1)
            day = int(self.clock() // DAY)
            page = await tenant_rows.count(connection, found[:limit], day)
        return TenantPage(page, page[-1].tenant.id if len(found) > limit else None)

    async def get(self, tenant_id: str) -> CountedTenant:
        async with self.database.scan() as connection:
            found = await tenant_rows.find_tenants(connection, [tenant_id])
            if not found:
                raise unknown_tenant()
            (counted,) = await tenant_rows.count(connection, found, int(self.clock() // DAY))
            return counted

    async def emails(self, ids: Collection[str]) -> dict[str, str]:
        """The names by which people know these tenants; unknown ids are left out."""
        if not ids:
            return {}
        async with self.database.read() as connection:
            found = await tenant_rows.find_tenants(connection, ids)
        return {tenant.id: tenant.email for tenant in found}


def unknown_tenant() -> Problem:
    return Problem(
        NOT_FOUND, "There is no tenant with this id.", hint="List the tenants and use an id from there."
    )
