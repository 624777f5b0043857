"""Exposition: the metrics of this process, of the state that all share, and of child processes, as one text.

A child hands its numbers over as lines of JSON (`snapshot`); its series carry the label `child`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

CHILD: Final = "child"  # the label
# The names that crawl metrics had before everything began with `gossamer_`.
ALIASES: Final = {
    "gossamer_crawl_pages": "crawler_pages_fetched",
    "gossamer_crawl_failures": "crawler_pages_failed",
    "gossamer_crawl_robots_denials": "crawler_robots_denials",
    "gossamer_crawl_bytes": "crawler_bytes_downloaded",
    "gossamer_crawl_answers": "crawler_http_status",
    "gossamer_crawl_pages_per_second": "crawler_pages_per_second",
    "gossamer_crawl_success_ratio": "crawler_fetch_success_rate",
    "gossamer_crawl_frontier_urls": "crawler_frontier_size",
    "gossamer_crawl_workers": "crawler_active_workers",
}


class FamilySnapshot(msgspec.Struct, frozen=True, array_like=True):
    """A metric and its samples: name, labels, value."""

    name: str
    about: str
    type: str
    samples: list[tuple[str, dict[str, str], float]]


_decoder: Final = msgspec.json.Decoder(list[FamilySnapshot])


class Exposition:
    def __init__(self, own: CollectorRegistry, shared: CollectorRegistry) -> None:
        self._own = own
        self._shared = shared
        self._children: dict[str, list[FamilySnapshot]] = {}

    def snapshot(self) -> bytes:
        """The numbers of this process in one line, for its parent."""
        families = [
            FamilySnapshot(
                family.name,
                family.documentation,
                family.type,
                [(one.name, dict(one.labels), one.value) for one in family.samples],
            )
            for family in self._own.collect()
        ]
        return msgspec.json.encode(families) + b"\n"

    def adopt(self, child: str, line: bytes) -> None:
        """Show these numbers as those of a child. A line that is not one of ours changes nothing."""
        try:
            self._children[child] = _decoder.decode(line)
        except msgspec.MsgspecError:
            return

    def forget(self, child: str) -> None:
        self._children.pop(child, None)

    def text(self, accept: str = "") -> tuple[bytes, str]:
        """The body and its content type: OpenMetrics if `accept` names it, else Prometheus's text format."""
        merged = _Collected(self.collect())
        if "application/openmetrics-text" in accept.lower():
            body = openmetrics.generate_latest(merged)  # type: ignore[no-untyped-call]
            return body, openmetrics.CONTENT_TYPE_LATEST
        return generate_latest(merged), CONTENT_TYPE_PLAIN_0_0_4

    def collect(self) -> list[Metric]:
        """Each metric once, with the samples of this process first."""
        found = {family.name: _copy(family) for family in self._own.collect()}
        for child, families in self._children.items():
            for given in families:
                family = found.setdefault(given.name, Metric(given.name, given.about, given.type))
                for name, labels, value in given.samples:
                    family.add_sample(name, {**labels, CHILD: child}, value)
        shared = {family.name: family for family in self._shared.collect()}
        return [*found.values(), *shared.values(), *_aliases(shared)]


class _Collected(CollectorRegistry):
    """Metrics that are collected already, as the library's formats take them."""

    def __init__(self, families: Iterable[Metric]) -> None:
        super().__init__()
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def _copy(family: Metric) -> Metric:
    """Some collectors give the same object each time, which must not be added to."""
    copy = Metric(family.name, family.documentation, family.type)
    copy.samples = list(family.samples)
    return copy


def _aliases(families: Mapping[str, Metric]) -> Iterator[Metric]:
    for name, alias in ALIASES.items():
        family = families[name]
        copy = Metric(alias, f"The same as {name}.", family.type)
        for sample in family.samples:
            copy.add_sample(sample.name.replace(name, alias, 1), sample.labels, sample.value)
        yield copy
