"""Settling: how jobs ended is written as it comes, what comes meanwhile together, and is not forgotten."""

import asyncio
from typing import Final

from gossamer.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.jobs import Jobs, Settlement, State

LARGEST_BATCH: Final = 500
RETRY_SECONDS: Final = (0.1, 0.25, 0.5, 1.0, 2.0)


class Settling:
    def __init__(self, jobs: Jobs, log: Log) -> None:
        self._jobs = jobs
        self._log = log
        self._pending: list[tuple[Settlement, asyncio.Future[State | None]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def settle(self, settlement: Settlement) -> State | None:
        """What the job is now; None when it was not ours any more. Waits for a database that is away."""
        settled: asyncio.Future[State | None] = asyncio.get_running_loop().create_future()
        self._pending.append((settlement, settled))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        return await settled

    async def close(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)

    async def _write(self) -> None:
        attempt = 0
        while self._pending:
            batch = self._pending[:LARGEST_BATCH]
            try:
                states = await self._jobs.settle([settlement for settlement, _ in batch])
            except Unavailable as away:
                if attempt == 0:
                    self._log.warning("settling_postponed", "the database is away", why=away.detail)
                await asyncio.sleep(RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)])
                attempt += 1
                continue
            except Exception as error:  # noqa: BLE001 - the leases run out, and the jobs are tried again
                self._log.error("settling_failed", "the ends of jobs could not be written", cause=error)
                states = {}
            attempt = 0
            del self._pending[: len(batch)]
            for settlement, settled in batch:
                if not settled.done():
                    settled.set_result(states.get(settlement.lease.job_id))
