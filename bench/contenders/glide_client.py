"""valkey-glide at the tasks of our own Redis client, in an environment of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import glide  # type: ignore[import-not-found]  # no dependency of ours

from bench.contenders.component_calls import (
    READ,
    SCRIPT,
    SCRIPT_ARGUMENTS,
    SCRIPT_KEYS,
    VALUE,
    Call,
    run_contender,
)


@asynccontextmanager
async def read_key(address: str) -> AsyncIterator[Call]:
    async with _connected(address) as client:
        await client.set(READ, VALUE)
        yield lambda: client.get(READ)


@asynccontextmanager
async def run_script(address: str) -> AsyncIterator[Call]:
    script, keys, arguments = glide.Script(SCRIPT), list(SCRIPT_KEYS), list(SCRIPT_ARGUMENTS)
    async with _connected(address) as client:
        yield lambda: client.invoke_script(script, keys, arguments)


@asynccontextmanager
async def _connected(address: str) -> AsyncIterator[Any]:
    """One connection, on which it sends the calls of all coroutines in order."""
    place = urlsplit(address)
    node = glide.NodeAddress(place.hostname, place.port)
    client = await glide.GlideClient.create(glide.GlideClientConfiguration([node]))
    yield client
    await client.close()


if __name__ == "__main__":
    run_contender({"read": read_key, "script": run_script})
