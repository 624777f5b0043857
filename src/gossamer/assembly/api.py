"""Api: the endpoints of every subject, built once. The routes of the API and the pages of the dashboard share
them."""

import time
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import fields

from gossamer.doors.http.api.admin.activity import ActivityEndpoints
from gossamer.doors.http.api.admin.alerts import AlertsEndpoints
from gossamer.doors.http.api.admin.jobs import JobsEndpoints
from gossamer.doors.http.api.admin.keys import KeysEndpoints
from gossamer.doors.http.api.admin.operations import OperationsEndpoints
from gossamer.doors.http.api.admin.overview import OverviewEndpoints
from gossamer.doors.http.api.admin.own_keys import OwnKeysEndpoints
from gossamer.doors.http.api.admin.settings import SettingsEndpoints
from gossamer.doors.http.api.admin.tenants import TenantsEndpoints
from gossamer.doors.http.api.admin.usage import UsageEndpoints
from gossamer.doors.http.api.admin.workers import WorkersEndpoints
from gossamer.doors.http.api.audit.audits import AuditsEndpoints
from gossamer.doors.http.api.auth.people import PeopleEndpoints
from gossamer.doors.http.api.auth.sign_in import SignInEndpoints
from gossamer.doors.http.api.crawl.crawl_events import CrawlEventsEndpoints
from gossamer.doors.http.api.crawl.crawl_graph import CrawlGraphEndpoints
from gossamer.doors.http.api.crawl.crawl_guide import CrawlGuideEndpoints
from gossamer.doors.http.api.crawl.crawl_page_links import PageLinksEndpoints
from gossamer.doors.http.api.crawl.crawl_pages import CrawlPagesEndpoints
from gossamer.doors.http.api.crawl.crawl_preview import CrawlPreviewEndpoints
from gossamer.doors.http.api.crawl.crawl_refresh import CrawlRefreshEndpoints
from gossamer.doors.http.api.crawl.crawl_stats import StatsEndpoints
from gossamer.doors.http.api.crawl.crawls import CrawlsEndpoints
from gossamer.doors.http.api.crawl.domains import DomainsEndpoints
from gossamer.doors.http.api.crawl.frontier import FrontierEndpoints
from gossamer.doors.http.api.crawl.purge import PurgeEndpoints
from gossamer.doors.http.api.memory.entries import MemoryEntriesEndpoints
from gossamer.doors.http.api.memory.memory import MemoryEndpoints
from gossamer.doors.http.api.monitors.monitor_changes import MonitorChangesEndpoints
from gossamer.doors.http.api.monitors.monitors import MonitorsEndpoints
from gossamer.doors.http.api.pages.batch import BatchEndpoints
from gossamer.doors.http.api.pages.capture import CaptureEndpoints
from gossamer.doors.http.api.pages.extract import ExtractEndpoints
from gossamer.doors.http.api.pages.fetch import FetchEndpoints
from gossamer.doors.http.api.pages.map import MapEndpoints
from gossamer.doors.http.api.pages.search import SearchEndpoints
from gossamer.doors.http.api.pay.orders import OrdersEndpoints
from gossamer.doors.http.api.pay.payments import PaymentsEndpoints
from gossamer.doors.http.api.pay.prices import PricesEndpoints
from gossamer.doors.http.api.render.cached_pages import CachedPagesEndpoints
from gossamer.doors.http.api.render.page_cache import PageCacheEndpoints
from gossamer.doors.http.api.render.render import RenderEndpoints
from gossamer.doors.http.api.schedules.schedules import SchedulesEndpoints
from gossamer.doors.http.api.sites.site_comparison import SiteComparisonEndpoints
from gossamer.doors.http.api.sites.site_hooks import SiteHookEndpoints
from gossamer.doors.http.api.sites.site_rules import SiteRulesEndpoints
from gossamer.doors.http.api.sites.sites import SitesEndpoints
from gossamer.doors.http.api.upkeep.archives import ArchivesEndpoints
from gossamer.doors.http.api.upkeep.crawl_export import CrawlExportEndpoints
from gossamer.doors.http.api.upkeep.crawl_import import CrawlImportEndpoints
from gossamer.doors.http.api.upkeep.replay import ReplayEndpoints
from gossamer.doors.http.api.upkeep.storage import StorageEndpoints
from gossamer.doors.http.api.webhooks.deliveries import DeliveriesEndpoints
from gossamer.doors.http.api.webhooks.webhook_secret import WebhookSecretEndpoints
from gossamer.doors.http.api.webhooks.webhooks import WebhooksEndpoints
from gossamer.doors.http.core.cookies import SessionCookie
from gossamer.doors.http.core.metrics_access import MetricsAccess
from gossamer.doors.http.core.routing import Route
from gossamer.flows.crawl.reading.crawl_guide import CrawlGuides
from gossamer.flows.crawl.reading.links_in import LinksInFinder
from gossamer.flows.data.warc.exporter import CrawlExporter
from gossamer.flows.monitors.trying import RuleTrier
from gossamer.flows.pay.quotes import prices
from gossamer.flows.render.clear import CacheClearer
from gossamer.flows.tenants.own_keys import OwnKeys
from gossamer.flows.tenants.tenant_limits import TenantLimits

