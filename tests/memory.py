"""How much memory a process and its children have, looked at all the while."""

import resource
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil  # type: ignore[import-untyped]

EVERY = 0.02  # seconds
READER = b"gossamer.flows.parsers.parser_process"


def _resident(process: Path) -> int:
    with suppress(OSError, IndexError):
        return int((process / "statm").read_text().split()[1]) * resource.getpagesize()
    return 0  # it has just ended


class MemoryWatch:
    """`with MemoryWatch(pid) as watch`; sizes are resident bytes."""

    def __init__(self, pid: int) -> None:
        self.most = 0  # of the process
        self.most_of_child = 0  # of the largest of those that read pages
        self._process = psutil.Process(pid)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def now(self) -> int:
        return int(self._process.memory_info().rss)

    def begin_anew(self) -> None:
        self.most = self.most_of_child = 0

    def _run(self) -> None:
        while not self._stop.wait(EVERY):
            self.most = max(self.most, self.now())
            for child in self._readers():
                self.most_of_child = max(self.most_of_child, _resident(child))

    def _readers(self) -> list[Path]:
        """Without psutil, which goes through all processes of the machine for it."""
        with suppress(OSError):
            found = [
                Path(f"/proc/{child}")
                for task in Path(f"/proc/{self._process.pid}/task").iterdir()
                for child in (task / "children").read_text().split()
            ]
            return [child for child in found if READER in (child / "cmdline").read_bytes()]
        return []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
