"""Crawls: what each was asked to do, and how far it is.

         add              pause
(new) ─────────▶ running ◀───────▶ paused
                  │  ▲    resume     │
 nothing is left, │  │ more is       │ cancel
 or enough stored ▼  │ added         ▼
                 done       running, paused ─▶ canceled

A crawl that is being deleted is canceled, and is not found here any more; see `deleting.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import fields, replace
from sqlalchemy import ColumnElement, Row, Select, and_, false, or_, select, update
from ulid import ULID

from gossamer.state.crawl import new_urls, trap_rows, waiting
from gossamer.state.crawl.crawl_counts import DAY_MS
from gossamer.state.crawl.crawl_tables import crawl_hosts, crawls, hosts
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.trap_rows import StoredTrap
from gossamer.state.crawl.waiting import Waiting
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database, clock, insert_into
from gossamer.state.schedules import schedules
from gossamer.state.webhooks import publishing
from gossamer.web.crawl.progress import NO_COUNTS, CrawlCounts, CrawlState, WaitReason
from gossamer.web.crawl.spec import CrawlSpec
from gossamer.web.schedules.schedule_words import ScheduleKind
from gossamer.web.sites.site_rule import from_stored, hide_headers
from gossamer.web.webhooks.webhook import LongWork, WorkEvent

HOSTS_ROUSED_AT_ONCE: Final = 1_000
EMPTY_MS: Final = 3_600_000  # a crawl without any URL is done after this

_crawls: Final = crawls.c


class StoredSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a crawl was asked to do, and what is known of the caller."""

    spec: dict[str, Any]  # unchecked: bounds are for new crawls, and those of a later version may be narrower
    tier: str = "free"  # of the caller: renders count against its limit
    is_private: bool = False  # pages may be for the owner alone; this outlasts the headers
    rules_sealed: str = ""  # the rules with the values of their headers, if they have any; Base64


class Crawl(Struct, frozen=True, kw_only=True):
    id: str
    tenant_id: str
    name: str
    state: CrawlState
    is_default: bool
    spec: CrawlSpec
    counts: CrawlCounts
    created_at: int
    started_at: int | None = None
    finished_at: int | None = None
    request_id: str = ""
    tier: str = "free"
    is_private: bool = False
    rules_sealed: str = ""  # the rules with the values of their headers, for whoever can open it
    revision: int = 0  # grows when URLs that were known may be new again
    quota_tier: str | None = None  # whose quotas it is held to; None: to none
    held_by: WaitReason | None = None  # the quota that has paused it

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "canceled")

    @property
    def may_wait(self) -> bool:
        """It has URLs left, and none of them is being fetched."""
        return self.state == "running" and not self.counts.in_progress and self.counts.pending > 0


_COUNTS: Final = CrawlCounts.__struct_fields__
_OF_SPEC: Final = ("tier", "is_private", "rules_sealed")  # that are stored with it
_PLAIN: Final = tuple(each.name for each in fields(Crawl) if each.name not in (*_OF_SPEC, "spec", "counts"))
_SPEC_FIELDS: Final = tuple(zip(CrawlSpec.__struct_fields__, CrawlSpec.__struct_encode_fields__, strict=True))
_stored: Final = msgspec.json.Decoder(StoredSpec)


async def add(
    connection: AsyncConnection,
    tenant: str,
    spec: CrawlSpec,
    *,
    tier: str = "free",
    quota_tier: str | None = None,
    name: str = "",
    request_id: str = "",
    urls: Sequence[NewUrl] = (),
    rules_sealed: str = "",
    now: int | None = None,
) -> Crawl:
    """Add a crawl with the URLs it begins with, in the caller's transaction. The headers of its rules are
    stored in `rules_sealed` alone."""
    columns = {"name": name, "request_id": request_id, "quota_tier": quota_tier}
    row = _new_row(tenant, spec, now, tier, rules_sealed, **columns)
    await connection.execute(insert_into(connection, crawls).values(row))
    await new_urls.add(connection, row["id"], urls, now=now)
    started = publishing.work_event(LongWork.CRAWL, WorkEvent.STARTED, tenant, row["id"])
    await publishing.publish(connection, started, now=now)
    return _crawl((await connection.execute(_one(row["id"]))).one())


async def get(connection: AsyncConnection, crawl_id: str) -> Crawl | None:
    row = (await connection.execute(_one(crawl_id))).first()
    return None if row is None else _crawl(row)


