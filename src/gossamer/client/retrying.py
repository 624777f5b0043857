"""Retrying: repeats calls that had no answer, or whose answer says that the same call may succeed soon."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from gossamer.client.errors import ConnectionFailed, GossamerError, error_of
from gossamer.client.transport import Call, Reply, StreamedReply, Transport

IDEMPOTENCY_KEY: Final = "Idempotency-Key"
ATTEMPTS: Final = 4
SECONDS: Final = 120.0  # for a call, retries included
FIRST_PAUSE: Final = 0.5  # seconds; doubled after each attempt
LONGEST_PAUSE: Final = 20.0
_PASSING: Final = frozenset(
    {"RATE_LIMITED", "SERVICE_UNAVAILABLE", "SERVER_BUSY", "PAYMENT_IN_USE", "REQUEST_TIMEOUT"}
)
_PASSING_AT_A_PROXY: Final = frozenset({"HTTP_502", "HTTP_503", "HTTP_504"})


class Patience(Struct, frozen=True):
    """How often and how long a call is tried. Clock, sleep and chance are passed in by tests."""

    attempts: int = ATTEMPTS
    seconds: float = SECONDS
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random

    def pause(self, attempt: int, error: GossamerError) -> float:
        """Seconds until the next attempt: what the server asks for, or a growing pause; never in step."""
        longest = min(FIRST_PAUSE * 2.0 ** (attempt - 1), LONGEST_PAUSE)
        jitter = longest * (0.5 + self.chance() / 2)
        return jitter if error.retry_after is None else error.retry_after + jitter / 5


class Retrying(Struct, frozen=True):
    """Repeats only what may be repeated: GETs, and POSTs whose key makes the server do the work once."""

    transport: Transport
    patience: Patience = Patience()

    async def send(self, call: Call) -> Reply:
        patience = self.patience
        until = patience.clock() + patience.seconds
        attempt = 1
        while True:
            reply, error = await self._try(call, until - patience.clock())
            if error is None or attempt >= patience.attempts or not _may_repeat(call, error):
                break
            pause = patience.pause(attempt, error)
            if patience.clock() + pause >= until:
                break
            await patience.sleep(pause)
            attempt += 1
        if reply is None:
            assert error is not None  # noqa: S101  (one of the two)
            raise error
        return reply

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamedReply]:
        """Whoever reads a stream knows from where to go on, so a stream is not repeated here."""
        async with self.transport.stream(call) as streamed:
            yield streamed

    async def close(self) -> None:
        await self.transport.close()

    async def _try(self, call: Call, seconds: float) -> tuple[Reply | None, GossamerError | None]:
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                reply = await self.transport.send(call)
        except TimeoutError:
            limit = f"{self.patience.seconds:g} seconds"
            return None, ConnectionFailed(f"{call.method} {_plain(call.path)} had no answer within {limit}")
        except ConnectionFailed as failure:
            return None, failure
        return reply, error_of(reply) if reply.status >= 400 else None


def _may_repeat(call: Call, error: GossamerError) -> bool:
    if call.method != "GET" and IDEMPOTENCY_KEY not in call.headers:
        return False
    passing = error.code in _PASSING or error.code in _PASSING_AT_A_PROXY
    return passing or isinstance(error, ConnectionFailed)


def _plain(path: str) -> str:
    return path.partition("?")[0]
