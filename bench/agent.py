"""The agent's endpoints: how long each takes, beside what was asked of it and a bare Playwright script.

All visit the same local pages, most of them made by scripts, in the same order; one of them works at a time.
"""

import argparse
import json
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench import servers
from bench.apps import site
from bench.arrivals import AnswerError, Caller, Request
from bench.cache_settings import new_key
from bench.cache_times import percentile
from bench.contenders.chromium import CHROMIUM, HEADLESS_SHELL, program
from bench.contenders.peers import PeerError, python_with
from bench.contenders.worker import Run, run_in_threads
from bench.contenders.worker_process import ContenderError, working
from bench.table import Machine, save, table, this_machine

AT_ONCE: Final = (1, 4)
ORDER: Final = 20260101  # the seed of the shuffle
HITS: Final = 20  # times every page
SCRIPT: Final = "bench.contenders.playwright_script"
TIMEOUT: Final = 30_000  # milliseconds for a page


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    path: str
    body: Mapping[str, Any] = field(default_factory=dict)
    asked: float | None = None  # seconds, at most
    script: str = ""  # what the bare script makes to do the same
    repeats: int = 1

    def request(self, url: str) -> Request:
        name = url.rstrip("/").rpartition("/")[2].partition(".")[0]
        subject = {"query": name.replace("-", " ")}
        body = {**(subject if self.path == "/search" else {"url": url}), **self.body}
        return Request("POST", self.path, json.dumps(body).encode())


FIELDS: Final = ["title", "author", "price"]
OPERATIONS: Final = (
    Operation("fetch/basic", "/fetch/basic", {"timeout": TIMEOUT}, asked=2.0),
    Operation("fetch, render auto", "/fetch", {"timeout": TIMEOUT, "render": "auto"}),
    Operation("fetch/pro", "/fetch/pro", {"timeout": TIMEOUT}, asked=5.0, script="content"),
    Operation("screenshot", "/screenshot", {"timeout": TIMEOUT}, asked=5.0, script="screenshot"),
    Operation(
        "screenshot, full page",
        "/screenshot",
        {"timeout": TIMEOUT, "fullPage": True, "maxHeight": 16_000},
        asked=5.0,
        script="full page",
    ),
    Operation("pdf", "/pdf", {"timeout": TIMEOUT}, asked=5.0, script="pdf"),
    Operation("extract", "/extract", {"timeout": TIMEOUT, "fields": FIELDS}),
    Operation("search, own index", "/search", repeats=HITS),
    Operation("hit, fetch/basic", "/fetch/basic", {"cache": True}, asked=0.1, repeats=HITS),
    Operation("hit, fetch/pro", "/fetch/pro", {"cache": True}, asked=0.1, repeats=HITS),
    Operation("hit, screenshot", "/screenshot", {"cache": True}, asked=0.1, repeats=HITS),
)


@dataclass(frozen=True, slots=True)
class Row:
    operation: Operation
    at_once: int
    run: Run
    script: Run | None


def main() -> None:
    options = _options()
    servers.stop_when_terminated()
    machine = this_machine()
    with TemporaryDirectory(prefix="gossamer-bench-") as scratch, ExitStack() as stack:
        apps = site.build(Path(scratch) / "site")
        origin = stack.enter_context(site.serving(apps.root))
        paths = list(apps.paths)
        random.Random(ORDER).shuffle(paths)
        urls = [f"{origin.address}/{path}" for path in paths][: options.pages]
        with gossamer(Path(scratch)) as caller:
            ours = measured(caller, urls)
        scripts, missing = peers(Path(scratch), urls)
    rows = [
        Row(operation, at_once, run, scripts.get((operation.script, at_once)))
        for operation, at_once, run in ours
    ]
    text = report(machine, rows, len(urls), missing)
    print(text)
    save("agent", machine, text, document(rows, len(urls), missing))


