"""Endpoint for the log of activity: who did what, and when."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from gossamer.doors.http.api.admin.jobs import Cursor, tenant_asked_for
from gossamer.doors.http.core import timestamps
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.flows.tenants.activity_log import ActivityLog
from gossamer.state.tenants.activity import Action, ActivityEntry, ActivityFilter, Via
from gossamer.state.tenants.tenants import Role

MAX_LISTED: Final = 100
Word = Annotated[str, Meta(min_length=1, max_length=200)]
_EXAMPLE_ID: Final = "01JGGR2Z3W8Q4T6V9X0Y1B2C3D"


class ShownActor(msgspec.Struct, rename="camel"):
    """Who did it."""

    id: Annotated[str, Meta(description="The id of a key or a user, or the name of a command.")]
    name: Annotated[str, Meta(description="As people know it: the key's prefix, or an email.")]


class ShownActivity(msgspec.Struct, rename="camel"):
    """A line of the log."""

    id: str
    at: str
    action: Action
    subject: Annotated[str, Meta(description="The id of what was changed.")]
    actor: ShownActor
    via: Annotated[Via, Meta(description="How the actor has shown who it is.")]
    client: Annotated[str, Meta(description="The address that the request came from.")]
    request_id: str
    detail: str
    tenant_id: str


class ActivityList(msgspec.Struct, rename="camel"):
    """Lines of the log, newest first."""

    activity: list[ShownActivity]
    next_cursor: Annotated[str | None, Meta(description="Give it as `cursor` for the next page.")]


class ActivityQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which lines to list."""

    action: Annotated[
        Word | None, Meta(description="Only this action, such as `key.created`, or all of `key`.")
    ] = None
    actor: Annotated[Word | None, Meta(description="Only what this key or user did, by its id.")] = None
    subject: Annotated[Word | None, Meta(description="Only what was done to this, by its id.")] = None
    tenant: Annotated[Word | None, Meta(description="The id of a tenant; only for admins.")] = None
    cursor: Annotated[Cursor | None, Meta(description="The `nextCursor` of the page before.")] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED, description="Lines in a page.")] = 50


class ActivityEndpoints(Struct, frozen=True):
    log: ActivityLog

    async def list_activity(self, exchange: Exchange, query: ActivityQuery) -> ActivityList:
        wanted = ActivityFilter(
            tenant_id=tenant_asked_for(exchange.caller, query.tenant),
            subject=query.subject,
            action=query.action,
            actor=query.actor,
        )
        page = await self.log.list_page(wanted, cursor=query.cursor, limit=query.limit)
        return ActivityList([_to_api(entry) for entry in page.entries], page.cursor)

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path="/api/activity",
                handler=self.list_activity,
                needs=Role.USER,
                tag="Operations",
                summary="List who did what, newest first",
                description="Changes of keys, users, crawls, the cache, audits, batches and jobs. Users see "
                "those of their own tenant, admins those of all.",
                example=ActivityList([_EXAMPLE], None),
            )
        ]


def _to_api(entry: ActivityEntry) -> ShownActivity:
    actor = entry.actor
    return ShownActivity(
        id=entry.id,
        at=timestamps.from_ms(entry.at),
        action=entry.action,
        subject=entry.subject,
        actor=ShownActor(actor.id, actor.name),
        via=actor.via,
        client=actor.client,
        request_id=actor.request_id,
        detail=entry.detail,
        tenant_id=entry.tenant_id,
    )


_EXAMPLE: Final = ShownActivity(
    id=_EXAMPLE_ID,
    at="2026-01-01T12:00:00.000Z",
    action=Action.CACHE_CLEARED,
    subject="cache",
    actor=ShownActor("01JGGR2Z3W0000000000000000", "sk_live_Zk3Vq9x..."),
    via=Via.KEY,
    client="203.0.113.7",
    request_id="wl_m5x7k2qa_a3b9c1",
    detail="https://example.com/docs",
    tenant_id="01JGGR2Z3W1111111111111111",
)
