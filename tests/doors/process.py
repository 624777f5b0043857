"""A whole server with the test routes, as a process of its own: `python -m tests.doors.process`."""

import os
import socket
import sys

import uvloop

from gossamer.app import Service
from gossamer.doors.http.server.server import server
from gossamer.observe.logs import Log
from gossamer.settings.settings import Settings
from tests.doors.echo import Echo


async def main() -> None:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", int(os.environ.get("GOSSAMER_PORT", "0"))))
    listening.listen(1024)
    async with Service(Settings.load(os.environ), Log(sys.stderr, level="warning")) as service:
        echo = Echo(service.database)
        await echo.prepare()
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        await server(service.app(echo.routes())).serve(sockets=[listening])


if __name__ == "__main__":
    uvloop.run(main())