if TYPE_CHECKING:
    from gossamer.app import Service


class Endpoints(Protocol):
    """The endpoints of one subject."""

    def routes(self) -> list[Route]: ...


class Api(Struct, frozen=True):
    fetch: FetchEndpoints
    extract: ExtractEndpoints
    search: SearchEndpoints
    map: MapEndpoints
    memory: MemoryEndpoints
    memory_entries: MemoryEntriesEndpoints
    capture: CaptureEndpoints
    render: RenderEndpoints
    page_cache: PageCacheEndpoints
    cached_pages: CachedPagesEndpoints
    usage: UsageEndpoints
    payments: PaymentsEndpoints
    orders: OrdersEndpoints
    batch: BatchEndpoints
    crawls: CrawlsEndpoints
    crawl_pages: CrawlPagesEndpoints
    page_links: PageLinksEndpoints
    crawl_refresh: CrawlRefreshEndpoints
    crawl_events: CrawlEventsEndpoints
    crawl_preview: CrawlPreviewEndpoints
    crawl_guide: CrawlGuideEndpoints
    crawl_export: CrawlExportEndpoints
    crawl_graph: CrawlGraphEndpoints
    crawl_import: CrawlImportEndpoints
    domains: DomainsEndpoints
    stats: StatsEndpoints
    frontier: FrontierEndpoints
    audits: AuditsEndpoints
    schedules: SchedulesEndpoints
    monitors: MonitorsEndpoints
    monitor_changes: MonitorChangesEndpoints
    sites: SitesEndpoints
    site_rules: SiteRulesEndpoints
    site_hooks: SiteHookEndpoints
    site_comparison: SiteComparisonEndpoints
    activity: ActivityEndpoints
    workers: WorkersEndpoints
    alerts: AlertsEndpoints
    overview: OverviewEndpoints
    jobs: JobsEndpoints
    keys: KeysEndpoints
    own_keys: OwnKeysEndpoints
    webhook_secret: WebhookSecretEndpoints
    webhooks: WebhooksEndpoints
    deliveries: DeliveriesEndpoints
    sign_in: SignInEndpoints
    people: PeopleEndpoints
    tenants: TenantsEndpoints
    purge: PurgeEndpoints
    archives: ArchivesEndpoints
    replay: ReplayEndpoints
    storage: StorageEndpoints
    settings: SettingsEndpoints
    operations: OperationsEndpoints

    def subjects(self) -> list[Endpoints]:
        return [getattr(self, subject.name) for subject in fields(self)]


