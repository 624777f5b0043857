"""Counters, gauges and histograms for Prometheus.

Labels have few, fixed values (a route's template, never a path; a code, never a message), so that no caller
can make the registry grow. Children are looked up once and kept: an observation takes a microsecond.
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
        # Otherwise every counter has a second series, which is not needed.
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
        self._accept_failures = Counter(
            "gossamer_accept_failures_total",
            "Times that no connection could be accepted because no file descriptor was left.",
            registry=registry,
        )
        self._task_restarts = Counter(
            "gossamer_task_restarts_total",
            "Background tasks that ended with an error and were started again.",
            ("task",),
            registry=registry,
        )
        self._services = Gauge(
            "gossamer_service_up",
            "Whether a service that the server depends on answered the last probe.",
            ("service",),
            registry=registry,
        )
        self._jobs = Histogram(
            "gossamer_job_duration_seconds",
            "Duration of an attempt at a job, by kind and outcome.",
            ("kind", "outcome"),
            buckets=SECONDS,
            registry=registry,
        )
        self._depth = Gauge(
            "gossamer_queue_jobs", "Jobs that are queued or running.", ("kind", "status"), registry=registry
        )
        self._oldest = Gauge(
            "gossamer_queue_oldest_seconds",
            "How long the oldest of them has been waiting or running.",
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
            "Duration of a visit with a browser, including the wait for a place, by outcome.",
            ("outcome",),
            buckets=SECONDS,
            registry=registry,
        )
        self._browsers = Gauge("gossamer_browsers", "Browsers that are running.", registry=registry)
        self._browser_layers = Gauge(
            "gossamer_browser_layer",
            "Whether a layer of the fence around browsers is in force: netns, bubblewrap, sandbox.",
            ("layer",),
            registry=registry,
        )
        self._browser_ends = Counter(
            "gossamer_browser_ends_total", "Browsers that were ended, by reason.", ("why",), registry=registry
        )
        self._browser_visits = Gauge(
            "gossamer_browser_visits",
            "Visits that are under way, or wait for a place.",
            ("state",),
            registry=registry,
        )
        self._payments = Counter(
            "gossamer_payments_total",
            "Payments that reached this state, by network.",
            ("network", "state"),
            registry=registry,
        )
        self._revenue = Counter(
            "gossamer_revenue_dollars_total",
            "Settled payments in dollars, by endpoint.",
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
            "crawler_pages_per_second",
            "Pages that crawls store in a second, over one to two minutes.",
            registry=registry,
        )
        self._crawl_success = Gauge(
            "crawler_fetch_success_rate",
            "Share of URLs that did not fail, over the same time.",
            registry=registry,
        )
        self._frontier = Gauge(
            "crawler_frontier_size", "URLs of crawls that wait to be fetched.", registry=registry
        )
        self._crawl_workers = Gauge(
            "crawler_active_workers", "Workers that have hosts to crawl.", registry=registry
        )
        build = Info("gossamer_build", "The version that is running.", registry=registry)
        build.info({"version": version, "python": platform.python_version()})
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=registry)
        self._answered: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def request(self, endpoint: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request. `endpoint` is the route's template, or `unknown`."""
        key = (endpoint, method if method in METHODS else "OTHER", status)
        children = self._answered.get(key)
        if children is None:
            children = (self._requests.labels(*key), self._durations.labels(endpoint))
            self._answered[key] = children
        children[0].inc()
        children[1].observe(seconds)

    def count_refusal(self, policy: str) -> None:
        self._rate_limited.labels(policy).inc()

    def count_replay(self) -> None:
        self._replays.inc()

    def error(self, code: str) -> None:
        self._errors.labels(code).inc()

    def count_accept_failure(self) -> None:
        self._accept_failures.inc()

    def count_restart(self, task: str) -> None:
        self._task_restarts.labels(task).inc()

    def service(self, name: str, *, up: bool) -> None:
        self._services.labels(name).set(up)

    def job(self, kind: str, outcome: str, seconds: float) -> None:
        self._jobs.labels(kind, outcome).observe(seconds)

    def queue(self, depths: Iterable[tuple[str, str, int, float]]) -> None:
        """Set the state of the queue: kind, status, count, seconds. Kinds that are not listed are empty."""
        self._depth.clear()
        self._oldest.clear()
        for kind, status, count, seconds in depths:
            self._depth.labels(kind, status).set(count)
            self._oldest.labels(kind, status).set(seconds)

    def page_cache(self, event: str, count: int = 1) -> None:
        """Count an event of the cache of rendered pages, one of `PAGE_CACHE`."""
        self._page_cache[event].inc(count)

    def visit(self, outcome: str, seconds: float) -> None:
        self._visits.labels(outcome).observe(seconds)

    def browsers(self, running: int, busy: int, waiting: int) -> None:
        self._browsers.set(running)
        self._browser_visits.labels("under_way").set(busy)
        self._browser_visits.labels("waiting").set(waiting)

    def browser_layer(self, layer: str, *, in_force: bool) -> None:
        self._browser_layers.labels(layer).set(in_force)

    def count_browser_end(self, why: str) -> None:
        self._browser_ends.labels(why).inc()

    def payment(self, network: str, state: str) -> None:
        self._payments.labels(network, state).inc()

    def revenue(self, endpoint: str, millionths: int) -> None:
        self._revenue.labels(endpoint).inc(millionths / 1_000_000)

    def count_crawled(
        self, fetched: int, *, failed: int, denied: int, size: int, statuses: Mapping[str, int]
    ) -> None:
        """Count the work of all crawls on all machines since the last call."""
        self._pages_fetched.inc(fetched)
        self._pages_failed.inc(failed)
        self._robots_denials.inc(denied)
        self._crawl_bytes.inc(size)
        for status, count in statuses.items():
            self._crawl_statuses.labels(status).inc(count)

    def crawls(self, *, rate: float, success: float, frontier: int, workers: int) -> None:
        """Set the current state of crawls."""
        self._crawl_rate.set(rate)
        self._crawl_success.set(success)
        self._frontier.set(frontier)
        self._crawl_workers.set(workers)

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """The body and its content type: OpenMetrics if `accept` names it, else Prometheus's text format."""
        if "application/openmetrics-text" in accept.lower():
            body = openmetrics.generate_latest(self.registry)  # type: ignore[no-untyped-call]
            return body, openmetrics.CONTENT_TYPE_LATEST
        return generate_latest(self.registry), CONTENT_TYPE_PLAIN_0_0_4
