"""The one place that names implementations, and the list of layers around every endpoint."""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from starlette.types import ASGIApp

from gossamer import __version__
from gossamer.doors import cli
from gossamer.doors.http.audits import Audits
from gossamer.doors.http.batch import BatchFace
from gossamer.doors.http.batch_line import LineMaker
from gossamer.doors.http.express import Lane
from gossamer.doors.http.extract import Extract
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
from gossamer.doors.http.page_cache import PageCacheFace
from gossamer.doors.http.pages import Pages
from gossamer.doors.http.patience import Patience
from gossamer.doors.http.paying import Paying
from gossamer.doors.http.prices import PaymentsFace, PricesFace, with_price
from gossamer.doors.http.render import Render
from gossamer.doors.http.routing import Route, Router, endpoint
from gossamer.doors.http.search import Search
from gossamer.doors.http.shoot import Shoot
from gossamer.doors.http.usage import UsageFace
from gossamer.doors.kinds import KINDS, handlers
from gossamer.doors.worker import Worker
from gossamer.flows import keys, queue, upkeep
from gossamer.flows.admit import Admission
from gossamer.flows.audit import Auditor
from gossamer.flows.batch import Batcher
from gossamer.flows.batch_job import Batching
from gossamer.flows.browse import Browsing
from gossamer.flows.extract import Extractor
from gossamer.flows.find import Elsewhere, Finder, OwnIndex, Source
from gossamer.flows.forget import Forgetting
from gossamer.flows.health import Checkup, Probe
from gossamer.flows.keys import NewKey
from gossamer.flows.obtain import Obtainer
from gossamer.flows.pace import Pace
from gossamer.flows.pay import Payments
from gossamer.flows.quotes import Quotes, prices
from gossamer.flows.read import Reader
from gossamer.flows.render import Renderer
from gossamer.flows.render_job import Rendering
from gossamer.flows.serve import Failures, Serving
from gossamer.flows.settling import Settling
from gossamer.flows.shoot import Shooter
from gossamer.flows.till import tills
from gossamer.flows.warm import Warmer
from gossamer.flows.workshop import Workshop
from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.reach import chromium
from gossamer.reach.browser import Browsers
from gossamer.reach.dial import Dialer
from gossamer.reach.fetch import Fetcher
from gossamer.reach.llm import Model
from gossamer.reach.names import Names
from gossamer.reach.proxy import Proxy
from gossamer.reach.search import Provider
from gossamer.reach.search_brave import Brave
from gossamer.reach.search_searxng import SearXNG
from gossamer.settings import SettingError, Settings
from gossamer.state.backoff import Backoff
from gossamer.state.batches import Lines
from gossamer.state.blobs import Blobs, open_blobs
from gossamer.state.cache import Cache
from gossamer.state.database import Database, open_database
from gossamer.state.hot import Hot
from gossamer.state.hot_memory import MemoryHot
from gossamer.state.job_ends import Ends
from gossamer.state.jobs import Jobs
from gossamer.state.limits import Limits, policies
from gossamer.state.page_cache import NEAR_BYTES, PageCache
from gossamer.state.search_index import SearchIndex
from gossamer.state.usage import Usage
from gossamer.state.wakeups import open_wakeups

if TYPE_CHECKING:
    from gossamer.reach.remote import Remotes

RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0)
BROWSER_SECONDS = 10.0  # for one to start, when somebody asks how it is


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
        self.blobs: Blobs = open_blobs(settings.blobs_url, os.environ)
        self.admission = Admission(self.database, self.hot)
        self.names = Names(settings.dns_servers)
        self.dialer = Dialer(self.names, allow=settings.egress_allow, ports=settings.egress_ports)
        self.fetcher = Fetcher(self.dialer, settings.user_agent)
        self.workshop = Workshop(settings.reading_processes)
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
        self.browsing = Browsing(self.browsers, self.limits)
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
        self.pace = Pace(self.hot, self.database, settings.browser_places)
        self.ends = Ends(self.jobs, self.wakeups)
        self.serving = Serving(
            self.page_cache, self.jobs, self.ends, self.limits, self.usage, Failures(self.hot), log
        )
        self.payments = open_payments(self)
        self.checkup = Checkup(
            {
                "database": Probe(self.database.ping, needed=True),
                "cache": Probe(self.hot.ping),
                "blobs": Probe(self.blobs.ping),
                "browserRendering": Probe(self.browsers.ping, seconds=BROWSER_SECONDS),
                "queue": Probe(partial(queue.depth, self.jobs, self.metrics)),
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
        name = self.settings.worker_id or f"{socket.gethostname()}-{os.getpid()}"
        rendering = Rendering(
            self.renderer,
            self.page_cache,
            self.limits,
            self.usage,
            self.pace,
            Failures(self.hot),
            self.ends,
        )
        warmer = Warmer(self.fetcher, self.dialer, self.page_cache, self.serving)
        places = self.settings.browser_places
        line = LineMaker(self.reader, self.settings.upgrade_url).line
        batching = Batching(self.batcher, self.database, self.lines, line)
        done = handlers(self.auditor, rendering, warmer, batching, places=places, kinds=kinds)
        return Worker(self.jobs, done, name=name, log=self.log, metrics=self.metrics)

    def lane(self) -> Lane:
        return Lane(self.serving, self.admission, self.limits, self.backoff, self.log, self.metrics)

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


def open_model(settings: Settings) -> Model | None:
    if not settings.anthropic_api_key:
        return None
    return Model(settings.anthropic_api_key, settings.anthropic_model, base_url=settings.anthropic_base_url)


def open_search_engines(settings: Settings) -> dict[str, Provider]:
    opened: dict[str, Provider] = {}
    if "searxng" in settings.search_providers:
        if not settings.searxng_url:
            raise SettingError("search_providers has searxng, which needs searxng_url: where it is")
        opened["searxng"] = SearXNG(settings.searxng_url, settings.user_agent)
    if "brave" in settings.search_providers:
        key = settings.brave_api_key
        if not key or not key.isascii() or not key.isprintable():
            raise SettingError("search_providers has brave, which needs brave_api_key, in visible ASCII")
        opened["brave"] = Brave(key, settings.brave_base_url, settings.user_agent)
    return opened


def sources(settings: Settings, index: SearchIndex, engines: Mapping[str, Provider]) -> dict[str, Source]:
    """Who is asked by a search, in the order of the setting."""
    return {
        name: OwnIndex(index) if name == "index" else Elsewhere(engines[name])
        for name in settings.search_providers
    }


def open_payments(house: House) -> Payments | None:
    """Both wallets, or no payments."""
    settings, log = house.settings, house.log
    if not (settings.wallet_address and settings.wallet_svm):
        if settings.wallet_address or settings.wallet_svm:
            log.warning("payments_off", "payments need both wallet_address and wallet_svm, and are off")
        return None
    if find_spec("x402") is None:
        raise SettingError("payments need their client: install gossamer[pay], or set no wallet")
    quotes = Quotes(prices(settings), house.hot, house.limits, seconds=settings.quote_seconds)
    taken = {till.network.id: till for till in tills(settings)}
    settling = Settling(taken, house.database, log, house.metrics)
    return Payments(settling, quotes, house.database, log)


def facilitator_probes(payments: Payments | None) -> dict[str, Probe]:
    if payments is None:
        return {}
    asked = {till.facilitator.name: till.facilitator for till in payments.settling.tills.values()}
    return {f"facilitators.{name}": Probe(facilitator.ping) for name, facilitator in asked.items()}


def open_remotes(settings: Settings, proxy: Proxy, log: Log) -> "Remotes | None":
    if not settings.browser_url:
        return None
    if not settings.browser_proxy_url:
        raise SettingError("browser_url needs browser_proxy_url: where that Chromium reaches our proxy")
    from gossamer.reach.remote import Remotes  # an extra: imported where it is chosen

    return Remotes(settings.browser_url, settings.browser_proxy_url, proxy, log)


def open_browsers(
    settings: Settings, proxy: Proxy, remotes: "Remotes | None", log: Log, metrics: Metrics
) -> Browsers:
    return Browsers(
        proxy,
        chromium.find(settings.chromium),
        log,
        metrics,
        places=settings.browser_places,
        visits_each=settings.browser_visits,
        megabytes_each=settings.browser_megabytes,
        queue=settings.browser_queue,
        user_agent=settings.user_agent,
        launch=remotes.launch if remotes else None,
        context=remotes.context if remotes else None,
    )


def faces(house: House) -> list[Face]:
    known: list[Face] = [
        Fetch(house.reader, house.settings.upgrade_url),
        Extract(house.extractor, house.settings.upgrade_url),
        Search(house.finder),
        Shoot(house.shooter, house.dialer, house.settings.upgrade_url),
        Render(house.serving, house.jobs, house.pace, house.dialer, house.settings.upgrade_url),
        PageCacheFace(
            house.page_cache,
            house.serving,
            Forgetting(house.page_cache, house.jobs, house.index),
            house.jobs,
            house.dialer,
        ),
        UsageFace(house.usage, house.database),
        PaymentsFace(house.database),
        BatchFace(house.jobs, house.lines, house.workshop),
        Audits(house.jobs, house.dialer),
        JobsFace(house.jobs),
        Keys(house.database, house.admission),
        Operations(house.checkup, house.metrics),
    ]
    taken = house.payments.settling.tills.values() if house.payments is not None else ()
    priced = [route for face in known for route in face.routes() if route.price]
    return [*known, PricesFace(prices(house.settings), taken, house.settings.quote_seconds, priced)]


def asgi(house: House, more: Iterable[Face] = ()) -> ASGIApp:
    """The HTTP application: one list of layers, the first is the outermost, around one router."""
    settings, log, metrics = house.settings, house.log, house.metrics
    shown = [route for face in [*faces(house), *more] for route in face.routes()]
    if house.payments is not None:
        taken = house.payments.settling.tills.values()
        shown = [with_price(route, prices(settings), taken) for route in shown]
    pages = Pages(
        settings.public_url,
        shown,
        house.limits.table,
        idempotency_seconds=settings.idempotency_ttl_seconds,
    )
    paying = [paying_layer(house, house.payments)] if house.payments is not None else []
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
        partial(
            Limiting,
            limits=house.limits,
            patience=Patience(house.backoff, log, metrics),
            log=log,
            metrics=metrics,
            upgrade_url=settings.upgrade_url,
            paying=bool(paying),
        ),
        *paying,
        Guarding,
        partial(Idempotency, hot=house.hot, ttl=settings.idempotency_ttl_seconds, log=log, metrics=metrics),
        problem_documents,
    ]
    app: ASGIApp = endpoint
    for layer in reversed(layers):
        app = layer(app)
    return app


def paying_layer(house: House, payments: Payments) -> Callable[[ASGIApp], ASGIApp]:
    return partial(
        Paying,
        payments=payments,
        limits=house.limits,
        hot=house.hot,
        public_url=house.settings.public_url,
        repeat_seconds=house.settings.quote_seconds,
        metrics=house.metrics,
    )


def main() -> None:
    """The command `gossamer`."""
    cli.run(House)
