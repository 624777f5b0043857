"""Jobs: no-op jobs put in and taken out, beside procrastinate and PgQueuer.

All use the same PostgreSQL, each a database of its own, with everything on disk before it counts as done.
They take turns, round after round, so that whatever else the machine does meets them alike; each number is
the median of its rounds. How many jobs a worker takes at a time suits one queue and not the other: several
numbers are tried with each, and of their medians the best counts.
"""

import argparse
import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import asyncpg
from tests.servers.postgres import PostgresServer

from bench import servers
from bench.contenders.peers import PeerError
from bench.queues import peers
from bench.servers import ROOT
from bench.table import Machine, save, table, this_machine

OPTIONS: Final = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "shared_buffers=128MB")
BATCH: Final = 1_000
WORKERS: Final = (1, 4)
# Jobs in a worker, and in a claim where that takes several; procrastinate claims them one by one.
AT_ONCE: Final = {
    "Gossamer": (100, 300, 1_000),
    "procrastinate": (20, 100, 300),
    "PgQueuer": (100, 300, 1_000),
}
WRITERS: Final = 4
STOP_SECONDS: Final = 20.0
LONGEST: Final = 900.0
LOOK_SECONDS: Final = 0.05  # seldom enough that counting is no load
MEASURES: Final = ("put, batches", "put, one by one", *(f"done, {count} workers" for count in WORKERS))


