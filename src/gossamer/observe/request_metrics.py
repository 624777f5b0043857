"""Counts answered requests. Every request is counted, so a count is one addition to a list; the metrics are
made from the lists when they are asked for."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class RequestMetrics(Collector):
    def __init__(self, registry: CollectorRegistry, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._answers: dict[tuple[str, str, int], int] = {}  # by endpoint, method and status
        self._buckets: dict[str, list[int]] = {}  # by endpoint: the durations up to each bound, and the rest
        self._seconds: dict[str, float] = {}
        registry.register(self)

    def count(self, endpoint: str, method: str, status: int, seconds: float) -> None:
        key = (endpoint, method, status)
        self._answers[key] = self._answers.get(key, 0) + 1
        buckets = self._buckets.get(endpoint)
        if buckets is None:
            buckets = self._buckets[endpoint] = [0] * (len(self._bounds) + 1)
            self._seconds[endpoint] = 0.0
        buckets[bisect_left(self._bounds, seconds)] += 1
        self._seconds[endpoint] += seconds

    def collect(self) -> Iterator[Metric]:
        answers = CounterMetricFamily(
            "gossamer_requests", "Requests answered.", labels=("endpoint", "method", "status")
        )
        for (endpoint, method, status), number in self._answers.items():
            answers.add_metric((endpoint, method, str(status)), number)
        yield answers
        durations = HistogramMetricFamily(
            "gossamer_request_duration_seconds",
            "Time from the first byte of a request to the last byte of its answer.",
            labels=("endpoint",),
        )
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for endpoint, buckets in self._buckets.items():
            counts = zip(names, accumulate(buckets), strict=True)
            durations.add_metric((endpoint,), list(counts), sum_value=self._seconds[endpoint])
        yield durations
