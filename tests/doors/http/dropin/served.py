"""A service at a port of its own, for clients of other products."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gossamer.app import Service
from gossamer.doors.http.server.server import server

START_SECONDS = 20.0


@asynccontextmanager
async def at_port(service: Service) -> AsyncIterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1024)
        serving = server(service.app())
        task = asyncio.create_task(serving.serve(sockets=[listening]))
        async with asyncio.timeout(START_SECONDS):
            while not serving.started:
                await asyncio.sleep(0.01)
        try:
            yield listening.getsockname()[1]
        finally:
            serving.stop()
            await task
