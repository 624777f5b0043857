"""Wake-ups on PostgreSQL: LISTEN, on a connection of its own."""

import asyncio
import contextlib
from typing import Any, Final

import asyncpg

from gossamer.state.db.postgres import PostgresDatabase
from gossamer.state.jobs.job_statements import CHANNEL
from gossamer.state.wakeups.wakeups import RETRY_SECONDS, Wakeups

PING_SECONDS: Final = 30.0  # a connection that a firewall forgot looks like one on which nothing happens
ANSWER_SECONDS: Final = 5.0


class PostgresWakeups(Wakeups):
    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__()
        self._url = database.url
        self._listening = False

    @property
    def poll_seconds(self) -> float:
        return super().poll_seconds if self._listening else RETRY_SECONDS

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await self._listen()
            self._listening = False
            self.wake()
            await asyncio.sleep(RETRY_SECONDS)

    async def _listen(self) -> None:
        """Listen until the connection is lost."""
        connection = await asyncpg.connect(
            self._url, timeout=ANSWER_SECONDS, server_settings={"application_name": "gossamer wakeups"}
        )
        lost = asyncio.Event()
        try:
            connection.add_termination_listener(lambda _connection: lost.set())
            await connection.add_listener(CHANNEL, self._receive)
            self._listening = True
            self.wake()  # for what was announced before
            while not await _is_set(lost, PING_SECONDS):
                await connection.fetchval("SELECT 1", timeout=ANSWER_SECONDS)
        finally:
            connection.terminate()

    def _receive(self, _connection: Any, _process: int, _channel: str, kinds: str) -> None:
        self.wake(kinds.split(","))


async def _is_set(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
