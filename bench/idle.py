"""Gossamer at rest: what starting costs, and then CPU, wake-ups and memory while nothing is asked of it.

Beside it, an application that does nothing on uvicorn. Everything counts the whole tree of processes. The
servers start one after the other, and then rest together.
"""

import argparse
import secrets
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench import servers
from bench.contenders.usage import cpu_seconds, held_bytes
from bench.servers import Server
from bench.table import Machine, save, table, this_machine

SETTLE_SECONDS: Final = 90.0  # alerts wait for a minute before they are raised
REST_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    start_seconds: float
    start_cpu: float  # seconds, until it answers
    memory: int  # bytes; what processes share is counted once
    cpu: float  # of a core, at rest
    wakeups: float  # a second, of all threads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settle", type=float, default=SETTLE_SECONDS, help="seconds before it is measured")
    parser.add_argument("--rest", type=float, default=REST_SECONDS, help="seconds over which it is measured")
    options = parser.parse_args()
    servers.stop_when_terminated()
    with TemporaryDirectory(prefix="gossamer-bench-") as scratch:
        rows = measure(Path(scratch), options.settle, options.rest)
    machine = this_machine()
    text = report(machine, rows, options.rest)
    print(text)
    save("idle", machine, text, {"rest_seconds": options.rest, "rows": [asdict(row) for row in rows]})


def measure(scratch: Path, settle: float, rest: float) -> list[Row]:
    settings = {"GOSSAMER_BOOTSTRAP_KEY": "sk_live_" + secrets.token_hex(16)}
    bare, ours = scratch / "bare", scratch / "gossamer"
    for folder in (bare, ours):
        folder.mkdir()
    started: dict[str, tuple[Server, float]] = {}
    with servers.gossamer(ours, settings) as server:
        first = (server.started_in, cpu_seconds(server.pid))
    with ExitStack() as stack:
        for name, opened in (
            ("uvicorn, bare", servers.bare(bare)),
            ("Gossamer, embedded", servers.gossamer(ours, settings)),
        ):
            server = stack.enter_context(opened)
            started[name] = (server, cpu_seconds(server.pid))
        servers.say(f"resting for {settle + rest:g} s")
        time.sleep(settle)
        before = {name: _count(server.pid) for name, (server, _) in started.items()}
        time.sleep(rest)
        after = {name: _count(server.pid) for name, (server, _) in started.items()}
        rows = [
            Row(
                name,
                server.started_in,
                cpu,
                held_bytes(server.pid),
                (after[name][0] - before[name][0]) / rest,
                (after[name][1] - before[name][1]) / rest,
            )
            for name, (server, cpu) in started.items()
        ]
    return [*rows, Row("Gossamer, first start", *first, 0, 0.0, 0.0)]


def report(machine: Machine, rows: list[Row], rest: float) -> str:
    def at_rest(row: Row) -> list[str]:
        if not row.memory:
            return ["-"] * 3
        return [f"{row.memory / 2**20:.0f}", f"{row.cpu:.2%}", f"{row.wakeups:.1f}"]

    cells = [[row.name, f"{row.start_seconds:.2f}", f"{row.start_cpu:.2f}", *at_rest(row)] for row in rows]
    columns = ["", "start, s", "its CPU, s", "MB at rest", "CPU of a core", "wake-ups/s"]
    return f"# idle\n\n{machine}. At rest for {rest:g} s.\n\n{table(columns, cells)}\n"


def _count(pid: int) -> tuple[float, int]:
    """CPU seconds, and how often threads of the tree have gone to sleep."""
    return cpu_seconds(pid), sum(_sleeps(one) for one in servers.family(pid))


def _sleeps(pid: int) -> int:
    return sum(
        int(line.split()[1])
        for task in Path(f"/proc/{pid}/task").iterdir()
        for line in (task / "status").read_text().splitlines()
        if line.startswith("voluntary_ctxt_switches")
    )


if __name__ == "__main__":
    main()
