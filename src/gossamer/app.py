"""The service: all parts by name, put together once, opened and closed in order."""

import asyncio
import contextlib
import os
import shutil
import socket
import time
from collections.abc import Collection, Iterable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from starlette.types import ASGIApp

from gossamer import __version__
from gossamer.assembly.choices import (
    facilitator_probes,
    open_browsers,
    open_embeddings,
    open_hot,
    open_launcher,
    open_model,
    open_payments,
    open_search_engines,
    open_single_sign_on,
    open_telemetry,
    open_watch,
    read_operator_rules,
    sources,
    upstream_probes,
)
from gossamer.assembly.schedules import open_starters, open_task_starters
from gossamer.assembly.workers import open_crawl_worker, open_worker
from gossamer.doors.worker.kinds import KINDS
from gossamer.doors.worker.worker import Worker
from gossamer.flows.alerts.alerts import Alerts
from gossamer.flows.audit.audit import Auditor
from gossamer.flows.audit.audits import Audits
from gossamer.flows.audit.probe import SiteProbe
from gossamer.flows.batch.batch import Batcher
from gossamer.flows.batch.batch_job import Batches
from gossamer.flows.crawl.frontier_batcher import FrontierBatcher
from gossamer.flows.crawl.indexing import Indexing
from gossamer.flows.crawl.managing.control import CrawlControl
from gossamer.flows.crawl.managing.crawl_feed import CrawlFeed
from gossamer.flows.crawl.managing.preview import CrawlPreviewer
from gossamer.flows.crawl.politeness.robots import RobotsFiles
from gossamer.flows.crawl.reading.crawl_graphs import CrawlGraphs
from gossamer.flows.crawl.reading.kept_links import KeptLinks
from gossamer.flows.crawl.reading.results import CrawlResults
from gossamer.flows.crawl.reading.site_memories import SiteMemories
from gossamer.flows.crawl.refreshing.importance_weigher import ImportanceWeigher
from gossamer.flows.crawl.refreshing.refresher import CrawlRefresher
from gossamer.flows.crawl.seeds import Seeder
from gossamer.flows.crawl.visiting.fetch import CrawlFetcher
from gossamer.flows.crawl.visiting.page_parser import PageParser
from gossamer.flows.crawl.watch import CrawlWatch
from gossamer.flows.crawl.worker import CrawlWorker
from gossamer.flows.data.archive.archiver import Archiver
from gossamer.flows.data.archive.restorer import ArchiveRestorer
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.data.removal.page_removal import NoArchive, PageArchive
from gossamer.flows.data.removal.removals import Removals
from gossamer.flows.data.removal.retention import KeepTimes, Retention
from gossamer.flows.data.repair.replayer import Replayer
from gossamer.flows.data.repair.verifier import Verifier
from gossamer.flows.data.warc.importer import CrawlImporter
from gossamer.flows.data.warc.uploads import Uploads
from gossamer.flows.doctor.doctor import Doctor
from gossamer.flows.memory.memory import Memory, WalletBounds
from gossamer.flows.memory.memory_pages import MemoryPages
from gossamer.flows.memory.memory_search import MemorySearch
from gossamer.flows.memory.page_reader import MemoryPageReader
from gossamer.flows.monitors.look_sources import LookSources
from gossamer.flows.monitors.monitor_check import MonitorChecker
from gossamer.flows.monitors.monitors import Monitors
from gossamer.flows.monitors.page_looker import PageLooker
from gossamer.flows.pages.browse import Browsing
from gossamer.flows.pages.capture import Capturer
from gossamer.flows.pages.extract import Extractor
from gossamer.flows.pages.mapping.known import KnownPages
from gossamer.flows.pages.mapping.mapper import SiteMapper
from gossamer.flows.pages.mapping.polite import PoliteFetcher
from gossamer.flows.pages.obtain import Obtainer
from gossamer.flows.pages.read import Reader
from gossamer.flows.pages.search import Finder
from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.flows.pay.capability import open_capabilities
from gossamer.flows.render.pace import RenderPace
from gossamer.flows.render.render import Renderer
from gossamer.flows.render.render_capacity import RenderCapacity
from gossamer.flows.render.serve import RenderService, restore_limits
from gossamer.flows.render.warm import Warmer
from gossamer.flows.schedules.schedule_keeper import ScheduleKeeper
from gossamer.flows.schedules.scheduler import Scheduler
from gossamer.flows.schedules.task_vault import TaskVault
from gossamer.flows.sites.bot_reports import BotReports
from gossamer.flows.sites.proving import SiteProver
from gossamer.flows.sites.rule_finder import RuleFinder
from gossamer.flows.sites.rule_keeper import RuleKeeper
from gossamer.flows.sites.site_comparer import SiteComparer
from gossamer.flows.sites.site_directory import SiteDirectory
from gossamer.flows.sites.site_finder import SiteFinder
from gossamer.flows.sites.site_hooks import SiteHooks
from gossamer.flows.sites.site_keeper import SiteKeeper
from gossamer.flows.sites.site_warmer import SiteWarmer
from gossamer.flows.tenants import keys
from gossamer.flows.tenants.activity_log import ActivityLog
from gossamer.flows.tenants.admit import Admission
from gossamer.flows.tenants.keys import IssuedKey, Keys
from gossamer.flows.tenants.people import InvitedUser, People
from gossamer.flows.tenants.quotas import Quotas, quota_table
from gossamer.flows.tenants.sign_in import SignIn
from gossamer.flows.tenants.tenant_list import TenantList
from gossamer.flows.upkeep import queue, upkeep
from gossamer.flows.upkeep.gauges import watch_event_loop
from gossamer.flows.upkeep.health import Checkup, Probe
from gossamer.flows.upkeep.overview import Overviews
from gossamer.flows.upkeep.stopping import Stopping
from gossamer.flows.upkeep.supervision import Supervisor
from gossamer.flows.upkeep.workers import Workers
from gossamer.flows.webhooks.registry import WebhookRegistry
from gossamer.flows.webhooks.subscribing import WebhookSubscriber
from gossamer.flows.webhooks.webhook_keys import WebhookKeys
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Damaged, Unavailable, UnusableDatabase
from gossamer.reach.http.body_budget import BodyBudget
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.net.dial import Dialer
from gossamer.reach.net.names import Names
from gossamer.reach.net.upstreams import Upstreams
from gossamer.reach.proxy.proxy import Proxy
from gossamer.reach.sandbox import allocator
from gossamer.settings.extras import check_extras
from gossamer.settings.settings import SettingError, Settings
from gossamer.state.blobs.blobs import Blobs, open_blobs
from gossamer.state.cache import Cache
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.frontier import Frontier
from gossamer.state.crawl.hosts import Hosts
from gossamer.state.crawl.reading.crawl_stats import CrawlStats
from gossamer.state.db.database import Database, open_database
from gossamer.state.jobs.batches import BatchLines
from gossamer.state.jobs.job_waiter import JobWaiter
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.kv.hot import Hot
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.monitors.snapshots import SnapshotStore
from gossamer.state.pages.page_cache import NEAR_BYTES, PageCache
from gossamer.state.render.render_failures import RenderFailures
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.tenants.backoff import FailureBackoff
from gossamer.state.tenants.limits import Limits, policies
from gossamer.state.tenants.usage import Usage
from gossamer.state.wakeups.wakeups import open_wakeups