# Each of these returns whether it changed anything.


async def pause(connection: AsyncConnection, crawl_id: str) -> bool:
    """A crawl that a quota has paused then stays so."""
    return await _change(connection, crawl_id, ("running",), state="paused") or await release(
        connection, crawl_id, state="paused"
    )


async def hold(connection: AsyncConnection, crawl_id: str, quota: WaitReason) -> bool:
    """Pause a crawl because its tenant has used up a quota."""
    return await _change(connection, crawl_id, ("running",), state="paused", held_by=quota)


async def release(connection: AsyncConnection, crawl_id: str, *, state: CrawlState = "running") -> bool:
    """Let a crawl go on that a quota has paused. Its hosts are woken by `Crawls.rouse` afterwards."""
    held = update(crawls).where(_crawls.id == crawl_id, _crawls.held_by.is_not(None))
    return (await connection.execute(held.values(state=state, held_by=None))).rowcount == 1


async def resume(connection: AsyncConnection, crawl_id: str) -> bool:
    """Its hosts are woken by `Crawls.rouse`, after the transaction."""
    return await _change(connection, crawl_id, ("paused",), state="running", held_by=None)


async def cancel(connection: AsyncConnection, crawl_id: str, *, now: int | None = None) -> bool:
    """A default crawl is none any more: the next URL that names no crawl begins another."""
    over = {"state": "canceled", "finished_at": clock(now), "is_default": False, "held_by": None}
    if not await _change(connection, crawl_id, ("running", "paused"), **over):
        return False
    await schedules.remove_of_subject(connection, ScheduleKind.RECRAWL, crawl_id)
    await forget_headers(connection, [crawl_id])
    await publishing.note_ended_crawls(connection, [crawl_id])
    return True


async def _change(
    connection: AsyncConnection, crawl_id: str, states: Sequence[CrawlState], **values: Any
) -> bool:
    change = update(crawls).where(_crawls.id == crawl_id, _crawls.state.in_(states))
    return (await connection.execute(change.values(**values))).rowcount == 1


