"""The log of activity, a page at a time."""

from msgspec import Struct

from gossamer.state.db.database import Database
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import ActivityEntry, ActivityFilter


class ActivityPage(Struct, frozen=True):
    entries: list[ActivityEntry]  # newest first
    cursor: str | None  # where the next page begins; None on the last one


class ActivityLog(Struct, frozen=True):
    database: Database

    async def list_page(self, wanted: ActivityFilter, *, cursor: str | None, limit: int) -> ActivityPage:
        async with self.database.scan() as connection:
            found = await activity.list_activity(connection, wanted, before=cursor, limit=limit + 1)
        page = found[:limit]
        return ActivityPage(page, page[-1].id if len(found) > limit else None)
