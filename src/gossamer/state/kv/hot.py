"""Hot: the interface to data that must be read in microseconds and may be lost.

It holds short-lived keys, sliding windows (rate limits), claims (one caller does the work, the others wait
for it: idempotency and single flight) and page bytes. `hot_memory` keeps them in this process, `hot_redis` in
Redis or Valkey; one contract suite runs on both.

Every method may raise `problems.Unavailable("cache", …)` within a second. Callers then continue without it.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

HAND_OVER_SECONDS: Final = 5.0  # in which woken callers fetch what they waited for
FENCE_SECONDS: Final = 120.0  # in which nothing can bring a dropped edition of a page back


class Window(Struct, frozen=True):
    """A sliding window to be counted in: at most `limit` units in any `seconds`.

    `key` and `seconds` name it: the same key may be counted by the minute and by the hour.
    """

    key: str
    limit: int
    seconds: int
    cost: int = 1  # 0 looks without counting, and never blocks another window


class Tally(Struct, frozen=True):
    """The state of a window after it was asked."""

    allowed: bool  # there was room in this one; the unit was counted if all had room
    limit: int
    used: int
    reset_at: float  # Unix time at which the oldest unit leaves the window; now when it is empty
    stamp: int  # the store's time in Unix microseconds; `give_back` finds the counted unit by it

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.used)


class HitFacts(NamedTuple):
    """Whether a page may be served from the hot tier again: the reply to a `HitQuestion`."""

    tallies: list[Tally]  # of the windows
    key_record: bytes | None  # the value of the short-lived key
    page_start: bytes | None  # the first bytes of the page; None or b"" when there is no page


# Asks each time it is called, and calls back once with the facts or with what went wrong: before it returns
# where the store is this process, else when the store has replied.
HitQuestion = Callable[[Callable[[HitFacts | Exception], None]], None]


class Claim(Struct, frozen=True):
    """The result of `claim`: the work is ours (token), done (value), or another caller's (holder)."""

    key: str
    token: str | None = None
    value: bytes | None = None
    holder: str | None = None  # the token of the other caller's run


class HotServer(NamedTuple):
    """A server that keeps hot data."""

    name: str
    version: str
    eviction: str | None  # the policy; None if it may not be read


class Hot(Protocol):
    # Short-lived keys.
    def get(self, key: str) -> Awaitable[bytes | None]:
        """The command is sent by the call itself: calls made before the first await share one round trip."""
        ...

    async def put(self, key: str, value: bytes, ttl: float, *, only_new: bool = False) -> bool:
        """Keep `value` for `ttl` seconds. With `only_new`, an existing key is left as it is (False)."""
        ...

    async def drop(self, *keys: str) -> int: ...

    # Sliding windows: exact, so never more than `limit` in any window.
    async def take(self, windows: Sequence[Window], *, now: float | None = None) -> list[Tally]:
        """Count in all of `windows` or, when any of them is full, in none. The clock is the store's; when it
        steps back, a unit may stay longer, by at most the window, but never leaves early.
        No window may be named twice (ValueError)."""
        ...

    async def give_back(self, window: Window, stamp: int) -> None:
        """Undo what `take` counted in `window` under `stamp`. Being too late is no error."""
        ...

    def hit_question(self, windows: Sequence[Window], key: str, page: str, start: int) -> HitQuestion:
        """Prepare a question that is asked many times, each time in one step: count in `windows` as `take`
        does, get `key`, and get the first `start` bytes of `page`, which counts as a use of the page. It may
        fail where the store has not answered a `take` yet."""
        ...

    # Claims.
    async def claim(self, key: str, lease: float) -> Claim:
        """Ask for the work named `key`: one caller gets it, for `lease` seconds."""
        ...

    async def renew(self, claim: Claim, lease: float) -> bool:
        """False when the lease has run out and the claim is no longer ours."""
        ...

    async def settle(self, claim: Claim, value: bytes, ttl: float) -> bool:
        """The work is done: callers that claim or wait within `ttl` seconds get `value`."""
        ...

    async def release(self, claim: Claim) -> None:
        """The work was not done: the next caller to claim it gets it."""
        ...

    async def wait(self, key: str, timeout: float) -> None:
        """Return when the claim on `key` is settled, released or expired, or after `timeout` seconds."""
        ...

    # Pages: bytes by key, bounded by count and by bytes; the least recently used leave first. A page may have
    # an edition, a number that only grows: a late write can then neither replace a newer page nor bring back
    # a dropped one.
    def page(self, key: str, *, start: int | None = None, touch: bool = True) -> Awaitable[bytes | None]:
        """All of it, or its first `start` bytes; b"" may then also mean that there is no page. With `touch`
        it counts as a use of the page. The command is sent by the call itself: calls made before the first
        await share one round trip."""
        ...

    async def keep_page(self, key: str, body: bytes, *, edition: int = 0) -> bool:
        """Keep a page. A body above the bound for all pages is not kept, and neither is its predecessor. With
        an `edition`, False when a newer one is there, or this one was dropped."""
        ...

    async def drop_page(self, key: str, *, edition: int = 0) -> bool:
        """Drop a page; whether it was there. With an `edition`, only that one or an older one is dropped, and
        none of these is kept again for `FENCE_SECONDS`."""
        ...

    async def clear(self) -> None:
        """Forget everything, as after a restore: what is stored elsewhere may be older than this."""
        ...

    async def pages(self) -> tuple[int, int]:
        """The number of pages, and their bytes."""
        ...

    async def describe(self) -> HotServer | None:
        """The server behind it; None if this process keeps everything itself."""
        ...

    async def ping(self) -> None: ...

    async def close(self) -> None: ...


async def claim_or_wait(hot: Hot, key: str, lease: float) -> Claim:
    """A claim that is ours or done; wait while it is another caller's. A run that was handed over to waiting
    callers counts as done. The caller's deadline bounds the waiting."""
    claim = await hot.claim(key, lease)
    while claim.holder is not None:
        await hot.wait(key, lease)
        handed_over = await hot.get(_handed_over(claim.holder))
        if handed_over is not None:
            return Claim(key, value=handed_over)
        claim = await hot.claim(key, lease)
    return claim


async def hand_over(hot: Hot, claim: Claim, value: bytes) -> None:
    """End the work with a value that must not be kept, such as a failure: callers that wait for this run
    get `value`, and the next to claim starts again. It is kept under the run's token, and before the claim is
    released, so that every woken caller finds it."""
    if claim.token is not None:
        await hot.put(_handed_over(claim.token), value, HAND_OVER_SECONDS)
        await hot.release(claim)


def _handed_over(token: str) -> str:
    return f"handed-over:{token}"