class Crawls:
    def __init__(self, database: Database) -> None:
        self.database = database

    async def create(
        self,
        tenant: str,
        spec: CrawlSpec,
        *,
        tier: str = "free",
        name: str = "",
        request_id: str = "",
        urls: Sequence[NewUrl] = (),
        now: int | None = None,
    ) -> Crawl:
        async with self.database.write() as connection:
            return await add(
                connection, tenant, spec, tier=tier, name=name, request_id=request_id, urls=urls, now=now
            )

    async def default(self, tenant: str) -> Crawl | None:
        """The tenant's crawl for URLs that are added to no other; None before there are such URLs."""
        async with self.database.read() as connection:
            return await find_default(connection, tenant)

    async def get(self, crawl_id: str) -> Crawl | None:
        async with self.database.read() as connection:
            return await get(connection, crawl_id)

    async def counts(self, crawl_id: str) -> CrawlCounts:
        """All zero if there is no such crawl."""
        crawl = await self.get(crawl_id)
        return NO_COUNTS if crawl is None else crawl.counts

    async def waiting(self, crawl: Crawl, *, now: int | None = None) -> Waiting | None:
        """What the crawl waits for while none of its URLs is being fetched."""
        async with self.database.read() as connection:
            return await find_waiting(connection, crawl, now=now)

    async def traps(self, crawl: Crawl) -> list[StoredTrap]:
        """The traps that it has met."""
        async with self.database.read() as connection:
            return await trap_rows.listing(connection, crawl.id)

    async def some(self, crawl_ids: Sequence[str]) -> dict[str, Crawl]:
        """The crawls that exist, by id."""
        async with self.database.read() as connection:
            these = select(crawls).where(_crawls.id.in_(crawl_ids), _is_there())
            rows = await connection.execute(these)
            return {row.id: _crawl(row) for row in rows}

    async def listing(
        self, tenant: str | None, before: str | None = None, limit: int = 50, state: CrawlState | None = None
    ) -> list[Crawl]:
        """Newest first; the crawls of one tenant, or all."""
        query = select(crawls).where(_is_there()).order_by(_crawls.id.desc()).limit(limit)
        wanted = {_crawls.tenant_id: tenant, _crawls.state: state}
        query = query.where(*(column == value for column, value in wanted.items() if value is not None))
        if before is not None:
            query = query.where(_crawls.id < before)
        async with self.database.read() as connection:
            return [_crawl(row) for row in await connection.execute(query)]

    # Each of these returns whether it changed anything.

    async def pause(self, crawl_id: str) -> bool:
        async with self.database.write() as connection:
            return await pause(connection, crawl_id)

    async def resume(self, crawl_id: str, *, now: int | None = None) -> bool:
        async with self.database.write() as connection:
            changed = await resume(connection, crawl_id)
        if changed:
            await self.rouse(crawl_id, now=now)
        return changed

    async def cancel(self, crawl_id: str, *, now: int | None = None) -> bool:
        async with self.database.write() as connection:
            return await cancel(connection, crawl_id, now=now)

    async def finish(self, *, now: int | None = None) -> list[str]:
        """End the crawls that have nothing left to do, or enough pages; returns their ids."""
        idle = and_(_crawls.pending == 0, _crawls.in_progress == 0, _has_begun(now))
        over = or_(idle, _crawls.pages >= _crawls.max_pages)
        these = select(_crawls.id).where(_crawls.state == "running", over)
        async with self.database.read() as connection:
            if (await connection.scalars(these.limit(1))).first() is None:
                return []
        ordered = these.order_by(_crawls.id).with_for_update()

        async def finish(connection: AsyncConnection) -> list[str]:
            ids = list(await connection.scalars(ordered))
            done = update(crawls).where(_crawls.id.in_(ids))
            await connection.execute(done.values(state="done", finished_at=clock(now)))
            await forget_headers(connection, ids)
            await publishing.note_ended_crawls(connection, ids)
            return ids

        return await self.database.transact(finish)

    async def rouse(self, crawl_id: str | None = None, *, now: int | None = None) -> int:
        """Wake the sleeping hosts with pending URLs of running crawls, or of this one; returns how many."""
        here = crawl_hosts.c
        sleeping = (
            select(hosts.c.host)
            .join(crawl_hosts, here.host == hosts.c.host)
            .join(crawls, _crawls.id == here.crawl_id)
            .where(here.pending > 0, _crawls.state == "running", _crawls.pages < _crawls.max_pages)
            .where(hosts.c.lease_token.is_(None), hosts.c.due_at.is_(None))
        )
        if crawl_id is not None:
            sleeping = sleeping.where(here.crawl_id == crawl_id)
        some = sleeping.distinct().order_by(hosts.c.host).limit(HOSTS_ROUSED_AT_ONCE)
        roused = 0
        while found := await self._rouse(some, now):
            roused += found
        return roused

    async def _rouse(self, some: Any, now: int | None) -> int:
        async with self.database.read() as connection:
            names = (await connection.scalars(some)).all()
        if names:
            async with self.database.write() as connection:
                await new_urls.lock_hosts(connection, names, now)
                await new_urls.wake(connection, names, now)
        return len(names)


