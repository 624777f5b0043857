"""Hot in Redis (7 or newer) or Valkey, shared by every process on every machine.

    {prefix}:key:{key}                  short-lived keys
    {prefix}:window:{seconds}:{key}     list of the microseconds at which units were counted, oldest first
    {prefix}:claim:{key}                r + token while the work is running, d + value once it is done; also
                                        the channel that wakes waiting callers
    {prefix}:page:{key}                 bodies; with {prefix}:pages:recency, :sizes, :bytes, :tick, :editions
    {prefix}:fence:{key}                the newest edition of a page that was dropped

Atomic steps are Lua scripts (`lua/`), and the clock is the server's. The server should run without eviction:
our own index trims the pages, so that they never push out anything else. In a cluster the prefix stands in
braces: the scripts touch several keys, so all of them live in one slot.
"""

import asyncio
import contextlib
import math
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache, partial
from importlib import resources
from typing import Any, Final, cast

from gossamer.problems import Unavailable
from gossamer.state.kv.hot import FENCE_SECONDS, Claim, HitFacts, HitQuestion, HotServer, Tally, Window
from gossamer.state.kv.resp import DEADLINE, LuaCall, LuaScript, RespClient, ServerError, pack
from gossamer.state.kv.resp_address import Address, Part

RUNNING: Final = b"r"
DONE: Final = b"d"
TOUCH_SECONDS: Final = 1.0  # between two notes that a page is in use
MAX_PREPARED: Final = 4_096  # questions that are kept as they are sent: callers come again
HOLDER_BYTES: Final = 64  # enough of a claim's value to tell one holder from the next
BEYOND: Final = 1_000  # milliseconds that a window outlives its last unit
BEYOND_GIVEN_TIME: Final = 3_600_000  # the same where the caller's clock is used instead of the server's
SCANNED_AT_ONCE: Final = 1_000


