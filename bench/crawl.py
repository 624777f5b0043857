"""Crawls: whole sites, beside Scrapy (tuned and as documented) and Crawlee.

All crawl the same local sites with no delay and do the same work: fetch, obey robots.txt, parse, follow links
once, keep title, description, text and body of each page. Each is a process on a core of its own, and what it
fetched is counted in the server's log. They take turns, round after round; each number is the median of its
rounds. Time runs from the first request to the end of the process, so what starts up slowly is not punished.
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench import crawl_sites, servers
from bench.contenders import usage
from bench.contenders.peers import PeerError
from bench.crawl_sites import Site
from bench.crawlers import peers
from bench.servers import ROOT, Cores
from bench.table import Machine, save, table, this_machine

LONGEST: Final = 1_800.0  # seconds of one crawl
LOOK_SECONDS: Final = 0.2
PEER: Final = "Scrapy, tuned"
PROCESSES: Final = "GOSSAMER_BENCH_PROCESSES"
# fmt: off
COLUMNS: Final = (
    "", "pages", "requests", "pages/s", "CPU s per 1,000", "peak MB", "rate / Scrapy", "CPU Scrapy / own",
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    python: Path
    module: str
    processes: int = 1  # and cores


@dataclass(frozen=True, slots=True)
class Round:
    pages: int
    requests: int
    seconds: float
    cpu: float  # seconds
    peak: int  # bytes, of all its processes

    @property
    def rate(self) -> float:
        return self.pages / self.seconds

    @property
    def cost(self) -> float:
        """CPU seconds per 1,000 pages."""
        return self.cpu / self.pages * 1_000


Found = dict[str, dict[str, list[Round]]]  # by site and contender


def main() -> None:
    options = _options()
    servers.stop_when_terminated()
    contenders, missing = _contenders(options.only)
    cores = servers.share_cores()
    with TemporaryDirectory(prefix="gossamer-bench-") as scratch:
        sites = [
            crawl_sites.documentation(Path(scratch) / "one", options.documentation),
            crawl_sites.many_hosts(Path(scratch) / "many", options.hosts, options.pages),
        ]
        found = measure(sites, contenders, cores, Path(scratch), options.rounds)
    machine = this_machine()
    text = report(machine, sites, found, missing, options)
    print(text)
    if not options.only:
        save("crawl", machine, text, document(sites, found, missing, options))


def measure(
    sites: Sequence[Site], contenders: Sequence[Contender], cores: Cores, scratch: Path, rounds: int
) -> Found:
    found: Found = {site.name: {one.name: [] for one in contenders} for site in sites}
    for turn in range(rounds):
        for site in sites:
            for number, one in enumerate(contenders):
                folder = scratch / f"{turn}-{site.name}-{number}".replace(" ", "-")
                measured = crawled(one, site, folder, cores)
                found[site.name][one.name].append(measured)
                servers.say(f"round {turn + 1} of {rounds}: {site.name}: {one.name}: {_told(measured)}")
    return found


def crawled(contender: Contender, site: Site, folder: Path, cores: Cores) -> Round:
    """One crawl of the site by a fresh process, in a folder of its own."""
    (folder / "kept").mkdir(parents=True)
    seeds = folder / "seeds"
    seeds.write_text("\n".join(site.seeds))
    # fmt: off
    command = [
        str(contender.python), "-m", f"bench.crawlers.{contender.module}", str(folder / "kept"), str(seeds),
    ]
    # fmt: on
    pin = ["taskset", "-c", cores.server] if cores.server and contender.processes == 1 else []
    with (
        crawl_sites.serving(site, folder / "nginx", cores=cores.load) as log,
        (folder / "log").open("wb") as said,
    ):
        process = subprocess.Popen(
            [*pin, *command], cwd=ROOT, env=_environment(folder, contender), stdout=said, stderr=said
        )
        with _peak(process.pid) as peak:
            cpu = _ended(process)
        ended = time.time()
    if process.returncode:
        end = "\n".join((folder / "log").read_text(errors="replace").splitlines()[-20:])
        raise SystemExit(f"{contender.name} failed on {site.name}:\n{end}")
    seen = crawl_sites.seen(log)
    return Round(seen.pages, seen.requests, ended - seen.began, cpu, max(peak, default=0))


def _ended(process: subprocess.Popen[bytes]) -> float:
    """When it has ended: the seconds of the processor that it and its children have used."""
    timer = threading.Timer(LONGEST, process.kill)
    timer.start()
    try:
        _, status, used = os.wait4(process.pid, 0)
    finally:
        timer.cancel()
        if process.returncode is None:
            process.kill()
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


@contextmanager
def _peak(pid: int) -> Iterator[list[int]]:
    """The most that its processes have held, looked at again and again."""
    samples: list[int] = []
    done = threading.Event()

    def look() -> None:
        while not done.wait(LOOK_SECONDS):
            samples.append(usage.peak_bytes(pid))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield samples
    finally:
        done.set()
        looking.join()


def _environment(folder: Path, contender: Contender) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    return {**plain, "HOME": str(folder), "PYTHONPATH": str(ROOT), PROCESSES: str(contender.processes)}


def _contenders(only: Sequence[str]) -> tuple[list[Contender], list[str]]:
    ours = Path(sys.executable)
    lines: tuple[tuple[str, Callable[[], Path], str, int], ...] = (
        (PEER, peers.scrapy, "scrapy_tuned", 1),
        ("Scrapy, as documented", peers.scrapy, "scrapy_idiomatic", 1),
        ("Crawlee, Parsel", peers.crawlee, "crawlee", 1),
        ("Gossamer", lambda: ours, "gossamer", 1),
        ("Gossamer, 2 processes", lambda: ours, "gossamer", 2),
    )
    contenders, missing = [], []
    for name, python, module, processes in lines:
        if only and module not in only:
            continue
        try:
            contenders.append(Contender(name, python(), module, processes))
        except PeerError as error:
            missing.append(f"{name}: {error}")
            servers.say(f"without {missing[-1]}")
    return contenders, missing


def report(
    machine: Machine,
    sites: Sequence[Site],
    found: Found,
    missing: Sequence[str],
    options: argparse.Namespace,
) -> str:
    parts = [f"## {site.name}: {site.source}\n\n{_table(found[site.name])}" for site in sites]
    absent = "".join(f"\n\nNot measured: {reason}" for reason in missing)
    how = f"no delay, one core each (two processes: both), median of {options.rounds} rounds"
    return f"# Crawls\n\n{machine}; {how}\n\n" + "\n\n".join(parts) + absent + "\n"


def _table(found: dict[str, list[Round]]) -> str:
    middles = {name: _middle(rounds) for name, rounds in found.items()}
    peer = middles.get(PEER)
    return table(COLUMNS, [[name, *_cells(middle, peer)] for name, middle in middles.items()])


def _cells(one: Round, peer: Round | None) -> list[str]:
    return [
        f"{one.pages:,}",
        f"{one.requests:,}",
        f"{one.rate:,.0f}",
        f"{one.cost:.2f}",
        f"{one.peak / 1e6:.0f}",
        f"{one.rate / peer.rate:.1f}" if peer else "",
        f"{peer.cost / one.cost:.1f}" if peer else "",
    ]


def _middle(rounds: Sequence[Round]) -> Round:
    return sorted(rounds, key=lambda one: one.rate)[len(rounds) // 2]


def document(
    sites: Sequence[Site], found: Found, missing: Sequence[str], options: argparse.Namespace
) -> dict[str, Any]:
    return {
        "rounds": options.rounds,
        "sites": [{"name": site.name, "source": site.source} for site in sites],
        "rows": [
            {
                "site": site,
                "name": name,
                "rate": round(median(one.rate for one in rounds), 1),
                "cpu_per_1000": round(median(one.cost for one in rounds), 3),
                "rounds": [asdict(one) for one in rounds],
            }
            for site, names in found.items()
            for name, rounds in names.items()
        ],
        "missing": list(missing),
    }


def _told(one: Round) -> str:
    cost = f"{one.cost:.2f} CPU s per 1,000, {one.peak / 1e6:.0f} MB"
    return f"{one.pages:,} pages of {one.requests:,} requests, {one.rate:,.0f}/s, {cost}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench crawl", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hosts", type=int, default=200, help="of the generated web")
    parser.add_argument("--pages", type=int, default=54, help="of each of them")
    parser.add_argument("--documentation", type=Path, help="a folder with an index.html, not a package")
    parser.add_argument("--only", nargs="+", default=[], help="modules of bench.crawlers; saves no results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
