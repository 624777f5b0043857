"""Serves health and metrics of a worker, at a port of its own."""

import asyncio
import socket
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager

from starlette.types import ASGIApp

from gossamer.doors.http.server.server import Server, StopTimes, server


class OperationsServer(Server):
    """Leaves signals to the worker."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@asynccontextmanager
async def serving_operations(app: ASGIApp, listening: socket.socket) -> AsyncIterator[None]:
    """Serve as long as the block lasts."""
    running = server(app, times=StopTimes(drain=1.0), kind=OperationsServer)
    task = asyncio.create_task(running.serve(sockets=[listening]))
    try:
        yield
    finally:
        running.stop()
        await task
