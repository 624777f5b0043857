"""The house: all parts by name, put together once, opened and closed in order."""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Collection, Iterable
from functools import partial
from types import TracebackType
from typing import Self

from starlette.types import ASGIApp

from gossamer import __version__
from gossamer.choices import (
    facilitator_probes,
    is_hot_shared,
    open_browsers,
    open_hot,
    open_model,
    open_payments,
    open_remotes,
    open_search_engines,
    sources,
)
from gossamer.doors import cli
from gossamer.doors.http.batch_line import LineMaker
from gossamer.doors.http.express import Lane
from gossamer.doors.kinds import KINDS, handlers
from gossamer.doors.worker import Worker
from gossamer.flows import keys, queue, upkeep
from gossamer.flows.admit import Admission
from gossamer.flows.audit import Auditor
from gossamer.flows.batch import Batcher
from gossamer.flows.batch_job import Batching
from gossamer.flows.browse import Browsing
from gossamer.flows.crawl.desk import Desk
from gossamer.flows.crawl.fetch import Fetching
from gossamer.flows.crawl.gate import Gates
from gossamer.flows.crawl.harvest import Harvest
from gossamer.flows.crawl.host import Crew
from gossamer.flows.crawl.indexing import Indexing
from gossamer.flows.crawl.known import Known
from gossamer.flows.crawl.plan import Plans
from gossamer.flows.crawl.results import CrawlResults
from gossamer.flows.crawl.robots import RobotsFiles
from gossamer.flows.crawl.taking import Taking
from gossamer.flows.crawl.watch import Watch
from gossamer.flows.crawl.worker import Crawling
from gossamer.flows.crawl.writer import Writer
from gossamer.flows.extract import Extractor
from gossamer.flows.find import Finder
from gossamer.flows.health import Checkup, Probe
from gossamer.flows.keys import NewKey
from gossamer.flows.obtain import Obtainer
from gossamer.flows.pace import Pace
from gossamer.flows.read import Reader
from gossamer.flows.render import Renderer
from gossamer.flows.render_job import Rendering
from gossamer.flows.serve import Serving, restore_limits
from gossamer.flows.shoot import Shooter
from gossamer.flows.site_audit import SiteAuditor
from gossamer.flows.warm import Warmer
from gossamer.flows.workshop import Workshop
from gossamer.layers import Face, asgi
from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.reach.dial import Dialer
from gossamer.reach.fetch import Fetcher
from gossamer.reach.names import Names
from gossamer.reach.proxy import Proxy
from gossamer.settings import Settings
from gossamer.state.backoff import Backoff
from gossamer.state.batches import Lines
from gossamer.state.blobs import Blobs, open_blobs
from gossamer.state.cache import Cache
from gossamer.state.crawl_stats import CrawlStats
from gossamer.state.crawls import Crawls
from gossamer.state.database import Database, open_database
from gossamer.state.frontier import Frontier
from gossamer.state.hosts import Hosts
from gossamer.state.hot import Hot
from gossamer.state.hot_memory import MemoryHot
from gossamer.state.job_ends import Ends
from gossamer.state.jobs import Jobs
from gossamer.state.limits import Limits, policies
from gossamer.state.page_cache import NEAR_BYTES, PageCache
from gossamer.state.render_failures import RenderFailures
from gossamer.state.search_index import SearchIndex
from gossamer.state.usage import Usage
from gossamer.state.wakeups import open_wakeups

RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0)
BROWSER_SECONDS = 10.0  # for one to start, when somebody asks how it is


