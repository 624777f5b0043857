"""The command line: what the commands share, and the function that runs them."""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from gossamer import __version__
from gossamer.client.errors import GossamerError
from gossamer.observe import logs
from gossamer.observe.logs import Log
from gossamer.problems import Damaged, Problem, UnusableDatabase
from gossamer.settings import settings
from gossamer.settings.settings import SettingError, Settings

if TYPE_CHECKING:
    from gossamer.doors.cli.shared.service import CommandService

F = TypeVar("F", bound=Callable[..., Any])


Build = Callable[[Settings, Log], "CommandService"]

# Where each command is, and what it does: only the one that is asked for is imported.
COMMANDS: Final = {
    "serve": ("gossamer.doors.cli.serve:serve", "Run the server."),
    "worker": ("gossamer.doors.cli.worker:worker", "Run jobs until stopped."),
    "mcp": (
        "gossamer.doors.mcp.stdio.command:mcp",
        "Serve tools to an MCP client over standard input and output.",
    ),
    "fetch": ("gossamer.doors.cli.pages.fetch:fetch", "Fetch pages and print them as clean content."),
    "batch": (
        "gossamer.doors.cli.pages.batch:batch",
        "Fetch the pages in FILE, which has one URL a line (- reads...",
    ),
    "crawl": (
        "gossamer.doors.cli.crawl.crawl:crawl",
        "Crawl sites, beginning with these pages, and print the...",
    ),
    "crawls": (
        "gossamer.doors.cli.crawl.crawl_commands:crawls_group",
        "List crawls, print their pages, and pause, resume, stop or...",
    ),
    "webhooks": (
        "gossamer.doors.cli.automation.webhooks:webhooks_group",
        "Register addresses that are told of events, and look at...",
    ),
    "render": (
        "gossamer.doors.cli.pages.render:render",
        "Render a page with a browser and print its HTML, without...",
    ),
    "screenshot": ("gossamer.doors.cli.pages.capture:screenshot", "Take a picture of a page."),
    "pdf": ("gossamer.doors.cli.pages.capture:pdf", "Print a page to PDF."),
    "search": (
        "gossamer.doors.cli.pages.search:search",
        "Search the pages that were read here, and with the...",
    ),
    "extract": ("gossamer.doors.cli.pages.extract:extract", "Get data out of a page, as JSON."),
    "map": (
        "gossamer.doors.cli.pages.map:map_site",
        "Print the addresses of a site's pages, one a line; with...",
    ),
    "llms": (
        "gossamer.doors.cli.pages.llms:llms",
        "Write an llms.txt for a site: a guide to its pages for...",
    ),
    "memory": (
        "gossamer.doors.cli.memory.memory:memory_group",
        "Keep values and pages by key, find them again, and export...",
    ),
    "audit": (
        "gossamer.doors.cli.audit.audit:audit",
        "Audit a page: status, content, metadata, links, speed,...",
    ),
    "schedules": (
        "gossamer.doors.cli.automation.schedules:schedules_group",
        "Start crawls, batches and audits again and again.",
    ),
    "monitors": (
        "gossamer.doors.cli.automation.monitors:monitors_group",
        "Watch pages, and be told when they really change.",
    ),
    "sites": (
        "gossamer.doors.cli.automation.sites:sites_group",
        "Register sites of yours, and see what robots get.",
    ),
    "keys": ("gossamer.doors.cli.keys:keys_group", "Create, list, disable and rotate API keys."),
    "users": (
        "gossamer.doors.cli.people:users_group",
        "Add people who may sign in, list and disable them, and make...",
    ),
    "alerts": (
        "gossamer.doors.cli.alerts:alerts_group",
        "Write what Prometheus and Grafana need to watch Gossamer.",
    ),
    "migrate": ("gossamer.doors.cli.migrate:migrate", "Bring the schema of the database to this release."),
    "doctor": (
        "gossamer.doors.cli.operations.doctor:doctor",
        "Examine this installation: everything it depends on, this...",
    ),
    "delete": (
        "gossamer.doors.cli.operations.delete:delete_group",
        "Delete a crawl, an audit, a batch, stored pages or a tenant...",
    ),
    "archive": (
        "gossamer.doors.cli.operations.archive:archive_group",
        "List, restore, export or delete archives of crawled pages.",
    ),
    "replay": (
        "gossamer.doors.cli.operations.replay:replay",
        "Read the content of stored pages again, and update what the...",
    ),
    "upkeep": (
        "gossamer.doors.cli.operations.upkeep:upkeep",
        "Remove now what was kept long enough, as a server does from...",
    ),
    "backup": (
        "gossamer.doors.cli.operations.backup:backup",
        "Back up the database and all page bodies into a folder or a...",
    ),
    "restore": (
        "gossamer.doors.cli.operations.restore:restore",
        "Restore a backup into the database and the store of blobs...",
    ),
    "move": (
        "gossamer.doors.cli.operations.move:move",
        "Move everything to another database, such as from SQLite...",
    ),
    "config": (
        "gossamer.doors.cli.config:config",
        "Print the settings in force, where each comes from, and...",
    ),
}


def run(build: Build) -> None:
    """Run the command line. An error is one line on stderr and an exit code."""
    from gossamer.doors.cli.shared.lazy import LazyGroup
    from gossamer.doors.cli.shared.remote import with_server

    group = LazyGroup(
        "gossamer",
        help="Self-hosted web access for AI agents, bots and the teams that serve them.",
        places=COMMANDS,
    )
    with_server(group)
    click.version_option(__version__, prog_name="gossamer")(group)
    try:
        try:
            group.main(obj=build, standalone_mode=False)
        finally:
            click.echo("", nl=False)  # flushes the output
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except SettingError as error:
        fail(str(error), code=2)
    except UnusableDatabase as error:
        fail(str(error))
    except Damaged as damaged:
        fail(str(damaged))
    except Problem as problem:
        fail(problem.detail, problem.hint)
    except GossamerError as error:
        fail(error.detail, error.hint)
    except OSError as error:
        _discard_output()
        where = f"{error.filename}: " if error.filename else "the output cannot be written: "
        fail(f"{where}{error.strerror or error}.")


def _discard_output() -> None:
    """Discard the output that could not be written. Python would try again at exit, and report an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def fail(message: str, hint: str | None = None, *, code: int = 1) -> None:
    click.echo(f"gossamer: {message}" + (f"\n  {hint}" if hint else ""), err=True)
    sys.exit(code)


def with_settings(names: Iterable[str] | None = None) -> Callable[[F], F]:
    """Give a command a flag for each setting, or for those named. Flags override the environment."""

    def decorate(command: F) -> F:
        for name, line in reversed(settings.declarations().items()):
            if names is None or name in names:
                option = click.option(settings.flag(name), name, metavar="VALUE", help=f"{line.about}.")
                command = option(command)
        return command

    return decorate


def load(flags: dict[str, Any]) -> Settings:
    given = {name: value for name, value in flags.items() if value is not None}
    return Settings.load(os.environ, Path(".env"), given)


def quiet_log(loaded: Settings) -> Log:
    """A log for commands whose output is for people or pipes: only warnings and errors, on stderr."""
    return logs.install("warning", log_format=loaded.log_format)
