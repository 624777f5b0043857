# mypy: disable-error-code="import-not-found,untyped-decorator"
"""PgQueuer, on asyncpg, with all of its tables logged, as ours are."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.queues.script import Put, obey, ready


class Contender:
    async def prepare(self, url: str) -> None:
        connection = await asyncpg.connect(url)
        await Queries.from_asyncpg_connection(connection).install()
        await connection.close()

    async def putting(self, url: str, at_once: int, use: Callable[[Put], Awaitable[None]]) -> None:
        async with asyncpg.create_pool(url, min_size=at_once, max_size=at_once) as pool:
            queries = Queries.from_asyncpg_pool(pool)

            async def put(count: int) -> object:
                if count == 1:
                    return await queries.enqueue("noop", b"{}")
                return await queries.enqueue(["noop"] * count, [b"{}"] * count, [0] * count)

            await use(put)

    async def work(self, url: str, at_once: int, go: asyncio.Event, stop: asyncio.Event) -> None:
        async with asyncpg.create_pool(url, min_size=2, max_size=5) as pool:
            queue = PgQueuer.from_asyncpg_pool(pool)

            @queue.entrypoint("noop")
            async def noop(_job: Job) -> None:
                pass

            ready()
            await go.wait()
            working = asyncio.create_task(queue.run(batch_size=at_once))
            await stop.wait()
            queue.shutdown.set()
            await working


if __name__ == "__main__":
    uvloop.run(obey(Contender()))
