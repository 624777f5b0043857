"""Effects equal keys: whatever is sent, in parallel and again, and whatever is killed in between."""

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from tests.doors.echo import Echo
from tests.doors.processes import Start
from tests.servers.valkey import Valkey

from gossamer.state.db.database import open_database

KEYS = 50
EQUAL = 200
REMEMBERED = {"idempotency_ttl_seconds": 3600}  # longer than the storm lasts, however slow the machine is
BUSY = 503  # a write that waited too long for its turn; equal requests that waited for it share the answer


async def send(port: int, keys: Iterator[int], answers: list[int | None]) -> None:
    """One connection that sends a request after the other, for as long as there are keys and a server."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for key in keys:
            body = b'{"text": "effect %d"}' % key
            request = (
                b"POST /test/effect HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                b"Idempotency-Key: key-%d\r\nContent-Length: %d\r\n\r\n%s" % (key, len(body), body)
            )
            writer.write(request)
            while (status := await answer(reader)) == BUSY:
                writer.write(request)
            answers.append(status)
    finally:
        writer.close()


async def answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    assert length
    await reader.readexactly(int(length[1]))
    return int(head.split(b" ", 2)[1])


async def storm(port: int, keys: range, equal: int) -> list[int | None]:
    """`equal` requests for each key, interleaved, on 200 connections; those a kill cut off have no answer."""
    sequence = iter([key for _ in range(equal) for key in keys])
    answers: list[int | None] = []
    async with asyncio.timeout(120):
        sending = [send(port, sequence, answers) for _ in range(200)]
        for ended in await asyncio.gather(*sending, return_exceptions=True):
            if isinstance(ended, BaseException) and not isinstance(ended, OSError | EOFError):
                raise ended
    return answers


async def effects_in(folder: Path) -> int:
    database = open_database(f"sqlite:///{folder}/gossamer.db")
    try:
        return await Echo(database).effects()
    finally:
        await database.close()


@pytest.mark.parametrize("hot", ["memory", "redis"])
async def test_200_equal_posts_for_each_of_50_keys_have_50_effects(
    hot: str, start_server: Start, own_valkey: Valkey, tmp_path: Path
) -> None:
    server = start_server(redis_url=own_valkey.url if hot == "redis" else "", **REMEMBERED)
    answers = await storm(server.port, range(KEYS), EQUAL)
    assert answers == [201] * (KEYS * EQUAL)
    assert await effects_in(tmp_path) == KEYS


@pytest.mark.parametrize("hot", ["memory", "redis"])
async def test_the_same_with_the_server_killed_in_between(
    hot: str, start_server: Start, own_valkey: Valkey, tmp_path: Path
) -> None:
    flags = {"redis_url": own_valkey.url if hot == "redis" else "", **REMEMBERED}
    for _ in range(3):
        server = start_server(**flags)
        storming = asyncio.create_task(storm(server.port, range(KEYS), 20))
        while not await effects_in(tmp_path):
            await asyncio.sleep(0.01)
        server.kill()
        await storming
    answers = await storm(start_server(**flags).port, range(KEYS), 4)
    assert answers == [201] * (KEYS * 4)
    assert await effects_in(tmp_path) == KEYS


async def test_8_processes_on_one_redis_admit_exactly_the_limit(
    start_server: Start, own_valkey: Valkey
) -> None:
    def start(_: int) -> int:
        return start_server(redis_url=own_valkey.url, limit_anonymous_read="100/60").port

    with ThreadPoolExecutor() as pool:
        ports = list(pool.map(start, range(8)))

    async def get(client: httpx.AsyncClient, port: int) -> int:
        return (await client.get(f"http://127.0.0.1:{port}/test/client")).status_code

    async with httpx.AsyncClient(timeout=60) as client:
        statuses = await asyncio.gather(*(get(client, port) for port in ports for _ in range(40)))
    assert (statuses.count(200), statuses.count(429)) == (100, 220)
