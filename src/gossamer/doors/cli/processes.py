"""`gossamer serve --processes`: several server processes that accept from the same sockets.

This process only starts them: it accepts nothing, and starts one again that ends by itself. They count limits
together in the shared hot store. The first one also runs jobs, if the settings want that.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from gossamer.doors.worker.kept_process import KeptProcess, StartFailed, settings_environment
from gossamer.observe.logs import Log
from gossamer.settings.settings import SettingError, Settings, variable

STOP_SECONDS: Final = 8.0  # beyond the stages of stopping: to answer what is cut, and to close


def check_processes(settings: Settings) -> None:
    if settings.processes > 1 and not settings.is_hot_shared:
        raise SettingError(
            f"processes is {settings.processes}, which needs redis_url: without a Redis or Valkey each "
            "process would count limits by itself; set redis_url, or processes to 1"
        )


async def serve_together(settings: Settings, sockets: Sequence[socket.socket], log: Log) -> None:
    """Run until a signal. The first one drains all of them, a second one ends this process at once."""
    stop = asyncio.Event()
    numbers = [one.fileno() for one in sockets]
    kept = [_server(settings, numbers, number, log) for number in range(1, settings.processes + 1)]
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sign, partial(_stop, stop, kept, sockets, sign))
    try:
        async with asyncio.TaskGroup() as group:
            for one in kept:
                group.create_task(one.keep(stop))
    except* StartFailed as failures:
        first = failures.exceptions[0]
        sys.exit(first.status if isinstance(first, StartFailed) else 1)


def _server(settings: Settings, numbers: Sequence[int], number: int, log: Log) -> KeptProcess:
    return KeptProcess(
        ("serve", "--process", str(number), *(f"--fd={one}" for one in numbers)),
        _environment(settings, number),
        "serve",
        settings.lame_duck_seconds + settings.drain_seconds + STOP_SECONDS,
        log,
        descriptors=numbers,
        must_start=True,
    )


def _environment(settings: Settings, number: int) -> Mapping[str, str]:
    changed = {variable("processes"): "1"}
    if number > 1:
        changed[variable("serve_worker")] = "no"
    if settings.worker_id:
        changed[variable("worker_id")] = f"{settings.worker_id}-{number}"
    return {**os.environ, **settings_environment(settings), **changed}


def _stop(
    stop: asyncio.Event, kept: Sequence[KeptProcess], sockets: Sequence[socket.socket], sign: signal.Signals
) -> None:
    """Pass the signal on: after Ctrl-C, servers do not wait for a load balancer to notice."""
    if stop.is_set():
        os._exit(128 + sign)  # their input closes with us, and they end
    for one in kept:
        one.stop_signal = sign
    for listening in sockets:
        listening.close()  # so that nothing listens any more when the last server has stopped to
    stop.set()
