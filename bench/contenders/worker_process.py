"""The bench's end of the pipe to a contender."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.contenders.worker import Run
from bench.servers import ROOT

END_SECONDS: Final = 10.0
WARM_UP: Final = 20  # pages


class ContenderError(Exception):
    """A contender ended before its time; carries the end of what it printed."""


@dataclass(frozen=True, slots=True)
class Worker:
    name: str
    process: subprocess.Popen[str]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def warm_up(self, urls: Sequence[str], at_once: int) -> None:
        self.run(urls[:WARM_UP], at_once)

    def run(self, urls: Sequence[str], at_once: int) -> Run:
        assert self.process.stdin is not None
        print(json.dumps({"urls": urls, "at_once": at_once}), file=self.process.stdin, flush=True)
        return Run(**self.hear())

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            end = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
            raise ContenderError(f"{self.name} ended; its last lines:\n{end}")
        message: dict[str, Any] = json.loads(line)
        return message


@contextmanager
def working(
    name: str,
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    cores: str | None = None,
) -> Iterator[Worker]:
    """Start `command` in a `folder` of its own, wait until it is ready, and end it whatever happens.

    `{version}` in the name becomes what the contender says of itself.
    """
    folder.mkdir()
    pin = ["taskset", "-c", cores] if cores else []
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*pin, *command],
            cwd=folder,
            env={**environment, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
        )
        try:
            version = Worker(name, process, log).hear()["version"]
            yield Worker(name.format(version=version), process, log)
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    try:
        process.communicate(timeout=END_SECONDS)  # closes its standard input, which is how it knows
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
