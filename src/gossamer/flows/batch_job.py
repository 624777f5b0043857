"""A batch as a job. It goes on where an earlier attempt has ended: what has its line is not read again."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from gossamer import problems
from gossamer.flows.admit import Caller
from gossamer.flows.batch import Batcher, Came, Plan
from gossamer.problems import Problem
from gossamer.state import batches
from gossamer.state.batches import Line, Lines
from gossamer.state.database import Database
from gossamer.state.job import Job
from gossamer.state.tenants import Role, Tier

KIND: Final = "batch"
STEPS: Final = 25  # of its progress that are told
PIECE: Final = 4_000_000  # bytes that are written at once, about
MAX_ATTEMPTS: Final = 10  # what is done in one is done


@dataclass(frozen=True, slots=True)
class Payload:
    """What a job carries; the rest is in its batch."""

    key_id: str = ""
    tier: str = "free"


class Work(Protocol):
    """What a batch needs of the job that it is."""

    canceled: bool

    @property
    def job(self) -> Job: ...

    @property
    def payload(self) -> Payload: ...

    async def step(self, name: str, pct: int | None = None, data: Any = None) -> None: ...

    def holding(self) -> AbstractAsyncContextManager[AsyncConnection]: ...


class Batching:
    """`line` makes of what came of an entry the line that is kept; it knows which request began it all."""

    def __init__(
        self, batcher: Batcher, database: Database, lines: Lines, line: Callable[[Came, str], Line]
    ) -> None:
        self._batcher = batcher
        self._database = database
        self._lines = lines
        self._line = line

    async def run(self, work: Work) -> dict[str, Any]:
        job = work.job
        urls, plan, known = await self._task(job.job_id)
        missing = {index: url for index, url in enumerate(urls) if index not in known}
        caller = Caller(Role.USER, work.payload.key_id, job.tenant_id, Tier(work.payload.tier))
        progress = _Progress(len(urls), len(known))
        await progress.tell(work)
        async with aclosing(self._batcher.read_all(missing, plan, caller)) as arriving:
            async for came in arriving:
                await self._keep(work, came)
                progress.add(len(came))
                if work.canceled or progress.is_news:
                    await progress.tell(work)
        return await self._counted(job.job_id, len(urls))

    async def _task(self, job_id: str) -> tuple[list[str], Plan, set[int]]:
        async with self._database.read() as connection:
            task = await batches.task_of(connection, job_id)
            known = await batches.positions(connection, job_id)
        if task is None:
            raise Problem(problems.NOT_FOUND, "There is no batch for this job.")
        plan = msgspec.json.decode(task.plan_json, type=Plan)
        headers = msgspec.json.decode(task.headers_json or "[]", type=tuple[tuple[str, str], ...])
        plan = replace(plan, wish=replace(plan.wish, headers=headers))
        return msgspec.json.decode(task.urls_json, type=list[str]), plan, known

    async def _keep(self, work: Work, came: Sequence[Came]) -> None:
        """A piece at a time: one large page may stand in many places of the list."""
        piece: list[Line] = []
        room = PIECE
        for each in came:
            piece.append(self._line(each, work.job.request_id))
            room -= len(piece[-1].text)
            if room <= 0 or each is came[-1]:
                await self._lines.put(work.job.job_id, piece, work.holding())
                piece, room = [], PIECE

    async def _counted(self, job_id: str, total: int) -> dict[str, Any]:
        async with self._database.read() as connection:
            counts = await batches.counts(connection, job_id)
        return {
            "total": total,
            "done": counts.done,
            "ok": counts.ok,
            "notOk": counts.done - counts.ok,
            "failed": counts.failed,
            "resultsUrl": f"/batch/fetch/{job_id}/results",
        }


class _Progress:
    """How far it is; told now and then, since each telling is written down."""

    def __init__(self, total: int, ready: int) -> None:
        self._total = total
        self._ready = ready
        self._told = -1

    @property
    def is_news(self) -> bool:
        return self._ready * STEPS // self._total > self._told

    def add(self, count: int) -> None:
        self._ready += count

    async def tell(self, work: Work) -> None:
        """Raises, when the job is not wanted any more."""
        self._told = self._ready * STEPS // self._total
        percent = self._ready * 100 // self._total
        await work.step(f"{self._ready:,} of {self._total:,} pages", min(percent, 99))
