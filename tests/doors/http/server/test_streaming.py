"""Answers that are sent as they come, and clients that do not wait for their end."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import text

from gossamer.doors.http.core.streaming import Streaming
from gossamer.state.db.database import Database

SCOPE = {"type": "http", "asgi": {"spec_version": "2.3"}}
LONG = text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) "
            "SELECT count(*) FROM n")  # fmt: skip


class Client:
    """Goes away when it is told to."""

    def __init__(self) -> None:
        self.leaves = asyncio.Event()
        self.got: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.got.append(message)


async def test_a_client_that_leaves_in_the_middle_of_a_statement_leaves_nothing_behind(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    client, ended = Client(), []

    async def body() -> AsyncIterator[bytes]:
        async with database.read() as connection:
            asyncio.get_running_loop().call_later(0.05, client.leaves.set)
            while True:
                await connection.execute(LONG)
                yield b"more"

    with caplog.at_level(logging.WARNING):
        for number in range(3):
            client.leaves.clear()
            answer = Streaming(body(), at_end=lambda number=number: ended.append(number))  # type: ignore[misc]
            await answer(SCOPE, client.receive, client.send)
    assert not caplog.records
    assert ended == [0, 1, 2]
    assert not database._uses
    await database.ping()


async def test_the_body_is_closed_also_where_nothing_more_is_taken_from_it() -> None:
    client, closed = Client(), asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        try:
            yield b"something"
        finally:
            closed.set()

    async def send(message: Any) -> None:
        await client.send(message)
        if message.get("body"):
            client.leaves.set()
            await asyncio.Event().wait()  # takes nothing more

    await Streaming(body())(SCOPE, client.receive, send)
    assert closed.is_set()


async def test_what_goes_wrong_in_the_body_is_told() -> None:
    client = Client()

    async def body() -> AsyncIterator[bytes]:
        yield b"something"
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await Streaming(body())(SCOPE, client.receive, client.send)
    assert [message.get("body") for message in client.got] == [None, b"something"]
