"""Cache: keeps answers for a while. Concurrent requests for the same answer share one run.

Within a process they share it through a `SingleFlight`. Among processes that share a Hot, one holds the claim
and hands its answer or its failure to the others. A later request starts another run.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Final, Self

import msgspec

from gossamer.concurrency.single_flight import SingleFlight
from gossamer.observe.logs import Log
from gossamer.observe.traces import span
from gossamer.problems import KINDS, SERVICE_UNAVAILABLE, Problem, Unavailable
from gossamer.state.kv.hot import Claim, Hot, claim_or_wait, hand_over

MIN_LEASE_SECONDS: Final = 15.0  # a process that holds the claim for longer is believed to be dead
START_BYTES: Final = 32
NO_CLAIM: Final = Claim("")


class CachedAnswer(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """When an answer was kept, until when it is fresh, and the answer; times in Unix seconds."""

    since: float
    until: float
    value: bytes

    @property
    def start(self) -> bytes:
        """Its first bytes where it is kept, by which it is told from others of its name."""
        return msgspec.msgpack.encode(CachedAnswer(self.since, self.until, b""))[:START_BYTES]

    def is_fresh(self, now: float, max_age: float | None = None) -> bool:
        return now < self.until and (max_age is None or now - self.since <= max_age)


class CachedProblem(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """A problem that is handed to another process."""

    name: str
    detail: str
    hint: str | None
    headers: dict[str, str]
    members: dict[str, Any]

    @classmethod
    def of(cls, problem: Problem) -> Self:
        return cls(problem.kind.name, problem.detail, problem.hint, problem.headers, problem.members)

    def problem(self) -> Problem:
        details = self.members.get("details") or {}
        if self.name == SERVICE_UNAVAILABLE.name and "service" in details:
            again = self.members.get("retryAfter", 2)
            return Unavailable(details["service"], details.get("reason", ""), retry_after=again)
        return Problem(KINDS[self.name], self.detail, hint=self.hint, headers=self.headers, **self.members)


RunResult = CachedAnswer | CachedProblem  # of a run


class NotAdmitted(Exception):
    """The caller who was to make an answer may not. The other waiting requests go on."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


class Cache:
    """Keeps answers among Hot's pages, so bounded in number and bytes. Without Hot nothing is kept."""

    def __init__(
        self,
        hot: Hot,
        log: Log,
        clock: Callable[[], float],
        count: Callable[[str, str], None] = lambda _endpoint, _result: None,
    ) -> None:
        self._hot = hot
        self._log = log
        self._clock = clock
        self._count = count  # hears the endpoint of a key, and whether there was a hit
        self._flights: SingleFlight[str, tuple[CachedAnswer, bool]] = SingleFlight()

    async def get(self, key: str, max_age: float | None = None) -> CachedAnswer | None:
        kept = await self._find(key)
        return kept if kept and kept.is_fresh(self._clock(), max_age) else None

    async def _find(self, key: str) -> CachedAnswer | None:
        try:
            return _decode(await self._hot.page(key))
        except Unavailable:
            return None

    def serve_again(
        self, key: str, kept: CachedAnswer, max_age: float | None, start: bytes | None
    ) -> float | None:
        """The age of an answer that was a hit before, if it is fresh and Hot still has it; `start` is what
        Hot has under `key`. If so, it counts as a hit."""
        now = self._clock()
        if start != kept.start or not kept.is_fresh(now, max_age):
            return None
        self._count(key.partition(":")[0], "hit")
        return max(0.0, now - kept.since)

    async def put(self, key: str, value: bytes, ttl: float) -> CachedAnswer:
        """The answer as it was kept; without any time to live if it could not be."""
        now = self._clock()
        kept = CachedAnswer(now, now + ttl, value)
        try:
            await self._hot.keep_page(key, msgspec.msgpack.encode(kept))
        except Unavailable as away:
            self._log.warning(
                "cache_error", "an answer could not be kept", code="CACHE_ERROR", why=away.detail
            )
            return CachedAnswer(now, now, value)
        return kept

    async def get_or(
        self,
        key: str,
        max_age: float | None,
        make: Callable[[], Awaitable[CachedAnswer]],
        *,
        flight: str = "",
        patience: float = MIN_LEASE_SECONDS,
    ) -> tuple[CachedAnswer, bool]:
        """A fresh answer from the cache (True), or one from `make` (False), run once for all callers.

        Requests with the same `flight`, by default the key, share a run. No request waits for another process
        for longer than `patience` seconds."""
        asked = self._clock()
        with span("cache lookup"):
            kept = await self._find(key)
        is_fresh = kept is not None and kept.is_fresh(asked, max_age)
        self._count(key.partition(":")[0], "hit" if is_fresh else "miss" if kept is None else "stale")
        if kept is not None and is_fresh:
            return kept, True
        name = flight or key

        async def lead() -> tuple[CachedAnswer, bool]:
            claim = await self._claim(name, patience)
            result = _decode_result(claim.value)
            if isinstance(result, CachedProblem):
                raise result.problem()
            return (result, True) if result else await self._make(claim, key, asked, make)

        while True:
            joins = name in self._flights
            try:
                kept, hit = await self._flights.share(name, lead)
            except NotAdmitted as refused:
                if joins:
                    continue  # another caller was not admitted
                raise refused.why from None
            return kept, hit or joins

    async def _claim(self, name: str, patience: float) -> Claim:
        """Our claim, or the result of another process; none if Hot is unavailable or it takes too long."""
        try:
            async with asyncio.timeout(patience):
                return await claim_or_wait(self._hot, f"making:{name}", max(MIN_LEASE_SECONDS, patience))
        except (Unavailable, TimeoutError):
            return NO_CLAIM

    async def _make(
        self, claim: Claim, key: str, asked: float, make: Callable[[], Awaitable[CachedAnswer]]
    ) -> tuple[CachedAnswer, bool]:
        result: RunResult | None = None  # an interrupted run hands nothing over: another process takes over
        try:
            kept = await self.get(key)
            if kept is not None and kept.since >= asked:  # by a run that ended before we had the claim
                result = kept
                return kept, True
            result = made = await make()
            return made, False
        except Problem as problem:
            result = CachedProblem.of(problem)
            raise
        finally:
            await asyncio.shield(self._release(claim, result))

    async def _release(self, claim: Claim, result: RunResult | None) -> None:
        with contextlib.suppress(Unavailable):
            if result is None:
                await self._hot.release(claim)
            else:
                await hand_over(self._hot, claim, msgspec.msgpack.encode(result, enc_hook=str))


def _decode(body: bytes | None) -> CachedAnswer | None:
    """None also for data of another shape."""
    try:
        return msgspec.msgpack.decode(body, type=CachedAnswer) if body else None
    except msgspec.MsgspecError:
        return None


def _decode_result(value: bytes | None) -> RunResult | None:
    """None also for data of another version."""
    try:
        result = msgspec.msgpack.decode(value, type=RunResult) if value else None
    except msgspec.MsgspecError:
        return None
    return None if isinstance(result, CachedProblem) and result.name not in KINDS else result
