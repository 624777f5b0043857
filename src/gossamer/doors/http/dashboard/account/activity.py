"""The page about activity: who did what, from where, in which request."""

from itertools import groupby
from typing import Final

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.admin.activity import ActivityEndpoints, ActivityQuery, ShownActivity
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.filters import filters, list_links
from gossamer.flows.tenants.tenant_list import TenantList
from gossamer.state.tenants.activity import Action
from gossamer.state.tenants.tenants import Role

_PATH: Final = "/app/activity"
# What was changed → the page of one such thing, and who may see it.
_PAGES: Final = {
    "key": ("/app/keys/{}", Role.USER),
    "user": ("/app/people/{}", Role.ADMIN),
    "password": ("/app/people/{}", Role.ADMIN),
    "session": ("/app/people/{}", Role.ADMIN),
    "link": ("/app/tenants/{}", Role.ADMIN),
    "crawl": ("/app/crawls/{}", Role.USER),
    "seeds": ("/app/crawls/{}", Role.USER),
    "audit": ("/app/audits/{}", Role.USER),
    "batch": ("/app/batches/{}", Role.USER),
    "job": ("/app/jobs/{}", Role.USER),
}
_ID_LENGTH: Final = 26


class ActivityView(msgspec.Struct):
    """Which lines to show."""

    action: str = ""
    actor: str = ""
    subject: str = ""
    tenant: str = ""
    cursor: str = ""


class ActivityPages(Struct, frozen=True):
    dashboard: Dashboard
    endpoints: ActivityEndpoints
    tenants: TenantList

    async def show(self, exchange: Exchange, query: ActivityView) -> Response:
        chosen = filters(query)
        found = await self.endpoints.list_activity(exchange, chosen.to(ActivityQuery))
        is_admin = exchange.caller.role is Role.ADMIN
        named = {line.tenant_id for line in found.activity} if is_admin else set()
        return self.dashboard.render(
            exchange,
            "account/activity.html",
            here="activity",
            lines=[(line, subject_page(line, exchange.caller.role)) for line in found.activity],
            chosen=chosen,
            is_filtered=any(text for name, text in chosen.values.items() if name != "cursor"),
            actions=ACTIONS,
            tenants=await self.tenants.emails(named),
            is_admin=is_admin,
            **list_links(_PATH, chosen, found.next_cursor),
        )

    def routes(self) -> list[Route]:
        return [self.dashboard.page(_PATH, self.show, "Activity")]


def subject_page(line: ShownActivity, role: Role) -> str:
    """The address of the page about what was changed; empty if there is none for this role."""
    if line.action is Action.CACHE_CLEARED:
        return "/app/cache"
    kind = "job" if line.action is Action.CACHE_WARMED else line.action.partition(".")[0]
    path, needs = _PAGES.get(kind, ("", Role.USER))
    is_id = len(line.subject) == _ID_LENGTH and line.subject.isalnum()
    return path.format(line.subject) if path and is_id and role.may(needs) else ""


def _actions() -> list[tuple[str, str | list[tuple[str, str]]]]:
    """The choices of the filter: everything, all about one kind of thing, or one action."""
    choices: list[tuple[str, str | list[tuple[str, str]]]] = [("", "everything")]
    for kind, actions in groupby(sorted(Action), key=lambda action: action.partition(".")[0]):
        each = [(action.value, action.value.replace(".", " ")) for action in actions]
        choices.append((kind, [(kind, f"all about {kind}"), *each] if len(each) > 1 else each))
    return choices


ACTIONS: Final = _actions()
