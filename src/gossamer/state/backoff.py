"""Back-off: who fails again and again has to wait, each time longer, until something goes well.

Two kinds of failures in a row are counted for each caller: faults, which are its own (a bad request, a bad
key, a forbidden target), and misses, which are a target's that does not answer; those are counted by site.
Some are free. Each of the others is followed by a pause of 1, 2, 4 … 60 seconds, counted from the failure.

What is known of a caller is one small record in Hot, for all processes, asked for together with its limits.
Two processes that count at the same instant may count one failure too few. Without Hot each process counts
by itself, so that a failure of the store blocks nobody.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from gossamer.problems import Unavailable
from gossamer.state.hot import Hot

LONGEST: Final = 60.0  # seconds to wait
FORGOTTEN: Final = 600.0  # seconds after the last failure
MOST_SITES: Final = 32  # of one caller; the one that failed longest ago is forgotten
MOST_CALLERS: Final = 10_000  # that a process remembers by itself
Asked = Awaitable[bytes | None] | None  # None: there was nobody to ask
_DOUBLINGS: Final = 6  # which is more than the longest


class Streak(msgspec.Struct, frozen=True, array_like=True):
    """Failures in a row, and when the last of them was (Unix seconds)."""

    failures: int = 0
    last: float = 0.0

    def pause(self, free: int) -> float:
        """Seconds to wait after the last one; with none free, nobody ever waits."""
        over = self.failures - free
        return min(LONGEST, 2.0 ** min(over, _DOUBLINGS)) if free and over >= 0 else 0.0

    def wait(self, free: int, now: float) -> float:
        """Seconds that are left of it. Never more than the pause, also where the clocks do not agree."""
        return max(0.0, self.pause(free) - abs(now - self.last))

    def longer(self, free: int, now: float) -> "Streak":
        """One more. What fails in the pause was let in before it, and is one with what began it."""
        if self.wait(free, now) > 0:
            return self
        if abs(now - self.last) >= FORGOTTEN:
            return Streak(1, now)
        return Streak(self.failures + 1, now)


class Past(msgspec.Struct, frozen=True, array_like=True):
    """What is remembered of a caller."""

    faults: Streak = Streak()
    misses: dict[str, Streak] = {}

    @property
    def latest(self) -> float:
        return max([self.faults.last, *(streak.last for streak in self.misses.values())])

    def with_miss(self, site: str, free: int, now: float) -> "Past":
        missed = {**self.misses, site: self.misses.get(site, Streak()).longer(free, now)}
        kept = sorted(missed, key=lambda each: missed[each].last, reverse=True)[:MOST_SITES]
        return Past(self.faults, {each: missed[each] for each in kept})

    def after_success(self, site: str) -> "Past":
        return Past(misses={each: streak for each, streak in self.misses.items() if each != site})


NOTHING: Final = Past()


class Backoff:
    def __init__(
        self,
        hot: Hot,
        *,
        free_faults: int,
        free_misses: int,
        alone: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.free_faults = free_faults  # 0: they are not counted
        self.free_misses = free_misses
        self._hot = hot
        self._alone = alone  # no other process has seen what this one has not
        self._clock = clock
        self._own: OrderedDict[str, Past] = OrderedDict()  # what this process has seen of each

    @property
    def is_on(self) -> bool:
        return bool(self.free_faults or self.free_misses)

    def suspects(self, subject: str) -> bool:
        """Has the caller failed here lately? Asks nobody."""
        return subject in self._own

    def ask(self, subject: str) -> Asked:
        """Ask Hot what is known of a caller, now; `recall` reads the answer."""
        if self._alone and subject not in self._own:
            return None
        try:
            return self._hot.get(_name(subject))
        except Unavailable:
            return None

    async def recall(self, subject: str, asked: Asked) -> Past:
        own = self._own.get(subject, NOTHING)
        if asked is None:
            return own
        try:
            kept = await asked
        except Unavailable:
            return own
        if kept is None:
            self._own.pop(subject, None)  # it has gone well elsewhere, or was long ago
            return NOTHING
        return _decoded(kept)

    def waits(self, past: Past, site: str = "") -> float:
        """Seconds for which the caller is refused: whatever it asks for, or something of this site."""
        now = self._clock()
        own = past.faults.wait(self.free_faults, now)
        missed = past.misses.get(site)
        return own if missed is None else max(own, missed.wait(self.free_misses, now))

    async def fault(self, subject: str) -> None:
        if self.free_faults:
            past = await self._latest(subject)
            longer = past.faults.longer(self.free_faults, self._clock())
            await self._keep(subject, Past(longer, past.misses))

    async def miss(self, subject: str, site: str) -> None:
        if self.free_misses:
            past = await self._latest(subject)
            await self._keep(subject, past.with_miss(site, self.free_misses, self._clock()))

    async def success(self, subject: str, site: str = "") -> None:
        """For a caller who has failed before."""
        await self._keep(subject, (await self._latest(subject)).after_success(site))

    async def _latest(self, subject: str) -> Past:
        """Requests of one caller fail side by side: what this process has just seen may not be there yet."""
        try:
            kept = await self._hot.get(_name(subject))
        except Unavailable:
            kept = None
        shared, own = NOTHING if kept is None else _decoded(kept), self._own.get(subject, NOTHING)
        return max(shared, own, key=lambda past: past.latest)

    async def _keep(self, subject: str, past: Past) -> None:
        self._own.pop(subject, None)
        if past != NOTHING:
            self._own[subject] = past
        if len(self._own) > MOST_CALLERS:
            self._own.popitem(last=False)
        try:
            if past == NOTHING:
                await self._hot.drop(_name(subject))
            else:
                await self._hot.put(_name(subject), msgspec.msgpack.encode(past), FORGOTTEN)
        except Unavailable:
            return


def _decoded(kept: bytes) -> Past:
    try:
        return msgspec.msgpack.decode(kept, type=Past)
    except msgspec.MsgspecError:  # another version of ours has written it
        return NOTHING


def _name(subject: str) -> str:
    return f"backoff:{subject}"
