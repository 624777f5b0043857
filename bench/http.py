"""The HTTP layer: an authenticated, limited, trivial answer beside nginx serving a small static file.

All contenders run at once and are loaded in turn, round after round, so that whatever else the machine does
meets them alike; each number is the median of its rounds. The ratios are what counts.
"""

import argparse
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench import servers
from bench.contenders import usage
from bench.load import CONNECTIONS, Measurement, load, middle
from bench.servers import Cores, Server
from bench.table import Machine, save, table, this_machine

STATIC: Final = (
    b'{"tenant":"01JZZZZZZZZZZZZZZZZZZZZZZZ","role":"admin","tier":"enterprise","email":"a@b.example"}\n'
)
START_UPS: Final = 5
BARE: Final = "bare ASGI on uvicorn"
PROCESSES: Final = "GOSSAMER_PROCESSES"


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    server: Server
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    middle: Measurement
    cpu: float  # microseconds of the server's processor for an answer
    rounds: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one idle Gossamer costs: seconds until it answers, and bytes of memory."""

    first_start: float  # on an empty data folder: the database is made and migrated
    start: float
    memory_at_rest: int
    memory_after_load: dict[str, int]  # by the contender's name


def main() -> None:
    options = _options()
    servers.stop_when_terminated()
    cores = servers.share_cores()
    with TemporaryDirectory(prefix="gossamer-bench-") as scratch:
        rows, loaded = measure_rates(Path(scratch), cores, options.rounds, options.seconds)
        footprint = measure_footprint(Path(scratch), cores, loaded)
    machine = this_machine()
    text = report(machine, rows, footprint, options)
    print(text)
    save("http", machine, text, document(rows, footprint, options))


def measure_rates(scratch: Path, cores: Cores, rounds: int, seconds: int) -> tuple[list[Row], dict[str, int]]:
    """The rows of the table, and how much memory each Gossamer used after its load."""
    with ExitStack() as stack:
        contenders = start(stack, scratch, cores)
        found: dict[str, list[tuple[Measurement, float]]] = {one.name: [] for one in contenders}
        for turn in range(rounds + 1):
            for one in contenders:
                before = usage.cpu_seconds(one.server.pid)
                measured = _ask(one, seconds if turn else 1, cores)  # the first turn only warms up
                spent = usage.cpu_seconds(one.server.pid) - before
                if turn:
                    found[one.name].append((measured, spent / (measured.rate * seconds) * 1e6))
                    _say(f"round {turn} of {rounds}: {one.name}: {measured.rate:,.0f}/s")
        loaded = {one.name: one.server.resident() for one in contenders if one.name.startswith("Gossamer")}
    return [_row(name, all_) for name, all_ in found.items()], loaded


def _row(name: str, measured: Sequence[tuple[Measurement, float]]) -> Row:
    rounds = tuple(one for one, _ in measured)
    return Row(name, middle(rounds), median(cpu for _, cpu in measured), rounds)


def start(stack: ExitStack, scratch: Path, cores: Cores) -> list[Contender]:
    enter = stack.enter_context
    key = "sk_live_" + secrets.token_hex(16)
    caller = {"Authorization": f"Bearer {key}"}
    memory = _settings(key)
    redis = memory | {"GOSSAMER_REDIS_URL": enter(servers.valkey())}
    plain = enter(servers.nginx(scratch, STATIC, cores=cores.server))
    logged = enter(servers.nginx(scratch, STATIC, access_log=True, cores=cores.server))
    bare = enter(servers.bare(scratch, cores=cores.server))
    on_memory = enter(servers.gossamer(_folder(scratch, "memory"), memory, cores=cores.server))
    on_valkey = enter(servers.gossamer(_folder(scratch, "valkey"), redis, cores=cores.server))
    # The load and Valkey need a part of the cores too, so one process is measured on all of them as well.
    one, two = (
        enter(servers.gossamer(_folder(scratch, f"processes-{number}"), redis | {PROCESSES: str(number)}))
        for number in (1, 2)
    )
    return [
        Contender("nginx, static file", plain, "/static.json"),
        Contender("nginx, static file, access log", logged, "/static.json"),
        Contender(BARE, bare, "/"),
        Contender("Gossamer, memory", on_memory, "/api/me", caller),
        Contender("Gossamer, Valkey", on_valkey, "/api/me", caller),
        Contender("Gossamer, Valkey, 1 process on all cores", one, "/api/me", caller),
        Contender("Gossamer, Valkey, 2 processes on all cores", two, "/api/me", caller),
    ]


def measure_footprint(scratch: Path, cores: Cores, loaded: dict[str, int]) -> Footprint:
    first, later, resident = [], [], []
    settings = _settings("sk_live_" + secrets.token_hex(16))
    for turn in range(START_UPS):
        folder = _folder(scratch, f"start-{turn}")
        with servers.gossamer(folder, settings, cores=cores.server) as server:
            first.append(server.started_in)
        with servers.gossamer(folder, settings, cores=cores.server) as server:
            later.append(server.started_in)
            resident.append(server.resident())
        _say(f"start {turn + 1} of {START_UPS}: {later[-1]:.2f} s")
    return Footprint(median(first), median(later), int(median(resident)), loaded)


def report(machine: Machine, rows: Sequence[Row], footprint: Footprint, options: argparse.Namespace) -> str:
    rates = table(
        ["answers", "per second", "p50 ms", "p99 ms", "CPU µs", "rate / nginx", "p99 / nginx", "rate / bare"],
        [[row.name, *_cells(row, rows[0].middle, _bare(rows))] for row in rows],
    )
    costs = table(
        ["one process", "value"],
        [
            ["first start, empty data folder", f"{footprint.first_start:.2f} s"],
            ["start", f"{footprint.start:.2f} s"],
            ["memory at rest", _megabytes(footprint.memory_at_rest)],
            *(
                [f"memory after the load: {name}", _megabytes(size)]
                for name, size in footprint.memory_after_load.items()
            ),
        ],
    )
    how = f"wrk, {CONNECTIONS} connections, median of {options.rounds} rounds of {options.seconds} s"
    return f"# HTTP\n\n{machine}; {how}\n\n{rates}\n\n{costs}\n"


def document(rows: Sequence[Row], footprint: Footprint, options: argparse.Namespace) -> dict[str, Any]:
    nginx = rows[0].middle
    return {
        "load": {"connections": CONNECTIONS, "rounds": options.rounds, "seconds": options.seconds},
        "rows": [
            {
                "name": row.name,
                **asdict(row.middle),
                "cpu": round(row.cpu, 1),
                "rate_to_nginx": round(row.middle.rate / nginx.rate, 3),
                "p99_to_nginx": round(row.middle.p99 / nginx.p99, 3),
                "rate_to_bare": round(row.middle.rate / _bare(rows).rate, 3),
                "rounds": [asdict(one) for one in row.rounds],
            }
            for row in rows
        ],
        "footprint": asdict(footprint),
    }


def _ask(contender: Contender, seconds: int, cores: Cores) -> Measurement:
    url = contender.server.address + contender.path
    return load(url, seconds=seconds, headers=contender.headers, cores=cores.load)


def _settings(key: str) -> dict[str, str]:
    """A limit that is counted on every request and never reached."""
    return {"GOSSAMER_BOOTSTRAP_KEY": key, "GOSSAMER_LIMIT_CONTROL_PRO": "1000000000/1"}


def _folder(scratch: Path, name: str) -> Path:
    folder = scratch / name
    folder.mkdir()
    return folder


def _bare(rows: Sequence[Row]) -> Measurement:
    return next(row.middle for row in rows if row.name == BARE)


def _cells(row: Row, nginx: Measurement, bare: Measurement) -> list[str]:
    measured = row.middle
    return [
        f"{measured.rate:,.0f}",
        f"{measured.p50:.2f}",
        f"{measured.p99:.2f}",
        f"{row.cpu:.0f}",
        f"{measured.rate / nginx.rate:.2f}",
        f"{measured.p99 / nginx.p99:.1f}",
        f"{measured.rate / bare.rate:.2f}",
    ]


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench http", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4, help="of load, per round and contender")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
