"""A child process hands its metrics to its parent: a line of JSON on its output, every few seconds."""

import asyncio
import os
import stat
from typing import Final, TextIO

from gossamer.concurrency.periodic import every
from gossamer.observe.metrics import Metrics

EVERY_SECONDS: Final = 2.0
MAX_LINE_BYTES: Final = 4_000_000


async def hand_metrics_over(metrics: Metrics, output: TextIO) -> None:
    """Until cancelled. A parent that does not read misses some lines, and nothing else."""
    kind = os.fstat(output.fileno()).st_mode
    if not stat.S_ISFIFO(kind) and not stat.S_ISSOCK(kind):
        return  # nobody asked for them
    ours = os.fdopen(os.dup(output.fileno()), "wb", buffering=0)  # the pipe closes it at its end
    pipe, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.Protocol, ours)

    async def write_line() -> None:
        if not pipe.get_write_buffer_size() and not pipe.is_closing():
            pipe.write(metrics.exposition.snapshot())

    try:
        await every(EVERY_SECONDS, write_line, at_once=True)
    finally:
        pipe.abort()


async def take_metrics(metrics: Metrics, child: str, lines: asyncio.StreamReader) -> None:
    """Until the child closes its output; then it has no numbers any more."""
    try:
        while line := await lines.readline():
            metrics.exposition.adopt(child, line)
    except ValueError:  # a line that is longer than any of ours: the child is left alone
        await lines.read()
    finally:
        metrics.exposition.forget(child)
