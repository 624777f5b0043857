"""The pages of the dashboard, by subject."""

from typing import TYPE_CHECKING

from gossamer.assembly.api import Api
from gossamer.assembly.api.endpoint_group import Endpoints
from gossamer.doors.http.api.pages.search import SearchEndpoints
from gossamer.doors.http.core.cookies import SessionCookie
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.account.account import AccountPages
from gossamer.doors.http.dashboard.account.activity import ActivityPages
from gossamer.doors.http.dashboard.account.keys import KeysPages
from gossamer.doors.http.dashboard.account.payments import PaymentsPages
from gossamer.doors.http.dashboard.account.people import PeoplePages
from gossamer.doors.http.dashboard.account.settings import SettingsPages
from gossamer.doors.http.dashboard.account.tenants import TenantsPages
from gossamer.doors.http.dashboard.account.usage import UsagePages
from gossamer.doors.http.dashboard.account.webhooks import WebhookPages
from gossamer.doors.http.dashboard.core.assets import load_assets
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.core.notices import NOTICES
from gossamer.doors.http.dashboard.memory.memory import RememberedPages
from gossamer.doors.http.dashboard.monitors.monitors import MonitorPages
from gossamer.doors.http.dashboard.records.audits import AuditPages
from gossamer.doors.http.dashboard.records.batches import BatchPages
from gossamer.doors.http.dashboard.records.cache import CachePages
from gossamer.doors.http.dashboard.records.jobs import JobPages
from gossamer.doors.http.dashboard.sign_in import SignInPages
from gossamer.doors.http.dashboard.single_sign_on import SingleSignOnPages
from gossamer.doors.http.dashboard.start.health import HealthPages
from gossamer.doors.http.dashboard.start.overview import OverviewPages
from gossamer.doors.http.dashboard.start.playground import PlaygroundPages
from gossamer.doors.http.dashboard.start.search import SearchPages
from gossamer.doors.http.dashboard.work.all_pages import AllPagesPages
from gossamer.doors.http.dashboard.work.crawl import CrawlPages
from gossamer.doors.http.dashboard.work.crawl_graph import GraphPages
from gossamer.doors.http.dashboard.work.crawl_list import CrawlListPages
from gossamer.doors.http.dashboard.work.domains import DomainPages
from gossamer.doors.http.dashboard.work.freshness import FreshnessPages
from gossamer.doors.http.dashboard.work.schedules import SchedulePages
from gossamer.doors.http.dashboard.work.sites import SitePages
from gossamer.doors.http.dashboard.work.stored_page import StoredPagePages
from gossamer.flows.pages.search import Finder, IndexSource
from gossamer.flows.pay.quotes import prices

if TYPE_CHECKING:
    from gossamer.app import Service


def open_dashboard(service: "Service") -> Dashboard:
    elsewhere = service.single_sign_on
    providers = (elsewhere.name,) if elsewhere is not None else ()
    return Dashboard(service.settings.public_url, load_assets(), NOTICES, providers)


def dashboard_routes(service: "Service", dashboard: Dashboard, api: Api) -> list[Route]:
    """All pages of the dashboard."""
    subjects: list[Endpoints] = [
        dashboard.assets,
        *_sign_in(service, dashboard),
        *_start(service, dashboard, api),
        *_work(dashboard, api),
        *_records(service, dashboard, api),
        *_account(service, dashboard, api),
    ]
    return [route for subject in subjects for route in subject.routes()]


def _sign_in(service: "Service", dashboard: Dashboard) -> list[Endpoints]:
    cookie = SessionCookie.of(service.settings.public_url)
    elsewhere = service.single_sign_on
    pages: list[Endpoints] = [SignInPages(dashboard, service.sign_in, cookie)]
    return [*pages, SingleSignOnPages(dashboard, elsewhere, cookie)] if elsewhere is not None else pages


def _start(service: "Service", dashboard: Dashboard, api: Api) -> list[Endpoints]:
    # The search page is about the pages that were read here, so it asks no provider.
    own = Finder({"index": IndexSource(service.index)}, service.cache, service.log)
    takes_payments = service.payments is not None
    return [
        OverviewPages(
            dashboard,
            api.operators.overview,
            api.operators.workers,
            api.operators.alerts,
            api.crawls.crawls,
            takes_payments=takes_payments,
        ),
        PlaygroundPages(
            dashboard,
            api.pages.fetch,
            api.captures,
            api.pages.extract,
            api.pages.search,
            service.render_service,
            prices(service.settings),
            takes_payments=takes_payments,
        ),
        SearchPages(dashboard, SearchEndpoints(own)),
        HealthPages(dashboard, api.operations, api.operators.workers, api.operators.alerts),
    ]


def _work(dashboard: Dashboard, api: Api) -> list[Endpoints]:
    return [
        CrawlListPages(dashboard, api.crawls.crawls, api.crawls.crawl_preview),
        CrawlPages(
            dashboard,
            api.crawls.crawls,
            api.crawls.crawl_pages,
            api.crawls.crawl_events,
            api.crawls.stats,
            api.crawls.frontier,
        ),
        GraphPages(dashboard, api.crawls.crawls, api.crawls.crawl_graph),
        StoredPagePages(dashboard, api.crawls.crawl_pages, api.crawls.page_links, api.crawls.crawl_refresh),
        FreshnessPages(dashboard, api.crawls.crawls, api.crawls.crawl_pages, api.crawls.crawl_refresh),
        AllPagesPages(dashboard, api.crawls.crawl_pages),
        DomainPages(dashboard, api.crawls.domains, api.crawls.crawl_pages),
        SchedulePages(dashboard, api.schedules),
        MonitorPages(dashboard, api.monitors.monitors, api.monitors.monitor_changes),
        SitePages(
            dashboard, api.sites.sites, api.sites.site_rules, api.sites.site_hooks, api.sites.site_comparison
        ),
    ]


def _records(service: "Service", dashboard: Dashboard, api: Api) -> list[Endpoints]:
    return [
        AuditPages(dashboard, api.audits),
        BatchPages(dashboard, api.batches, api.operators.jobs),
        CachePages(dashboard, api.render.cached_pages, api.render.page_cache, service.settings.upgrade_url),
        JobPages(dashboard, api.operators.jobs),
        RememberedPages(dashboard, api.memory.memory, api.memory.memory_entries),
    ]


def _account(service: "Service", dashboard: Dashboard, api: Api) -> list[Endpoints]:
    return [
        PeoplePages(dashboard, api.people.people, service.tenant_list),
        AccountPages(dashboard, api.people.sign_in, api.people.people),
        TenantsPages(
            dashboard,
            api.operators.tenants,
            api.keys.keys,
            api.people.people,
            api.usage,
            service.crawls,
        ),
        PaymentsPages(dashboard, api.payments, service.payments is not None),
        UsagePages(dashboard, api.usage, service.tenant_list),
        KeysPages(dashboard, api.keys.keys, api.keys.own_keys, api.usage),
        WebhookPages(dashboard, api.webhooks.webhooks, api.webhooks.deliveries),
        SettingsPages(dashboard, api.operators.settings),
        ActivityPages(dashboard, api.operators.activity, service.tenant_list),
    ]
