"""The HTTP application: one list of endpoints, and one list of layers around each."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from starlette.responses import Response
from starlette.types import ASGIApp

from gossamer.doors.http.api.admin.jobs import JobsEndpoints
from gossamer.doors.http.api.admin.keys import KeysEndpoints
from gossamer.doors.http.api.admin.operations import OperationsEndpoints
from gossamer.doors.http.api.admin.prices import PaymentsEndpoints, PricesEndpoints, with_price
from gossamer.doors.http.api.admin.usage import UsageEndpoints
from gossamer.doors.http.api.audit.audits import AuditsEndpoints
from gossamer.doors.http.api.auth.people import PeopleEndpoints
from gossamer.doors.http.api.auth.sign_in import SignInEndpoints
from gossamer.doors.http.api.crawl.crawl_events import CrawlEventsEndpoints
from gossamer.doors.http.api.crawl.crawl_pages import CrawlPagesEndpoints
from gossamer.doors.http.api.crawl.crawl_preview import CrawlPreviewEndpoints
from gossamer.doors.http.api.crawl.crawl_stats import StatsEndpoints
from gossamer.doors.http.api.crawl.crawls import CrawlsEndpoints
from gossamer.doors.http.api.crawl.domains import DomainsEndpoints
from gossamer.doors.http.api.crawl.frontier import FrontierEndpoints
from gossamer.doors.http.api.pages.batch import BatchEndpoints
from gossamer.doors.http.api.pages.capture import CaptureEndpoints
from gossamer.doors.http.api.pages.extract import ExtractEndpoints
from gossamer.doors.http.api.pages.fetch import FetchEndpoints
from gossamer.doors.http.api.pages.search import SearchEndpoints
from gossamer.doors.http.api.render.page_cache import PageCacheEndpoints
from gossamer.doors.http.api.render.render import RenderEndpoints
from gossamer.doors.http.core.cookies import SessionCookie
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route, Router, endpoint
from gossamer.doors.http.dashboard.core.assets import load_assets
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.notices import NOTICES
from gossamer.doors.http.dashboard.sign_in import SignInPages
from gossamer.doors.http.dashboard.work.all_pages import AllPagesPages
from gossamer.doors.http.dashboard.work.crawl import CrawlPages
from gossamer.doors.http.dashboard.work.crawl_list import CrawlListPages
from gossamer.doors.http.dashboard.work.domains import DomainPages
from gossamer.doors.http.dashboard.work.stored_page import StoredPagePages
from gossamer.doors.http.docs.pages import DocsEndpoints
from gossamer.doors.http.layers.access import Authenticate, Authorise
from gossamer.doors.http.layers.clients import Clients
from gossamer.doors.http.layers.cross_origin import CrossOrigin
from gossamer.doors.http.layers.deadlines import Deadlines
from gossamer.doors.http.layers.failure_backoff import FailurePauses
from gossamer.doors.http.layers.idempotency import Idempotency
from gossamer.doors.http.layers.limiting import Limiting
from gossamer.doors.http.layers.paying import TakePayment
from gossamer.doors.http.layers.problem_documents import Problems
from gossamer.doors.http.layers.request_log import RequestLog
from gossamer.doors.http.layers.routing import Routing
from gossamer.doors.http.layers.shedding import Shedding
from gossamer.flows.pay.pay import Payments
from gossamer.flows.pay.quotes import prices
from gossamer.flows.render.clear import CacheClearer
from gossamer.problems import Problem

if TYPE_CHECKING:
    from gossamer.app import Service


class Endpoints(Protocol):
    """The endpoints of one subject."""

    def routes(self) -> list[Route]: ...


def routes(service: "Service") -> list[Route]:
    """All endpoints of the API, by subject."""
    cookie = SessionCookie.of(service.settings.public_url)
    subjects: list[Endpoints] = [
        FetchEndpoints(service.reader, service.settings.upgrade_url),
        ExtractEndpoints(service.extractor, service.settings.upgrade_url),
        SearchEndpoints(service.finder),
        CaptureEndpoints(service.capturer, service.dialer, service.settings.upgrade_url),
        RenderEndpoints(
            service.render_service, service.jobs, service.render_pace, service.settings.upgrade_url
        ),
        PageCacheEndpoints(
            service.render_service,
            CacheClearer(service.page_cache, service.jobs, service.index, service.render_failures),
            service.warmer,
        ),
        UsageEndpoints(service.usage, service.database, service.limits),
        PaymentsEndpoints(service.database),
        BatchEndpoints(service.batches, service.jobs, service.batch_lines),
        CrawlsEndpoints(service.crawls, service.seeder, service.crawl_control, service.crawl_deleter),
        CrawlPagesEndpoints(service.crawls, service.crawl_results),
        CrawlEventsEndpoints(service.crawls, service.crawl_feed),
        CrawlPreviewEndpoints(service.crawl_previewer, service.seeder),
        DomainsEndpoints(service.crawls, service.hosts, service.crawl_control),
        StatsEndpoints(service.crawls, service.crawl_stats, time.time),
        FrontierEndpoints(service.crawls, service.frontier, service.seeder, service.crawl_control),
        AuditsEndpoints(service.audits),
        JobsEndpoints(service.jobs),
        KeysEndpoints(service.keys),
        SignInEndpoints(service.sign_in, cookie, service.settings.upgrade_url),
        PeopleEndpoints(service.people, service.settings.public_url),
        OperationsEndpoints(service.checkup, service.metrics, service.stopping),
    ]
    taken = service.payments.settling.payees.values() if service.payments is not None else ()
    known = [route for subject in subjects for route in subject.routes()]
    priced = [route for route in known if route.price]
    quoting = PricesEndpoints(prices(service.settings), taken, service.settings.quote_seconds, priced)
    return [*known, *quoting.routes()]


def asgi(service: "Service", more: Iterable[Route] = ()) -> ASGIApp:
    """Build the HTTP application: layers around one router, the outermost first."""
    settings, log, metrics = service.settings, service.log, service.metrics
    cookie = SessionCookie.of(settings.public_url)
    shown = [*routes(service), *more]
    networks: list[str] = []
    if service.payments is not None:
        taken = service.payments.settling.payees.values()
        shown = [with_price(route, prices(settings), taken) for route in shown]
        networks = [payee.network.name for payee in taken]
    pages = DocsEndpoints(
        settings.public_url,
        shown,
        service.limits.table,
        idempotency_seconds=settings.idempotency_ttl_seconds,
        networks=networks,
        quote_seconds=settings.quote_seconds,
    )
    dashboard = Dashboard(settings.public_url, load_assets(), NOTICES)
    shown_pages = [*pages.routes(), *dashboard_routes(service, dashboard, cookie)]

    async def show_problem(problem: Problem, exchange: Exchange) -> Response | None:
        return await dashboard.problem_page(problem, exchange) or await pages.not_found(problem, exchange)

    paying = [paying_layer(service, service.payments)] if service.payments is not None else []
    problem_documents = partial(
        Problems, public_url=settings.public_url, page=show_problem, log=log, metrics=metrics
    )
    layers: list[Callable[[ASGIApp], ASGIApp]] = [
        partial(
            RequestLog,
            log=log,
            metrics=metrics,
            max_body=settings.max_request_bytes,
            https=cookie.https,
        ),
        partial(CrossOrigin, origins=settings.cors_origins),
        problem_documents,
        partial(Clients, trusted=settings.trusted_proxies),
        partial(Routing, router=Router([*shown, *shown_pages])),
        partial(Shedding, max_requests=settings.max_requests),
        partial(Deadlines, seconds=settings.request_deadline, stopping=service.stopping),
        partial(Authenticate, admission=service.admission, sign_in=service.sign_in, cookie=cookie),
        partial(
            Limiting,
            limits=service.limits,
            pauses=FailurePauses(service.backoff, log, metrics),
            log=log,
            metrics=metrics,
            upgrade_url=settings.upgrade_url,
            paying=bool(paying),
        ),
        *paying,
        Authorise,
        partial(Idempotency, hot=service.hot, ttl=settings.idempotency_ttl_seconds, log=log, metrics=metrics),
        problem_documents,
    ]
    app: ASGIApp = endpoint
    for layer in reversed(layers):
        app = layer(app)
    return app


def dashboard_routes(service: "Service", dashboard: Dashboard, cookie: SessionCookie) -> list[Route]:
    """All pages of the dashboard, by subject."""
    subjects: list[Endpoints] = [
        dashboard.assets,
        SignInPages(dashboard, service.sign_in, cookie),
        *work_pages(service, dashboard),
    ]
    return [route for subject in subjects for route in subject.routes()]


def work_pages(service: "Service", dashboard: Dashboard) -> list[Endpoints]:
    """The pages for crawls and what they have stored."""
    control = service.crawl_control
    crawls = CrawlsEndpoints(service.crawls, service.seeder, control, service.crawl_deleter)
    pages = CrawlPagesEndpoints(service.crawls, service.crawl_results)
    events = CrawlEventsEndpoints(service.crawls, service.crawl_feed)
    domains = DomainsEndpoints(service.crawls, service.hosts, control)
    stats = StatsEndpoints(service.crawls, service.crawl_stats, time.time)
    frontier = FrontierEndpoints(service.crawls, service.frontier, service.seeder, control)
    return [
        CrawlListPages(dashboard, crawls, CrawlPreviewEndpoints(service.crawl_previewer, service.seeder)),
        CrawlPages(dashboard, crawls, pages, events, stats, frontier),
        StoredPagePages(dashboard, pages),
        AllPagesPages(dashboard, pages),
        DomainPages(dashboard, domains, pages),
    ]


def paying_layer(service: "Service", payments: Payments) -> Callable[[ASGIApp], ASGIApp]:
    return partial(
        TakePayment,
        payments=payments,
        limits=service.limits,
        hot=service.hot,
        public_url=service.settings.public_url,
        repeat_seconds=service.settings.quote_seconds,
        metrics=service.metrics,
    )
