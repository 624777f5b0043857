"""WebAccess: what a command asks, a server or the engine in this process. Both have one interface."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from functools import partial
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from gossamer.doors.cli import Build, load, quiet_log
from gossamer.doors.cli.shared.remote import SECONDS, named_server
from gossamer.settings.settings import Settings

if TYPE_CHECKING:
    from gossamer.client.client import Client
    from gossamer.doors.embedded.engine import Acting

T = TypeVar("T")


class WebAccess(Struct, frozen=True):
    open: "Callable[[], AbstractAsyncContextManager[Client]]"
    server: str | None = None  # None: in this process

    @property
    def command(self) -> str:
        """How the same is asked again."""
        return "gossamer" if self.server is None else f"gossamer --server {self.server}"

    async def ask(self, work: "Callable[[Client], Awaitable[T]]") -> T:
        async with self.open() as web:
            return await work(web)


def web_access(
    build: Build,
    flags: dict[str, Any],
    *local: str,
    acting: "Acting | None" = None,
    works: bool = True,
    in_any_folder: bool = False,
) -> WebAccess:
    """The server that was named, else the engine in this process. `local` are options that only it has.

    The engine acts as `acting` says, and `works` on what takes long. `in_any_folder`: where the data folder
    cannot be written, in a temporary one.
    """
    server = named_server(flags, *local)
    if server is not None:
        return WebAccess(server.client, server.url)
    loaded = load(flags)  # a wrong setting is told before anything is done

    def open_settings() -> AbstractContextManager[Settings]:
        return _with_folder(loaded, flags) if in_any_folder else nullcontext(loaded)

    return WebAccess(lambda: _open_engine(build, open_settings, acting, works=works))


@asynccontextmanager
async def _open_engine(
    build: Build,
    open_settings: Callable[[], AbstractContextManager[Settings]],
    acting: "Acting | None",
    *,
    works: bool,
) -> "AsyncIterator[Client]":
    from gossamer.client.client import Client  # which a server's pages do not need
    from gossamer.client.retrying import Patience
    from gossamer.doors.embedded.engine import EmbeddedEngine
    from gossamer.doors.embedded.owner import reading

    with open_settings() as loaded:
        engine = EmbeddedEngine(partial(build, loaded, quiet_log(loaded)), acting or reading, works=works)
        async with Client(engine, Patience(seconds=SECONDS)) as web:
            yield web


@contextmanager
def _with_folder(loaded: Settings, flags: dict[str, Any]) -> Iterator[Settings]:
    """The same settings, with a data folder that can be written."""
    try:
        loaded.data_dir.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=loaded.data_dir).close()
    except OSError as error:
        with TemporaryDirectory(prefix="gossamer-") as folder:
            why = f"{loaded.data_dir} cannot be written ({error.strerror})"
            click.echo(f"gossamer: {why}, so nothing is kept of this.", err=True)
            yield load({**flags, "data_dir": folder})
    else:
        yield loaded
