"""Cache: answers that are kept for a while, and asked for by one while the others wait."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from gossamer.logs import Log
from gossamer.problems import Unavailable
from gossamer.state.hot import Claim, Hot, claim_or_wait

LEASE: Final = 15.0  # seconds at least for which one is believed to be at work before another takes over
PASSING: Final = 0.5  # seconds for which what was made waits for those who waited for it
NOBODY: Final = Claim("")


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """A value, since when it is kept, and until when it is fresh; times in Unix seconds."""

    value: bytes
    since: float
    until: float

    def is_fresh(self, now: float, max_age: float | None = None) -> bool:
        return now < self.until and (max_age is None or now - self.since <= max_age)


class Cache:
    """Kept among Hot's pages, so bounded in number and bytes. Without Hot nothing is kept; all goes on."""

    def __init__(self, hot: Hot, log: Log, clock: Callable[[], float]) -> None:
        self._hot = hot
        self._log = log
        self._clock = clock

    async def get(self, key: str, max_age: float | None = None) -> Kept | None:
        try:
            body = await self._hot.page(key)
        except Unavailable:
            return None
        kept = _decoded(body)
        return kept if kept and kept.is_fresh(self._clock(), max_age) else None

    async def put(self, key: str, value: bytes, ttl: float) -> Kept:
        """As it is kept; with no time to live when it could not be."""
        now = self._clock()
        kept = Kept(value, now, now + ttl)
        try:
            await self._hot.keep_page(key, msgspec.msgpack.encode(kept))
        except Unavailable as away:
            self._log.warning(
                "cache_error", "an answer could not be kept", code="CACHE_ERROR", why=away.detail
            )
            return Kept(value, now, now)
        return kept

    async def get_or(
        self, key: str, max_age: float | None, make: Callable[[], Awaitable[Kept]], patience: float = LEASE
    ) -> tuple[Kept, bool]:
        """What is kept and fresh (True), or what `make` makes (False), by one for all who ask at once.

        Nobody waits for another's longer than his `patience`, in seconds.
        """
        asked = self._clock()
        kept = await self.get(key, max_age)
        if kept is not None:
            return kept, True
        claim = await self._claim(key, patience)
        passed = _decoded(claim.value)
        if passed is not None and passed.since >= asked:  # another has made it meanwhile
            return passed, True
        value: bytes | None = b""
        try:
            made = await make()
            value = msgspec.msgpack.encode(made)
            return made, False
        except asyncio.CancelledError:
            value = None
            raise
        finally:
            await asyncio.shield(self._let_go(claim, value))

    async def _claim(self, key: str, patience: float) -> Claim:
        """Ours, or done by another meanwhile; nobody's when Hot is away or it takes too long."""
        try:
            async with asyncio.timeout(patience):
                return await claim_or_wait(self._hot, f"making:{key}", max(LEASE, patience))
        except (Unavailable, TimeoutError):
            return NOBODY

    async def _let_go(self, claim: Claim, value: bytes | None) -> None:
        """Those who wait get what was made; when nothing was, each of them tries by himself. Where it was
        only broken off, which says nothing of the work, the next of them takes it over."""
        if claim.token is None:
            return
        with contextlib.suppress(Unavailable):
            if value is None:
                await self._hot.release(claim)
            else:
                await self._hot.settle(claim, value, PASSING)


def _decoded(body: bytes | None) -> Kept | None:
    """None also for what is not, or no more, of this shape."""
    try:
        return msgspec.msgpack.decode(body, type=Kept) if body else None
    except msgspec.MsgspecError:
        return None