class House:
    """All the parts, put together once. `async with` opens it and closes it."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings = settings
        self.log = log
        self.metrics = Metrics(__version__)
        self.worker_name = settings.worker_id or f"{socket.gethostname()}-{os.getpid()}"
        self.database: Database = open_database(settings.database_url)
        self.hot: Hot = open_hot(settings)
        self.blobs: Blobs = open_blobs(settings.blobs_url, os.environ)
        self.admission = Admission(self.database, self.hot)
        self.names = Names(settings.dns_servers)
        self.dialer = Dialer(self.names, allow=settings.egress_allow, ports=settings.egress_ports)
        self.fetcher = Fetcher(self.dialer, settings.user_agent)
        self.workshop = Workshop(settings.reading_processes)
        self.crawl_workshop = Workshop(settings.reading_processes)  # who waits for one page has the other
        self.auditor = Auditor(self.fetcher, self.workshop)
        self.wakeups = open_wakeups(settings.database_url)
        self.jobs = Jobs(self.database, self.wakeups)
        self.limits = Limits(self.hot, policies(settings), log)
        self.backoff = Backoff(
            self.hot,
            free_faults=settings.backoff_faults,
            free_misses=settings.backoff_misses,
            alone=isinstance(self.hot, MemoryHot),
        )
        self.page_cache = PageCache(
            self.hot,
            self.blobs,
            self.database,
            log,
            self.metrics,
            near_bytes=0 if isinstance(self.hot, MemoryHot) else NEAR_BYTES,
            alone=isinstance(self.hot, MemoryHot),
        )
        self.usage = Usage(self.database, time.time)
        self.proxy = Proxy(self.dialer, log)
        self.remotes = open_remotes(settings, self.proxy, log)
        self.browsers = open_browsers(settings, self.proxy, self.remotes, log, self.metrics)
        self.renderer = Renderer(self.browsers, self.workshop, settings.user_agent)
        self.model = open_model(settings)
        self.browsing = Browsing(self.browsers, self.limits, self.usage)
        self.obtainer = Obtainer(self.fetcher, self.browsing)
        self.cache = Cache(self.hot, log, time.time)
        self.index = SearchIndex(self.database, log, most_pages=settings.search_index_pages)
        self.search_engines = open_search_engines(settings)
        self.finder = Finder(sources(settings, self.index, self.search_engines), self.cache, log)
        self.reader = Reader(self.obtainer, self.workshop, self.cache, self.index)
        self.extractor = Extractor(self.obtainer, self.workshop, self.cache, log, self.model)
        self.shooter = Shooter(self.browsing, self.workshop, self.cache)
        self.batcher = Batcher(self.reader, log, renders_at_once=settings.browser_places)
        self.lines = Lines(self.database, self.blobs)
        self.crawls = Crawls(self.database)
        self.hosts = Hosts(self.database)
        self.frontier = Frontier(self.database)
        self.indexing = Indexing(self.database, self.index, self.crawls, self.blobs, self.crawl_workshop, log)
        self.crawl_stats = CrawlStats(self.database)
        self.crawl_results = CrawlResults(self.database, self.crawls, self.blobs, self.workshop)
        self.site_auditor = SiteAuditor(
            self.auditor, self.database, self.crawls, self.blobs, settings.user_agent
        )
        self.pace = Pace(self.hot, self.database, settings.browser_places)
        self.ends = Ends(self.jobs, self.wakeups)
        self.render_failures = RenderFailures(self.hot)
        self.serving = Serving(
            self.page_cache, self.jobs, self.ends, self.limits, self.usage, self.render_failures, log
        )
        self.payments = open_payments(settings, self.hot, self.limits, self.database, log, self.metrics)
        self.checkup = Checkup(
            {
                "database": Probe(self.database.ping, needed=True),
                "cache": Probe(self.hot.ping),
                "blobs": Probe(self.blobs.ping),
                "browserRendering": Probe(self.browsers.ping, seconds=BROWSER_SECONDS),
                "queue": Probe(partial(queue.depth, self.jobs, self.metrics, KINDS)),
                "workers": Probe(partial(queue.workers, self.jobs)),
                "search": Probe(self.finder.states),
                **facilitator_probes(self.payments),
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
        await self.open_proxy()
        self._tasks += [
            asyncio.create_task(upkeep.keep_up(self.database, self.admission, self.log)),
            asyncio.create_task(upkeep.tend(self.page_cache, self.usage, self.log)),
            asyncio.create_task(upkeep.keep_indexed(self.index, self.log)),
            asyncio.create_task(upkeep.keep_crawling(self.crawls, self.frontier, self.log)),
            asyncio.create_task(Watch(self.crawl_stats, self.metrics, self.log).run()),
        ]
        if self.payments is not None:
            self._tasks.append(asyncio.create_task(self.payments.keep_up()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(Unavailable):
            await upkeep.once_over(self.database, self.admission)
        await self.serving.close()
        await upkeep.settle(self.page_cache, self.usage, self.log)
        await upkeep.settle_index(self.index, self.log)
        await self.page_cache.close()
        await self.close()

    def worker(self, kinds: Collection[str] = KINDS) -> Worker:
        rendering = Rendering(
            self.renderer,
            self.page_cache,
            self.usage,
            self.pace,
            self.render_failures,
            self.ends,
        )
        warmer = Warmer(self.fetcher, self.dialer, self.page_cache, self.serving, self.workshop)
        places = self.settings.browser_places
        line = LineMaker(self.reader, self.settings.upgrade_url).line
        batching = Batching(self.batcher, self.database, self.lines, line)
        done = handlers(
            self.auditor, self.site_auditor, rendering, warmer, batching, places=places, kinds=kinds
        )
        return Worker(self.jobs, done, name=self.worker_name, log=self.log, metrics=self.metrics)

    def crawling(self) -> Crawling:
        settings, known = self.settings, Known()
        shared = self.hot if is_hot_shared(settings) else None
        desk = Desk(self.frontier, self.hosts)
        crew = Crew(
            frontier=self.frontier,
            hosts=self.hosts,
            plans=Plans(self.crawls, time.monotonic),
            desk=desk,
            robots=RobotsFiles(
                self.fetcher, desk, self.hot, settings.user_agent, settings.crawl_longest_delay
            ),
            fetching=Fetching(self.fetcher, self.browsing),
            taking=Taking(self.crawl_workshop, settings.user_agent),
            harvest=Harvest(known, settings.user_agent),
            writer=Writer(self.database, self.frontier, self.blobs, known, self.log),
            log=self.log,
        )
        return Crawling(
            crew,
            self.crawls,
            self.database,
            Gates(self.dialer, shared, settings.crawl_address_connections, settings.egress_allow),
            self.log,
            name=self.worker_name,
            most_hosts=settings.crawl_hosts,
            usual_delay=settings.crawl_delay,
        )

    def lane(self) -> Lane:
        return Lane(self.hot, self.serving, self.admission, self.limits, self.backoff, self.log, self.metrics)

    def app(self, more: Iterable[Face] = ()) -> ASGIApp:
        return asgi(self, more)

    async def close(self) -> None:
        await self.wakeups.close()
        if self.payments is not None:
            await self.payments.close()
        if self.model is not None:
            await self.model.close()
        for engine in self.search_engines.values():
            await engine.close()
        await self.browsers.close()
        if self.remotes is not None:
            await self.remotes.close()
        await self.proxy.close()
        await self.fetcher.close()
        await self.workshop.close()
        await self.crawl_workshop.close()
        await self.names.close()
        await self.blobs.close()
        await self.hot.close()
        await self.database.close()

    async def open_proxy(self) -> None:
        """The browsers' way out, for ours and for those elsewhere."""
        await self.proxy.open()
        if self.remotes is not None:
            await self.remotes.open()

    async def prepare(self) -> None:
        """Bring the schema up to date; the first start of all makes the first key."""
        await self.database.migrate()
        if self.settings.bootstrap_key or self.database.dialect == "sqlite":
            self.first_key = await keys.bootstrap(self.database, self.settings.bootstrap_key or None)
        if isinstance(self.hot, MemoryHot):
            await restore_limits(self.limits, self.usage)

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


def main() -> None:
    """The command `gossamer`."""
    cli.run(House)
