"""Starts and kills servers that are processes of their own.

They are forked from one that has everything imported, unless they are to be fresh.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest

from tests.doors.services import ADMIN_KEY
from tests.forks.forked import ROOT, Forked

__all__ = ["ROOT", "Process", "Start", "processes_in", "started_server"]


class Process:
    def __init__(
        self,
        module: str,
        arguments: tuple[str, ...],
        environment: dict[str, str],
        output: IO[str] | None = None,  # what it writes goes there
        *,
        is_fresh: bool = False,  # for a test that looks at the memory of the whole process
    ) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
        whole, said = {**clean, **environment}, output or subprocess.PIPE
        self.process: subprocess.Popen[str] | Forked
        if is_fresh:
            command = [sys.executable, "-m", module, *arguments]
            self.process = subprocess.Popen(command, env=whole, stdout=said, stderr=said, text=True, cwd=ROOT)
        else:
            self.process = Forked(module, *arguments, env=whole, stdout=said, stderr=said)
        self.port = 0

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


Start = Callable[..., Process]


@contextmanager
def processes_in(folder: Path) -> Iterator[Start]:
    """Starts a module with settings by name, and ends it at the end."""
    started: list[Process] = []

    def start(
        module: str, *arguments: str, output: IO[str] | None = None, is_fresh: bool = False, **settings: Any
    ) -> Process:
        settings = {
            "data_dir": folder,
            "port": 0,
            "bootstrap_key": ADMIN_KEY,
            "limit_anonymous_post": "1000000000/60",
            "limit_anonymous_read": "1000000000/60",
            "backoff_faults": 0,
            "backoff_misses": 0,
            **settings,
        }
        environment = {f"GOSSAMER_{name.upper()}": str(value) for name, value in settings.items()}
        started.append(Process(module, arguments, environment, output, is_fresh=is_fresh))
        return started[-1]

    try:
        yield start
    finally:
        for process in started:
            process.kill()


def started_server(processes: Start, **settings: Any) -> Process:
    """A server with the test routes."""
    process = processes("tests.doors.process", **settings)
    process.port = int(process.line() or pytest.fail(process.process.communicate()[1]))
    return process


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Start]:
    with processes_in(tmp_path) as start:
        yield start


@pytest.fixture
def start_server(processes: Start) -> Start:
    return partial(started_server, processes)


@pytest.fixture
def start_gossamer(processes: Start) -> Start:
    """Starts the server that people start."""

    def start(**settings: Any) -> Process:
        process = processes("gossamer", "serve", **settings)
        address = re.search(r"http://127\.0\.0\.1:(\d+)", process.line())
        if address is None:
            process.process.kill()
            pytest.fail(process.process.communicate()[1])
        process.port = int(address[1])
        return process

    return start
