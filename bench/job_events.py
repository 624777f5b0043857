"""Job events: what it costs jobs that their ends are published, on PostgreSQL.

The same jobs are leased and ended with publishing taken out of the statement, with nobody listening, and with
one endpoint that listens. The rounds alternate; each number is the best of its rounds, in microseconds of CPU
for a job: of this process and of PostgreSQL's.
"""

import argparse
import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psutil  # type: ignore[import-untyped]
from tests.servers.postgres import PostgresServer

from bench.table import save, table, this_machine
from gossamer.state.db.database import Database, open_database
from gossamer.state.jobs import lease_statements
from gossamer.state.jobs.job import NewJob, success
from gossamer.state.jobs.job_statements import ENDED_P
from gossamer.state.jobs.jobs import Jobs
from gossamer.state.tenants import tenants
from gossamer.state.wakeups.wakeups import open_wakeups
from gossamer.state.webhooks import endpoints, publishing
from gossamer.state.webhooks.endpoints import WebhookEndpoint

KIND: Final = "nothing"
AT_ONCE: Final = 300
WITHOUT: Final = "SELECT 1 WHERE false"
COLUMNS: Final = ("microseconds of CPU for a job", "ended", "and told")


async def main_loop(jobs_count: int, rounds: int) -> dict[str, tuple[float, float]]:
    server = PostgresServer("shared_buffers=128MB")
    server.start()
    try:
        server.sql("CREATE DATABASE bench")
        url = server.url_of("bench")
        database = open_database(url)
        await database.migrate()
        try:
            best: dict[str, tuple[float, float]] = {}
            for _ in range(rounds):
                for name in ("publishing taken out", "nobody listens", "one endpoint listens"):
                    with _as_asked(name):
                        measured = await _measure(database, url, server.pid, jobs_count, name)
                    best[name] = min(best.get(name, measured), measured)
            return best
        finally:
            await database.close()
    finally:
        server.remove()


@contextmanager
def _as_asked(name: str) -> Iterator[None]:
    usual = lease_statements._SETTLE_P
    if name == "publishing taken out":
        lease_statements._SETTLE_P = usual.replace(ENDED_P, WITHOUT)  # type: ignore[misc]
    try:
        yield
    finally:
        lease_statements._SETTLE_P = usual  # type: ignore[misc]


async def _measure(database: Database, url: str, server: int, count: int, name: str) -> tuple[float, float]:
    """For ending the jobs; and for publishing their ends besides."""
    async with database.write() as connection:
        email = f"{time.monotonic_ns()}@example.com"
        tenant = (await tenants.ensure_tenant(connection, email)).id
        if name == "one endpoint listens":
            new = WebhookEndpoint(tenant_id=tenant, owner=tenant, url="http://127.0.0.1:9/", events=("*",))
            await endpoints.add(connection, new)
    jobs = Jobs(database, open_wakeups(database))
    try:
        for first in range(0, count, 1_000):
            await jobs.put_many(
                [NewJob(kind=KIND, tenant_id=tenant) for _ in range(first, min(first + 1_000, count))]
            )
        before = _cpu(server)
        while leases := await jobs.lease({KIND: AT_ONCE}, worker="bench", seconds=60):
            await jobs.settle([success(lease, None) for lease in leases])
        ended = _cpu(server)
        told = 1
        while told:
            async with database.write() as connection:
                told = await publishing.tell_ended(connection)
        return (ended - before) / count * 1e6, (_cpu(server) - before) / count * 1e6
    finally:
        await jobs.close()


def _cpu(server: int) -> float:
    postmaster = psutil.Process(server)
    times = [one.cpu_times() for one in [postmaster, *postmaster.children(recursive=True)]]
    return time.process_time() + float(sum(one.user + one.system for one in times))


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench job_events", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    best = asyncio.run(main_loop(chosen.jobs, chosen.rounds))
    machine = this_machine()
    about = (
        f"{machine}; PostgreSQL, {chosen.jobs:,} jobs, {AT_ONCE} at a time, best of {chosen.rounds} rounds"
    )
    rows = [(name, f"{ended:.0f}", f"{told:.0f}") for name, (ended, told) in best.items()]
    text = f"# Job events\n\n{about}\n\n{table(COLUMNS, rows)}\n"
    print(text)
    save("job_events", machine, text, {name: list(times) for name, times in best.items()})


if __name__ == "__main__":
    main()
