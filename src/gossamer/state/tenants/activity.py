"""The log of activity: who did what, from where, in which request. It is only ever added to."""

from enum import StrEnum

from msgspec import Struct
from sqlalchemy import insert, select
from ulid import ULID

from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.db.tables import activity


class Via(StrEnum):
    """How a caller has shown who it is."""

    NONE = "none"
    KEY = "key"
    SESSION = "session"
    LINK = "link"  # that shows usage alone
    WALLET = "wallet"
    COMMAND = "command"  # on the machine itself
    SCHEDULE = "schedule"


class Action(StrEnum):
    """What was done, and to what."""

    KEY_CREATED = "key.created"
    KEY_REGISTERED = "key.registered"
    KEY_ROTATED = "key.rotated"
    KEY_DISABLED = "key.disabled"
    USER_ADDED = "user.added"
    USER_CHANGED = "user.changed"
    USER_DISABLED = "user.disabled"
    USER_ENABLED = "user.enabled"
    USER_INVITED = "user.invited"
    PASSWORD_CHANGED = "password.changed"  # noqa: S105  (the name of what was done)
    SESSION_OPENED = "session.opened"
    SESSION_CLOSED = "session.closed"
    LINK_MADE = "link.made"
    CRAWL_STARTED = "crawl.started"
    CRAWL_IMPORTED = "crawl.imported"
    CRAWL_PAUSED = "crawl.paused"
    CRAWL_RESUMED = "crawl.resumed"
    CRAWL_STOPPED = "crawl.stopped"
    CRAWL_CHANGED = "crawl.changed"
    CRAWL_REFRESHED = "crawl.refreshed"
    CRAWL_DELETED = "crawl.deleted"
    SEEDS_ADDED = "seeds.added"
    FRONTIER_CLEARED = "frontier.cleared"
    FRONTIER_RECOVERED = "frontier.recovered"
    DOMAIN_RESET = "domain.reset"
    CACHE_CLEARED = "cache.cleared"
    CACHE_WARMED = "cache.warmed"
    AUDIT_STARTED = "audit.started"
    AUDIT_DELETED = "audit.deleted"
    BATCH_STARTED = "batch.started"
    BATCH_DELETED = "batch.deleted"
    ARCHIVE_RESTORED = "archive.restored"
    ARCHIVE_DELETED = "archive.deleted"
    PAGES_REPLAYED = "pages.replayed"
    PAGES_DELETED = "pages.deleted"
    TENANT_DELETED = "tenant.deleted"
    MEMORY_DELETED = "memory.deleted"
    MONITOR_MADE = "monitor.made"
    MONITOR_CHANGED = "monitor.changed"
    MONITOR_DELETED = "monitor.deleted"
    MONITOR_SNOOZED = "monitor.snoozed"
    JOB_CANCELED = "job.canceled"
    WEBHOOK_ADDED = "webhook.added"
    WEBHOOK_CHANGED = "webhook.changed"
    WEBHOOK_ROTATED = "webhook.rotated"
    WEBHOOK_REMOVED = "webhook.removed"
    SCHEDULE_MADE = "schedule.made"
    SCHEDULE_CHANGED = "schedule.changed"
    SCHEDULE_PAUSED = "schedule.paused"
    SCHEDULE_RESUMED = "schedule.resumed"
    SCHEDULE_RUN = "schedule.run"
    SCHEDULE_DELETED = "schedule.deleted"
    SCHEDULE_STOPPED = "schedule.stopped"  # its maker may do this no more
    SCHEDULE_FAILING = "schedule.failing"  # several times in a row
    SITE_REGISTERED = "site.registered"
    SITE_PROVEN = "site.proven"
    SITE_UNPROVEN = "site.unproven"  # its proof is gone
    SITE_CHANGED = "site.changed"
    SITE_RECACHED = "site.recached"
    SITE_COMPARED = "site.compared"
    SITE_HOOK_MADE = "site.hook_made"
    SITE_HOOK_REMOVED = "site.hook_removed"
    SITE_REMOVED = "site.removed"
    ALERT_ACKNOWLEDGED = "alert.acknowledged"


class Actor(Struct, frozen=True):
    """Who acts, for the log."""

    id: str  # of a key or a user, or the name of a command
    name: str = ""  # as people know it
    via: Via = Via.COMMAND
    client: str = ""  # the address that the request came from
    request_id: str = ""


class ActivityEntry(Struct, frozen=True):
    """One line of the log."""

    tenant_id: str
    action: Action
    subject: str  # the id of what was changed
    actor: Actor
    detail: str = ""
    id: str = ""
    at: int = 0  # written by the database


async def record(connection: AsyncConnection, entry: ActivityEntry, *, now: int | None = None) -> None:
    """Add a line, in the transaction of what it tells about."""
    actor = entry.actor
    await connection.execute(
        insert(activity).values(
            id=str(ULID()),
            tenant_id=entry.tenant_id,
            at=clock(now),
            action=entry.action.value,
            subject=entry.subject,
            actor=actor.id,
            actor_name=actor.name,
            via=actor.via.value,
            client=actor.client,
            request_id=actor.request_id,
            detail=entry.detail,
        )
    )


class ActivityFilter(Struct, frozen=True, kw_only=True):
    """Which lines to list."""

    tenant_id: str | None = None  # None: of all tenants
    subject: str | None = None
    action: str | None = None  # or the part before the point, such as `key`
    actor: str | None = None


async def list_activity(
    connection: AsyncConnection, wanted: ActivityFilter, *, before: str | None = None, limit: int = 50
) -> list[ActivityEntry]:
    """The newest first; `before` is the id of the last one already seen."""
    query = select(activity).order_by(activity.c.id.desc()).limit(limit)
    if wanted.tenant_id is not None:
        query = query.where(activity.c.tenant_id == wanted.tenant_id)
    if wanted.subject is not None:
        query = query.where(activity.c.subject == wanted.subject)
    if wanted.actor is not None:
        query = query.where(activity.c.actor == wanted.actor)
    if wanted.action is not None:
        exact = "." in wanted.action
        column = activity.c.action
        query = query.where(
            column == wanted.action if exact else column.startswith(f"{wanted.action}.", autoescape=True)
        )
    if before is not None:
        query = query.where(activity.c.id < before)
    return [
        ActivityEntry(
            tenant_id=row.tenant_id,
            action=Action(row.action),
            subject=row.subject,
            actor=Actor(row.actor, row.actor_name, Via(row.via), row.client, row.request_id),
            detail=row.detail,
            id=row.id,
            at=row.at,
        )
        for row in await connection.execute(query)
    ]