async def find_waiting(
    connection: AsyncConnection, crawl: Crawl, *, now: int | None = None
) -> Waiting | None:
    """What the crawl waits for while none of its URLs is being fetched."""
    if crawl.held_by is not None:
        time = await connection.scalar(select(clock(now))) or 0
        midnight = (time // DAY_MS + 1) * DAY_MS
        return Waiting(reason=crawl.held_by, until=midnight if crawl.held_by == "page_quota" else None)
    return await waiting.of_crawl(connection, crawl.id, now=now) if crawl.may_wait else None


async def find_default(connection: AsyncConnection, tenant: str) -> Crawl | None:
    query = select(crawls).where(_crawls.tenant_id == tenant, _crawls.is_default, _is_there())
    row = (await connection.execute(query)).first()
    return None if row is None else _crawl(row)


async def add_default(
    connection: AsyncConnection,
    tenant: str,
    spec: CrawlSpec,
    *,
    tier: str = "free",
    request_id: str = "",
    rules_sealed: str = "",
    now: int | None = None,
) -> Crawl | None:
    """Add the tenant's default crawl; None if another one was added at the same moment."""
    columns = {"name": "default", "request_id": request_id, "is_default": True}
    row = _new_row(tenant, spec, now, tier, rules_sealed, **columns)
    new = insert_into(connection, crawls).values(row).on_conflict_do_nothing()
    await connection.execute(new)
    found = (await connection.execute(_one(row["id"]))).first()
    return None if found is None else _crawl(found)


async def retire_default(connection: AsyncConnection, crawl_id: str) -> None:
    """It stays as it is, but takes no URLs any more that name no crawl."""
    await connection.execute(update(crawls).where(_crawls.id == crawl_id).values(is_default=False))


async def set_seeds(connection: AsyncConnection, crawl_id: str, seeds: Sequence[str]) -> None:
    """The scope follows the seeds. The crawl is locked."""
    found = select(_crawls.spec_json).where(_crawls.id == crawl_id)
    stored = _stored.decode(await connection.scalar(found) or "")
    grown = replace(stored, spec=stored.spec | {"seeds": list(seeds)})
    change = update(crawls).where(_crawls.id == crawl_id)
    await connection.execute(
        change.values(spec_json=msgspec.json.encode(grown).decode(), revision=_crawls.revision + 1)
    )


async def set_refresh(connection: AsyncConnection, crawl_id: str, options: Mapping[str, Any]) -> None:
    """Change the options of refreshing, by their names in the stored spec. The crawl is locked."""
    found = select(_crawls.spec_json).where(_crawls.id == crawl_id)
    stored = _stored.decode(await connection.scalar(found) or "")
    changed = replace(stored, spec=stored.spec | dict(options))
    keeps_fresh = _spec(changed.spec).keeps_fresh
    change = update(crawls).where(_crawls.id == crawl_id)
    await connection.execute(
        change.values(spec_json=msgspec.json.encode(changed).decode(), keeps_fresh=keeps_fresh)
    )


async def forget_headers(connection: AsyncConnection, crawl_ids: Sequence[str]) -> None:
    """Headers may be secret, and a crawl that is over does not need them. One that is kept fresh does."""
    query = select(_crawls.id, _crawls.spec_json).where(_crawls.id.in_(crawl_ids))
    for crawl_id, spec_json in (await connection.execute(query)).all():
        stored = _stored.decode(spec_json)
        has_headers = bool(stored.spec.get("headers") or stored.rules_sealed)
        if has_headers and (stored.is_private or not _spec(stored.spec).keeps_fresh):
            bare = replace(stored, spec=stored.spec | {"headers": {}}, rules_sealed="")
            change = update(crawls).where(_crawls.id == crawl_id)
            await connection.execute(change.values(spec_json=msgspec.json.encode(bare).decode()))


def _one(crawl_id: str) -> Select[Any]:
    return select(crawls).where(_crawls.id == crawl_id, _is_there())


def _is_there() -> ColumnElement[bool]:
    return _crawls.deleting == false()


def _has_begun(now: int | None) -> ColumnElement[bool]:
    ended = _crawls.completed + _crawls.failed + _crawls.blocked
    return or_(ended > 0, _crawls.created_at < clock(now) - EMPTY_MS)


def _new_row(
    tenant: str, spec: CrawlSpec, now: int | None, tier: str, rules_sealed: str, **columns: Any
) -> dict[str, Any]:
    whole = msgspec.to_builtins(replace(spec, rules=hide_headers(spec.rules)))
    stored = StoredSpec(spec=whole, tier=tier, is_private=spec.is_private, rules_sealed=rules_sealed)
    return {
        "id": str(ULID()),
        "tenant_id": tenant,
        "state": "running",
        "is_default": False,
        "spec_json": msgspec.json.encode(stored).decode(),
        "max_pages": spec.max_pages,
        "keeps_fresh": spec.keeps_fresh,
        "created_at": clock(now),
        "request_id": "",
        **dict.fromkeys(_COUNTS, 0),
        **columns,
    }


def _spec(stored: dict[str, Any]) -> CrawlSpec:
    """The options that are known today; the others have their defaults."""
    known: dict[str, Any] = {name: stored[key] for name, key in _SPEC_FIELDS if key in stored}
    lists = {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
    return CrawlSpec(**known | lists | {"rules": from_stored(known.get("rules", ()))})


def _crawl(row: Row[Any]) -> Crawl:
    values = row._mapping
    stored = _stored.decode(values["spec_json"])
    return Crawl(
        **{name: values[name] for name in _PLAIN},
        spec=_spec(stored.spec),
        **{name: getattr(stored, name) for name in _OF_SPEC},
        counts=CrawlCounts(**{name: values[name] for name in _COUNTS}),
    )
