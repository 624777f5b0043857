"""The command line: `gossamer serve`, `gossamer keys …`, `gossamer config`."""

import os
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import click
from starlette.types import ASGIApp

from gossamer import __version__, logs, settings
from gossamer.doors.http.express import Lane
from gossamer.doors.worker import Worker
from gossamer.flows.admit import Admission
from gossamer.flows.audit import Auditor
from gossamer.flows.crawl.indexing import Indexing
from gossamer.flows.crawl.results import CrawlResults
from gossamer.flows.crawl.worker import Crawling
from gossamer.flows.find import Finder
from gossamer.flows.keys import NewKey
from gossamer.flows.read import Reader
from gossamer.flows.render import Renderer
from gossamer.flows.shoot import Shooter
from gossamer.flows.site_audit import SiteAuditor
from gossamer.logs import Log
from gossamer.problems import Problem
from gossamer.reach.browser import Browsers
from gossamer.reach.dial import Dialer
from gossamer.settings import SettingError, Settings
from gossamer.state.crawls import Crawls
from gossamer.state.database import Database, DatabaseTooNew
from gossamer.state.hosts import Hosts

F = TypeVar("F", bound=Callable[..., Any])


class House(Protocol):
    """What the commands need of the parts that `app.py` puts together."""

    settings: Settings
    log: Log
    database: Database
    admission: Admission
    first_key: NewKey | None
    worker_name: str
    hosts: Hosts
    reader: Reader
    auditor: Auditor
    site_auditor: SiteAuditor
    dialer: Dialer
    browsers: Browsers
    renderer: Renderer
    shooter: Shooter
    finder: Finder
    indexing: Indexing
    crawls: Crawls
    crawl_results: CrawlResults

    def app(self) -> ASGIApp: ...

    def lane(self) -> Lane: ...

    def worker(self, kinds: Collection[str] = ...) -> Worker: ...

    def crawling(self) -> Crawling: ...

    async def open_proxy(self) -> None: ...

    async def prepare(self) -> None: ...

    async def close(self) -> None: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


Build = Callable[[Settings, Log], House]


def run(build: Build) -> None:
    """Run the command line; what goes wrong is one line on stderr, and an exit code."""
    from gossamer.doors.cli.audit import audit
    from gossamer.doors.cli.batch import batch
    from gossamer.doors.cli.config import config
    from gossamer.doors.cli.crawl import crawl
    from gossamer.doors.cli.crawls import crawls_group
    from gossamer.doors.cli.fetch import fetch
    from gossamer.doors.cli.keys import keys_group
    from gossamer.doors.cli.render import render
    from gossamer.doors.cli.search import search
    from gossamer.doors.cli.serve import serve
    from gossamer.doors.cli.shoot import pdf, screenshot
    from gossamer.doors.cli.worker import worker

    group = click.Group(
        "gossamer",
        help="Self-hosted web access for AI agents, bots and the teams that serve them.",
        commands=[
            serve,
            worker,
            fetch,
            batch,
            crawl,
            crawls_group,
            render,
            screenshot,
            pdf,
            search,
            audit,
            keys_group,
            config,
        ],
    )
    click.version_option(__version__, prog_name="gossamer")(group)
    try:
        try:
            group.main(obj=build, standalone_mode=False)
        finally:
            click.echo("", nl=False)  # whatever is left
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except SettingError as error:
        fail(str(error), code=2)
    except DatabaseTooNew as error:
        fail(str(error))
    except Problem as problem:
        fail(problem.detail, problem.hint)
    except OSError as error:
        _let_go_of_output()
        where = f"{error.filename}: " if error.filename else "the output cannot be written: "
        fail(f"{where}{error.strerror or error}.")


def _let_go_of_output() -> None:
    """What could not be written would be tried once more, and complained about, at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def fail(message: str, hint: str | None = None, *, code: int = 1) -> None:
    click.echo(f"gossamer: {message}" + (f"\n  {hint}" if hint else ""), err=True)
    sys.exit(code)


def with_settings(names: Iterable[str] | None = None) -> Callable[[F], F]:
    """Give a command a flag for each setting (or those named); they win over the environment."""

    def decorate(command: F) -> F:
        for name, line in reversed(settings.declared().items()):
            if names is None or name in names:
                option = click.option(settings.flag(name), name, metavar="VALUE", help=f"{line.about}.")
                command = option(command)
        return command

    return decorate


def load(flags: dict[str, Any]) -> Settings:
    given = {name: value for name, value in flags.items() if value is not None}
    return Settings.load(os.environ, Path(".env"), given)


def quiet_log(loaded: Settings) -> Log:
    """For commands whose output is for people or pipes: only what is wrong is logged, to stderr."""
    return logs.install("warning", log_format=loaded.log_format)
