"""AsyncConnection: SQLAlchemy's connections, for asyncio.

SQLAlchemy's own brings its whole ORM along, six megabytes that nothing here uses. As with that one, a
statement runs in a greenlet, which the driver leaves to wait, and all rows are there when it returns.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Never, TypeVar, TypeVarTuple, overload

from sqlalchemy import (
    URL,
    Connection,
    CursorResult,
    Engine,
    Executable,
    ScalarResult,
    Transaction,
    create_engine,
)
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql.selectable import TypedReturnsRows
from sqlalchemy.util.concurrency import greenlet_spawn

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class AsyncConnection:
    __slots__ = ("_proxied",)

    def __init__(self, proxied: Connection) -> None:
        self._proxied = proxied

    @property
    def dialect(self) -> Dialect:
        return self._proxied.dialect

    async def run_sync(self, work: Callable[..., T], *given: Any, **options: Any) -> T:
        """Run what expects SQLAlchemy's own connection as its first argument."""
        return await greenlet_spawn(work, self._proxied, *given, **options)

    def begin(self) -> "AsyncTransaction":
        return AsyncTransaction(self._proxied)

    async def get_raw_connection(self) -> PoolProxiedConnection:
        return await greenlet_spawn(getattr, self._proxied, "connection")

    async def exec_driver_sql(self, statement: str, parameters: Any = None) -> CursorResult[Any]:
        return await greenlet_spawn(self._proxied.exec_driver_sql, statement, parameters)

    @overload
    async def execute(
        self, statement: TypedReturnsRows[*Ts], parameters: Any = None
    ) -> CursorResult[*Ts]: ...

    @overload
    async def execute(
        self, statement: Executable, parameters: Any = None
    ) -> CursorResult[*tuple[Any, ...]]: ...

    async def execute(self, statement: Executable, parameters: Any = None) -> CursorResult[Any]:
        return await greenlet_spawn(self._proxied.execute, statement, parameters)

    @overload
    async def scalar(self, statement: TypedReturnsRows[Never], parameters: Any = None) -> Any | None: ...

    @overload
    async def scalar(self, statement: TypedReturnsRows[T], parameters: Any = None) -> T | None: ...

    @overload
    async def scalar(self, statement: Executable, parameters: Any = None) -> Any: ...

    async def scalar(self, statement: Executable, parameters: Any = None) -> Any:
        return (await self.execute(statement, parameters)).scalar()

    @overload
    async def scalars(self, statement: TypedReturnsRows[T], parameters: Any = None) -> ScalarResult[T]: ...

    @overload
    async def scalars(self, statement: Executable, parameters: Any = None) -> ScalarResult[Any]: ...

    async def scalars(self, statement: Executable, parameters: Any = None) -> ScalarResult[Any]:
        return (await self.execute(statement, parameters)).scalars()


class AsyncTransaction:
    """Is committed at the end of its block, or rolled back if the block fails."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._begun: Transaction | None = None

    async def __aenter__(self) -> None:
        self._begun = (await greenlet_spawn(self._connection.begin)).__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._begun is not None:
            await greenlet_spawn(self._begun.__exit__, kind, error, traceback)


class AsyncEngine:
    """A pool of connections."""

    def __init__(self, sync_engine: Engine) -> None:
        self.sync_engine = sync_engine

    @property
    def dialect(self) -> Dialect:
        return self.sync_engine.dialect

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncConnection]:
        connection = await greenlet_spawn(self.sync_engine.connect)
        try:
            yield AsyncConnection(connection)
        finally:
            await _finish(greenlet_spawn(connection.close))

    async def dispose(self) -> None:
        await greenlet_spawn(self.sync_engine.dispose)


def create_async_engine(
    url: str | URL, *, async_creator: Callable[[], Awaitable[Any]] | None = None, **options: Any
) -> AsyncEngine:
    """`async_creator` makes the driver's connections, if its own way does not do."""
    if async_creator is not None:
        options["creator"] = lambda: engine.dialect.loaded_dbapi.connect(async_creator_fn=async_creator)
    engine: Engine = create_engine(url, _is_async=True, **options)
    return AsyncEngine(engine)


async def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Even if the caller is cancelled meanwhile: a connection that is not given back is lost to the pool."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()
