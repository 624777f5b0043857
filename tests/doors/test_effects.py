"""Effects equal keys: whatever is sent, in parallel and again, and whatever is killed in between."""

import asyncio
from pathlib import Path

import httpx
import pytest

from gossamer.state.database import open_database
from tests.doors.echo import Echo
from tests.doors.processes import Start
from tests.servers.valkey import Valkey

KEYS = 50
EQUAL = 200


async def send(client: httpx.AsyncClient, port: int, key: int) -> int | None:
    try:
        response = await client.post(
            f"http://127.0.0.1:{port}/test/effect",
            json={"text": f"effect {key}"},
            headers={"Idempotency-Key": f"key-{key}"},
        )
    except httpx.TransportError:
        return None  # killed under it: the caller sends it again
    return response.status_code


async def storm(port: int, keys: range, equal: int) -> list[int | None]:
    """`equal` requests for each key, interleaved, as fast as 100 connections allow."""
    limits = httpx.Limits(max_connections=100, max_keepalive_connections=100)
    async with httpx.AsyncClient(limits=limits, timeout=60) as client:
        return await asyncio.gather(*(send(client, port, key) for _ in range(equal) for key in keys))


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
    server = start_server(redis_url=own_valkey.url if hot == "redis" else "")
    answers = await storm(server.port, range(KEYS), EQUAL)
    assert answers == [201] * (KEYS * EQUAL)
    assert await effects_in(tmp_path) == KEYS


@pytest.mark.parametrize("hot", ["memory", "redis"])
async def test_the_same_with_the_server_killed_in_between(
    hot: str, start_server: Start, own_valkey: Valkey, tmp_path: Path
) -> None:
    flags = {"redis_url": own_valkey.url if hot == "redis" else ""}
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
    servers = [start_server(redis_url=own_valkey.url, limit_anonymous_read="100/60") for _ in range(8)]

    async def get(client: httpx.AsyncClient, port: int) -> int:
        return (await client.get(f"http://127.0.0.1:{port}/test/client")).status_code

    async with httpx.AsyncClient(timeout=60) as client:
        statuses = await asyncio.gather(*(get(client, server.port) for server in servers for _ in range(40)))
    assert (statuses.count(200), statuses.count(429)) == (100, 220)
