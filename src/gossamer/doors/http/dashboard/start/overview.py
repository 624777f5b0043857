"""The overview: what happens here now, and for a fresh installation what to do first."""

from typing import Final

from msgspec import Struct
from starlette.responses import Response

from gossamer.doors.http.api.admin.alerts import AlertQuery, AlertsEndpoints
from gossamer.doors.http.api.admin.overview import OverviewEndpoints
from gossamer.doors.http.api.admin.workers import WorkersEndpoints
from gossamer.doors.http.api.crawl.crawl_shapes import CrawlQuery
from gossamer.doors.http.api.crawl.crawls import CrawlsEndpoints
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.dashboard.core.dashboard import Dashboard
from gossamer.doors.http.dashboard.start import services
from gossamer.flows.upkeep.overview import Overview

PATH: Final = "/app"
CRAWLS: Final = 8  # running ones that are shown


class OverviewPages(Struct, frozen=True):
    dashboard: Dashboard
    overviews: OverviewEndpoints
    workers: WorkersEndpoints
    alerts: AlertsEndpoints
    crawls: CrawlsEndpoints
    takes_payments: bool

    async def show(self, exchange: Exchange) -> Response:
        overview = await self.overviews.get_overview(exchange)
        running = await self.crawls.list_crawls(exchange, CrawlQuery(status="running", limit=CRAWLS))
        latest = await self.crawls.list_crawls(exchange, CrawlQuery(limit=1))
        return self.dashboard.render(
            exchange,
            "start/overview.html",
            here="overview",
            overview=overview,
            summary=services.summarise(overview.health.services),
            describe=services.words_of,
            alerts=(await self.alerts.list_alerts(exchange, AlertQuery())).alerts,
            workers=(await self.workers.list_workers(exchange)).workers,
            running=running.crawls,
            is_fresh=not latest.crawls and _is_idle(overview),
            takes_payments=self.takes_payments,
        )

    def routes(self) -> list[Route]:
        return [self.dashboard.page(PATH, self.show, "Overview")]


def _is_idle(overview: Overview) -> bool:
    """Whether nothing has happened today."""
    today = overview.today
    return not overview.jobs and not (today.renders or today.hot or today.cold or today.misses)
