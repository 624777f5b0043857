"""Api: the endpoints of the API, by subject. Routes of the API and pages of the dashboard share them."""

from functools import cached_property
from typing import TYPE_CHECKING

from gossamer.assembly.api.endpoint_group import subject, subjects_of
from gossamer.doors.http.api.admin.operations import OperationsEndpoints
from gossamer.doors.http.core.metrics_access import MetricsAccess
from gossamer.doors.http.core.routing import Route, ServedSubject

if TYPE_CHECKING:
    from gossamer.app import Service
    from gossamer.assembly.api.crawls import CrawlApi
    from gossamer.assembly.api.keys import KeyApi
    from gossamer.assembly.api.memory import MemoryApi
    from gossamer.assembly.api.monitors import MonitorApi
    from gossamer.assembly.api.operators import OperatorApi
    from gossamer.assembly.api.pages import PageApi
    from gossamer.assembly.api.people import PeopleApi
    from gossamer.assembly.api.render import RenderApi
    from gossamer.assembly.api.sites import SiteApi
    from gossamer.assembly.api.webhooks import WebhookApi
    from gossamer.doors.http.api.admin.usage import UsageEndpoints
    from gossamer.doors.http.api.audit.audits import AuditsEndpoints
    from gossamer.doors.http.api.pages.batch import BatchEndpoints
    from gossamer.doors.http.api.pages.capture import CaptureEndpoints
    from gossamer.doors.http.api.pay.orders import OrdersEndpoints
    from gossamer.doors.http.api.pay.payments import PaymentsEndpoints
    from gossamer.doors.http.api.pay.prices import PricesEndpoints
    from gossamer.doors.http.api.schedules.schedules import SchedulesEndpoints


class Api:
    """All subjects, and what their addresses begin with. A server at rest has imported none but `operations`:
    most servers never need most of them, and all take ten megabytes."""

    def __init__(self, service: "Service") -> None:
        self._service = service

    @subject("/fetch", "/extract", "/search", "/map")
    def pages(self) -> "PageApi":
        from gossamer.assembly.api.pages import PageApi

        return PageApi(self._service)

    @subject("/memory")
    def memory(self) -> "MemoryApi":
        from gossamer.assembly.api.memory import MemoryApi

        return MemoryApi(self._service)

    @subject("/screenshot", "/pdf")
    def captures(self) -> "CaptureEndpoints":
        from gossamer.doors.http.api.pages.capture import CaptureEndpoints

        service = self._service
        return CaptureEndpoints(service.capturer, service.dialer, service.settings.upgrade_url)

    @subject("/api/render", "/api/status", "/api/cache")
    def render(self) -> "RenderApi":
        from gossamer.assembly.api.render import RenderApi

        return RenderApi(self._service)

    @subject("/api/usage")
    def usage(self) -> "UsageEndpoints":
        from gossamer.doors.http.api.admin.usage import UsageEndpoints

        service = self._service
        return UsageEndpoints(service.usage, service.database, service.limits, service.quotas)

    @subject("/api/payments")
    def payments(self) -> "PaymentsEndpoints":
        from gossamer.doors.http.api.pay.payments import PaymentsEndpoints

        return PaymentsEndpoints(self._service.database)

    @subject("/api/orders")
    def orders(self) -> "OrdersEndpoints":
        from gossamer.doors.http.api.pay.orders import OrdersEndpoints

        return OrdersEndpoints(self._service.database)

    @subject("/batch")
    def batches(self) -> "BatchEndpoints":
        from gossamer.doors.http.api.pages.batch import BatchEndpoints

        service = self._service
        return BatchEndpoints(
            service.batches, service.jobs, service.batch_lines, service.deleter, service.subscriber
        )

    @subject(
        "/api/crawls",
        "/api/pages",
        "/api/domains",
        "/api/stats",
        "/api/frontier",
        "/api/admin/domains",
    )
    def crawls(self) -> "CrawlApi":
        from gossamer.assembly.api.crawls import CrawlApi

        return CrawlApi(self._service)

    @subject("/audits")
    def audits(self) -> "AuditsEndpoints":
        from gossamer.doors.http.api.audit.audits import AuditsEndpoints

        return AuditsEndpoints(self._service.audits, self._service.deleter)

    @subject("/api/schedules")
    def schedules(self) -> "SchedulesEndpoints":
        from gossamer.doors.http.api.schedules.schedules import SchedulesEndpoints

        return SchedulesEndpoints(self._service.schedule_keeper)

    @subject("/api/monitors")
    def monitors(self) -> "MonitorApi":
        from gossamer.assembly.api.monitors import MonitorApi

        return MonitorApi(self._service)

    @subject("/api/sites", "/hooks/sites")
    def sites(self) -> "SiteApi":
        from gossamer.assembly.api.sites import SiteApi

        return SiteApi(self._service)

    @subject(
        "/api/activity",
        "/api/workers",
        "/api/alerts",
        "/api/overview",
        "/api/stats/stream",
        "/api/jobs",
        "/api/admin/tenants",
        "/api/admin/pages",
        "/api/admin/archives",
        "/api/admin/storage",
        "/api/admin/settings",
    )
    def operators(self) -> "OperatorApi":
        from gossamer.assembly.api.operators import OperatorApi

        return OperatorApi(self._service)

    @subject("/api/keys", "/api/admin/keys")
    def keys(self) -> "KeyApi":
        from gossamer.assembly.api.keys import KeyApi

        return KeyApi(self._service)

    @subject("/api/webhook-secret", "/api/webhooks")
    def webhooks(self) -> "WebhookApi":
        from gossamer.assembly.api.webhooks import WebhookApi

        return WebhookApi(self._service)

    @subject("/api/me", "/api/auth", "/api/usage/link", "/api/admin/users")
    def people(self) -> "PeopleApi":
        from gossamer.assembly.api.people import PeopleApi

        return PeopleApi(self._service)

    @subject("/health", "/metrics", "/api/admin/doctor")
    def operations(self) -> OperationsEndpoints:
        return open_operations(self._service)

    @subject("/api/prices")
    def prices(self) -> "PricesEndpoints":
        from gossamer.doors.http.api.pay.prices import PricesEndpoints
        from gossamer.flows.pay.quotes import prices

        settings, payments = self._service.settings, self._service.payments
        taken = payments.settling.payees.values() if payments is not None else ()
        others = (one for one in self.subjects if not one.has("/api/prices"))
        priced = [route for one in others for route in one.routes if route.price]
        return PricesEndpoints(prices(settings), taken, settings.quote_seconds, priced)

    @cached_property
    def subjects(self) -> list[ServedSubject]:
        return list(subjects_of(self))


def open_operations(service: "Service") -> OperationsEndpoints:
    access = MetricsAccess.of(service.settings)
    return OperationsEndpoints(
        service.checkup, service.metrics, service.stopping, service.doctor, service.watch.gauges, access
    )


def routes(service: "Service", api: Api | None = None) -> list[Route]:
    """All endpoints of the API, by subject."""
    return [route for one in (api or Api(service)).subjects for route in one.routes]