class DurableServer(PostgresServer):
    """As an operator runs it: what is committed is on the disk."""

    def start(self) -> None:
        options = [part for option in OPTIONS for part in ("-c", option)]
        command = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self._port), *options]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder, **self._as)
        self._wait_until_ready()

    def stop(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        self._process.wait()

    kill = stop


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    command: tuple[str, ...]
    done: str  # how many jobs are done, as the queue's own tables tell
    at_once: tuple[int, ...]  # to be tried


Rates = dict[str, float]  # jobs per second, by measure; what is done, by how many at once as well


def main() -> None:
    options = _options()
    servers.stop_when_terminated()
    contenders, missing = _contenders()
    found: dict[str, list[Rates]] = {contender.name: [] for contender in contenders}
    server = DurableServer()
    try:
        server.start()
        for turn in range(options.rounds):
            for contender in contenders:
                rates = _round(server, contender, f"round_{turn}_{len(found[contender.name])}", options)
                found[contender.name].append(rates)
                _say(f"round {turn + 1} of {options.rounds}: {contender.name}: {_told(rates)}")
    finally:
        server.remove()
    machine = this_machine()
    text = report(machine, found, missing, options)
    print(text)
    save("jobs", machine, text, document(found, missing, options))


def _contenders() -> tuple[list[Contender], list[str]]:
    ours = "SELECT count(*) FROM jobs WHERE status = 'done'"
    command: tuple[str, ...] = (sys.executable, "-m", "bench.queues.gossamer")
    contenders = [Contender("Gossamer", command, ours, AT_ONCE["Gossamer"])]
    missing = []
    for name, python, done in (
        (
            "procrastinate",
            peers.procrastinate,
            "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'",
        ),
        (
            "PgQueuer",
            peers.pgqueuer,
            "SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'",
        ),
    ):
        try:
            command = (str(python()), "-m", f"bench.queues.{name.lower()}")
            version = _version(command[0], name.lower())
            contenders.append(Contender(f"{name} {version}", command, done, AT_ONCE[name]))
        except PeerError as error:
            missing.append(f"{name}: {error}")
            _say(f"without {missing[-1]}")
    return contenders, missing


def _round(server: PostgresServer, contender: Contender, name: str, options: argparse.Namespace) -> Rates:
    """Every trial, each in a database of its own."""
    rates = {}
    for trial, measure, at_once in _trials(contender):
        database = f"{name}_{abs(hash((contender.name, trial)))}"
        server.sql(f"CREATE DATABASE {database}")
        url = server.url_of(database)
        _tell(contender, "prepare", url)
        rates[trial] = _measured(contender, url, measure, at_once, options)
        server.sql(f"DROP DATABASE {database} WITH (FORCE)")
    return rates


def _trials(contender: Contender) -> Iterator[tuple[str, str, int]]:
    """Name, measure, and how many at once."""
    for measure in MEASURES:
        if measure.startswith("put"):
            yield measure, measure, 0
        else:
            yield from ((f"{measure}, {count} at once", measure, count) for count in contender.at_once)


def _measured(
    contender: Contender, url: str, measure: str, at_once: int, options: argparse.Namespace
) -> float:
    if measure == "put, one by one":
        return float(options.singles / _put(contender, url, options.singles, 1))
    seconds = _put(contender, url, options.jobs, BATCH)
    if measure == "put, batches":
        return float(options.jobs / seconds)
    return asyncio.run(_done(contender, url, int(measure.split()[1]), at_once))


def _put(contender: Contender, url: str, jobs: int, batch: int) -> float:
    return float(_tell(contender, "put", url, str(jobs), str(batch), str(WRITERS)))


async def _done(contender: Contender, url: str, workers: int, at_once: int) -> float:
    """The rate at which so many workers empty the queue, from the word "go" to the last job."""
    connection = await asyncpg.connect(url)
    with _working(contender, url, workers, at_once) as crew:
        total = await _total(connection, contender)
        began = time.perf_counter()
        for worker in crew:
            assert worker.stdin is not None
            print("go", file=worker.stdin, flush=True)
        while (done := await connection.fetchval(contender.done)) < total:
            if time.perf_counter() - began > LONGEST:
                raise SystemExit(f"{contender.name}: only {done} of {total} jobs were done")
            await asyncio.sleep(LOOK_SECONDS)
        seconds = time.perf_counter() - began
    await connection.close()
    return total / seconds


async def _total(connection: Any, contender: Contender) -> int:
    table_name = contender.done.split(" FROM ")[1].split()[0].removesuffix("_log")
    total: int = await connection.fetchval(f"SELECT count(*) FROM {table_name}")
    return total


@contextmanager
def _working(
    contender: Contender, url: str, workers: int, at_once: int
) -> Iterator[list[subprocess.Popen[str]]]:
    crew = [
        subprocess.Popen(
            [*contender.command, "work", url, str(at_once)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(workers)
    ]
    try:
        for worker in crew:
            assert worker.stdout is not None
            if worker.stdout.readline().strip() != "ready":
                raise SystemExit(f"{contender.name}: a worker did not start")
        yield crew
    finally:
        for worker in crew:
            _stop(worker)


def _stop(worker: subprocess.Popen[str]) -> None:
    worker.terminate()
    try:
        worker.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()
    for stream in (worker.stdin, worker.stdout):
        if stream is not None:
            stream.close()


def _tell(contender: Contender, *words: str) -> str:
    done = subprocess.run([*contender.command, *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{contender.name}: {' '.join(words)}: {done.stderr[-2_000:]}")
    return done.stdout.strip()


def _version(python: str, package: str) -> str:
    ask = f"import importlib.metadata; print(importlib.metadata.version('{package}'))"
    return subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()


def report(
    machine: Machine, found: dict[str, list[Rates]], missing: Sequence[str], options: argparse.Namespace
) -> str:
    middles = _middles(found)
    rates = table(
        ["no-op jobs per second", *MEASURES],
        [[name, *(f"{middle[measure]:,.0f}" for measure in MEASURES)] for name, middle in middles.items()],
    )
    ours = middles["Gossamer"]
    ratios = table(
        ["Gossamer, times", *MEASURES],
        [
            [name, *(f"{ours[measure] / middle[measure]:.1f}" for measure in MEASURES)]
            for name, middle in middles.items()
            if name != "Gossamer"
        ],
    )
    how = (
        f"PostgreSQL with fsync on, {options.jobs:,} jobs, put by {WRITERS} writers in batches of {BATCH:,}, "
        f"or {options.singles:,} one by one; median of {options.rounds} rounds; of what was tried, the best"
    )
    absent = "".join(f"\nNot measured: {reason}\n" for reason in missing)
    return f"# Jobs\n\n{machine}; {how}\n\n{rates}\n\n{ratios}\n\n{_tried(found)}\n{absent}"


def _tried(found: dict[str, list[Rates]]) -> str:
    """Every number of jobs at once, so that nobody need believe that the best was chosen for each."""
    rows = []
    for name, rounds in found.items():
        for trial in (trial for trial in rounds[0] if trial not in MEASURES):
            every = [rates[trial] for rates in rounds]
            rows.append([name, trial, f"{median(every):,.0f}", f"{min(every):,.0f}", f"{max(every):,.0f}"])
    return table(["", "tried", "median", "least", "most"], rows)


def document(
    found: dict[str, list[Rates]], missing: Sequence[str], options: argparse.Namespace
) -> dict[str, Any]:
    middles = _middles(found)
    return {
        "load": {
            "jobs": options.jobs,
            "singles": options.singles,
            "rounds": options.rounds,
            "at_once": AT_ONCE,
        },
        "rows": [{"name": name, "rates": middles[name], "rounds": found[name]} for name in found],
        "missing": list(missing),
    }


def _middles(found: dict[str, list[Rates]]) -> dict[str, Rates]:
    return {name: {measure: _best(rounds, measure) for measure in MEASURES} for name, rounds in found.items()}


def _best(rounds: Sequence[Rates], measure: str) -> float:
    trials = [trial for trial in rounds[0] if trial.startswith(measure)]
    return max(median(rates[trial] for rates in rounds) for trial in trials)


def _told(rates: Rates) -> str:
    return ", ".join(f"{measure}: {rate:,.0f}/s" for measure, rate in rates.items())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench jobs", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--singles", type=int, default=4_000, help="jobs that are put one by one")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
