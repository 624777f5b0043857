"""`gossamer mcp`: tools for an agent on this machine, over standard input and output."""

import os
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from gossamer.doors.mcp.stdio.configurations import CLIENTS, Place

if TYPE_CHECKING:
    from gossamer.client.transport import Transport

Build = Callable[..., Any]  # of the service, by settings and log
SERVER_SECONDS = 130.0  # the longest that a server takes for an answer


@click.command("mcp")
@click.option(
    "--server", metavar="URL", help="Use the tools of this server instead of an engine in this process."
)
@click.option("--key", metavar="KEY", envvar="GOSSAMER_KEY", help="API key for the server; or GOSSAMER_KEY.")
@click.option(
    "--print-config", "client", type=click.Choice(list(CLIENTS)), help="Print the configuration of a client."
)
@click.pass_obj
def mcp(build: Build, /, server: str | None, key: str | None, client: str | None) -> None:
    """Serve tools to an MCP client over standard input and output.

    Without --server it needs neither a server nor a key: the engine runs in this process and belongs to the
    owner of the machine. Settings come from the environment (GOSSAMER_…), which clients can set.
    """
    if client is not None:
        click.echo(CLIENTS[client](Place(server or "", key or "")))
        return
    if find_spec("mcp_types") is None:
        raise click.ClickException("MCP needs a package that is not installed: pip install 'gossamer[mcp]'")
    from gossamer.doors.mcp.stdio.greeting import StandardStreams

    wire = StandardStreams.claim()
    wire.greet()
    import asyncio

    from gossamer.doors.mcp.stdio.serving import serve

    opened = partial(_connect, server, key) if server else partial(_embed, build)
    asyncio.run(serve(wire, opened))


async def _connect(server: str, key: str | None) -> "Transport":
    from gossamer.client.http import HttpTransport

    return HttpTransport(server, key, seconds=SERVER_SECONDS)


async def _embed(build: Build) -> "Transport":
    """The engine takes seconds to load; a thread does it, while the client is served."""
    import asyncio

    return await asyncio.to_thread(_load_engine, build)


def _load_engine(build: Build) -> "Transport":
    from gossamer.doors.embedded.engine import EmbeddedEngine
    from gossamer.observe.logs import Log
    from gossamer.settings.settings import Settings

    settings = Settings.load(os.environ, None, {})
    log = Log(sys.stderr, level="warning", log_format=settings.log_format, access=False)
    return EmbeddedEngine(partial(build, settings, log))
