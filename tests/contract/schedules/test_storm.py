"""Several processes fire the same schedules, and are killed while they do: each planned time runs once."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from itertools import pairwise

from sqlalchemy import select
from tests.contract.schedules.schedule_ground import KIND, open_ground
from tests.contract.schedules.storm_process import READY

from gossamer.state.db.database import Database
from gossamer.state.db.tables import jobs
from gossamer.state.schedules import schedule_runs, schedules
from gossamer.state.schedules.schedule_runs import ScheduleRun
from gossamer.state.schedules.schedules import Schedule, read_clock
from gossamer.web.schedules.schedule_words import RunStatus
from gossamer.web.schedules.timing import Timing

PROCESSES = 3
SCHEDULES = 6
KILLS_AT = (12, 24)  # runs
RUNS = 40
SECONDS = 120.0


async def test_every_planned_time_runs_once_whoever_is_killed(database_url: str, database: Database) -> None:
    ground = await open_ground(database)
    async with database.read() as connection:
        now = await read_clock(connection)
    made = [await ground.add(Timing(every="1s"), now=now) for _ in range(SCHEDULES)]
    async with asyncio.timeout(SECONDS):
        victims = await asyncio.gather(*(_start(database_url) for _ in range(PROCESSES)))
        try:
            for at, victim in zip(KILLS_AT, list(victims), strict=False):
                await _until(database, made, at)
                victim.kill()
                await victim.wait()
                victims.append(await _start(database_url))
            await _until(database, made, RUNS)
        finally:
            for process in victims:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
    async with database.read() as connection:
        started = set((await connection.scalars(select(jobs.c.job_id).where(jobs.c.kind == KIND))).all())
        found = [await schedule_runs.listing(connection, each.id, limit=200) for each in made]
        left = [await schedules.get(connection, each.id) for each in made]
    runs = [run for each in found for run in each]
    assert {run.status for run in runs} == {RunStatus.STARTED}
    assert len({run.work_id for run in runs}) == len(runs)
    assert {run.work_id for run in runs} == started
    for history, schedule in zip(found, left, strict=True):
        assert schedule is not None
        _assert_without_gap(history[::-1], schedule, now)


def _assert_without_gap(history: list[ScheduleRun], schedule: Schedule, begun: int) -> None:
    """From one run to the next, every second was planned or is told as missed; the next one is planned."""
    times = [begun, *((run.planned_at or 0) for run in history)]
    assert [later - before for before, later in pairwise(times)] == [
        (run.missed + 1) * 1_000 for run in history
    ]
    assert schedule.planned_at == times[-1] + 1_000


async def _start(url: str) -> Process:
    program = (sys.executable, "-m", "tests.contract.schedules.storm_process", url)
    process = await asyncio.create_subprocess_exec(*program, stdout=PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline() == READY
    return process


async def _until(database: Database, made: list[Schedule], number: int) -> None:
    """Wait until there are so many runs."""
    while True:
        async with database.read() as connection:
            found = [len(await schedule_runs.listing(connection, each.id, limit=200)) for each in made]
        if sum(found) >= number:
            return
        await asyncio.sleep(0.1)
