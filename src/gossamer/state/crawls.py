"""Crawls: what is to be crawled, and how far it is.

         add              pause
(new) ─────────▶ running ◀───────▶ paused
                  │  ▲    resume     │
 nothing is left, │  │ more is       │ cancel
 or enough stored ▼  │ added         ▼
                 done       running, paused ─▶ canceled
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import ColumnElement, Row, Select, and_, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from ulid import ULID

from gossamer import problems
from gossamer.problems import Problem
from gossamer.state import new_urls, waiting
from gossamer.state.crawl_tables import crawl_hosts, crawls, hosts
from gossamer.state.database import Database, clock, insert_into
from gossamer.state.new_urls import NewUrl
from gossamer.state.waiting import Waiting

State = Literal["running", "paused", "done", "canceled"]
ENDLESS: Final = 2**53  # pages
ROUSED_AT_ONCE: Final = 1_000
EMPTY_MS: Final = 3_600_000  # a crawl that nothing was ever added to is done after this

# Who sends one of these may see what others may not.
_CREDENTIALS: Final = frozenset({"authorization", "cookie", "x-api-key"})

_crawls: Final = crawls.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What a crawl is to do."""

    seeds: tuple[str, ...] = ()
    scope: Literal["host", "domain", "prefix", "any"] = "host"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_pages: int = 1_000
    max_depth: int = 10
    max_urls_per_page: int = 1_000
    delay: float | None = None  # seconds; None: the server's own. A longer one in robots.txt wins.
    render: Literal["never", "auto", "always"] = "never"
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    sitemaps: bool = True
    ignore_parameters: tuple[str, ...] = ()  # of queries, beside those that only track visitors
    ignore_trailing_slash: bool = False
    tier: str = "free"  # of who asked for it: renders count against its limit
    private: bool = False  # what it sees may be for its owner alone; headers are forgotten, this is not

    def __post_init__(self) -> None:
        if any(name.lower() in _CREDENTIALS for name, _ in self.headers):
            object.__setattr__(self, "private", True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """URLs by what became of them; the pages that are stored, and the bytes of their bodies."""

    pending: int = 0
    in_progress: int = 0
    completed: int = 0
    failed: int = 0
    blocked: int = 0
    pages: int = 0
    bytes: int = 0

    @property
    def left(self) -> int:
        return self.pending + self.in_progress

    @property
    def urls(self) -> int:
        return self.pending + self.in_progress + self.completed + self.failed + self.blocked


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl:
    id: str
    tenant_id: str
    name: str
    state: State
    is_default: bool
    spec: Spec
    counts: Counts
    created_at: int
    started_at: int | None = None
    finished_at: int | None = None
    request_id: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "canceled")


_COUNTS: Final = tuple(each.name for each in fields(Counts))
_PLAIN: Final = tuple(each.name for each in fields(Crawl) if each.name not in ("spec", "counts"))
_spec: Final = msgspec.json.Decoder(Spec)


async def add(
    connection: AsyncConnection,
    tenant: str,
    spec: Spec,
    *,
    name: str = "",
    request_id: str = "",
    urls: Sequence[NewUrl] = (),
    now: int | None = None,
) -> Crawl:
    """A crawl and where it begins, in the transaction of who has more to write."""
    crawl_id = str(ULID())
    await connection.execute(_new(connection, crawl_id, tenant, spec, name, request_id, now=now))
    await new_urls.add(connection, crawl_id, urls, now=now)
    return _crawl((await connection.execute(_one(crawl_id))).one())


async def get(connection: AsyncConnection, crawl_id: str) -> Crawl | None:
    row = (await connection.execute(_one(crawl_id))).first()
    return None if row is None else _crawl(row)


