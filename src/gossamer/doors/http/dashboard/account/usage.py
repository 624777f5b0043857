"""The page about usage. People who came by a link see it too, and nothing else."""

from typing import Final

import msgspec
from msgspec import UNSET, Struct
from starlette.responses import Response

from gossamer.doors.http.api.admin.usage import LimitLeft, UsageAnswer, UsageEndpoints, UsageQuery
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters
from gossamer.flows.tenants.tenant_list import TenantList
from gossamer.state.tenants.tenants import Role

_PATH: Final = "/app/usage"
_RENDERS: Final = "renders-"  # how the policies of renders begin


class UsageView(msgspec.Struct):
    """Whose usage to show."""

    key: str = ""
    tenant: str = ""


class UsagePages(Struct, frozen=True):
    dashboard: Dashboard
    endpoints: UsageEndpoints
    tenants: TenantList

    async def show(self, exchange: Exchange, query: UsageView) -> Response:
        usage = await self.endpoints.get_usage(exchange, filters(query).to(UsageQuery))
        is_other = usage.tenant_id != exchange.caller.tenant_id
        limits = _limits(usage)
        return self.dashboard.render(
            exchange,
            "account/usage.html",
            here="usage",
            usage=usage,
            key_id=usage.key_id or "",
            is_new=usage.message is not UNSET,
            renders=next((limit for limit in limits if limit.policy.startswith(_RENDERS)), None),
            limits=limits,
            quotas=usage.quotas or [],
            by_key=usage.keys or [],
            tenant=(await self.tenants.emails({usage.tenant_id})).get(usage.tenant_id, ""),
            is_other=is_other,
            may_work=exchange.caller.role.may(Role.USER),
            is_admin=exchange.caller.role is Role.ADMIN,
        )

    def routes(self) -> list[Route]:
        return [self.dashboard.page(_PATH, self.show, "Usage", needs=Role.VIEWER)]


def _limits(usage: UsageAnswer) -> list[LimitLeft]:
    return [] if isinstance(usage.limits, msgspec.UnsetType) else usage.limits
