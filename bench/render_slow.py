"""Slow apps: pages whose content comes late, beside npm's prerender and Playwright.

Each contender visits every page of `bench/apps/slow` once, one after the other. A page is complete when its
last words are there, as often as they should be.
"""

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bench.apps import slow
from bench.contenders.rendered import kept
from bench.contenders.worker_process import Worker
from bench.table import Machine, save, table

ENDS: Final = {"observer": 2}  # how often the last words are on a page; else once
SCRIPT: Final = re.compile(r"<script.*?</script>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SlowRender:
    """How a contender rendered one page."""

    contender: str
    page: str
    seconds: float
    complete: bool


def measure(stack: ExitStack, scratch: Path, workers: Sequence[tuple[Worker, Path]]) -> list[SlowRender]:
    origin = stack.enter_context(slow.serving(scratch))
    results = []
    for worker, folder in workers:
        worker.run([f"{origin.address}/slow/timer?warm-up"], 1)
        for page in slow.PAGES:
            url = f"{origin.address}/slow/{page}?seconds={slow.SECONDS:g}&for={folder.name}"
            run = worker.run([url], 1)
            results.append(
                SlowRender(worker.name, page, round(run.latencies[0], 3), _is_complete(page, folder, url))
            )
    return results


def report(machine: Machine, results: Sequence[SlowRender]) -> str:
    names = list(dict.fromkeys(result.contender for result in results))
    cells = {(result.contender, result.page): result for result in results}
    rows = [[page, *(_cell(cells[name, page]) for name in names)] for page in slow.PAGES]
    rows.append(
        ["complete", *(_count([result for result in results if result.contender == name]) for name in names)]
    )
    how = f"what is late comes after {slow.SECONDS:g} s; seconds, where the page is complete"
    return f"# Rendering slow apps\n\n{machine}; {how}\n\n{table(['page', *names], rows)}\n"


def save_results(machine: Machine, results: Sequence[SlowRender]) -> None:
    document: dict[str, Any] = {"seconds": slow.SECONDS, "looks": [asdict(result) for result in results]}
    save("render-slow", machine, report(machine, results), document)


def _is_complete(page: str, folder: Path, url: str) -> bool:
    return SCRIPT.sub("", kept(folder, url)).count(slow.DONE) == ENDS.get(page, 1)


def _cell(result: SlowRender) -> str:
    return f"{result.seconds:.1f}" if result.complete else "-"


def _count(results: Sequence[SlowRender]) -> str:
    return f"{sum(result.complete for result in results)} of {len(results)}"