if TYPE_CHECKING:
    from gossamer.doors.http.core.routing import Route
    from gossamer.doors.http.server.fast_path import HitFastPath

RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0)
SETTLE_SECONDS = 2.0  # of the ten that containers are given to stop
MAP_PAUSE = 0.25  # seconds at most between two requests of a map to one host
BROWSER_SECONDS = 10.0  # for a browser to start, when its health is checked


class Service:
    """All parts of the process, put together once. `async with` opens and closes them."""

    def __init__(self, settings: Settings, log: Log) -> None:
        check_extras(settings)
        allocator.return_large_blocks()
        self.settings = settings
        self.log = log
        self.metrics = Metrics(__version__)
        self.stopping = Stopping()
        self.supervisor = Supervisor(log, self.metrics)
        self.worker_name = settings.worker_id or f"{socket.gethostname()}-{os.getpid()}"
        self.telemetry = open_telemetry(settings, log, self.worker_name)
        self.database: Database = open_database(settings.database_url)
        self.database.on_wait = self.metrics.database_wait
        self.hot: Hot = open_hot(settings)
        self.blobs: Blobs = open_blobs(settings.blobs_url, os.environ)
        self.admission = Admission(self.database, self.hot)
        self.keys = Keys(self.database, self.admission)
        self.tenant_list = TenantList(self.database, time.time)
        self.activity_log = ActivityLog(self.database)
        self.names = Names(settings.dns_servers)
        self.upstreams = Upstreams(settings.upstream_proxies, log) if settings.upstream_proxies else None
        self.dialer = Dialer(
            self.names,
            allow=settings.egress_allow,
            ports=settings.egress_ports,
            upstreams=self.upstreams,
            log=log,
        )
        bodies = BodyBudget(settings.body_megabytes * 1024**2)
        self.fetcher = Fetcher(
            self.dialer,
            settings.user_agent,
            bodies=bodies,
            count=self.metrics.fetch,
            lane=self.dialer.lane,
        )
        memory = settings.reading_megabytes * 1024**2
        tesseract = (shutil.which("tesseract") if settings.ocr else None) or ""
        self.parsers = ParserPool(settings.reading_processes, memory=memory, tesseract=tesseract)
        # Apart from the one above, so that a crawl does not delay requests for single pages.
        self.crawl_parsers = ParserPool(settings.reading_processes, memory=memory)
        self.wakeups = open_wakeups(self.database)
        self.jobs = Jobs(self.database, self.wakeups)
        self.limits = Limits(self.hot, policies(settings), log)
        self.backoff = FailureBackoff(
            self.hot,
            free_faults=settings.backoff_faults,
            free_misses=settings.backoff_misses,
            alone=isinstance(self.hot, MemoryHot),
        )
        self.sign_in = SignIn(self.database, self.limits)
        self.people = People(self.database)
        self.single_sign_on = open_single_sign_on(settings, self.people, self.sign_in, self.hot)
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
        self.launcher = open_launcher(settings, self.proxy, log, self.metrics)
        self.browsers = open_browsers(settings, self.proxy, self.launcher, log, self.metrics)
        self.render_capacity = RenderCapacity(self.browsers, self.database)
        self.renderer = Renderer(self.browsers, self.parsers, settings.user_agent)
        self.model = open_model(settings, log)
        self.browsing = Browsing(self.browsers, self.limits, self.usage)
        self.obtainer = Obtainer(self.fetcher, self.browsing)
        self.cache = Cache(self.hot, log, time.time, self.metrics.answer_cache)
        self.index = SearchIndex(self.database, log, max_pages=settings.search_index_pages)
        self.search_engines = open_search_engines(settings)
        self.embeddings = open_embeddings(settings, self.database, self.worker_name, log)
        searched = sources(settings, self.index, self.search_engines, self.embeddings)
        self.finder = Finder(searched, self.cache, log)
        self.webhook_keys = WebhookKeys(self.database)
        self.site_directory = SiteDirectory(self.database)
        rules = read_operator_rules(settings)
        self.rule_finder = RuleFinder(self.site_directory, self.webhook_keys, rules)
        self.reader = Reader(
            self.obtainer, self.parsers, self.cache, self.index, self.model, self.rule_finder.for_page
        )
        self.extractor = Extractor(self.obtainer, self.parsers, self.cache, self.model)
        self.capturer = Capturer(self.browsing, self.parsers, self.cache)
        self.batcher = Batcher(
            self.reader, log, at_once=settings.batch_pages, renders_at_once=settings.browser_places
        )
        self.batch_lines = BatchLines(self.database, self.blobs)
        self.subscriber = WebhookSubscriber(self.dialer, self.webhook_keys)
        self.crawls = Crawls(self.database)
        self.quotas = Quotas(
            self.database, self.crawls, quota_table(settings), log, upgrade_url=settings.upgrade_url
        )
        self.batches = Batches(self.jobs, self.parsers, self.render_capacity, self.quotas)
        bounds = (self.rule_finder, settings.crawl_delay, settings.default_crawl_pages)
        self.seeder = Seeder(self.crawls, self.dialer, self.render_capacity, self.quotas, *bounds)
        self.hosts = Hosts(self.database)
        self.frontier = Frontier(self.database)
        self.removals = Removals.on(self.database, self.blobs, self.page_cache, self.index, self.admission)
        self.deleter = Deleter(self.jobs, self.removals.by_kind)
        keep = KeepTimes.of(settings)
        archive: PageArchive = Archiver(self.database, self.blobs) if settings.archive else NoArchive()
        self.retention = Retention(keep, self.deleter, self.removals.pages, archive, time.time)
        self.archive_restorer = ArchiveRestorer(self.jobs, self.blobs)
        stored = (self.crawls, self.blobs, self.crawl_parsers, settings.user_agent)
        self.replayer = Replayer(self.jobs, *stored)
        self.verifier = Verifier(self.database, self.blobs, self.crawls, self.index.is_kept)
        self.crawl_control = CrawlControl(self.crawls, self.frontier, self.hosts, self.hot, self.quotas)
        self.crawl_feed = CrawlFeed(self.database)
        self.frontier_batcher = FrontierBatcher(self.frontier, self.hosts)
        agent, longest = settings.user_agent, settings.crawl_longest_delay
        self.robots_files = RobotsFiles(self.fetcher, self.frontier_batcher, self.hot, agent, longest)
        plain = CrawlFetcher(self.fetcher, None)
        self.crawl_previewer = CrawlPreviewer(
            plain, self.robots_files, self.hosts, self.dialer, self.parsers, agent
        )
        pause = min(settings.crawl_delay, MAP_PAUSE)
        polite = PoliteFetcher(self.fetcher, self.robots_files, self.hosts, pause)
        known = KnownPages(self.database)
        self.mapper = SiteMapper(polite, known, self.parsers, self.dialer, self.cache)
        self.indexing = Indexing(self.database, self.index, self.crawls, self.blobs, self.crawl_parsers, log)
        self.crawl_stats = CrawlStats(self.database)
        memories = SiteMemories(self.database, self.blobs, self.parsers)
        self.crawl_results = CrawlResults(self.database, self.crawls, self.blobs, self.parsers, memories)
        self.crawl_refresher = CrawlRefresher(self.frontier, self.quotas, self.crawl_results)
        self.kept_links = KeptLinks(self.database, self.blobs, self.parsers)
        self.crawl_graphs = CrawlGraphs(self.kept_links)
        self.importance_weigher = ImportanceWeigher(self.database, self.kept_links, log)
        self.crawl_importer = CrawlImporter(
            self.jobs,
            self.crawls,
            Uploads(self.database, self.blobs),
            PageParser(self.crawl_parsers, settings.user_agent),
            self.quotas,
            self.deleter,
            settings.user_agent,
        )
        wallets = WalletBounds(settings.memory_wallet_entries, settings.memory_wallet_bytes)
        self.memory = Memory(self.database, self.quotas, wallets, settings.memory_versions)
        reads = MemoryPageReader(self.reader, self.crawl_results, time.time)
        self.memory_pages = MemoryPages(self.memory, reads)
        meaning = None if self.embeddings is None else self.embeddings.source
        self.memory_search = MemorySearch(self.memory, self.index, meaning, log)
        probe = SiteProbe(self.fetcher, self.parsers)
        self.auditor = Auditor(probe, self.database, self.crawls, self.blobs, settings.user_agent)
        self.audits = Audits(self.jobs, self.dialer, self.auditor, self.quotas)
        looker = PageLooker(self.obtainer, self.browsing, self.parsers)
        looks = LookSources(looker, self.crawl_results, self.finder)
        snapshots = SnapshotStore(self.database, self.blobs)
        self.monitor_checker = MonitorChecker(looks, snapshots, self.webhook_keys)
        self.monitors = Monitors(
            self.jobs,
            looks,
            snapshots,
            self.quotas,
            self.webhook_keys,
            self.dialer,
            self.render_capacity,
            settings.schedule_seconds,
        )
        self.render_pace = RenderPace(self.hot, self.database, settings.browser_places)
        self.job_waiter = JobWaiter(self.jobs, self.wakeups)
        self.render_failures = RenderFailures(self.hot)
        self.render_service = RenderService(
            self.page_cache,
            self.jobs,
            self.job_waiter,
            self.limits,
            self.usage,
            self.render_failures,
            self.render_capacity,
            self.dialer,
            log,
        )
        rendering = (self.page_cache, self.render_service, self.parsers, self.quotas)
        self.warmer = Warmer(self.fetcher, self.dialer, *rendering)
        site_finder = SiteFinder(self.warmer, self.robots_files)
        self.site_warmer = SiteWarmer(self.database, site_finder, self.render_service, self.quotas)
        self.site_comparer = SiteComparer(
            self.jobs, self.fetcher, self.browsing, self.parsers, site_finder, self.quotas
        )
        self.bot_reports = BotReports(self.database)
        self.task_vault = TaskVault(self.webhook_keys)
        tasks = open_task_starters(self)
        starters = open_starters(self, tasks)
        self.scheduler = Scheduler(self.database, starters, log)
        self.schedule_keeper = ScheduleKeeper(
            self.database, starters, tasks, self.task_vault, self.quotas, settings.schedule_seconds
        )
        self.site_keeper = SiteKeeper(
            self.database,
            self.dialer,
            SiteProver(self.names, self.fetcher),
            self.site_directory,
            self.quotas,
            self.schedule_keeper,
            log,
        )
        self.rule_keeper = RuleKeeper(
            self.site_keeper, self.rule_finder, self.parsers, self.crawl_results, settings.crawl_delay
        )
        self.site_hooks = SiteHooks(
            self.database, self.site_keeper, self.site_warmer, self.webhook_keys, self.limits
        )
        self.capabilities = open_capabilities(settings, self.database)
        self.payments = open_payments(settings, self.hot, self.limits, self.database, log, self.metrics)
        self.checkup = Checkup(
            {
                "database": Probe(self.database.ping, needed=True),
                "cache": Probe(self.hot.ping),
                "blobs": Probe(self.blobs.ping),
                "browserRendering": Probe(self.render_capacity.health, seconds=BROWSER_SECONDS),
                "queue": Probe(partial(queue.depth, self.jobs, self.metrics, KINDS)),
                "workers": Probe(partial(queue.workers, self.jobs, self.hosts)),
                "search": Probe(self.finder.states),
                "background": Probe(self.supervisor.ask),
                **facilitator_probes(self.payments),
                **upstream_probes(self.upstreams),
            },
            self.metrics,
        )
        self.doctor = Doctor(
            settings,
            self.database,
            self.hot,
            self.blobs,
            self.browsers,
            self.names,
            KINDS,
            log,
            None if self.embeddings is None else self.embeddings.progress,
        )
        self.workers = Workers(self.database)
        self.alerts = Alerts(self.checkup, self.database, time.time)
        self.watch = open_watch(self)
        self.webhook_registry = WebhookRegistry(
            self.database, self.dialer, self.webhook_keys, self.quotas, self.watch.webhooks.sender
        )
        self.overviews = Overviews(self.database, self.crawl_stats, self.checkup, self.alerts, time.time)
        self.first_key: IssuedKey | None = None  # created by the first start, to be shown once
        self.first_link: InvitedUser | None = None  # signs the first admin in
        self.bootstrap_key_is_unknown = False  # it is set, but no key here matches it

    async def __aenter__(self) -> Self:
        try:
            await self.open_proxy()
        except SettingError:
            await self.close()
            raise
        try:
            await self.prepare()
        except (Damaged, UnusableDatabase):  # waiting does not help
            await self.close()
            raise
        except Unavailable as away:
            self.log.warning("database_away", "waiting for the database", why=away.detail)
            self.supervisor.start("prepare", self._prepare_when_possible)
        try:
            await self.hot.ping()
        except Unavailable as away:
            self.log.warning("cache_away", "starting without the cache; it is tried again", why=away.detail)
        start = self.supervisor.start
        start("upkeep", partial(upkeep.keep_clean, self.database, self.admission, self.log))
        start("counts", partial(upkeep.keep_counts, self.page_cache, self.usage, self.log))
        start("pages", partial(upkeep.keep_pages, self.page_cache, self.wakeups, self.log))
        start("index", partial(upkeep.keep_indexed, self.index, self.log))
        start("retention", partial(upkeep.keep_in_time, self.retention, self.log))
        crawling = (self.crawls, self.frontier, self.deleter, self.crawl_importer, self.log)
        start("crawls", partial(upkeep.keep_crawling, *crawling))
        start("memory", partial(upkeep.keep_memory, self.memory, self.log))
        start("visits", partial(upkeep.keep_visits, self.bot_reports, self.log))
        start("sites", partial(upkeep.keep_sites, self.site_keeper, self.wakeups, self.log))
        start("quotas", partial(upkeep.keep_quotas, self.quotas, self.wakeups, self.log))
        start("event_loop", partial(watch_event_loop, self.metrics))
        watch = CrawlWatch(self.crawl_stats, self.metrics, self.log)
        start("crawl_metrics", partial(watch.run, self.wakeups))
        if self.payments is not None:
            start("payments", self.payments.keep_up)
        if self.embeddings is not None:
            start("embeddings", self.embeddings.indexer.run)
        if self.upstreams is not None:
            start("upstreams", self.upstreams.keep_checked)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.supervisor.close()
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                await self._settle()
        except TimeoutError:
            self.log.warning("stopped_early", "some counts in memory were not written")
        await self.page_cache.close()
        await self.close()

    async def _settle(self) -> None:
        """Write everything that was counted in memory."""
        with contextlib.suppress(Unavailable):
            await upkeep.clean_up(self.database, self.admission)
        await self.render_service.close()
        await self.site_directory.close()
        await upkeep.settle_sites(self.bot_reports, self.log)
        await upkeep.settle_pages(self.page_cache, self.usage, self.log)
        await upkeep.settle_index(self.index, self.log)

    def worker(self, kinds: Collection[str] = KINDS) -> Worker:
        return open_worker(self, kinds)

    def crawl_worker(self) -> CrawlWorker:
        return open_crawl_worker(self)

    # Workers that crawl and index have no HTTP application: it is imported where it is built.

    def fast_path(self) -> "HitFastPath":
        from gossamer.doors.http.server.fast_path import HitFastPath

        return HitFastPath(
            self.hot,
            self.render_service,
            self.cache,
            self.admission,
            self.limits,
            self.log,
            self.metrics,
            self.settings.trusted_proxies,
        )

    def app(self, more: "Iterable[Route]" = ()) -> ASGIApp:
        from gossamer.assembly.layers import asgi

        return asgi(self, more)

    def embedded_app(self) -> ASGIApp:
        from gossamer.assembly.layers import embedded_asgi

        return embedded_asgi(self)

    def operations_app(self) -> ASGIApp:
        from gossamer.assembly.layers import operations_asgi

        return operations_asgi(self)

    async def close(self) -> None:
        await self.wakeups.close()
        if self.payments is not None:
            await self.payments.close()
        if self.model is not None:
            await self.model.close()
        if self.embeddings is not None:
            await self.embeddings.close()
        for engine in self.search_engines.values():
            await engine.close()
        await self.browsers.close()
        await self.launcher.close()
        await self.proxy.close()
        await self.fetcher.close()
        await self.watch.close()
        await self.parsers.close()
        await self.crawl_parsers.close()
        await self.names.close()
        await self.blobs.close()
        await self.hot.close()
        await self.database.close()
        await self.telemetry.close()

    async def open_proxy(self) -> None:
        """Open the proxy for browsers, ours and remote ones, and probe the sandbox."""
        await self.proxy.open()
        await self.launcher.open()

    async def prepare(self) -> None:
        """Migrate the schema. The first start creates the first key."""
        await self.database.migrate()
        if self.settings.bootstrap_key or self.database.dialect == "sqlite":
            self.first_key = await keys.bootstrap(self.database, self.settings.bootstrap_key or None)
        if self.settings.bootstrap_key:
            known = await keys.is_known(self.database, self.settings.bootstrap_key)
            self.bootstrap_key_is_unknown = not known
        if self.first_key is not None:
            self.first_link = await self.people.first_link()
        if isinstance(self.hot, MemoryHot):
            await restore_limits(self.limits, self.usage)

    async def _prepare_when_possible(self) -> None:
        for attempt in range(1_000_000):
            await asyncio.sleep(RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)])
            try:
                await self.prepare()
            except Damaged as damaged:
                self.log.error("database_damaged", str(damaged))
            except Unavailable as away:
                self.log.warning("database_away", "waiting for the database", why=away.detail)
            else:
                self.log.info("database_ready", "the database is there")
                return
