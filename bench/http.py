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
from bench.load import CONNECTIONS, Measurement, load, middle
from bench.servers import Cores, Server
from bench.table import Machine, save, table, this_machine

STATIC: Final = (
    b'{"tenant":"01JZZZZZZZZZZZZZZZZZZZZZZZ","role":"admin","tier":"enterprise","email":"a@b.example"}\n'
)
START_UPS: Final = 5


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
        found: dict[str, list[Measurement]] = {one.name: [] for one in contenders}
        for turn in range(rounds + 1):
            for one in contenders:
                measured = _ask(one, seconds if turn else 1, cores)  # the first turn only warms up
                if turn:
                    found[one.name].append(measured)
                    _say(f"round {turn} of {rounds}: {one.name}: {measured.rate:,.0f}/s")
        loaded = {one.name: one.server.resident() for one in contenders if one.name.startswith("Gossamer")}
    return [Row(name, middle(all_), tuple(all_)) for name, all_ in found.items()], loaded


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
    return [
        Contender("nginx, static file", plain, "/static.json"),
        Contender("nginx, static file, access log", logged, "/static.json"),
        Contender("bare ASGI on uvicorn", bare, "/"),
        Contender("Gossamer, memory", on_memory, "/api/me", caller),
        Contender("Gossamer, Valkey", on_valkey, "/api/me", caller),
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
    nginx = rows[0].middle
    rates = table(
        ["answers", "per second", "p50 ms", "p99 ms", "rate / nginx", "p99 / nginx"],
        [[row.name, *_cells(row.middle, nginx)] for row in rows],
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
                "rate_to_nginx": round(row.middle.rate / nginx.rate, 3),
                "p99_to_nginx": round(row.middle.p99 / nginx.p99, 3),
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


def _cells(measured: Measurement, nginx: Measurement) -> list[str]:
    return [
        f"{measured.rate:,.0f}",
        f"{measured.p50:.2f}",
        f"{measured.p99:.2f}",
        f"{measured.rate / nginx.rate:.2f}",
        f"{measured.p99 / nginx.p99:.1f}",
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
