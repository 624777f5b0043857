"""What every contender of `bench.components` is asked, and the CPU time that it takes for it."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import uvloop

Call = Callable[[], Awaitable[object]]
Contender = Callable[[str], AbstractAsyncContextManager[Call]]  # by the address of a server, if it needs one

AT_ONCE: Final = 8
WARM_UP: Final = 0.2  # of the calls
KEY: Final = "sk_live_a-key-for-the-bench-0123456789"
READ: Final = "bench:read"
VALUE: Final = b"x" * 200
# A sliding window in small: the size of what a rate limit asks.
SCRIPT: Final = """local used = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {used <= tonumber(ARGV[1]) and 1 or 0, used, redis.call('GET', KEYS[2])}"""
SCRIPT_KEYS: Final = ("bench:window", READ)
SCRIPT_ARGUMENTS: Final = ("1000000000", "60000")

Message = MutableMapping[str, Any]
App = Callable[[Any, Any, Any], Awaitable[None]]


def asgi_call(app: App, path: str) -> Callable[[], Awaitable[None]]:
    """A GET with the key, straight to the application: no socket and no HTTP parser."""
    headers = [(b"host", b"bench"), (b"authorization", f"Bearer {KEY}".encode()), (b"accept", b"*/*")]

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] != 200:
            raise RuntimeError(f"{path} answered {message['status']}")

    async def call() -> None:
        scope: Message = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": headers,
            "client": ("127.0.0.1", 40000),
            "server": ("127.0.0.1", 80),
            "state": {},
        }
        await app(scope, receive, send)

    return call


def run_contender(contenders: Mapping[str, Contender]) -> None:
    """Run the contender that the command line names, and print the microseconds of one call as JSON."""
    name, address, count = sys.argv[1:]
    print(json.dumps(uvloop.run(_measure(contenders[name], address, int(count)))))


async def _measure(contender: Contender, address: str, count: int) -> float:
    async with contender(address) as call:
        await _repeat(call, int(count * WARM_UP))
        started = time.process_time()
        await _repeat(call, count)
        return (time.process_time() - started) / count * 1e6


async def _repeat(call: Call, count: int) -> None:
    async def work() -> None:
        for _ in range(count // AT_ONCE):
            await call()

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
