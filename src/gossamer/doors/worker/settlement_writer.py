"""Writes the settlements of jobs, many in one statement, and waits for a database that is away."""

import asyncio
from collections.abc import Sequence
from typing import Final

from gossamer.concurrency.coalescer import Coalescer
from gossamer.observe.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.jobs.job import JobSettlement, JobState
from gossamer.state.jobs.jobs import Jobs

MAX_SETTLEMENTS: Final = 500  # in one statement
RETRY_SECONDS: Final = (0.1, 0.25, 0.5, 1.0, 2.0)


class SettlementWriter:
    def __init__(self, jobs: Jobs, log: Log) -> None:
        self._jobs = jobs
        self._log = log
        self._settlements = Coalescer(self._write, max_batch=MAX_SETTLEMENTS)
        self._failures = 0  # in a row

    async def settle(self, settlement: JobSettlement) -> JobState | None:
        """Settle a job. Returns its new state, or None if the lease was lost. Waits for the database."""
        return await self._settlements.ask(settlement)

    @property
    def is_behind(self) -> bool:
        """Whether the last write failed because the database was away."""
        return self._failures > 0

    async def catch_up(self) -> None:
        await self._settlements.wait()

    async def close(self) -> None:
        await self._settlements.close()

    async def _write(self, batch: Sequence[JobSettlement]) -> list[JobState | None]:
        while True:
            try:
                states = await self._jobs.settle(batch)
            except Unavailable as away:
                if self._failures == 0:
                    self._log.warning("settling_postponed", "the database is away", why=away.detail)
                self._failures += 1
                await asyncio.sleep(RETRY_SECONDS[min(self._failures, len(RETRY_SECONDS)) - 1])
                continue
            except Exception as error:  # noqa: BLE001 - the leases run out, and the jobs are tried again
                self._log.error("settling_failed", "the ends of jobs could not be written", cause=error)
                states = {}
            self._failures = 0
            return [states.get(settlement.lease.job_id) for settlement in batch]