def open_api(service: "Service") -> Api:
    upgrade_url, public_url = service.settings.upgrade_url, service.settings.public_url
    clearer = CacheClearer(service.page_cache, service.jobs, service.index, service.render_failures)
    crawls, control = service.crawls, service.crawl_control
    pages = CrawlPagesEndpoints(crawls, service.crawl_results)
    return Api(
        fetch=FetchEndpoints(service.reader, upgrade_url),
        extract=ExtractEndpoints(service.extractor, upgrade_url),
        search=SearchEndpoints(service.finder),
        map=MapEndpoints(service.mapper),
        memory=MemoryEndpoints(service.memory, service.memory_search, service.deleter),
        memory_entries=MemoryEntriesEndpoints(service.memory, service.memory_pages, upgrade_url),
        capture=CaptureEndpoints(service.capturer, service.dialer, upgrade_url),
        render=RenderEndpoints(
            service.render_service,
            service.jobs,
            service.render_pace,
            service.site_directory,
            service.bot_reports,
            upgrade_url,
        ),
        page_cache=PageCacheEndpoints(service.render_service, clearer, service.warmer),
        cached_pages=CachedPagesEndpoints(service.page_cache.listing),
        usage=UsageEndpoints(service.usage, service.database, service.limits, service.quotas),
        payments=PaymentsEndpoints(service.database),
        orders=OrdersEndpoints(service.database),
        batch=BatchEndpoints(
            service.batches, service.jobs, service.batch_lines, service.deleter, service.subscriber
        ),
        crawls=CrawlsEndpoints(
            crawls, service.seeder, control, service.deleter, service.subscriber, service.crawl_refresher
        ),
        crawl_refresh=CrawlRefreshEndpoints(crawls, pages, service.crawl_refresher),
        crawl_pages=pages,
        page_links=PageLinksEndpoints(pages, LinksInFinder(service.crawl_results, service.kept_links)),
        crawl_events=CrawlEventsEndpoints(crawls, service.crawl_feed),
        crawl_preview=CrawlPreviewEndpoints(service.crawl_previewer, service.seeder),
        crawl_export=CrawlExportEndpoints(crawls, CrawlExporter(service.crawl_results, service.kept_links)),
        crawl_import=CrawlImportEndpoints(service.crawl_importer, service.settings.import_bytes),
        crawl_graph=CrawlGraphEndpoints(crawls, service.crawl_graphs),
        crawl_guide=CrawlGuideEndpoints(crawls, CrawlGuides(service.crawl_results)),
        domains=DomainsEndpoints(crawls, service.hosts, control),
        stats=StatsEndpoints(crawls, service.crawl_stats, time.time),
        frontier=FrontierEndpoints(crawls, service.frontier, service.seeder, control),
        audits=AuditsEndpoints(service.audits, service.deleter),
        schedules=SchedulesEndpoints(service.schedule_keeper),
        monitors=MonitorsEndpoints(service.monitors, RuleTrier(service.monitors.sources.looker)),
        monitor_changes=MonitorChangesEndpoints(service.monitors),
        sites=SitesEndpoints(service.site_keeper, service.site_warmer, service.bot_reports),
        site_rules=SiteRulesEndpoints(service.rule_keeper),
        site_hooks=SiteHookEndpoints(service.site_hooks, public_url),
        site_comparison=SiteComparisonEndpoints(service.site_keeper, service.site_comparer),
        activity=ActivityEndpoints(service.activity_log),
        workers=WorkersEndpoints(service.workers),
        alerts=AlertsEndpoints(service.alerts),
        overview=OverviewEndpoints(service.overviews),
        jobs=JobsEndpoints(service.jobs),
        keys=KeysEndpoints(service.keys),
        own_keys=OwnKeysEndpoints(OwnKeys(service.keys)),
        webhook_secret=WebhookSecretEndpoints(service.webhook_keys),
        webhooks=WebhooksEndpoints(service.webhook_registry),
        deliveries=DeliveriesEndpoints(service.webhook_registry),
        sign_in=SignInEndpoints(service.sign_in, SessionCookie.of(public_url), upgrade_url),
        people=PeopleEndpoints(service.people, public_url),
        tenants=TenantsEndpoints(
            service.tenant_list, TenantLimits(service.limits), service.quotas, service.deleter
        ),
        purge=PurgeEndpoints(service.removals.pages, service.deleter),
        archives=ArchivesEndpoints(service.archive_restorer),
        replay=ReplayEndpoints(service.replayer),
        storage=StorageEndpoints(service.database),
        settings=SettingsEndpoints(service.settings),
        operations=open_operations(service),
    )


def open_operations(service: "Service") -> OperationsEndpoints:
    access = MetricsAccess.of(service.settings)
    return OperationsEndpoints(
        service.checkup, service.metrics, service.stopping, service.doctor, service.watch.gauges, access
    )


def routes(service: "Service", api: Api | None = None) -> list[Route]:
    """All endpoints of the API, by subject."""
    settings, payments = service.settings, service.payments
    known = [route for subject in (api or open_api(service)).subjects() for route in subject.routes()]
    taken = payments.settling.payees.values() if payments is not None else ()
    priced = [route for route in known if route.price]
    return [*known, *PricesEndpoints(prices(settings), taken, settings.quote_seconds, priced).routes()]
