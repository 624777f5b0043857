"""The log of activity: read latest first, by tenant, subject, actor and action."""

from gossamer.state.db.database import Database
from gossamer.state.tenants.activity import (
    Action,
    ActivityEntry,
    ActivityFilter,
    Actor,
    Via,
    list_activity,
    record,
)

NOW = 1_767_225_600_000
ADMIN = Actor("01ADMIN", "sk_live_a...", Via.KEY, "127.0.0.9", "wl_1")
PERSON = Actor("01PERSON", "a@example.com", Via.SESSION, "127.0.0.8", "wl_2")
ENTRIES = [
    ActivityEntry("t", Action.KEY_CREATED, "k", ADMIN, "made"),
    ActivityEntry("t", Action.KEY_DISABLED, "k", PERSON, "lost"),
    ActivityEntry("u", Action.CRAWL_STARTED, "c", PERSON),
]


async def actions(database: Database, limit: int = 50, before: str | None = None, **wanted: str) -> list[str]:
    async with database.read() as connection:
        found = await list_activity(connection, ActivityFilter(**wanted), before=before, limit=limit)
    return [entry.action.value for entry in found]


async def write(database: Database) -> None:
    for number, entry in enumerate(ENTRIES):  # one transaction each, as they happen
        async with database.write() as connection:
            await record(connection, entry, now=NOW + number)


async def test_the_log_is_read_latest_first_and_filtered(database: Database) -> None:
    await write(database)
    assert await actions(database) == ["crawl.started", "key.disabled", "key.created"]
    assert await actions(database, tenant_id="t") == ["key.disabled", "key.created"]
    assert await actions(database, subject="c") == ["crawl.started"]
    assert await actions(database, actor="01PERSON") == ["crawl.started", "key.disabled"]
    assert await actions(database, action="key") == ["key.disabled", "key.created"]
    assert await actions(database, action="key.created") == ["key.created"]
    assert await actions(database, action="ke%") == []


async def test_every_part_of_a_line_is_kept_and_pages_follow_each_other(database: Database) -> None:
    await write(database)
    async with database.read() as connection:
        newest, *_, oldest = await list_activity(connection, ActivityFilter())
    assert oldest.actor == ADMIN
    assert (oldest.tenant_id, oldest.subject, oldest.detail, oldest.at) == ("t", "k", "made", NOW)
    assert await actions(database, limit=1, before=newest.id) == ["key.disabled"]