class Crawls:
    def __init__(self, database: Database) -> None:
        self.database = database

    async def create(
        self,
        tenant: str,
        spec: Spec,
        *,
        name: str = "",
        request_id: str = "",
        urls: Sequence[NewUrl] = (),
        now: int | None = None,
    ) -> Crawl:
        async with self.database.write() as connection:
            return await add(connection, tenant, spec, name=name, request_id=request_id, urls=urls, now=now)

    async def default(self, tenant: str, *, now: int | None = None) -> Crawl:
        """What takes URLs that are added to no crawl in particular; made when it is first asked for."""
        while (found := await self._default(tenant)) is None:
            async with self.database.write() as connection:
                spec = Spec(scope="any", max_pages=ENDLESS)
                new = _new(connection, str(ULID()), tenant, spec, "default", "", now=now, is_default=True)
                await connection.execute(new.on_conflict_do_nothing())
        return found

    async def get(self, crawl_id: str) -> Crawl | None:
        async with self.database.read() as connection:
            return await get(connection, crawl_id)

    async def counts(self, crawl_id: str) -> Counts:
        """All nothing if there is no such crawl."""
        crawl = await self.get(crawl_id)
        return Counts() if crawl is None else crawl.counts

    async def waiting(self, crawl: Crawl, *, now: int | None = None) -> Waiting | None:
        """What it waits for, if nothing of it is being done."""
        if crawl.state != "running" or crawl.counts.in_progress or not crawl.counts.pending:
            return None
        async with self.database.read() as connection:
            return await waiting.of_crawl(connection, crawl.id, now=now)

    async def some(self, crawl_ids: Sequence[str]) -> dict[str, Crawl]:
        """Those that there are, by their ids."""
        async with self.database.read() as connection:
            rows = await connection.execute(select(crawls).where(_crawls.id.in_(crawl_ids)))
            return {row.id: _crawl(row) for row in rows}

    async def listing(
        self, tenant: str | None, before: str | None = None, limit: int = 50, state: State | None = None
    ) -> list[Crawl]:
        """The newest first; of one tenant or of all."""
        query = select(crawls).order_by(_crawls.id.desc()).limit(limit)
        wanted = {_crawls.tenant_id: tenant, _crawls.state: state}
        query = query.where(*(column == value for column, value in wanted.items() if value is not None))
        if before is not None:
            query = query.where(_crawls.id < before)
        async with self.database.read() as connection:
            return [_crawl(row) for row in await connection.execute(query)]

    # Each of these answers whether that changed anything.

    async def pause(self, crawl_id: str) -> bool:
        return await self._change(crawl_id, ("running",), state="paused")

    async def resume(self, crawl_id: str, *, now: int | None = None) -> bool:
        if not await self._change(crawl_id, ("paused",), state="running"):
            return False
        await self.rouse(crawl_id, now=now)
        return True

    async def cancel(self, crawl_id: str, *, now: int | None = None) -> bool:
        """Not the default one, which could not be had again: a Problem says so."""
        over = {"state": "canceled", "finished_at": clock(now)}
        crawl = await self.get(crawl_id)
        if crawl is not None and crawl.is_default:
            raise Problem(
                problems.UNPROCESSABLE_ENTITY,
                "This is the default crawl, which takes what is added to no other; it cannot be stopped.",
                hint="Pause it, or remove what it has still to fetch by DELETE /api/frontier.",
            )
        return await self._change(crawl_id, ("running", "paused"), **over)

    async def finished(self, *, now: int | None = None) -> list[str]:
        """Those that have just become done: nothing is left to do, or enough is stored."""
        idle = and_(_crawls.pending == 0, _crawls.in_progress == 0, _has_begun(now))
        over = or_(idle, _crawls.pages >= _crawls.max_pages)
        these = select(_crawls.id).where(_crawls.state == "running", ~_crawls.is_default, over)
        async with self.database.read() as connection:
            if (await connection.scalars(these.limit(1))).first() is None:
                return []
        ordered = these.order_by(_crawls.id).with_for_update()
        async with self.database.write() as connection:
            ids = (await connection.scalars(ordered)).all()
            done = update(crawls).where(_crawls.id.in_(ids))
            await connection.execute(done.values(state="done", finished_at=clock(now)))
            await _forget_headers(connection, ids)
        return list(ids)

    async def rouse(self, crawl_id: str | None = None, *, now: int | None = None) -> int:
        """Wake the hosts on which running crawls, or this one, have something to do; how many slept."""
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
        some = sleeping.distinct().order_by(hosts.c.host).limit(ROUSED_AT_ONCE)
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

    async def _default(self, tenant: str) -> Crawl | None:
        query = select(crawls).where(_crawls.tenant_id == tenant, _crawls.is_default)
        async with self.database.read() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else _crawl(row)

    async def _change(self, crawl_id: str, states: Sequence[State], **values: Any) -> bool:
        change = update(crawls).where(_crawls.id == crawl_id, _crawls.state.in_(states))
        async with self.database.write() as connection:
            changed = (await connection.execute(change.values(**values))).rowcount == 1
            if changed and "finished_at" in values:
                await _forget_headers(connection, [crawl_id])
        return changed


async def _forget_headers(connection: AsyncConnection, crawl_ids: Sequence[str]) -> None:
    """What was to be sent along may be secret, and is of no more use when the crawl is over."""
    rows = await connection.execute(select(crawls).where(_crawls.id.in_(crawl_ids)))
    for crawl in [_crawl(row) for row in rows]:
        if crawl.spec.headers:
            bare = msgspec.json.encode(replace(crawl.spec, headers=())).decode()
            await connection.execute(update(crawls).where(_crawls.id == crawl.id).values(spec_json=bare))


def _one(crawl_id: str) -> Select[Any]:
    return select(crawls).where(_crawls.id == crawl_id)


def _has_begun(now: int | None) -> ColumnElement[bool]:
    ended = _crawls.completed + _crawls.failed + _crawls.blocked
    return or_(ended > 0, _crawls.created_at < clock(now) - EMPTY_MS)


def _new(
    connection: AsyncConnection,
    crawl_id: str,
    tenant: str,
    spec: Spec,
    name: str,
    request_id: str,
    *,
    now: int | None,
    is_default: bool = False,
) -> Any:
    return insert_into(connection, crawls).values(
        id=crawl_id,
        tenant_id=tenant,
        name=name,
        state="running",
        is_default=is_default,
        spec_json=msgspec.json.encode(spec).decode(),
        max_pages=spec.max_pages,
        created_at=clock(now),
        request_id=request_id,
        **dict.fromkeys(_COUNTS, 0),
    )


def _crawl(row: Row[Any]) -> Crawl:
    values = row._mapping
    return Crawl(
        **{name: values[name] for name in _PLAIN},
        spec=_spec.decode(values["spec_json"]),
        counts=Counts(**{name: values[name] for name in _COUNTS}),
    )
