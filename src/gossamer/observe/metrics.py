"""Counters, gauges and histograms for Prometheus.

Labels have few, fixed values (a route's template, never a path; a code, never a message), so that no caller
can make the registry grow. Children are looked up once and kept: an observation takes a microsecond.

Some numbers are the same in all processes, because they are read from the database: the queue, crawls, the
index, alerts. They have a registry of their own, which child processes do not hand to their parent.
"""

import platform
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

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
from prometheus_client.metrics import MetricWrapperBase

from gossamer.observe.exposition import Exposition
from gossamer.observe.request_metrics import RequestMetrics
from gossamer.observe.stored_gauges import StoredGauges

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
LONG_SECONDS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 1800.0, 3600.0)
PAGE_CACHE: Final = ("hot", "cold", "miss", "promoted", "repaired")
METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
BREAKER_STATES: Final = {"closed": 0, "half-open": 1, "open": 2}

M = TypeVar("M", bound=MetricWrapperBase)


class Labelled(dict[tuple[str, ...], M]):
    """The children of a metric by their labels, each looked up once."""

    def __init__(self, metric: M) -> None:
        super().__init__()
        self.metric = metric

    def __missing__(self, labels: tuple[str, ...]) -> M:
        child = self[labels] = self.metric.labels(*labels)
        return child


