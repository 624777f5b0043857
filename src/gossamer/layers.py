"""The HTTP application: one list of endpoints, and one list of layers around each."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from starlette.responses import Response
from starlette.types import ASGIApp

from gossamer.doors.http.api.admin.activity import ActivityEndpoints
from gossamer.doors.http.api.admin.alerts import AlertsEndpoints
from gossamer.doors.http.api.admin.jobs import JobsEndpoints
from gossamer.doors.http.api.admin.keys import KeysEndpoints
from gossamer.doors.http.api.admin.operations import OperationsEndpoints
from gossamer.doors.http.api.admin.overview import OverviewEndpoints
from gossamer.doors.http.api.admin.prices import PaymentsEndpoints, PricesEndpoints, with_price
from gossamer.doors.http.api.admin.tenants import TenantsEndpoints
from gossamer.doors.http.api.admin.usage import UsageEndpoints
from gossamer.doors.http.api.admin.workers import WorkersEndpoints
from gossamer.doors.http.api.audit.audits import AuditsEndpoints
from gossamer.doors.http.api.auth.people import PeopleEndpoints
from gossamer.doors.http.api.auth.sign_in import SignInEndpoints
from gossamer.doors.http.api.crawl.crawl_pages import CrawlPagesEndpoints
from gossamer.doors.http.api.crawl.crawl_stats import StatsEndpoints
from gossamer.doors.http.api.crawl.crawls import CrawlsEndpoints
from gossamer.doors.http.api.crawl.domains import DomainsEndpoints
from gossamer.doors.http.api.crawl.frontier import FrontierEndpoints
from gossamer.doors.http.api.pages.batch import BatchEndpoints
from gossamer.doors.http.api.pages.capture import CaptureEndpoints
from gossamer.doors.http.api.pages.extract import ExtractEndpoints
from gossamer.doors.http.api.pages.fetch import FetchEndpoints
from gossamer.doors.http.api.pages.search import SearchEndpoints
from gossamer.doors.http.api.render.cached_pages import CachedPagesEndpoints
from gossamer.doors.http.api.render.page_cache import PageCacheEndpoints
from gossamer.doors.http.api.render.render import RenderEndpoints
from gossamer.doors.http.core.cookies import SessionCookie
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route, Router, endpoint
from gossamer.doors.http.dashboard.account.account import AccountPages
from gossamer.doors.http.dashboard.account.activity import ActivityPages
from gossamer.doors.http.dashboard.account.payments import PaymentsPages
from gossamer.doors.http.dashboard.account.people import PeoplePages
from gossamer.doors.http.dashboard.account.settings import SettingsPages
from gossamer.doors.http.dashboard.account.tenants import TenantsPages
from gossamer.doors.http.dashboard.account.usage import UsagePages
from gossamer.doors.http.dashboard.core.assets import load_assets
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.notices import NOTICES
from gossamer.doors.http.dashboard.sign_in import SignInPages
from gossamer.doors.http.dashboard.single_sign_on import SingleSignOnPages
from gossamer.doors.http.dashboard.start.health import HealthPages
from gossamer.doors.http.dashboard.start.overview import OverviewPages
from gossamer.doors.http.dashboard.start.playground import PlaygroundPages
from gossamer.doors.http.dashboard.start.search import SearchPages
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
from gossamer.flows.pages.search import Finder, IndexSource
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
        CachedPagesEndpoints(service.page_cache.listing),
        UsageEndpoints(service.usage, service.database, service.limits),
        PaymentsEndpoints(service.database),
        BatchEndpoints(service.batches, service.jobs, service.batch_lines),
        CrawlsEndpoints(service.crawls, service.seeder, service.crawl_control, service.crawl_deleter),
        CrawlPagesEndpoints(service.crawls, service.crawl_results),
        DomainsEndpoints(service.crawls, service.hosts, service.crawl_control),
        StatsEndpoints(service.crawls, service.crawl_stats, time.time),
        FrontierEndpoints(service.crawls, service.frontier, service.seeder, service.crawl_control),
        AuditsEndpoints(service.audits),
        ActivityEndpoints(service.activity_log),
        WorkersEndpoints(service.workers),
        AlertsEndpoints(service.alerts),
        OverviewEndpoints(service.overviews),
        JobsEndpoints(service.jobs),
        KeysEndpoints(service.keys),
        SignInEndpoints(service.sign_in, cookie, service.settings.upgrade_url),
        PeopleEndpoints(service.people, service.settings.public_url),
        TenantsEndpoints(service.tenant_list),
        operations_endpoints(service),
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
    elsewhere = service.single_sign_on
    providers = (elsewhere.name,) if elsewhere is not None else ()
    dashboard = Dashboard(settings.public_url, load_assets(), NOTICES, providers)
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
    people = PeopleEndpoints(service.people, service.settings.public_url)
    keys, tenants = KeysEndpoints(service.keys), TenantsEndpoints(service.tenant_list)
    usage = UsageEndpoints(service.usage, service.database, service.limits)
    payments_are_on = service.payments is not None
    signing = SignInEndpoints(service.sign_in, cookie, service.settings.upgrade_url)
    subjects: list[Endpoints] = [
        dashboard.assets,
        SignInPages(dashboard, service.sign_in, cookie),
        overview_pages(service, dashboard),
        playground_pages(service, dashboard),
        SearchPages(dashboard, SearchEndpoints(index_finder(service))),
        HealthPages(dashboard, operations_endpoints(service), WorkersEndpoints(service.workers)),
        PeoplePages(dashboard, people, service.tenant_list),
        AccountPages(dashboard, signing, people),
        TenantsPages(dashboard, tenants, keys, people, usage, service.crawls),
        PaymentsPages(dashboard, PaymentsEndpoints(service.database), payments_are_on),
        UsagePages(dashboard, usage, service.tenant_list),
        SettingsPages(dashboard, service.settings),
        ActivityPages(dashboard, ActivityEndpoints(service.activity_log), service.tenant_list),
    ]
    if service.single_sign_on is not None:
        subjects.append(SingleSignOnPages(dashboard, service.single_sign_on, cookie))
    return [route for subject in subjects for route in subject.routes()]


def operations_endpoints(service: "Service") -> OperationsEndpoints:
    return OperationsEndpoints(service.checkup, service.metrics, service.stopping)


def overview_pages(service: "Service", dashboard: Dashboard) -> OverviewPages:
    return OverviewPages(
        dashboard,
        OverviewEndpoints(service.overviews),
        WorkersEndpoints(service.workers),
        AlertsEndpoints(service.alerts),
        CrawlsEndpoints(service.crawls, service.seeder, service.crawl_control, service.crawl_deleter),
        takes_payments=service.payments is not None,
    )


def index_finder(service: "Service") -> Finder:
    """Searches the pages that were read here, and asks no provider."""
    return Finder({"index": IndexSource(service.index)}, service.cache, service.log)


def playground_pages(service: "Service", dashboard: Dashboard) -> PlaygroundPages:
    upgrade_url = service.settings.upgrade_url
    return PlaygroundPages(
        dashboard,
        FetchEndpoints(service.reader, upgrade_url),
        CaptureEndpoints(service.capturer, service.dialer, upgrade_url),
        ExtractEndpoints(service.extractor, upgrade_url),
        SearchEndpoints(service.finder),
        service.render_service,
        prices(service.settings),
        takes_payments=service.payments is not None,
    )


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
