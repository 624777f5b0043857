"""Rendering: real JavaScript pages, beside npm's prerender and Playwright.

All render the same local pages in the same order, a fresh context for each. They take turns, so that other
load on the machine affects them alike: every few pages where they render one at a time, else after a stream.
One of them works at a time, on all cores.
"""

import argparse
import math
import os
import random
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import geometric_mean, mean, median
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench import render_slow, servers
from bench.apps import site
from bench.completeness import COMPLETE, Words, lasting, share, words
from bench.contenders import chromium, npm, usage
from bench.contenders.chromium import CHROMIUM, HEADLESS_SHELL
from bench.contenders.peers import PeerError, python_with
from bench.contenders.rendered import kept
from bench.contenders.worker_process import ContenderError, Worker, working
from bench.table import Machine, save, table, this_machine

CONCURRENCIES: Final = (1, 4)
PAGES_PER_TURN: Final = 2  # one at a time, before the next contender's turn
PASSES: Final = 2  # over all the pages in a stream
SHUFFLE_SEED: Final = 20260101  # every run has the same order
MAX_FAILED_SHARE: Final = 0.1  # of a contender's pages, beyond which it is not compared
PATIENT_RUNS: Final = 2  # of the patient browser over each page
PRERENDER: Final = "5.21.6"
LOOPBACK: Final = {"GOSSAMER_EGRESS_ALLOW": "127.0.0.0/8", "GOSSAMER_EGRESS_PORTS": "*"}
PLAYWRIGHT: Final = "bench.contenders.playwright"
OURS: Final = "Gossamer"
COLUMNS: Final = (
    "pages",
    "at once",
    "per second",
    "p50 ms",
    "p95 ms",
    "CPU s a page",
    "MB",
    "text",
    "complete",
    "failed",
)


@dataclass(frozen=True, slots=True)
class Contender:
    worker: Worker
    folder: Path

    @property
    def name(self) -> str:
        return self.worker.name


@dataclass(frozen=True, slots=True)
class Round:
    rate: float  # pages per second
    cpu: float  # seconds per page
    memory: int  # bytes, the most that was seen of it and its browsers
    latencies: tuple[float, ...]  # seconds
    shares: tuple[float, ...]  # of each page's text
    failed: int  # pages


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    at_once: int
    rounds: tuple[Round, ...]

    @property
    def rate(self) -> float:
        return median(one.rate for one in self.rounds)

    @property
    def cpu(self) -> float:
        return median(one.cpu for one in self.rounds)

    @property
    def memory(self) -> int:
        return max(one.memory for one in self.rounds)

    @property
    def shares(self) -> list[float]:
        """For each page, the worst of its rounds."""
        return [min(each) for each in zip(*(one.shares for one in self.rounds), strict=True)]

    @property
    def failed(self) -> int:
        return sum(one.failed for one in self.rounds)

    def percentile(self, percent: int) -> float:
        """Milliseconds, over the pages of all rounds."""
        values = sorted(each for one in self.rounds for each in one.latencies)
        return values[math.ceil(len(values) * percent / 100) - 1] * 1000


@dataclass(slots=True)
class Tally:
    """A round under way."""

    contender: Contender
    seconds: float = 0.0
    cpu: float = 0.0
    memory: int = 0
    latencies: list[float] = field(default_factory=list)
    failed: int = 0

    def add(self, urls: Sequence[str], at_once: int) -> None:
        pid = self.contender.worker.pid
        before = usage.cpu_seconds(pid)
        with usage.sampled_bytes(pid) as samples:
            run = self.contender.worker.run(urls, at_once)
        self.seconds += run.seconds
        self.cpu += usage.cpu_seconds(pid) - before
        self.memory = max(self.memory, usage.held_bytes(pid), *samples)
        self.latencies += run.latencies
        self.failed += run.empty

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def round(self, urls: Sequence[str], whole: Sequence[Words], at_once: int) -> Round:
        return Round(
            rate=round(self.rate, 3),
            cpu=round(self.cpu / len(self.latencies), 3),
            memory=self.memory,
            latencies=tuple(round(each, 4) for each in self.latencies),
            shares=tuple(
                min(round(share(self._shown(one), text), 4) for one in visited(url, at_once))
                for url, text in zip(urls, whole, strict=True)
            ),
            failed=self.failed,
        )

    def _shown(self, url: str) -> Words:
        return words(kept(self.contender.folder, url))


