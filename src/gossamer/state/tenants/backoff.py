"""Back off from requests that fail again and again: each failure makes the pause longer, a success ends it.

Failures in a row are counted for each caller, by their fault and by what they are about: malformed requests
by endpoint, a target that does not answer by its host. The caller's other requests are not paused. The first
few failures are free. Each further one is followed by a pause of 1, 2, 4 … 60 seconds.

The history of a caller is one small record in Hot, shared by all processes and read together with its limits.
Two processes that count at the same instant may count one failure too few. Without Hot each process counts
by itself, so that an outage of the store blocks no caller.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from gossamer.problems import Unavailable
from gossamer.state.kv.hot import Hot

MAX_PAUSE: Final = 60.0  # seconds to wait
FORGET_SECONDS: Final = 600.0  # seconds after the last failure
MAX_STREAKS: Final = 32  # of one caller; the oldest is forgotten
MAX_CALLERS: Final = 10_000  # that a process remembers by itself
Asked = Awaitable[bytes | None] | None  # None: there was nothing to ask
_DOUBLINGS: Final = 6  # enough to reach the longest pause


class Fault(StrEnum):
    """The kind of fault that makes a request fail."""

    MALFORMED_REQUEST = "malformed_request"  # by endpoint
    REFUSED_URL = "refused_url"
    FORBIDDEN = "forbidden"  # by endpoint
    REFUSED_KEY = "refused_key"
    SILENT_TARGET = "silent_target"  # by host: it does not answer, or not in time


class CountedFailure(NamedTuple):
    """A failure as it is counted."""

    fault: Fault
    about: str = ""

    @property
    def name(self) -> str:
        return f"{self.fault}:{self.about}"


class Streak(msgspec.Struct, frozen=True, array_like=True):
    """Failures in a row, and when the last of them was (Unix seconds)."""

    failures: int = 0
    last: float = 0.0

    def pause(self, free: int) -> float:
        """Seconds to wait after the last one; 0 if failures of this kind are not counted."""
        over = self.failures - free
        return min(MAX_PAUSE, 2.0 ** min(over, _DOUBLINGS)) if free and over >= 0 else 0.0

    def wait(self, free: int, now: float) -> float:
        """Seconds that are left of the pause. Never more than the pause, even if clocks differ."""
        return max(0.0, self.pause(free) - abs(now - self.last))

    def longer(self, free: int, now: float) -> "Streak":
        """The streak with one more failure. Failures during a pause were admitted before it: not counted."""
        if self.wait(free, now) > 0:
            return self
        if abs(now - self.last) >= FORGET_SECONDS:
            return Streak(1, now)
        return Streak(self.failures + 1, now)


class FailureHistory(msgspec.Struct, frozen=True, array_like=True):
    """The failures in a row of a caller, by name."""

    streaks: dict[str, Streak] = {}

    @property
    def latest(self) -> float:
        return max((streak.last for streak in self.streaks.values()), default=0.0)

    def streak(self, failure: CountedFailure) -> Streak:
        return self.streaks.get(failure.name, _NONE)

    def has(self, fault: Fault) -> bool:
        return any(name.startswith(f"{fault}:") for name in self.streaks)

    def after(self, failure: CountedFailure, free: int, now: float) -> "FailureHistory":
        failed = {**self.streaks, failure.name: self.streak(failure).longer(free, now)}
        kept = sorted(failed, key=lambda name: failed[name].last, reverse=True)[:MAX_STREAKS]
        return FailureHistory({name: failed[name] for name in kept})

    def without(self, failures: Iterable[CountedFailure]) -> "FailureHistory":
        ended = {failure.name for failure in failures}
        return FailureHistory({name: streak for name, streak in self.streaks.items() if name not in ended})


_NONE: Final = Streak()
NOTHING: Final = FailureHistory()


class FailureBackoff:
    def __init__(
        self,
        hot: Hot,
        *,
        free_faults: int,
        free_misses: int,
        alone: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.clock = clock
        self._free_faults = free_faults  # 0: they are not counted
        self._free_misses = free_misses  # of one target
        self._hot = hot
        self._alone = alone  # there are no other processes
        self._own: OrderedDict[str, FailureHistory] = OrderedDict()  # what this process has seen of each

    @property
    def is_on(self) -> bool:
        return bool(self._free_faults or self._free_misses)

    def ask(self, subject: str) -> Asked:
        """Ask Hot for the history of a caller; `recall` reads the reply."""
        if self._alone and subject not in self._own:
            return None
        try:
            return self._hot.get(_name(subject))
        except Unavailable:
            return None

    async def recall(self, subject: str, asked: Asked) -> FailureHistory:
        own = self._own.get(subject, NOTHING)
        if asked is None:
            return own
        try:
            kept = await asked
        except Unavailable:
            return own
        if kept is None:
            self._own.pop(subject, None)  # another process saw a success, or it was long ago
            return NOTHING
        return _decode(kept)

    def waits(self, past: FailureHistory, failure: CountedFailure) -> float:
        """Seconds for which requests that fail like this are paused."""
        return past.streak(failure).wait(self._free(failure), self.clock())

    async def fail(self, subject: str, failure: CountedFailure) -> None:
        free = self._free(failure)
        if free:
            await self._keep(subject, (await self._latest(subject)).after(failure, free, self.clock()))

    async def succeed(self, subject: str, failures: Iterable[CountedFailure]) -> None:
        """A request of the caller succeeded: these streaks are over."""
        past = await self._latest(subject)
        better = past.without(failures)
        if better != past:
            await self._keep(subject, better)

    def _free(self, failure: CountedFailure) -> int:
        return self._free_misses if failure.fault is Fault.SILENT_TARGET else self._free_faults

    async def _latest(self, subject: str) -> FailureHistory:
        """The newest history: what this process has just counted may not be in Hot yet."""
        try:
            kept = await self._hot.get(_name(subject))
        except Unavailable:
            kept = None
        shared, own = NOTHING if kept is None else _decode(kept), self._own.get(subject, NOTHING)
        return max(shared, own, key=lambda past: past.latest)

    async def _keep(self, subject: str, past: FailureHistory) -> None:
        self._own.pop(subject, None)
        if past != NOTHING:
            self._own[subject] = past
        if len(self._own) > MAX_CALLERS:
            self._own.popitem(last=False)
        try:
            if past == NOTHING:
                await self._hot.drop(_name(subject))
            else:
                await self._hot.put(_name(subject), msgspec.msgpack.encode(past), FORGET_SECONDS)
        except Unavailable:
            return


def _decode(kept: bytes) -> FailureHistory:
    try:
        return msgspec.msgpack.decode(kept, type=FailureHistory)
    except msgspec.MsgspecError:  # written by another version
        return NOTHING


def _name(subject: str) -> str:
    return f"backoff:{subject}"
