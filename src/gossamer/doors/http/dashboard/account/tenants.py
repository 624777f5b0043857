"""The pages about tenants, for admins."""

from typing import Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.admin.keys import KeyQuery, KeysEndpoints
from gossamer.doors.http.api.admin.tenants import TenantQuery, TenantsEndpoints
from gossamer.doors.http.api.admin.usage import UsageEndpoints, UsageQuery
from gossamer.doors.http.api.auth.people import PeopleEndpoints, UserQuery
from gossamer.doors.http.api.crawl.crawl_shapes import to_line
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.account.keys import state_of
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links
from gossamer.doors.http.dashboard.core.form import NO_FORM, Form
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.tenants.tenants import Role

_HERE: Final = "tenants"
_LIST: Final = "/app/tenants"
_LIMITS: Final = {
    "renders": "Renders",
    "user": "Requests that a cache does not answer",
    "hits": "Answers from a cache",
    "control": "Control calls",
}
_SHOWN: Final = 10  # keys, people and crawls on the page of a tenant


class TenantsView(msgspec.Struct):
    """Which tenants to show."""

    email: str = ""
    cursor: str = ""


class TenantsPages(Struct, frozen=True):
    dashboard: Dashboard
    endpoints: TenantsEndpoints
    keys: KeysEndpoints
    people: PeopleEndpoints
    usage: UsageEndpoints
    crawls: Crawls

    async def show(self, exchange: Exchange, query: TenantsView) -> Response:
        chosen = filters(query)
        found = await self.endpoints.list_tenants(exchange, chosen.to(TenantQuery))
        return self.dashboard.render(
            exchange,
            "account/tenants.html",
            here=_HERE,
            tenants=found.tenants,
            chosen=chosen,
            **list_links(_LIST, chosen, found.next_cursor),
        )

    async def show_one(self, exchange: Exchange, id: str) -> Response:
        tenant = await self.endpoints.get_tenant(exchange, id)
        crawls = await self.crawls.listing(id, limit=_SHOWN)
        found = await self.keys.list_keys(exchange, KeyQuery(tenant=id, limit=_SHOWN))
        now = timestamps.now()
        return self.dashboard.render(
            exchange,
            "account/tenant.html",
            here=_HERE,
            tenant=tenant,
            names=_LIMITS,
            keys=[(key, state_of(key, now)) for key in found.keys],
            has_more_keys=found.next_cursor is not None,
            people=await self.people.list_people(exchange, UserQuery(tenant=id, limit=_SHOWN)),
            crawls=[to_line(crawl) for crawl in crawls],
            usage=await self.usage.get_usage(exchange, UsageQuery(tenant=id)),
        )

    async def ask_to_delete(self, exchange: Exchange, id: str, form: Form = NO_FORM) -> Response:
        tenant = await self.endpoints.get_tenant(exchange, id)
        return self.dashboard.ask_to_delete(
            exchange,
            f"{_LIST}/{id}",
            noun="tenant",
            subject=tenant.email,
            consequence="Its keys are refused at once, and its people can no longer sign in. Its crawls, "
            "audits, batches, jobs, cached pages and usage are deleted. The log of activity stays.",
            form=form,
        )

    async def delete(self, exchange: Exchange, form: Form, id: str) -> Response:
        await self.endpoints.delete_tenant(exchange, id)
        return self.dashboard.see(_LIST, notice="tenant-deleting")

    def routes(self) -> list[Route]:
        page, admin = self.dashboard.page, Role.ADMIN
        return [
            page(_LIST, self.show, "Tenants", needs=admin),
            page(f"{_LIST}/{{id}}", self.show_one, "A tenant", needs=admin),
            page(f"{_LIST}/{{id}}/delete", self.ask_to_delete, "Ask before a tenant is deleted", needs=admin),
            self.dashboard.form(
                f"{_LIST}/{{id}}/delete",
                self.delete,
                "Delete a tenant",
                show=self.ask_to_delete,
                needs=admin,
            ),
        ]
