"""Puts the state of all crawls into the metrics of this process, whichever process crawls.

Workers write counts by the minute with what they store. Each minute is read until it is over, and what was
added to it since the last reading is counted.
"""

import time
from collections.abc import Callable
from typing import Final

from gossamer.concurrency.periodic import every
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state.crawl.reading.crawl_stats import CrawlStats, TimeBucket
from gossamer.state.wakeups.wakeups import Wakeups

EVERY_SECONDS: Final = 5.0
MINUTE: Final = 60  # seconds
MINUTES: Final = 3  # that are read: the clocks of workers and database may differ a little
STATUSES: Final = ("2xx", "3xx", "4xx", "5xx")


class CrawlWatch:
    def __init__(
        self, stats: CrawlStats, metrics: Metrics, log: Log, clock: Callable[[], float] = time.time
    ) -> None:
        self._stats = stats
        self._metrics = metrics
        self._log = log
        self._clock = clock
        self._seen: dict[int, TimeBucket] = {}

    async def run(self, wakeups: Wakeups) -> None:
        """Until cancelled."""
        with wakeups.looking() as rest:
            await every(EVERY_SECONDS, self._look_safely, at_once=True, rest=rest)

    async def _look_safely(self) -> None:
        try:
            await self.look()
        except Unavailable as away:
            self._log.debug("crawl_unwatched", "crawls will be looked at again", why=away.detail)
        except Exception as error:  # noqa: BLE001 - the next reading may succeed
            self._log.error("crawl_watch_failed", "looking at crawls went wrong", cause=error)

    async def look(self) -> None:
        now = self._clock()
        minute = int(now // MINUTE)
        found = await self._stats.timeseries(minute - MINUTES + 1, minute + 1, 1)
        if self._seen:  # what happened before this process started is not counted
            for bucket in found:
                self._count(bucket, self._seen.get(bucket.at) or TimeBucket(at=bucket.at))
        self._seen = {bucket.at: bucket for bucket in found}
        stand = await self._stats.stats()
        recent, ended = stand.recent, stand.recent.fetched + stand.recent.failed
        self._metrics.crawls(
            rate=recent.fetched / max(1.0, now - recent.at / 1000),
            success=recent.fetched / ended if ended else 1.0,
            frontier=stand.counts.pending,
            workers=stand.workers,
        )

    def _count(self, now: TimeBucket, before: TimeBucket) -> None:
        def more(name: str) -> int:
            added: int = getattr(now, name) - getattr(before, name)
            return max(0, added)

        self._metrics.count_crawled(
            more("fetched"),
            failed=more("failed"),
            denied=more("blocked"),
            size=more("bytes"),
            statuses={status: more(f"status_{status}") for status in STATUSES},
        )
