"""Hot: what must be answered in microseconds and may be lost. The interface, and its nouns.

Four things live here: short-lived keys, sliding windows (rate limits), claims (one does the work, the others
wait for it: idempotency and single flight) and page bytes. `hot_memory` keeps them in this process,
`hot_redis` in Redis or Valkey; one contract suite runs on both.

Every method may raise `problems.Unavailable("cache", …)`, within a second. Callers then go on without it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

FENCE_SECONDS: Final = 120.0  # for so long nothing can bring a dropped edition of a page back


class Window(NamedTuple):
    """A sliding window to be counted in: at most `limit` units in any `seconds`.

    `key` and `seconds` name it: the same key may be counted by the minute and by the hour.
    """

    key: str
    limit: int
    seconds: int
    cost: int = 1  # 0 looks without counting, and never stands in the way of another


class Tally(NamedTuple):
    """How a window stands after it was asked."""

    allowed: bool  # there was room in this one; it was counted if there was in all
    limit: int
    used: int
    reset_at: float  # Unix time at which the oldest unit leaves the window; now when it is empty
    stamp: int  # the store's time in Unix microseconds; what was counted is known by it to `give_back`

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.used)


class Heard(NamedTuple):
    """The answer to a question."""

    tallies: list[Tally]
    value: bytes | None  # of the short-lived key
    start: bytes | None  # of the page; None or b"" when there is none


Question = Callable[[], Awaitable[Heard]]


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer to `claim`: the work is mine (token), done (value), or another's (neither)."""

    key: str
    token: str | None = None
    value: bytes | None = None


class Hot(Protocol):
    # Short-lived keys.
    def get(self, key: str) -> Awaitable[bytes | None]:
        """Asked for when this is called: what is called together before the first await is one round trip."""
        ...

    async def put(self, key: str, value: bytes, ttl: float, *, only_new: bool = False) -> bool:
        """Keep `value` for `ttl` seconds. With `only_new`, a key that is there is left alone (False)."""
        ...

    async def drop(self, *keys: str) -> int: ...

    # Sliding windows: exact, so never more than `limit` in any window.
    async def take(self, windows: Sequence[Window], *, now: float | None = None) -> list[Tally]:
        """Count in all of `windows` or, when any of them is full, in none. The clock is the store's; when it
        steps back, a unit may stay longer, by at most the window, but never leaves early.
        No window may be named twice (ValueError)."""
        ...

    async def give_back(self, window: Window, stamp: int) -> None:
        """Undo what `take` counted in `window` under `stamp`. Too late is no error."""
        ...

    def question(self, windows: Sequence[Window], key: str, page: str, start: int) -> Question:
        """Prepare to ask, again and again and each time in one step: count in `windows` as `take` does, what
        is under `key`, and what are the first `start` bytes of `page`, which is being used."""
        ...

    # Claims.
    async def claim(self, key: str, lease: float) -> Claim:
        """Ask for the work named `key`: one caller gets it, for `lease` seconds."""
        ...

    async def renew(self, claim: Claim, lease: float) -> bool:
        """False: the lease has run out and the claim is no longer ours."""
        ...

    async def settle(self, claim: Claim, value: bytes, ttl: float) -> bool:
        """The work is done: whoever claims or waits within `ttl` seconds gets `value`."""
        ...

    async def release(self, claim: Claim) -> None:
        """The work was not done: the next to claim gets it."""
        ...

    async def wait(self, key: str, timeout: float) -> None:
        """Return when the claim on `key` is settled, released or expired, or after `timeout` seconds."""
        ...

    # Pages: bytes by key, the least recently used leave first, bounded by count and by bytes. They may have
    # an edition, a number that only grows: then what is late can neither replace a newer one nor bring back
    # what was dropped.
    def page(self, key: str, *, start: int | None = None, touch: bool = True) -> Awaitable[bytes | None]:
        """All of it, or only its first `start` bytes, and then b"" may also mean that there is none. With
        `touch` it counts as a use of the page. It is asked for when this is called: what is called together
        before the first await is one round trip."""
        ...

    async def keep_page(self, key: str, body: bytes, *, edition: int = 0) -> bool:
        """A body larger than all pages together may be is not kept, nor is what was there before it. With an
        `edition`, False when a newer one is there, or this one was dropped."""
        ...

    async def drop_page(self, key: str, *, edition: int = 0) -> bool:
        """Whether it was there. With an `edition`, only that one or an older one is dropped, and for
        `FENCE_SECONDS` none of these is kept again."""
        ...

    async def pages(self) -> tuple[int, int]:
        """How many pages are kept, and their bytes."""
        ...

    async def ping(self) -> None: ...

    async def close(self) -> None: ...


async def claim_or_wait(hot: Hot, key: str, lease: float) -> Claim:
    """A claim that is ours or done; while it is another's, wait. The caller's deadline bounds the waiting."""
    claim = await hot.claim(key, lease)
    while claim.token is None and claim.value is None:
        await hot.wait(key, lease)
        claim = await hot.claim(key, lease)
    return claim