def main() -> None:
    options = _options()
    servers.stop_when_terminated()
    machine = this_machine()
    with TemporaryDirectory(prefix="gossamer-bench-") as scratch, ExitStack() as stack:
        if options.slow:
            measure_slow(stack, Path(scratch), machine, options.only)
            return
        apps = site.build(Path(scratch) / "site")
        origin = stack.enter_context(site.serving(apps.root))
        paths = list(apps.paths)
        random.Random(SHUFFLE_SEED).shuffle(paths)
        urls = [f"{origin.address}/{path}" for path in paths]
        whole = look(Path(scratch), urls)
        contenders, missing = start(stack, Path(scratch), options.only)
        rows = [
            row for at_once in CONCURRENCIES for row in measure(contenders, urls, whole, at_once, options)
        ]
    text = report(machine, rows, paths, missing, options)
    print(text)
    if name := options.save_as or ("" if options.only else "render"):
        save(name, machine, text, document(rows, paths, missing, options))


def measure_slow(stack: ExitStack, scratch: Path, machine: Machine, only: str) -> None:
    contenders, _ = start(stack, scratch, only)
    results = render_slow.measure(stack, scratch, [(one.worker, one.folder) for one in contenders])
    print(render_slow.report(machine, results))
    if not only:
        render_slow.save_results(machine, results)


def look(scratch: Path, urls: Sequence[str]) -> list[Words]:
    """The words of each page, as a patient browser sees them."""
    python = str(python_with("playwright"))
    command = [python, "-m", PLAYWRIGHT, _binary(CHROMIUM, HEADLESS_SHELL), "patient"]
    found: list[list[Words]] = []
    folder = scratch / "patient"
    with working("patient", command, folder=folder, environment=_environment(folder)) as patient:
        for turn in range(PATIENT_RUNS):
            _say(f"looking at {len(urls)} pages with patience: {turn + 1} of {PATIENT_RUNS}")
            patient.run(urls, 2)
            found.append([words(kept(folder, url)) for url in urls])
    return [lasting(looks) for looks in zip(*found, strict=True)]


def start(stack: ExitStack, scratch: Path, only: str) -> tuple[list[Contender], list[str]]:
    """The contenders, ours and those whose names match `only`, and why others are missing."""
    module = [sys.executable, "-m"]
    contenders: list[Contender] = []
    missing: list[str] = []

    def enter(name: str, command: Sequence[str], more: dict[str, str]) -> None:
        folder = scratch / f"worker-{len(contenders)}"
        environment = {**_environment(folder), **more}
        worker = stack.enter_context(working(name, command, folder=folder, environment=environment))
        contenders.append(Contender(worker, folder))

    def wanted(name: str) -> bool:
        return re.search(only, name, re.IGNORECASE) is not None

    for binary, with_ in ((CHROMIUM, "Chromium"), (HEADLESS_SHELL, "headless shell")):
        try:
            if wanted(name := f"prerender {{version}}, {with_}"):
                package = str(npm.installed("prerender", PRERENDER))
                enter(name, [*module, "bench.contenders.prerender", package, _binary(binary)], {})
            if wanted(name := f"Playwright {{version}}, {with_}"):
                enter(name, [str(python_with("playwright")), "-m", PLAYWRIGHT, _binary(binary)], {})
        except (PeerError, ContenderError) as error:
            missing.append(f"with {with_}: {error}")
            _say(f"not all {missing[-1]}")
    enter(OURS, [*module, "bench.contenders.browsers"], LOOPBACK)
    return contenders, missing


def measure(
    contenders: Sequence[Contender],
    urls: Sequence[str],
    whole: Sequence[Words],
    at_once: int,
    options: argparse.Namespace,
) -> list[Row]:
    for one in contenders:
        one.worker.run(urls[:at_once], at_once)  # starts what starts on demand
    rounds: list[list[Round]] = []
    for turn in range(options.rounds):
        tallies = [Tally(one) for one in contenders]
        for part in turns(urls, at_once):
            for tally in tallies:
                tally.add(part, at_once)
        rounds.append([tally.round(urls, whole, at_once) for tally in tallies])
        told = ", ".join(f"{tally.contender.name}: {tally.rate:.2f}/s" for tally in tallies)
        _say(f"{at_once} at once, round {turn + 1} of {options.rounds}: {told}")
    each = zip(contenders, zip(*rounds, strict=True), strict=True)
    return [Row(one.name, at_once, all_) for one, all_ in each]


def turns(urls: Sequence[str], at_once: int) -> list[Sequence[str]]:
    """What each contender renders before it is the next one's turn.

    Several at once are one stream of pages, as long as the patience of a bench allows: at its end places stay
    empty while the last pages are rendered, and where pages come all the time there is no end.
    """
    if at_once == 1:
        return _batched(urls, PAGES_PER_TURN)
    shuffled = random.Random(SHUFFLE_SEED)
    passes = zip(*(visited(url, at_once) for url in urls), strict=True)
    return [[url for one in passes for url in shuffled.sample(one, len(one))]]


