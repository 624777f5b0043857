"""The command line: what the commands share, and the function that runs them."""

import os
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import click
from starlette.types import ASGIApp

from gossamer import __version__
from gossamer.doors.http.server.fast_path import HitFastPath
from gossamer.doors.worker.worker import Worker
from gossamer.flows.audit.audits import Audits
from gossamer.flows.crawl.indexing import Indexing
from gossamer.flows.crawl.managing.control import CrawlControl
from gossamer.flows.crawl.reading.results import CrawlResults
from gossamer.flows.crawl.seeds import Seeder
from gossamer.flows.crawl.worker import CrawlWorker
from gossamer.flows.data.archive.restorer import ArchiveRestorer
from gossamer.flows.data.removal.deleter import Deleter
from gossamer.flows.data.removal.removals import Removals
from gossamer.flows.data.removal.retention import Retention
from gossamer.flows.data.repair.replayer import Replayer
from gossamer.flows.data.repair.verifier import Verifier
from gossamer.flows.doctor.doctor import Doctor
from gossamer.flows.pages.capture import Capturer
from gossamer.flows.pages.read import Reader
from gossamer.flows.pages.search import Finder
from gossamer.flows.render.render import Renderer
from gossamer.flows.tenants.keys import IssuedKey, Keys
from gossamer.flows.tenants.people import InvitedUser, People
from gossamer.flows.tenants.sign_in import SignIn
from gossamer.flows.upkeep.stopping import Stopping
from gossamer.flows.upkeep.supervision import Supervisor
from gossamer.flows.upkeep.watch import Watch
from gossamer.observe import logs
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Damaged, Problem
from gossamer.reach.browser.browser import Browsers
from gossamer.reach.net.dial import Dialer
from gossamer.settings import settings
from gossamer.settings.settings import SettingError, Settings
from gossamer.state.blobs.blobs import Blobs
from gossamer.state.crawl.crawls import Crawls
from gossamer.state.crawl.hosts import Hosts
from gossamer.state.db.database import Database, UnusableDatabase
from gossamer.state.kv.hot import Hot

F = TypeVar("F", bound=Callable[..., Any])


class CommandService(Protocol):
    """The parts of `app.py` that the commands use."""

    settings: Settings
    log: Log
    database: Database
    hot: Hot
    blobs: Blobs
    keys: Keys
    people: People
    sign_in: SignIn
    first_key: IssuedKey | None
    first_link: InvitedUser | None
    bootstrap_key_is_unknown: bool
    metrics: Metrics
    stopping: Stopping
    supervisor: Supervisor
    worker_name: str
    watch: Watch
    hosts: Hosts
    reader: Reader
    audits: Audits
    dialer: Dialer
    browsers: Browsers
    renderer: Renderer
    capturer: Capturer
    finder: Finder
    indexing: Indexing
    crawls: Crawls
    seeder: Seeder
    crawl_control: CrawlControl
    deleter: Deleter
    removals: Removals
    retention: Retention
    archive_restorer: ArchiveRestorer
    replayer: Replayer
    verifier: Verifier
    crawl_results: CrawlResults
    doctor: Doctor

    def app(self) -> ASGIApp: ...

    def operations_app(self) -> ASGIApp: ...

    def fast_path(self) -> HitFastPath: ...

    def worker(self, kinds: Collection[str] = ...) -> Worker: ...

    def crawl_worker(self) -> CrawlWorker: ...

    async def open_proxy(self) -> None: ...

    async def prepare(self) -> None: ...

    async def close(self) -> None: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


Build = Callable[[Settings, Log], CommandService]


def run(build: Build) -> None:
    """Run the command line. An error is one line on stderr and an exit code."""
    from gossamer.doors.cli.alerts import alerts_group
    from gossamer.doors.cli.audit.audit import audit
    from gossamer.doors.cli.config import config
    from gossamer.doors.cli.crawl.crawl import crawl
    from gossamer.doors.cli.crawl.crawls import crawls_group
    from gossamer.doors.cli.keys import keys_group
    from gossamer.doors.cli.migrate import migrate
    from gossamer.doors.cli.operations.archive import archive_group
    from gossamer.doors.cli.operations.backup import backup
    from gossamer.doors.cli.operations.delete import delete_group
    from gossamer.doors.cli.operations.doctor import doctor
    from gossamer.doors.cli.operations.move import move
    from gossamer.doors.cli.operations.replay import replay
    from gossamer.doors.cli.operations.restore import restore
    from gossamer.doors.cli.operations.upkeep import upkeep
    from gossamer.doors.cli.pages.batch import batch
    from gossamer.doors.cli.pages.capture import pdf, screenshot
    from gossamer.doors.cli.pages.fetch import fetch
    from gossamer.doors.cli.pages.render import render
    from gossamer.doors.cli.pages.search import search
    from gossamer.doors.cli.people import users_group
    from gossamer.doors.cli.serve import serve
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
            users_group,
            alerts_group,
            migrate,
            doctor,
            delete_group,
            archive_group,
            replay,
            upkeep,
            backup,
            restore,
            move,
            config,
        ],
    )
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
