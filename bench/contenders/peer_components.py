"""aiohttp, httpx, redis-py and FastAPI at the tasks of our own components, in an environment of their own."""

import logging
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import aiohttp
import fastapi  # type: ignore[import-not-found]  # no dependency of ours
import httpx
import pydantic
import redis.asyncio as redis  # type: ignore[import-not-found]
from fastapi.security import HTTPBearer  # type: ignore[import-not-found]

from bench.contenders.component_calls import (
    KEY,
    READ,
    SCRIPT,
    SCRIPT_ARGUMENTS,
    SCRIPT_KEYS,
    VALUE,
    App,
    Call,
    Message,
    asgi_call,
    run_contender,
)

log = logging.getLogger("bench")


@asynccontextmanager
async def aiohttp_page(address: str) -> AsyncIterator[Call]:
    """Without cookies, whose jar it would look into for every request."""
    connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=None)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:

        async def fetch() -> bytes:
            async with session.get(f"{address}/static.json") as response:
                return await response.read()

        yield fetch


@asynccontextmanager
async def httpx_page(address: str) -> AsyncIterator[Call]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=limits, trust_env=False) as client:
        yield lambda: client.get(f"{address}/static.json")


@asynccontextmanager
async def redis_read(address: str) -> AsyncIterator[Call]:
    """With hiredis, RESP3, and one connection for each call that is under way."""
    async with redis.Redis.from_url(address, protocol=3) as client:
        await client.set(READ, VALUE)
        yield lambda: client.get(READ)


@asynccontextmanager
async def redis_script(address: str) -> AsyncIterator[Call]:
    async with redis.Redis.from_url(address, protocol=3) as client:
        digest = await client.script_load(SCRIPT)
        yield lambda: client.evalsha(digest, len(SCRIPT_KEYS), *SCRIPT_KEYS, *SCRIPT_ARGUMENTS)


class Me(pydantic.BaseModel):
    key_id: str
    tenant_id: str
    prefix: str
    role: str
    tier: str


KEYS = {KEY: Me(key_id="01J", tenant_id="01K", prefix="sk_live_a-ke", role="admin", tier="pro")}


def caller(bearer: Annotated[Any, fastapi.Depends(HTTPBearer())]) -> Me:
    if bearer.credentials not in KEYS:
        raise fastapi.HTTPException(401)
    return KEYS[bearer.credentials]


def fastapi_app() -> App:
    app = fastapi.FastAPI(openapi_url=None)

    @app.get("/api/me")  # type: ignore[untyped-decorator]
    async def me(asking: Annotated[Me, fastapi.Depends(caller)]) -> Me:
        return asking

    return app  # type: ignore[no-any-return]


class Layers:
    """A request id, a log line, security headers and a sliding window, as plain ASGI around FastAPI."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._counted: dict[bytes, deque[float]] = {}

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        started, request_id = time.perf_counter(), secrets.token_hex(8).encode()
        used = self._count(next(value for name, value in scope["headers"] if name == b"authorization"))
        status = 0

        async def reply(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += [
                    (b"x-request-id", request_id),
                    (b"x-ratelimit-limit", b"1000000"),
                    (b"x-ratelimit-remaining", b"%d" % (1_000_000 - used)),
                    (b"x-content-type-options", b"nosniff"),
                    (b"cache-control", b"no-store"),
                ]
            await send(message)

        await self._app(scope, receive, reply)
        log.info("%s %s %d %.3f", request_id, scope["path"], status, time.perf_counter() - started)

    def _count(self, subject: bytes) -> int:
        now, window = time.monotonic(), self._counted.setdefault(subject, deque())
        while window and window[0] < now - 1.0:
            window.popleft()
        window.append(now)
        return len(window)


@asynccontextmanager
async def bare_route(_: str) -> AsyncIterator[Call]:
    yield asgi_call(fastapi_app(), "/api/me")


@asynccontextmanager
async def layered_route(_: str) -> AsyncIterator[Call]:
    yield asgi_call(Layers(fastapi_app()), "/api/me")


CONTENDERS = {
    "aiohttp": aiohttp_page,
    "httpx": httpx_page,
    "redis-read": redis_read,
    "redis-script": redis_script,
    "fastapi": bare_route,
    "fastapi-layers": layered_route,
}

if __name__ == "__main__":
    run_contender(CONTENDERS)