def visited(url: str, at_once: int) -> list[str]:
    """The addresses under which a page is visited in a round: each has a result of its own."""
    if at_once == 1:
        return [url]
    return [f"{url}{'&' if '?' in url else '?'}pass={number}" for number in range(PASSES)]


def report(
    machine: Machine,
    rows: Sequence[Row],
    paths: Sequence[str],
    missing: Sequence[str],
    options: argparse.Namespace,
) -> str:
    rates = table(COLUMNS, [[row.name, *_cells(row)] for row in rows])
    ratios = table(
        ["Gossamer, times", "at once", "rate", "p50", "p95", "page by page", "CPU", "MB"],
        [[row.name, *_ratios(_ours(rows, row), row)] for row in rows if row.name != OURS],
    )
    how = f"{len(paths)} pages, a context for each, median of {options.rounds} rounds"
    how += f"; several at once in streams of {PASSES * len(paths)}"
    left_out = "".join(f"\n\nLeft out: {reason}" for reason in missing)
    return f"# Rendering\n\n{machine}; {how}\n\n{rates}\n\n{ratios}{left_out}\n"


def document(
    rows: Sequence[Row], paths: Sequence[str], missing: Sequence[str], options: argparse.Namespace
) -> dict[str, Any]:
    return {
        "pages": paths,
        "rounds": options.rounds,
        "rows": [
            {
                "name": row.name,
                "at_once": row.at_once,
                "rate": row.rate,
                "p50": round(row.percentile(50), 1),
                "p95": round(row.percentile(95), 1),
                "cpu": row.cpu,
                "memory": row.memory,
                "failed": row.failed,
                "complete": sum(each >= COMPLETE for each in row.shares),
                "text": dict(zip(paths, row.shares, strict=True)),
                "rounds": [asdict(one) for one in row.rounds],
            }
            for row in rows
        ],
        "left_out": list(missing),
    }


def _cells(row: Row) -> list[str]:
    complete = sum(each >= COMPLETE for each in row.shares)
    return [
        str(row.at_once),
        f"{row.rate:.2f}",
        f"{row.percentile(50):,.0f}",
        f"{row.percentile(95):,.0f}",
        f"{row.cpu:.2f}",
        f"{row.memory / 1e6:.0f}",
        f"{mean(row.shares):.1%}",
        f"{complete} of {len(row.shares)}",
        str(row.failed),
    ]


def _ratios(ours: Row, row: Row) -> list[str]:
    """No ratios beside a contender that failed on many pages: beating a broken one proves nothing."""
    if row.failed > MAX_FAILED_SHARE * sum(len(one.latencies) for one in row.rounds):
        return [str(row.at_once), *["-"] * 6]
    return [
        str(row.at_once),
        f"{ours.rate / row.rate:.2f}",
        f"{ours.percentile(50) / row.percentile(50):.2f}",
        f"{ours.percentile(95) / row.percentile(95):.2f}",
        f"{page_by_page(ours, row):.2f}" if row.at_once == 1 else "-",
        f"{ours.cpu / row.cpu:.2f}",
        f"{ours.memory / row.memory:.2f}",
    ]


def page_by_page(ours: Row, row: Row) -> float:
    """The geometric mean of how our time compares on each page: one that takes very long weighs no more.

    Times belong to one page only where pages are rendered one after the other.
    """
    mine, theirs = ([each for one in who.rounds for each in one.latencies] for who in (ours, row))
    return geometric_mean([a / b for a, b in zip(mine, theirs, strict=True)])


def _ours(rows: Sequence[Row], row: Row) -> Row:
    return next(one for one in rows if one.name == OURS and one.at_once == row.at_once)


def _batched(urls: Sequence[str], size: int) -> list[Sequence[str]]:
    return [urls[at : at + size] for at in range(0, len(urls), size)]


def _environment(home: Path) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    return {**plain, "HOME": str(home)}


def _binary(*names: str) -> str:
    if found := chromium.program(*names):
        return found
    raise PeerError(f"{' or '.join(names)} is not installed")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench render", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--rounds", type=int, default=3, help="over all the pages, per contender")
    parser.add_argument("--slow", action="store_true", help="only the apps whose content comes late")
    parser.add_argument("--only", default="", metavar="REGEX", help="peers to measure; saves nothing")
    parser.add_argument("--save-as", default="", metavar="NAME", help="save the results under this name")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
