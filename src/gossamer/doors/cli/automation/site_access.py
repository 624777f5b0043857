"""What all commands about sites share."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import click

from gossamer.client.client import Client
from gossamer.doors.cli import Build
from gossamer.doors.cli.shared.access import web_access
from gossamer.doors.embedded.owner import as_owner

T = TypeVar("T")
WHERE: Final = ("data_dir", "database_url", "redis_url", "blobs_url")
JSON_OPTION: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def ask_sites(build: Build, /, flags: dict[str, Any], ask: Callable[[Client], Awaitable[T]]) -> T:
    """Nothing is started by this but what is asked for; a server or worker does the work."""
    return asyncio.run(web_access(build, flags, acting=as_owner, works=False).ask(ask))
