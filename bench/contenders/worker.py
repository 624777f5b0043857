"""The contender's end of the pipe: reads pages when it is told to, and says how long each of them took.

Runs in the contender's own interpreter, so it leans on the standard library alone. A message is a line of
JSON: first `{"version": …}` when it is ready, then for each `{"urls": […], "at_once": …}` a `Run`. An error
ends the process, and the bench with it: one page that failed fast, and the numbers mean nothing.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any, TextIO

Read = Callable[[str], str]  # a URL in, its markdown out
ReadAsync = Callable[[str], Awaitable[str]]


@dataclass(slots=True)
class Run:
    """A pass over the pages."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)  # seconds, one a page
    characters: int = 0  # of markdown
    empty: int = 0  # pages that nothing was found on

    def add(self, latency: float, markdown: str) -> None:
        self.latencies.append(latency)
        self.characters += len(markdown)
        self.empty += not markdown.strip()


def run_in_threads(read: Read, urls: Sequence[str], at_once: int) -> Run:
    run, waiting = Run(), iter(urls)

    def work() -> None:
        for url in waiting:
            began = perf_counter()
            markdown = read(url)
            run.add(perf_counter() - began, markdown)

    began = perf_counter()
    with ThreadPoolExecutor(at_once) as threads:
        for done in [threads.submit(work) for _ in range(at_once)]:
            done.result()
    run.seconds = perf_counter() - began
    return run


async def run_in_tasks(read: ReadAsync, urls: Sequence[str], at_once: int) -> Run:
    run, waiting = Run(), iter(urls)

    async def work() -> None:
        for url in waiting:
            began = perf_counter()
            markdown = await read(url)
            run.add(perf_counter() - began, markdown)

    began = perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(work())
    run.seconds = perf_counter() - began
    return run


def serve_threads(version: str, read: Read) -> None:
    answers = _answers()
    _say(answers, {"version": version})
    for task in map(json.loads, _lines()):
        _say(answers, asdict(run_in_threads(read, task["urls"], task["at_once"])))


def serve_tasks(version: str, reader: AbstractAsyncContextManager[ReadAsync]) -> None:
    answers = _answers()

    async def serve() -> None:
        async with reader as read:
            _say(answers, {"version": version})
            while line := await asyncio.to_thread(sys.stdin.readline):
                task = json.loads(line)
                _say(answers, asdict(await run_in_tasks(read, task["urls"], task["at_once"])))

    asyncio.run(serve())


def _answers() -> TextIO:
    """The pipe to the bench; whatever else is printed joins the log."""
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return pipe


def _lines() -> Iterator[str]:
    return iter(sys.stdin.readline, "")


def _say(pipe: TextIO, message: dict[str, Any]) -> None:
    print(json.dumps(message), file=pipe, flush=True)