@contextmanager
def gossamer(scratch: Path) -> Iterator[Caller]:
    key = new_key()
    settings = {
        "GOSSAMER_BOOTSTRAP_KEY": key,
        "GOSSAMER_EGRESS_ALLOW": "127.0.0.0/8",
        "GOSSAMER_EGRESS_PORTS": "*",
        "GOSSAMER_LIMIT_ADMIN": "1000000/60",
        "GOSSAMER_LIMIT_HITS_PRO": "1000000/60",
        "GOSSAMER_LIMIT_CONTROL_PRO": "1000000/60",
        "GOSSAMER_LIMIT_RENDERS_ENTERPRISE": "1000000/60",
        "GOSSAMER_LIMIT_RENDERS_PRO": "1000000/60",
        "GOSSAMER_LIMIT_RENDERS_FREE": "1000000/60",
        "GOSSAMER_ACCESS_LOG": "false",
    }
    with servers.gossamer(scratch, settings) as server:
        yield Caller(server.address, {"Authorization": f"Bearer {key}", "Content-Type": "application/json"})


def measured(caller: Caller, urls: Sequence[str]) -> list[tuple[Operation, int, Run]]:
    found = []
    for operation in OPERATIONS:
        ask = _asking(caller, operation)
        first = urls[:2] if operation.repeats == 1 else urls  # starts a browser, or fills the cache
        run_in_threads(ask, first, 1)
        for at_once in AT_ONCE:
            run = run_in_threads(ask, [*urls] * operation.repeats, at_once)
            found.append((operation, at_once, run))
            servers.say(f"Gossamer, {operation.name}, {at_once} at once: {_cell(run, 50)} ms")
    return found


def _asking(caller: Caller, operation: Operation) -> Callable[[str], str]:
    def ask(url: str) -> str:
        try:
            return caller.ask(operation.request(url)).decode()
        except AnswerError as error:
            servers.say(str(error))
            return ""  # it failed

    return ask


def peers(scratch: Path, urls: Sequence[str]) -> tuple[dict[tuple[str, int], Run], str]:
    """What the bare script takes, by what it makes; or why there is none."""
    found = {}
    binary = program(HEADLESS_SHELL, CHROMIUM) or ""
    try:
        python = str(python_with("playwright"))
        for wanted in dict.fromkeys(operation.script for operation in OPERATIONS if operation.script):
            folder = scratch / f"script-{wanted.replace(' ', '-')}"
            command = [python, "-m", SCRIPT, binary, wanted]
            environment = {**os.environ, "HOME": str(folder)}
            with working("script", command, folder=folder, environment=environment) as script:
                script.run(urls[:2], 1)
                for at_once in AT_ONCE:
                    found[wanted, at_once] = script.run(urls, at_once)
                    servers.say(
                        f"script, {wanted}, {at_once} at once: {_cell(found[wanted, at_once], 50)} ms"
                    )
    except (PeerError, ContenderError) as error:
        return found, str(error)
    return found, ""


def report(machine: Machine, rows: Sequence[Row], pages: int, missing: str) -> str:
    columns = ["milliseconds", "at once", "asked", "p50", "p95", "failed", "script p50", "p95", "failed"]
    shown = table(columns, [[row.operation.name, *_cells(row)] for row in rows])
    left_out = f"\n\nLeft out: the script ({missing})" if missing else ""
    how = f"{pages} local pages, most of them made by scripts; hits and searches {HITS} times each"
    return f"# The agent's endpoints\n\n{machine}; {how}\n\n{shown}{left_out}\n"


def document(rows: Sequence[Row], pages: int, missing: str) -> dict[str, Any]:
    return {
        "pages": pages,
        "missing": missing,
        "rows": [
            {
                "operation": row.operation.name,
                "at_once": row.at_once,
                "asked_ms": row.operation.asked and row.operation.asked * 1000,
                **_numbers(row.run),
                "script": row.script and _numbers(row.script),
            }
            for row in rows
        ],
    }


def _numbers(run: Run) -> dict[str, float]:
    return {"p50": _milliseconds(run, 50), "p95": _milliseconds(run, 95), "failed": run.empty}


def _cells(row: Row) -> list[str]:
    asked = f"{row.operation.asked * 1000:,.0f}" if row.operation.asked else ""
    theirs = ["", "", ""]
    if row.script is not None:
        theirs = [_cell(row.script, 50), _cell(row.script, 95), str(row.script.empty)]
    return [str(row.at_once), asked, _cell(row.run, 50), _cell(row.run, 95), str(row.run.empty), *theirs]


def _cell(run: Run, percent: int) -> str:
    return f"{_milliseconds(run, percent):,.0f}"


def _milliseconds(run: Run, percent: int) -> float:
    return round(percentile(run.latencies, percent) * 1000, 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench agent", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--pages", type=int, default=100, help="at most so many pages (default: all there are)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