class RedisHot:
    def __init__(
        self,
        url: str,
        prefix: str = "gossamer",
        max_pages: int = 1_000,
        max_page_bytes: int = 256_000_000,
        *,
        deadline: float = DEADLINE,
    ) -> None:
        address = Address.parse(url)
        self._client = RespClient(address, tag=prefix, deadline=deadline)
        if address.cluster:
            prefix = f"{{{prefix}}}"
        self._prefix = prefix
        self._max_pages = max_pages
        self._max_page_bytes = max_page_bytes
        self._recency, self._sizes, self._bytes, self._tick, self._editions = (
            f"{prefix}:pages:{part}" for part in ("recency", "sizes", "bytes", "tick", "editions")
        )
        self._take = _script("take")
        self._ask_take = lru_cache(MAX_PREPARED)(lambda *windows: self._prepare_take(windows))
        self._renew, self._settle, self._release = _script("renew"), _script("settle"), _script("release")
        self._keep_page, self._drop_page = _script("keep_page"), _script("drop_page")
        self._touch_page = _script("touch_page")

    def get(self, key: str) -> Awaitable[bytes | None]:
        return self._client.call("GET", f"{self._prefix}:key:{key}")

    async def put(self, key: str, value: bytes, ttl: float, *, only_new: bool = False) -> bool:
        condition = ("NX",) if only_new else ()
        name = f"{self._prefix}:key:{key}"
        return await self._client.call("SET", name, value, "PX", _milliseconds(ttl), *condition) is not None

    async def drop(self, *keys: str) -> int:
        if not keys:
            return 0
        return int(await self._client.call("DEL", *(f"{self._prefix}:key:{key}" for key in keys)))

    async def take(self, windows: Sequence[Window], *, now: float | None = None) -> list[Tally]:
        if not windows:
            return []
        call = self._ask_take(*windows) if now is None else self._prepare_take(windows, now)
        counted, stamp, *counts = await self._client.run_prepared(call)
        return _tallies(windows, counted, stamp, counts)

    def _prepare_take(self, windows: Sequence[Window], now: float | None = None) -> LuaCall:
        return LuaCall.of(self._take, self._windows(windows), _arguments(windows, now))

    def hit_question(self, windows: Sequence[Window], key: str, page: str, start: int) -> HitQuestion:
        keys = [*self._windows(windows), f"{self._prefix}:key:{key}", f"{self._prefix}:page:{page}"]
        command = pack(*self._take.command(keys, _arguments(windows, None, start)))
        touched_at = -TOUCH_SECONDS

        def ask(receive: Callable[[HitFacts | Exception], None]) -> None:
            nonlocal touched_at
            try:
                reply = self._client.send(command)
            except Unavailable as error:
                receive(error)
                return
            now = time.monotonic()
            if now - touched_at >= TOUCH_SECONDS:
                touched_at = now
                self._touch(page)
            reply.add_done_callback(partial(_receive_facts, windows, receive))

        return ask

    async def give_back(self, window: Window, stamp: int) -> None:
        if stamp and window.cost:
            await self._client.call("LREM", self._window(window), -window.cost, stamp)

    def _windows(self, windows: Sequence[Window]) -> list[str]:
        names = [self._window(window) for window in windows]
        if len(set(names)) < len(names):
            raise ValueError("a window is named twice")
        return names

    def _window(self, window: Window) -> str:
        return f"{self._prefix}:window:{window.seconds}:{window.key}"

    async def claim(self, key: str, lease: float) -> Claim:
        token = secrets.token_hex(16)
        found: bytes | None = await self._client.call(
            "SET", self._claim(key), RUNNING + token.encode(), "NX", "GET", "PX", _milliseconds(lease)
        )
        if found is None:
            return Claim(key, token=token)
        rest = found[1:]
        return Claim(key, value=rest) if found.startswith(DONE) else Claim(key, holder=rest.decode())

    async def renew(self, claim: Claim, lease: float) -> bool:
        return await self._as_holder(self._renew, claim, _milliseconds(lease))

    async def settle(self, claim: Claim, value: bytes, ttl: float) -> bool:
        return await self._as_holder(self._settle, claim, DONE + value, _milliseconds(ttl))

    async def release(self, claim: Claim) -> None:
        await self._as_holder(self._release, claim)

    async def _as_holder(self, script: LuaScript, claim: Claim, *arguments: Part) -> bool:
        if claim.token is None:
            return False
        holding = RUNNING + claim.token.encode()
        return bool(await self._client.run(script, [self._claim(claim.key)], [holding, *arguments]))

    async def wait(self, key: str, timeout: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._until_over(self._claim(key))

    async def _until_over(self, name: str) -> None:
        heard: asyncio.Queue[bytes | None] = asyncio.Queue()
        channel = name.encode()
        listener = heard.put_nowait
        holder: bytes | None = None
        try:
            # Before looking, so that what happens after the look is heard.
            await self._client.subscribe(channel, listener)
            while True:
                left, found = await asyncio.gather(
                    self._client.call("PTTL", name),
                    self._client.call("GETRANGE", name, 0, HOLDER_BYTES),
                )
                if not found.startswith(RUNNING) or holder not in (None, found):
                    return
                holder = found
                if await _next(heard, max(left, 0) / 1000 + 0.001) is not None:
                    return
        finally:
            self._client.unsubscribe(channel, listener)

    def _claim(self, key: str) -> str:
        return f"{self._prefix}:claim:{key}"

    def page(self, key: str, *, start: int | None = None, touch: bool = True) -> Awaitable[bytes | None]:
        name = f"{self._prefix}:page:{key}"
        command: tuple[Part, ...] = ("GET", name) if start is None else ("GETRANGE", name, 0, start - 1)
        body: Awaitable[bytes | None] = self._client.call(*command)
        if touch:
            self._touch(key)
        return body

    def _touch(self, page: str) -> None:
        # By its text: the reply is dropped, so a forgotten digest would go unnoticed.
        self._client.tell("EVAL", self._touch_page.text, 2, self._recency, self._tick, page)

    async def keep_page(self, key: str, body: bytes, *, edition: int = 0) -> bool:
        if len(body) > self._max_page_bytes:
            await self.drop_page(key, edition=edition)  # what is there is no longer the page
            return False
        keys = [self._recency, self._sizes, self._bytes, self._tick, self._editions, self._fence(key)]
        bounds = (self._max_pages, self._max_page_bytes)
        arguments: list[Part] = [f"{self._prefix}:page:", key, body, *bounds, edition]
        return bool(await self._client.run(self._keep_page, keys, arguments))

    async def drop_page(self, key: str, *, edition: int = 0) -> bool:
        keys = [self._recency, self._sizes, self._bytes, self._editions, self._fence(key)]
        arguments: list[Part] = [f"{self._prefix}:page:", key, edition, _milliseconds(FENCE_SECONDS)]
        return bool(await self._client.run(self._drop_page, keys, arguments))

    def _fence(self, key: str) -> str:
        return f"{self._prefix}:fence:{key}"

    async def clear(self) -> None:
        cursor = b"0"
        while True:
            pattern = f"{self._prefix}:*"
            cursor, keys = await self._client.call("SCAN", cursor, "MATCH", pattern, "COUNT", SCANNED_AT_ONCE)
            if keys:
                await self._client.call("UNLINK", *keys)
            if cursor == b"0":
                return

    async def pages(self) -> tuple[int, int]:
        count, size = await asyncio.gather(
            self._client.call("ZCARD", self._recency), self._client.call("GET", self._bytes)
        )
        return int(count), int(size or 0)

    async def ping(self) -> None:
        await self._client.call("PING")

    async def describe(self) -> HotServer:
        """What kind of server it is. Some hosted ones do not show their configuration."""
        lines = (await self._client.call("INFO", "server")).decode().splitlines()
        info = dict(line.split(":", 1) for line in lines if ":" in line)
        name = "Valkey" if "valkey_version" in info else "Redis"
        version = info.get("valkey_version") or info.get("redis_version", "")
        try:
            chosen: dict[bytes, bytes] = await self._client.call("CONFIG", "GET", "maxmemory-policy")
        except ServerError:
            chosen = {}
        eviction = chosen.get(b"maxmemory-policy")
        return HotServer(name, version, None if eviction is None else eviction.decode())

    async def close(self) -> None:
        await self._client.close()


async def _next(heard: asyncio.Queue[bytes | None], timeout: float) -> bytes | None:
    try:
        async with asyncio.timeout(timeout):
            return await heard.get()
    except TimeoutError:
        return None


def _arguments(windows: Sequence[Window], now: float | None, start: int = 0) -> list[Part]:
    clock: tuple[Part, Part] = ("", BEYOND) if now is None else (round(now * 1_000_000), BEYOND_GIVEN_TIME)
    bounds = [part for window in windows for part in (window.limit, window.seconds, window.cost)]
    return [*clock, start, *bounds]


def _tallies(windows: Sequence[Window], counted: int, stamp: int, counts: Sequence[int]) -> list[Tally]:
    return [
        Tally(
            bool(counted) or used + window.cost <= window.limit,
            window.limit,
            used,
            oldest / 1_000_000 + window.seconds if oldest else stamp / 1_000_000,
            stamp,
        )
        for window, used, oldest in zip(windows, counts[::2], counts[1::2], strict=True)
    ]


def _receive_facts(
    windows: Sequence[Window],
    receive: Callable[[HitFacts | Exception], None],
    reply: asyncio.Future[Any],
) -> None:
    error = reply.exception()
    if error is not None:  # such as NOSCRIPT: the caller's `take` loads the script again
        receive(cast("Exception", error))
        return
    key_record, page_start, counted, stamp, *counts = reply.result()
    receive(HitFacts(_tallies(windows, counted, stamp, counts), key_record, page_start))


def _milliseconds(seconds: float) -> int:
    return max(1, math.ceil(seconds * 1000))


def _script(name: str) -> LuaScript:
    return LuaScript.of(resources.files("gossamer.state.kv").joinpath("lua", f"{name}.lua").read_text())
