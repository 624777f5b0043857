"""Sorts more lines than fit into memory: sorted runs in temporary files, which are merged."""

import heapq
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Final, Self

MAX_IN_MEMORY: Final = 50_000  # lines


class SortedLines:
    """Blocks: not for the event loop's thread."""

    def __init__(self, most: int = MAX_IN_MEMORY) -> None:
        self._most = most
        self._lines: list[bytes] = []
        self._runs: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for run in self._runs:
            run.close()

    def add(self, line: str) -> None:
        self._lines.append(line.encode("utf-8", "replace"))
        if len(self._lines) >= self._most:
            run = tempfile.TemporaryFile()  # noqa: SIM115 - it is open until all are merged
            self._runs.append(run)
            run.writelines(sorted(self._lines))
            run.seek(0)
            self._lines = []

    def __iter__(self) -> Iterator[bytes]:
        return heapq.merge(*self._runs, sorted(self._lines))
