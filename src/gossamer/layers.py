"""The HTTP application: one list of faces, and one list of layers around every endpoint."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from starlette.types import ASGIApp

from gossamer.doors.http.audits import Audits
from gossamer.doors.http.batch import BatchFace
from gossamer.doors.http.crawl_pages import CrawlPages
from gossamer.doors.http.crawl_stats import StatsFace
from gossamer.doors.http.crawls import CrawlsFace
from gossamer.doors.http.domains import Domains
from gossamer.doors.http.extract import Extract
from gossamer.doors.http.fetch import Fetch
from gossamer.doors.http.frontier import FrontierFace
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
from gossamer.flows.forget import Forgetting
from gossamer.flows.pay import Payments
from gossamer.flows.quotes import prices

if TYPE_CHECKING:
    from gossamer.app import House


class Face(Protocol):
    """A part of the HTTP door: the routes of one subject."""

    def routes(self) -> list[Route]: ...


def faces(house: "House") -> list[Face]:
    known: list[Face] = [
        Fetch(house.reader, house.settings.upgrade_url),
        Extract(house.extractor, house.settings.upgrade_url),
        Search(house.finder),
        Shoot(house.shooter, house.dialer, house.settings.upgrade_url),
        Render(house.serving, house.jobs, house.pace, house.dialer, house.settings.upgrade_url),
        PageCacheFace(
            house.page_cache,
            house.serving,
            Forgetting(house.page_cache, house.jobs, house.index, house.render_failures),
            house.jobs,
            house.dialer,
        ),
        UsageFace(house.usage, house.database),
        PaymentsFace(house.database),
        BatchFace(house.jobs, house.lines, house.workshop),
        CrawlsFace(house.crawls, house.dialer, house.settings.crawl_delay),
        CrawlPages(house.crawls, house.crawl_results),
        Domains(house.crawls, house.hosts, house.hot),
        StatsFace(house.crawls, house.crawl_stats, time.time),
        FrontierFace(house.crawls, house.frontier, house.dialer),
        Audits(house.jobs, house.dialer),
        JobsFace(house.jobs),
        Keys(house.database, house.admission),
        Operations(house.checkup, house.metrics),
    ]
    taken = house.payments.settling.tills.values() if house.payments is not None else ()
    priced = [route for face in known for route in face.routes() if route.price]
    return [*known, PricesFace(prices(house.settings), taken, house.settings.quote_seconds, priced)]


def asgi(house: "House", more: Iterable[Face] = ()) -> ASGIApp:
    """The HTTP application: one list of layers, the first is the outermost, around one router."""
    settings, log, metrics = house.settings, house.log, house.metrics
    shown = [route for face in [*faces(house), *more] for route in face.routes()]
    networks: list[str] = []
    if house.payments is not None:
        taken = house.payments.settling.tills.values()
        shown = [with_price(route, prices(settings), taken) for route in shown]
        networks = [till.network.name for till in taken]
    pages = Pages(
        settings.public_url,
        shown,
        house.limits.table,
        idempotency_seconds=settings.idempotency_ttl_seconds,
        networks=networks,
        quote_seconds=settings.quote_seconds,
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


def paying_layer(house: "House", payments: Payments) -> Callable[[ASGIApp], ASGIApp]:
    return partial(
        Paying,
        payments=payments,
        limits=house.limits,
        hot=house.hot,
        public_url=house.settings.public_url,
        repeat_seconds=house.settings.quote_seconds,
        metrics=house.metrics,
    )
