"""Fetch and content: pages in, markdown out, beside trafilatura and Crawl4AI's HTTP mode.

All read the same local pages in the same order, each in a process of its own on one core. They take turns,
round after round, so that whatever else the machine does meets them alike; each number is the median of its
rounds.
"""

import argparse
import math
import os
import secrets
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol

from bench import pages, servers
from bench.contenders import usage
from bench.contenders.api import Api
from bench.contenders.peers import PeerError, python_with
from bench.contenders.worker import Run
from bench.contenders.worker_process import ContenderError, working
from bench.pages import Site
from bench.servers import Cores
from bench.table import Machine, save, table, this_machine

AT_ONCE: Final = (1, 8)
LOOPBACK: Final = {"GOSSAMER_EGRESS_ALLOW": "127.0.0.0/8", "GOSSAMER_EGRESS_PORTS": "*"}
# Crawl4AI: no advertisement, and no look at the network for the prices of language models.
OFFLINE: Final = {"CRAWL4AI_NO_CLOUD_NOTICE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
# fmt: off
COLUMNS: Final = (
    "pages as markdown", "at once", "per second", "p50 ms", "p99 ms", "CPU ms a page", "peak MB",
    "kB out", "empty", "rate / trafilatura", "CPU / trafilatura",
)
# fmt: on


class Contender(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def warm_up(self, urls: Sequence[str], at_once: int) -> None: ...

    def run(self, urls: Sequence[str], at_once: int) -> Run: ...


@dataclass(frozen=True, slots=True)
class Round:
    rate: float  # pages per second
    p50: float  # milliseconds
    p99: float
    cpu: float  # milliseconds per page


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    at_once: int
    middle: Round
    peak: int  # bytes
    markdown: float  # characters per page
    empty: int  # pages on which nothing was found
    rounds: tuple[Round, ...]


def main() -> None:
    options = _options()
    servers.stop_when_terminated()
    machine, cores = this_machine(), servers.share_cores()
    with TemporaryDirectory(prefix="gossamer-bench-") as scratch, ExitStack() as stack:
        site = pages.gather(Path(scratch) / "pages", options.pages)
        origin = stack.enter_context(pages.serving(site, cores=cores.load))
        urls = [f"{origin.address}/{path}" for path in site.paths]
        contenders, missing = start(stack, Path(scratch), cores)
        if cores.load:
            os.sched_setaffinity(0, {int(cores.load)})  # our clients share a core with the pages
        rows = [row for at_once in AT_ONCE for row in measure(contenders, urls, at_once, options.rounds)]
    text = report(machine, site, rows, missing, options)
    print(text)
    save("fetch", machine, text, document(site, rows, missing, options))


def start(stack: ExitStack, scratch: Path, cores: Cores) -> tuple[list[Contender], list[str]]:
    """Those who take part, trafilatura first, and why others do not."""
    enter = stack.enter_context
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    module = [sys.executable, "-m"]

    def worker(name: str, command: Sequence[str], more: dict[str, str]) -> Contender:
        folder = scratch / f"worker-{len(contenders)}"
        environment = {**plain, "HOME": str(folder), **more}
        return enter(working(name, command, folder=folder, environment=environment, cores=cores.server))

    contenders: list[Contender] = []
    peer = "bench.contenders.trafilatura"
    contenders.append(worker("trafilatura {version}", [*module, peer], {}))
    contenders.append(worker("trafilatura {version}, fast", [*module, peer, "fast"], {}))
    missing = []
    try:
        python = str(python_with("crawl4ai"))
        crawl4ai = [python, "-m", "bench.contenders.crawl4ai"]
        contenders.append(worker("Crawl4AI {version}, HTTP mode", crawl4ai, OFFLINE))
    except (PeerError, ContenderError) as error:
        missing.append(f"Crawl4AI: {error}")
        _say(f"without {missing[-1]}")
    contenders.append(worker("Gossamer, in process", [*module, "bench.contenders.reader"], LOOPBACK))
    contenders.append(_api(stack, scratch / "api", cores, "Gossamer, POST /fetch", cached=False))
    contenders.append(_api(stack, scratch / "cache", cores, "Gossamer, POST /fetch, cached", cached=True))
    return contenders, missing


def measure(contenders: Sequence[Contender], urls: Sequence[str], at_once: int, rounds: int) -> list[Row]:
    found: dict[str, list[tuple[Round, Run]]] = {one.name: [] for one in contenders}
    for one in contenders:
        one.warm_up(urls, at_once)
    for turn in range(rounds):
        for one in contenders:
            before = usage.cpu_seconds(one.pid)
            run = one.run(urls, at_once)
            measured = _round(run, usage.cpu_seconds(one.pid) - before)
            found[one.name].append((measured, run))
            _say(f"{at_once} at once, round {turn + 1} of {rounds}: {one.name}: {measured.rate:,.1f}/s")
    return [_row(one, at_once, found[one.name]) for one in contenders]


def report(
    machine: Machine, site: Site, rows: Sequence[Row], missing: Sequence[str], options: argparse.Namespace
) -> str:
    rates = table(
        COLUMNS,
        [[row.name, *_cells(row, _peer(rows, row))] for row in rows],
    )
    how = f"{site}; one core each, median of {options.rounds} rounds"
    left_out = "".join(f"\n\nLeft out: {reason}" for reason in missing)
    return f"# Fetch and content\n\n{machine}; {how}\n\n{rates}{left_out}\n"


def document(
    site: Site, rows: Sequence[Row], missing: Sequence[str], options: argparse.Namespace
) -> dict[str, Any]:
    return {
        "pages": {"count": len(site.paths), "source": site.source, "bytes": site.bytes},
        "rounds": options.rounds,
        "rows": [
            {
                **asdict(row),
                "rate_to_trafilatura": round(row.middle.rate / _peer(rows, row).middle.rate, 3),
                "cpu_to_trafilatura": round(row.middle.cpu / _peer(rows, row).middle.cpu, 4),
            }
            for row in rows
        ],
        "left_out": list(missing),
    }


def _api(stack: ExitStack, folder: Path, cores: Cores, name: str, *, cached: bool) -> Api:
    key = "sk_live_" + secrets.token_hex(16)
    folder.mkdir()
    limits = dict.fromkeys(("GOSSAMER_LIMIT_ADMIN", "GOSSAMER_LIMIT_HITS_PRO"), "1000000000/1")
    settings = {**LOOPBACK, "GOSSAMER_BOOTSTRAP_KEY": key, **limits}
    server = stack.enter_context(servers.gossamer(folder, settings, cores=cores.server))
    return Api(name, server, key, cached)


def _round(run: Run, cpu: float) -> Round:
    count = len(run.latencies)
    return Round(
        rate=round(count / run.seconds, 2),
        p50=round(_percentile(run.latencies, 50) * 1000, 3),
        p99=round(_percentile(run.latencies, 99) * 1000, 3),
        cpu=round(cpu / count * 1000, 3),
    )


def _percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def _row(contender: Contender, at_once: int, found: Sequence[tuple[Round, Run]]) -> Row:
    rounds = tuple(measured for measured, _ in found)
    last = found[-1][1]
    return Row(
        name=contender.name,
        at_once=at_once,
        middle=Round(*(median(getattr(one, name) for one in rounds) for name in Round.__annotations__)),
        peak=usage.peak_bytes(contender.pid),
        markdown=round(last.characters / len(last.latencies), 1),
        empty=last.empty,
        rounds=rounds,
    )


def _peer(rows: Sequence[Row], row: Row) -> Row:
    """trafilatura, the first in each half of the table."""
    return next(one for one in rows if one.at_once == row.at_once)


def _cells(row: Row, peer: Row) -> list[str]:
    middle = row.middle
    return [
        str(row.at_once),
        f"{middle.rate:,.1f}",
        f"{middle.p50:,.1f}",
        f"{middle.p99:,.1f}",
        f"{middle.cpu:.2f}",
        f"{row.peak / 1e6:.0f}",
        f"{row.markdown / 1000:.1f}",
        str(row.empty),
        f"{middle.rate / peer.middle.rate:.2f}",
        f"{middle.cpu / peer.middle.cpu:.3f}",
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench fetch", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3, help="over all the pages, per contender")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
