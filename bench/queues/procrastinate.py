# mypy: disable-error-code="import-not-found,untyped-decorator"
"""procrastinate, on psycopg."""

import asyncio
from collections.abc import Awaitable, Callable

import procrastinate
import uvloop

from bench.queues.script import Put, obey, ready


class Procrastinate:
    async def prepare(self, url: str) -> None:
        async with _app(url, 1).open_async() as app:
            await app.schema_manager.apply_schema_async()

    async def putting(self, url: str, at_once: int, use: Callable[[Put], Awaitable[None]]) -> None:
        app = _app(url, at_once)
        async with app.open_async():
            noop = app.tasks["noop"]

            async def put(count: int) -> object:
                return await (noop.defer_async() if count == 1 else noop.batch_defer_async(*[{}] * count))

            await use(put)

    async def work(self, url: str, at_once: int, go: asyncio.Event, stop: asyncio.Event) -> None:
        app = _app(url, min(at_once, 20))
        async with app.open_async():
            await app.check_connection_async()
            ready()
            await go.wait()
            working = asyncio.create_task(
                app.run_worker_async(concurrency=at_once, install_signal_handlers=False)
            )
            await stop.wait()
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


def _app(url: str, connections: int) -> procrastinate.App:
    connector = procrastinate.PsycopgConnector(conninfo=url, min_size=1, max_size=connections + 1)
    app = procrastinate.App(connector=connector)

    @app.task(name="noop")
    async def noop() -> None:
        pass

    return app


if __name__ == "__main__":
    uvloop.run(obey(Procrastinate()))
