"""The HTTP application: the subjects of the server, and one list of layers around them."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.types import ASGIApp

from gossamer.assembly.api import Api, open_operations
from gossamer.assembly.subjects import Subjects
from gossamer.doors.http.core.cookies import SessionCookie
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.relay import Relay
from gossamer.doors.http.core.routing import Route, Router, endpoint
from gossamer.doors.http.layers.access import Authenticate, Authorise
from gossamer.doors.http.layers.clients import Clients
from gossamer.doors.http.layers.cross_origin import CrossOrigin
from gossamer.doors.http.layers.deadlines import Deadlines
from gossamer.doors.http.layers.failure_backoff import FailurePauses
from gossamer.doors.http.layers.idempotency import Idempotency
from gossamer.doors.http.layers.limiting import Limiting
from gossamer.doors.http.layers.problem_documents import Problems
from gossamer.doors.http.layers.request_log import RequestLog
from gossamer.doors.http.layers.routing import Routing
from gossamer.doors.http.layers.shedding import Shedding
from gossamer.problems import Problem

if TYPE_CHECKING:
    from gossamer.app import Service


def asgi(service: "Service", more: Iterable[Route] = ()) -> ASGIApp:
    """Build the HTTP application: layers around one router, the outermost first."""
    settings, log, metrics = service.settings, service.log, service.metrics
    cookie = SessionCookie.of(settings.public_url)
    relay = Relay()
    subjects = Subjects(service, relay, list(more))
    paying: list[Callable[[ASGIApp], ASGIApp]] = []
    if service.payments is not None:
        from gossamer.assembly.payments import paying_layer  # few servers take payments

        paying.append(paying_layer(service, service.payments))
    cross_origin = [partial(CrossOrigin, origins=settings.cors_origins)] if settings.cors_origins else []
    problem_documents = partial(
        Problems, public_url=settings.public_url, page=subjects.problem_page, log=log, metrics=metrics
    )
    layers: list[Callable[[ASGIApp], ASGIApp]] = [
        partial(
            RequestLog,
            log=log,
            metrics=metrics,
            max_body=settings.max_request_bytes,
            https=cookie.https,
        ),
        *cross_origin,
        problem_documents,
        partial(Clients, trusted=settings.trusted_proxies),
        partial(Routing, router=subjects.router()),
        partial(Shedding, max_requests=settings.max_requests),
        partial(Deadlines, seconds=settings.request_deadline, stopping=service.stopping),
        partial(
            Authenticate,
            admission=service.admission,
            sign_in=service.sign_in,
            cookie=cookie,
            capabilities=service.capabilities,
        ),
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
    app = _wrap(layers)
    relay.reach(app)
    return app


def operations_asgi(service: "Service") -> ASGIApp:
    """Health and metrics alone, for processes that serve nothing else."""
    return _unlimited(service, Router(open_operations(service).routes()))


def embedded_asgi(service: "Service") -> ASGIApp:
    """The API alone, for callers in this process."""
    return _unlimited(service, Router([], Api(service).subjects))


def _unlimited(service: "Service", router: Router) -> ASGIApp:
    """Without limits, payments and stored answers."""
    settings, log, metrics = service.settings, service.log, service.metrics

    async def show_document(_problem: Problem, _exchange: Exchange) -> Response | None:
        return None

    return _wrap(
        [
            partial(RequestLog, log=log, metrics=metrics, max_body=settings.max_request_bytes, https=False),
            partial(Problems, public_url=settings.public_url, page=show_document, log=log, metrics=metrics),
            partial(Clients, trusted=settings.trusted_proxies),
            partial(Routing, router=router),
            partial(Shedding, max_requests=settings.max_requests),
            partial(Deadlines, seconds=settings.request_deadline, stopping=service.stopping),
            partial(
                Authenticate,
                admission=service.admission,
                sign_in=service.sign_in,
                cookie=SessionCookie.of(settings.public_url),
                capabilities=service.capabilities,
            ),
            Authorise,
        ]
    )


def _wrap(layers: Sequence[Callable[[ASGIApp], ASGIApp]]) -> ASGIApp:
    app: ASGIApp = endpoint
    for layer in reversed(layers):
        app = layer(app)
    return app
