"""The one place that names implementations, and the list of layers around every endpoint."""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Callable, Collection, Iterable
from functools import partial
from types import TracebackType
from typing import Protocol, Self

from starlette.types import ASGIApp

from gossamer import __version__
from gossamer.doors import cli
from gossamer.doors.http.audits import Audits
from gossamer.doors.http.fetch import Fetch
from gossamer.doors.http.idempotency import Idempotency
from gossamer.doors.http.jobs import JobsFace
from gossamer.doors.http.keys import Keys
from gossamer.doors.http.limiting import Limiting
from gossamer.doors.http.middleware import (
    Callers,
    Clients,
    CrossOrigin,
    Deadlines,
    Guarding,
    Problems,
    Routing,
    Tracing,
)
from gossamer.doors.http.operations import Operations
from gossamer.doors.http.pages import Pages
from gossamer.doors.http.routing import Route, Router, endpoint
from gossamer.doors.kinds import KINDS, handlers
from gossamer.doors.worker import Worker
from gossamer.flows import keys, queue, upkeep
from gossamer.flows.admit import Admission
from gossamer.flows.audit import Auditor
from gossamer.flows.health import Checkup, Probe
from gossamer.flows.keys import NewKey
from gossamer.flows.read import Reader
from gossamer.flows.workshop import Workshop
from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.reach.dial import Dialer
from gossamer.reach.fetch import Fetcher
from gossamer.reach.names import Names
from gossamer.settings import Settings
from gossamer.state.cache import Cache
from gossamer.state.database import Database, open_database
from gossamer.state.hot import Hot
from gossamer.state.hot_memory import MemoryHot
from gossamer.state.jobs import Jobs
from gossamer.state.limits import Limits, policies
from gossamer.state.wakeups import open_wakeups

RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0)


class Face(Protocol):
    """A part of the HTTP door: the routes of one subject."""

    def routes(self) -> list[Route]: ...


class House:
    """All the parts, put together once. `async with` opens it and closes it."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings = settings
        self.log = log
        self.metrics = Metrics(__version__)
        self.database: Database = open_database(settings.database_url)
        self.hot: Hot = open_hot(settings)
        self.admission = Admission(self.database, self.hot)
        self.names = Names(settings.dns_servers)
        self.dialer = Dialer(self.names, allow=settings.egress_allow, ports=settings.egress_ports)
        self.fetcher = Fetcher(self.dialer, settings.user_agent)
        self.workshop = Workshop(settings.reading_processes)
        self.reader = Reader(self.fetcher, self.workshop, Cache(self.hot, log, time.time))
        self.auditor = Auditor(self.fetcher, self.workshop)
        self.wakeups = open_wakeups(settings.database_url)
        self.jobs = Jobs(self.database, self.wakeups)
        self.limits = Limits(self.hot, policies(settings), log)
        self.checkup = Checkup(
            {
                "database": Probe(self.database.ping, needed=True),
                "cache": Probe(self.hot.ping),
                "queue": Probe(partial(queue.depth, self.jobs, self.metrics)),
                "workers": Probe(partial(queue.workers, self.jobs)),
            },
            self.metrics,
        )
        self.first_key: NewKey | None = None  # made by the first start, to be shown once
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        try:
            await self.prepare()
        except Unavailable as away:
            self.log.warning("database_away", "waiting for the database", why=away.detail)
            self._tasks.append(asyncio.create_task(self._prepare_when_possible()))
        try:
            await self.hot.ping()
        except Unavailable as away:
            self.log.warning("cache_away", "starting without the cache; it is asked again", why=away.detail)
        self._tasks.append(asyncio.create_task(upkeep.keep_up(self.database, self.admission, self.log)))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(Unavailable):
            await upkeep.once_over(self.database, self.admission)
        await self.close()

    def worker(self, kinds: Collection[str] = KINDS) -> Worker:
        name = self.settings.worker_id or f"{socket.gethostname()}-{os.getpid()}"
        return Worker(self.jobs, handlers(self.auditor, kinds), name=name, log=self.log, metrics=self.metrics)

    def app(self, more: Iterable[Face] = ()) -> ASGIApp:
        return asgi(self, more)

    async def close(self) -> None:
        await self.wakeups.close()
        await self.fetcher.close()
        await self.workshop.close()
        await self.names.close()
        await self.hot.close()
        await self.database.close()

    async def prepare(self) -> None:
        """Bring the schema up to date; the first start of all makes the first key."""
        await self.database.migrate()
        if self.settings.bootstrap_key or self.database.dialect == "sqlite":
            self.first_key = await keys.bootstrap(self.database, self.settings.bootstrap_key or None)

    async def _prepare_when_possible(self) -> None:
        for attempt in range(1_000_000):
            await asyncio.sleep(RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)])
            try:
                await self.prepare()
            except Unavailable as away:
                self.log.warning("database_away", "waiting for the database", why=away.detail)
            else:
                self.log.info("database_ready", "the database is there")
                return


def open_hot(settings: Settings) -> Hot:
    if settings.redis_url in ("", "memory://"):
        return MemoryHot()
    from gossamer.state.hot_redis import RedisHot  # an extra: imported where it is chosen

    return RedisHot(settings.redis_url)


def faces(house: House) -> list[Face]:
    return [
        Fetch(house.reader),
        Audits(house.jobs, house.dialer),
        JobsFace(house.jobs),
        Keys(house.database, house.admission),
        Operations(house.checkup, house.metrics),
    ]


def asgi(house: House, more: Iterable[Face] = ()) -> ASGIApp:
    """The HTTP application: one list of layers, the first is the outermost, around one router."""
    settings, log, metrics = house.settings, house.log, house.metrics
    shown = [route for face in [*faces(house), *more] for route in face.routes()]
    pages = Pages(
        settings.public_url,
        shown,
        house.limits.table,
        idempotency_seconds=settings.idempotency_ttl_seconds,
    )
    problem_documents = partial(Problems, public_url=settings.public_url, log=log, metrics=metrics)
    layers: list[Callable[[ASGIApp], ASGIApp]] = [
        partial(
            Tracing,
            log=log,
            metrics=metrics,
            max_body=settings.max_request_bytes,
            https=settings.public_url.startswith("https:"),
        ),
        partial(CrossOrigin, origins=settings.cors_origins),
        problem_documents,
        partial(Clients, trusted=settings.trusted_proxies),
        partial(Routing, router=Router([*shown, *pages.routes()])),
        partial(Deadlines, seconds=settings.request_deadline),
        partial(Callers, admission=house.admission),
        partial(Limiting, limits=house.limits, log=log, metrics=metrics, upgrade_url=settings.upgrade_url),
        Guarding,
        partial(Idempotency, hot=house.hot, ttl=settings.idempotency_ttl_seconds, log=log, metrics=metrics),
        problem_documents,
    ]
    app: ASGIApp = endpoint
    for layer in reversed(layers):
        app = layer(app)
    return app


def main() -> None:
    """The command `gossamer`."""
    cli.run(House)
