"""StoredGauges: numbers that are looked up in the database, and are the same in all processes."""

import math
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Gauge


class StoredGauges:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._repairs = self._gauge(
            "gossamer_repairs_waiting",
            "Rendered pages that a tier still owes something, and orphan blobs that are due to be dropped.",
            "what",
        )
        self._unindexed = self._gauge(
            "gossamer_index_waiting_batches", "Batches of crawled pages to be indexed."
        )
        self._index_oldest = self._gauge(
            "gossamer_index_oldest_seconds", "How long the oldest of them has been waiting."
        )
        self._silent_workers = self._gauge(
            "gossamer_silent_workers", "Workers that fell silent within the last hour."
        )
        self._held_crawls = self._gauge("gossamer_held_crawls", "Crawls that a quota has paused.", "quota")
        self._failing = self._gauge(
            "gossamer_failing",
            "Schedules that failed three times in a row or more, and webhooks that have failed for an hour.",
            "what",
        )
        self._memory_entries = self._gauge("gossamer_memory_entries", "Entries of all memories.")
        self._memory_bytes = self._gauge(
            "gossamer_memory_bytes", "Bytes of their values, earlier versions included."
        )
        self._backup_age = self._gauge(
            "gossamer_backup_age_seconds", "Age of the last backup; NaN if it is not known."
        )
        self._backup_age.set(math.nan)

    def _gauge(self, name: str, about: str, *labels: str) -> Gauge:
        return Gauge(name, about, labels, registry=self._registry)

    def repairs(self, *, pages: int, blobs: int) -> None:
        self._repairs.labels("pages").set(pages)
        self._repairs.labels("blobs").set(blobs)

    def index_lag(self, batches: int, oldest_seconds: float) -> None:
        self._unindexed.set(batches)
        self._index_oldest.set(oldest_seconds)

    def held_crawls(self, by_quota: Mapping[str, int]) -> None:
        for quota, count in by_quota.items():
            self._held_crawls.labels(quota).set(count)

    def silent_workers(self, count: int) -> None:
        self._silent_workers.set(count)

    def failing(self, *, schedules: int, webhooks: int) -> None:
        self._failing.labels("schedules").set(schedules)
        self._failing.labels("webhooks").set(webhooks)

    def memory(self, entries: int, size: int) -> None:
        self._memory_entries.set(entries)
        self._memory_bytes.set(size)

    def backup_age(self, seconds: float) -> None:
        self._backup_age.set(seconds)