class Metrics:
    def __init__(self, version: str) -> None:
        # Otherwise every counter has a second series, which is not needed.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()  # of this process
        self.shared = CollectorRegistry()  # the same in all processes
        self.exposition = Exposition(self.registry, self.shared)
        self.stored = StoredGauges(self.shared)
        self._declare_serving()
        self._declare_working()
        self._declare_browsing()
        self._declare_state()
        self._declare_crawls()
        build = Info("gossamer_build", "The version that is running.", registry=self.registry)
        build.info({"version": version, "python": platform.python_version()})
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)

    def _counter(self, name: str, about: str, *labels: str, shared: bool = False) -> Counter:
        return Counter(name, about, labels, registry=self.shared if shared else self.registry)

    def _gauge(self, name: str, about: str, *labels: str, shared: bool = False) -> Gauge:
        return Gauge(name, about, labels, registry=self.shared if shared else self.registry)

    def _histogram(self, name: str, about: str, *labels: str, buckets: Any = SECONDS) -> Histogram:
        return Histogram(name, about, labels, registry=self.registry, buckets=buckets)

    def _declare_serving(self) -> None:
        self._requests = RequestMetrics(self.registry, SECONDS)
        self._rate_limited = self._counter(
            "gossamer_rate_limited_total", "Requests refused because a policy's window was full.", "policy"
        )
        self._replays = self._counter(
            "gossamer_idempotent_replays_total",
            "Requests answered with the stored answer of their Idempotency-Key.",
        )
        self._errors = self._counter("gossamer_errors_total", "Problems sent to callers, by code.", "code")
        self._accept_failures = self._counter(
            "gossamer_accept_failures_total",
            "Times that no connection could be accepted because no file descriptor was left.",
        )
        self._answer_cache = Labelled(
            self._counter(
                "gossamer_answer_cache_total",
                "Answers asked of the cache, by endpoint: hit, miss, or stale (kept, but too old).",
                "endpoint",
                "result",
            )
        )
        self._payments = self._counter(
            "gossamer_payments_total", "Payments that reached this state, by network.", "network", "state"
        )
        self._revenue = self._counter(
            "gossamer_revenue_dollars_total", "Settled payments in dollars, by endpoint.", "endpoint"
        )

    def _declare_working(self) -> None:
        self._task_restarts = self._counter(
            "gossamer_task_restarts_total",
            "Background tasks that ended with an error and were started again.",
            "task",
        )
        self._child_restarts = self._counter(
            "gossamer_child_restarts_total", "Child processes that ended by themselves, by kind.", "kind"
        )
        self._loop_lag = self._histogram(
            "gossamer_event_loop_lag_seconds", "How late a timer of the event loop was, twice a second."
        )
        self._jobs = self._histogram(
            "gossamer_job_duration_seconds",
            "Duration of an attempt at a job, by kind and outcome.",
            "kind",
            "outcome",
            buckets=LONG_SECONDS,
        )
        self._fetches = Labelled(
            self._counter(
                "gossamer_fetches_total",
                "Fetches by outcome: the class of the answer's status, or why there was none.",
                "outcome",
            )
        )
        self._webhooks = self._counter(
            "gossamer_webhook_attempts_total",
            "Attempts to deliver a webhook: delivered, failed (tried again later), given_up.",
            "outcome",
        )

    def _declare_browsing(self) -> None:
        pages = self._counter(
            "gossamer_page_cache_total",
            "Rendered pages found hot, found cold, not found, promoted to hot, repaired.",
            "event",
        )
        self._page_cache = {event: pages.labels(event) for event in PAGE_CACHE}
        self._visits = self._histogram(
            "gossamer_visit_duration_seconds",
            "Duration of a visit with a browser, including the wait for a place, by outcome.",
            "outcome",
        )
        self._browsers = self._gauge("gossamer_browsers", "Browsers that are running.")
        self._browser_layers = self._gauge(
            "gossamer_browser_layer",
            "Whether a layer of the fence around browsers is in force: netns, bubblewrap, sandbox.",
            "layer",
        )
        self._browser_ends = self._counter(
            "gossamer_browser_ends_total", "Browsers that were ended, by reason.", "why"
        )
        self._browser_visits = self._gauge(
            "gossamer_browser_visits", "Visits that are under way, or wait for a place.", "state"
        )

    def _declare_state(self) -> None:
        self._services = self._gauge(
            "gossamer_service_up",
            "Whether a service that the server depends on answered the last probe.",
            "service",
        )
        self._degraded = self._gauge(
            "gossamer_service_degraded", "Whether it answered with something missing.", "service"
        )
        self._database_waits = Labelled(
            self._histogram(
                "gossamer_database_wait_seconds",
                "Time that a use of the database waited for a connection: read, write or scan.",
                "pool",
            )
        )
        self._breakers = self._gauge(
            "gossamer_breaker_state", "0: closed (in use), 1: half-open, 2: open (left alone).", "breaker"
        )
        self._disk_free = self._gauge(
            "gossamer_disk_free_bytes", "Bytes left for us on the disk of a folder: data, blobs.", "folder"
        )
        self._disk_size = self._gauge("gossamer_disk_size_bytes", "Bytes of that disk.", "folder")
        self._certificates = self._gauge(
            "gossamer_certificate_seconds",
            "Seconds until a certificate ends; 0 if it is not valid. Only where alerts are evaluated.",
            "host",
        )
        self._depth = self._gauge(
            "gossamer_queue_jobs", "Jobs that are queued or running.", "kind", "status", shared=True
        )
        self._oldest = self._gauge(
            "gossamer_queue_oldest_seconds",
            "How long the oldest of them has been waiting or running.",
            "kind",
            "status",
            shared=True,
        )
        self._alerts = self._gauge(
            "gossamer_alerts", "Alerts that are raised.", "rule", "severity", shared=True
        )

    def _declare_crawls(self) -> None:
        self._pages_fetched = self._counter(
            "gossamer_crawl_pages_total", "Pages that crawls have stored.", shared=True
        )
        self._pages_failed = self._counter(
            "gossamer_crawl_failures_total", "URLs of crawls that were given up.", shared=True
        )
        self._robots_denials = self._counter(
            "gossamer_crawl_robots_denials_total", "URLs of crawls that robots.txt forbids.", shared=True
        )
        self._crawl_bytes = self._counter(
            "gossamer_crawl_bytes_total", "Bytes of pages that crawls have stored.", shared=True
        )
        self._crawl_statuses = self._counter(
            "gossamer_crawl_answers_total", "Answers to crawls, by class of status.", "status", shared=True
        )
        self._crawl_rate = self._gauge(
            "gossamer_crawl_pages_per_second",
            "Pages that crawls store in a second, over one to two minutes.",
            shared=True,
        )
        self._crawl_success = self._gauge(
            "gossamer_crawl_success_ratio",
            "Share of URLs that did not fail, over the same time.",
            shared=True,
        )
        self._frontier = self._gauge(
            "gossamer_crawl_frontier_urls", "URLs of crawls that wait to be fetched.", shared=True
        )
        self._crawl_workers = self._gauge(
            "gossamer_crawl_workers", "Workers that have hosts to crawl.", shared=True
        )

    def request(self, endpoint: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request. `endpoint` is the route's template, or `unknown`."""
        self._requests.count(endpoint, method if method in METHODS else "OTHER", status, seconds)

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

    def count_child_restart(self, kind: str) -> None:
        self._child_restarts.labels(kind).inc()

    def service(self, name: str, *, up: bool, degraded: bool = False) -> None:
        self._services.labels(name).set(up)
        self._degraded.labels(name).set(degraded)

    def loop_lag(self, seconds: float) -> None:
        self._loop_lag.observe(seconds)

    def fetch(self, outcome: str) -> None:
        self._fetches[(outcome,)].inc()

    def answer_cache(self, endpoint: str, result: str) -> None:
        self._answer_cache[endpoint, result].inc()

    def database_wait(self, pool: str, seconds: float) -> None:
        self._database_waits[(pool,)].observe(seconds)

    def breaker(self, name: str, state: str) -> None:
        self._breakers.labels(name).set(BREAKER_STATES[state])

    def disk(self, folder: str, *, free: int, size: int) -> None:
        self._disk_free.labels(folder).set(free)
        self._disk_size.labels(folder).set(size)

    def webhook(self, outcome: str) -> None:
        self._webhooks.labels(outcome).inc()

    def certificate(self, host: str, seconds: float) -> None:
        self._certificates.labels(host).set(seconds)

    def forget_certificates(self) -> None:
        self._certificates.clear()

    def alerts(self, raised: Mapping[tuple[str, str], int]) -> None:
        """How many are raised, by rule and severity, with zeros for the others."""
        for labels, count in raised.items():
            self._alerts.labels(*labels).set(count)

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
