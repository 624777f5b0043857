"""Metrics: what is counted and measured, for Prometheus.

Labels come from small fixed sets (a route's template, never a path; a code, never a message), so that no
caller can make the registry grow. Children are looked up once and kept: an observation costs a microsecond.
"""

import platform
from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
PAGE_CACHE: Final = ("hot", "cold", "miss", "promoted", "repaired")
METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class Metrics:
    def __init__(self, version: str) -> None:
        # Else every counter brings a second series, which no one asks for.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry = CollectorRegistry()
        self._requests = Counter(
            "gossamer_requests_total",
            "Requests answered.",
            ("endpoint", "method", "status"),
            registry=registry,
        )
        self._durations = Histogram(
            "gossamer_request_duration_seconds",
            "Time from the first byte of a request to the last byte of its answer.",
            ("endpoint",),
            buckets=SECONDS,
            registry=registry,
        )
        self._rate_limited = Counter(
            "gossamer_rate_limited_total",
            "Requests refused because a policy's window was full.",
            ("policy",),
            registry=registry,
        )
        self._replays = Counter(
            "gossamer_idempotent_replays_total",
            "Requests answered with the stored answer of their Idempotency-Key.",
            registry=registry,
        )
        self._errors = Counter(
            "gossamer_errors_total", "Problems sent to callers, by code.", ("code",), registry=registry
        )
        self._services = Gauge(
            "gossamer_service_up",
            "Whether something that the server stands on answered when it was last asked.",
            ("service",),
            registry=registry,
        )
        self._jobs = Histogram(
            "gossamer_job_duration_seconds",
            "Time that work on a job took, by kind and by what became of the job.",
            ("kind", "outcome"),
            buckets=SECONDS,
            registry=registry,
        )
        self._depth = Gauge(
            "gossamer_queue_jobs", "Jobs that are queued or running.", ("kind", "status"), registry=registry
        )
        self._oldest = Gauge(
            "gossamer_queue_oldest_seconds",
            "How long the first of them has waited, or has been running.",
            ("kind", "status"),
            registry=registry,
        )
        pages = Counter(
            "gossamer_page_cache_total",
            "Rendered pages found hot, found cold, not found, promoted to hot, repaired.",
            ("event",),
            registry=registry,
        )
        self._page_cache = {event: pages.labels(event) for event in PAGE_CACHE}
        self._visits = Histogram(
            "gossamer_visit_duration_seconds",
            "Time that a visit with a browser took, the wait for a place included, by what came of it.",
            ("outcome",),
            buckets=SECONDS,
            registry=registry,
        )
        self._browsers = Gauge("gossamer_browsers", "Browsers that are running.", registry=registry)
        self._browser_ends = Counter(
            "gossamer_browser_ends_total", "Browsers that were ended, by why.", ("why",), registry=registry
        )
        self._browser_visits = Gauge(
            "gossamer_browser_visits",
            "Visits that have a place, or wait for one.",
            ("state",),
            registry=registry,
        )
        self._payments = Counter(
            "gossamer_payments_total",
            "Payments that came to this state, by network.",
            ("network", "state"),
            registry=registry,
        )
        self._revenue = Counter(
            "gossamer_revenue_dollars_total",
            "What was settled, by endpoint.",
            ("endpoint",),
            registry=registry,
        )
        self._pages_fetched = Counter(
            "crawler_pages_fetched_total", "Pages that crawls have stored.", registry=registry
        )
        self._pages_failed = Counter(
            "crawler_pages_failed_total", "URLs of crawls that were given up.", registry=registry
        )
        self._robots_denials = Counter(
            "crawler_robots_denials_total", "URLs of crawls that robots.txt forbids.", registry=registry
        )
        self._crawl_bytes = Counter(
            "crawler_bytes_downloaded_total", "Bytes of pages that crawls have stored.", registry=registry
        )
        self._crawl_statuses = Counter(
            "crawler_http_status_total",
            "Answers to crawls, by class of status.",
            ("status",),
            registry=registry,
        )
        self._crawl_rate = Gauge(
            "crawler_pages_per_second", "Pages that crawls store, over a minute or two.", registry=registry
        )
        self._crawl_success = Gauge(
            "crawler_fetch_success_rate", "Share of URLs that did not fail, over the same.", registry=registry
        )
        self._frontier = Gauge(
            "crawler_frontier_size", "URLs of crawls that wait to be fetched.", registry=registry
        )
        self._crawl_workers = Gauge(
            "crawler_active_workers", "Workers that have hosts to crawl.", registry=registry
        )
        build = Info("gossamer_build", "What is running.", registry=registry)
        build.info({"version": version, "python": platform.python_version()})
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=registry)
        self._answered: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def request(self, endpoint: str, method: str, status: int, seconds: float) -> None:
        """An answered request; `endpoint` is the route's template, the same for all that match no route."""
        key = (endpoint, method if method in METHODS else "OTHER", status)
        children = self._answered.get(key)
        if children is None:
            children = (self._requests.labels(*key), self._durations.labels(endpoint))
            self._answered[key] = children
        children[0].inc()
        children[1].observe(seconds)

    def rate_limited(self, policy: str) -> None:
        self._rate_limited.labels(policy).inc()

    def replayed(self) -> None:
        self._replays.inc()

    def error(self, code: str) -> None:
        self._errors.labels(code).inc()

    def service(self, name: str, *, up: bool) -> None:
        self._services.labels(name).set(up)

    def job(self, kind: str, outcome: str, seconds: float) -> None:
        self._jobs.labels(kind, outcome).observe(seconds)

    def queue(self, depths: Iterable[tuple[str, str, int, float]]) -> None:
        """How the queue stands now: kind, status, count, seconds; what is not named is empty."""
        self._depth.clear()
        self._oldest.clear()
        for kind, status, count, seconds in depths:
            self._depth.labels(kind, status).set(count)
            self._oldest.labels(kind, status).set(seconds)

    def page_cache(self, event: str, count: int = 1) -> None:
        """What the cache of rendered pages did; `event` is one of `PAGE_CACHE`."""
        self._page_cache[event].inc(count)

    def visit(self, outcome: str, seconds: float) -> None:
        self._visits.labels(outcome).observe(seconds)

    def browsers(self, running: int, busy: int, waiting: int) -> None:
        self._browsers.set(running)
        self._browser_visits.labels("under_way").set(busy)
        self._browser_visits.labels("waiting").set(waiting)

    def browser_ended(self, why: str) -> None:
        self._browser_ends.labels(why).inc()

    def payment(self, network: str, state: str) -> None:
        self._payments.labels(network, state).inc()

    def revenue(self, endpoint: str, millionths: int) -> None:
        self._revenue.labels(endpoint).inc(millionths / 1_000_000)

    def crawled(
        self, fetched: int, *, failed: int, denied: int, size: int, statuses: Mapping[str, int]
    ) -> None:
        """What crawls have done since this was last told, on whichever machine."""
        self._pages_fetched.inc(fetched)
        self._pages_failed.inc(failed)
        self._robots_denials.inc(denied)
        self._crawl_bytes.inc(size)
        for status, count in statuses.items():
            self._crawl_statuses.labels(status).inc(count)

    def crawls(self, *, rate: float, success: float, frontier: int, workers: int) -> None:
        """How crawls stand now."""
        self._crawl_rate.set(rate)
        self._crawl_success.set(success)
        self._frontier.set(frontier)
        self._crawl_workers.set(workers)

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """The body and its content type: OpenMetrics for who asks for it, else Prometheus's own format."""
        if "application/openmetrics-text" in accept.lower():
            body = openmetrics.generate_latest(self.registry)  # type: ignore[no-untyped-call]
            return body, openmetrics.CONTENT_TYPE_LATEST
        return generate_latest(self.registry), CONTENT_TYPE_PLAIN_0_0_4
