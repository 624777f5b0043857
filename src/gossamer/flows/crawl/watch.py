"""The watch: how all crawls stand, told to the metrics of every process, whoever crawls.

What happened is taken from the counts by the minute, which workers write with what they store: each minute is
looked at until it is over, and what has been added to it since the last time is counted.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from gossamer.logs import Log
from gossamer.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state.crawl_stats import CrawlStats, Stretch

EVERY_SECONDS: Final = 5.0
MINUTE: Final = 60  # seconds
MINUTES: Final = 3  # that are looked at: the clocks of workers and database may differ a little
STATUSES: Final = ("2xx", "3xx", "4xx", "5xx")


class Watch:
    def __init__(
        self, stats: CrawlStats, metrics: Metrics, log: Log, clock: Callable[[], float] = time.time
    ) -> None:
        self._stats = stats
        self._metrics = metrics
        self._log = log
        self._clock = clock
        self._seen: dict[int, Stretch] = {}

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.look()
            except Unavailable as away:
                self._log.debug("crawl_unwatched", "crawls will be looked at again", why=away.detail)
            except Exception as error:  # noqa: BLE001 - the next look may go well
                self._log.error("crawl_watch_failed", "looking at crawls went wrong", cause=error)
            await asyncio.sleep(EVERY_SECONDS)

    async def look(self) -> None:
        now = self._clock()
        minute = int(now // MINUTE)
        found = await self._stats.timeseries(minute - MINUTES + 1, minute + 1, 1)
        if self._seen:  # what happened before we were there is not ours to count
            for stretch in found:
                self._count(stretch, self._seen.get(stretch.at) or Stretch(at=stretch.at))
        self._seen = {stretch.at: stretch for stretch in found}
        stand = await self._stats.stats()
        recent, ended = stand.recent, stand.recent.fetched + stand.recent.failed
        self._metrics.crawls(
            rate=recent.fetched / max(1.0, now - recent.at / 1000),
            success=recent.fetched / ended if ended else 1.0,
            frontier=stand.counts.pending,
            workers=stand.workers,
        )

    def _count(self, now: Stretch, before: Stretch) -> None:
        def more(name: str) -> int:
            added: int = getattr(now, name) - getattr(before, name)
            return max(0, added)

        self._metrics.crawled(
            more("fetched"),
            failed=more("failed"),
            denied=more("blocked"),
            size=more("bytes"),
            statuses={status: more(f"status_{status}") for status in STATUSES},
        )
