"""`--server URL`: commands that ask a server instead of working on this machine."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource
from msgspec import Struct

from gossamer.settings import settings

if TYPE_CHECKING:
    from gossamer.client.client import Client

SECONDS: Final = 300.0  # for a call, retries included
_META: Final = "gossamer.server"
_ASKING: Final = frozenset(
    {
        "fetch",
        "batch",
        "render",
        "screenshot",
        "pdf",
        "search",
        "extract",
        "map",
        "crawl",
        "crawls",
        "schedules",
        "webhooks",
        "sites",
        "audit",
        "monitors",
        "llms",
        "memory",
    }
)


class NamedServer(Struct, frozen=True):
    """The server that a command asks."""

    url: str
    key: str | None

    def client(self) -> "Client":
        from gossamer.client.connect import connect  # which few commands need

        try:
            return connect(self.url, key=self.key, timeout=SECONDS)
        except ValueError as error:
            raise click.UsageError(str(error)) from None


def with_server(group: click.Group) -> None:
    """Give the command line the options --server and --key. Operators' commands refuse them."""
    group.params += [
        click.Option(
            ["--server"], metavar="URL", envvar="GOSSAMER_SERVER", help="Ask this server (GOSSAMER_SERVER)."
        ),
        click.Option(
            ["--key"], metavar="KEY", envvar="GOSSAMER_KEY", help="The server's API key (GOSSAMER_KEY)."
        ),
    ]
    group.callback = _remember


def _remember(server: str | None, key: str | None) -> None:
    context = click.get_current_context()
    command = context.invoked_subcommand
    if not server:
        if key and context.get_parameter_source("key") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--key is for a server: add --server URL.")
        return
    if command not in _ASKING:
        given = context.get_parameter_source("server") is ParameterSource.COMMANDLINE
        place = "leave out --server" if given else "unset GOSSAMER_SERVER"
        raise click.UsageError(f"`gossamer {command}` works on this machine's own data: {place}.")
    context.meta[_META] = NamedServer(server, key)


def named_server(flags: Mapping[str, Any], *local: str) -> NamedServer | None:
    """The server to ask, if there is one. `local` are options that only this machine's own engine has."""
    context = click.get_current_context()
    server: NamedServer | None = context.meta.get(_META)
    if server is None:
        return None
    for name in local:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{settings.flag(name)} does not go with --server: leave it out.")
    for name in flags:
        if flags[name] is not None:
            raise click.UsageError(f"{settings.flag(name)} is a setting of the server: leave it out.")
    return server
