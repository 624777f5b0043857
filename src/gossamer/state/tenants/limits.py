"""Rate limits: one sliding-window limiter and one table of policies.

Requests are counted in Hot, so that all processes share the count. If Hot is unavailable, each process counts
by itself, so an outage neither blocks requests nor lifts the limits.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final

from msgspec import Struct

from gossamer import problems
from gossamer.observe.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.settings.settings import Settings
from gossamer.settings.values import Rate
from gossamer.state.kv.hot import Hot, Tally, Window
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.web.pages.timestamps import iso


class Policy(Struct, frozen=True):
    """A row of the table: at most `rate.limit` in any `rate.seconds`, for each subject."""

    name: str
    rate: Rate
    subject: str  # what the count is kept for, as people call it
    advice: str = ""  # what helps a caller who reaches it, besides waiting

    def window(self, subject: str, cost: int) -> Window:
        return Window(f"rl:{self.name}:{subject}", self.rate.limit, self.rate.seconds, cost)

    @property
    def setting(self) -> str:
        """The setting with which an operator changes it."""
        return f"GOSSAMER_LIMIT_{self.name.replace('-', '_').upper()}"


class LimitStatus(Struct, frozen=True):
    """The state of one subject's count under a policy."""

    policy: Policy
    subject: str
    tally: Tally


MAX_WINDOWS: Final = 4_096  # of policies and subjects that are kept in mind
_SEND_A_KEY: Final = "Send an API key: it is allowed more."
_USE_THE_CACHE: Final = "Answers from a cache are not counted here: send `cache`, or a larger `maxAge`."
_ASK_LESS: Final = "Follow a job by its events instead of asking again and again. A higher tier allows more."
_HIGHER_TIER: Final = "A higher tier allows more."
_STILL_SERVED: Final = "Pages in the cache are served all the same. A higher tier allows more."

_COUNTED: Final = {
    "sign": "attempts to sign in",
    "renders": "renders",
    "hits": "answers from a cache",
    "control": "control calls",
    "site": "messages",
}

# By name: the subject, and the advice.
_ROWS: Final[Mapping[str, tuple[str, str]]] = {
    "anonymous-post": ("network address", _SEND_A_KEY),
    "anonymous-read": ("network address", _SEND_A_KEY),
    "user": ("API key", _USE_THE_CACHE),
    "admin": ("API key", _USE_THE_CACHE),
    "hits-free": ("API key", _HIGHER_TIER),
    "hits-pro": ("API key", _HIGHER_TIER),
    "hits-enterprise": ("API key", ""),
    "control-free": ("API key", _ASK_LESS),
    "control-pro": ("API key", _ASK_LESS),
    "control-enterprise": ("API key", _ASK_LESS),
    "sign-in": ("network address", "A link from an admin signs you in without a password."),
    "sign-in-account": ("account", "A link from an admin signs you in without a password."),
    "seed-injection": ("API key", "Put more URLs into one request."),
    "site-hook": ("site", "Put more URLs into one message."),
    "wallet": ("wallet", "An API key has limits of its own."),
    "unpaid": ("network address", "Pay for what was quoted: then it is given back."),
    "renders-free": ("tenant", _STILL_SERVED),
    "renders-pro": ("tenant", _STILL_SERVED),
    "renders-enterprise": ("tenant", _STILL_SERVED),
}


def policies(settings: Settings) -> dict[str, Policy]:
    """The table; each row's numbers come from the setting of its name."""
    return {
        name: Policy(name, getattr(settings, f"limit_{name.replace('-', '_')}"), subject, advice)
        for name, (subject, advice) in _ROWS.items()
    }


class Limits:
    def __init__(self, hot: Hot, table: Mapping[str, Policy], log: Log) -> None:
        self.table = table
        self._hot = hot
        self._local = MemoryHot()
        self._log = log
        self._degraded = False
        self._window = lru_cache(MAX_WINDOWS)(self._make_window)

    async def take(self, asks: Sequence[tuple[str, str]], *, cost: int = 1) -> list[LimitStatus]:
        """Count `cost` for each (policy, subject), or nothing if one is full; a cost of 0 only looks."""
        windows = [self._window(name, subject, cost) for name, subject in asks]
        try:
            tallies = await self._hot.take(windows)
        except Unavailable as away:
            self._set_degraded(degraded=True, why=away.detail)
            tallies = await self._local.take(windows)
        else:
            if self._degraded:
                self._set_degraded(degraded=False)
        return self._statuses(asks, tallies)

    def windows(self, asks: Sequence[tuple[str, str]]) -> list[Window]:
        return [self._window(name, subject, 1) for name, subject in asks]

    def _make_window(self, name: str, subject: str, cost: int) -> Window:
        return self.table[name].window(subject, cost)

    def to_statuses(self, asks: Sequence[tuple[str, str]], tallies: Sequence[Tally]) -> list[LimitStatus]:
        """The statuses for tallies that the caller got from Hot itself."""
        self._set_degraded(degraded=False)
        return self._statuses(asks, tallies)

    def _statuses(self, asks: Sequence[tuple[str, str]], tallies: Sequence[Tally]) -> list[LimitStatus]:
        return list(map(self._status, asks, tallies))

    def _status(self, ask: tuple[str, str], tally: Tally) -> LimitStatus:
        name, subject = ask
        return LimitStatus(self.table[name], subject, tally)

    async def restore(self, name: str, subject: str, used: int, at: float) -> None:
        """Count units that were lost with Hot, as of the time at which they were used."""
        policy = self.table[name]
        with suppress(Unavailable):
            await self._hot.take([policy.window(subject, min(used, policy.rate.limit))], now=at)

    async def give_back(self, status: LimitStatus, *, cost: int = 1) -> None:
        window = status.policy.window(status.subject, cost)
        try:
            await self._hot.give_back(window, status.tally.stamp)
        except Unavailable:
            await self._local.give_back(window, status.tally.stamp)

    def _set_degraded(self, *, degraded: bool, why: str = "") -> None:
        if degraded == self._degraded:
            return
        self._degraded = degraded
        if degraded:
            self._log.warning(
                "limits_local", "each process limits by itself until the cache is back", why=why
            )
        else:
            self._log.info("limits_shared", "limits are shared again")


def tightest(statuses: Sequence[LimitStatus]) -> LimitStatus:
    """The status with the least room left, and among equals the one with the longest wait."""
    if len(statuses) == 1:
        return statuses[0]
    return min(statuses, key=lambda s: (s.tally.allowed, s.tally.remaining, -s.tally.reset_at))


def seconds_to_wait(tally: Tally) -> int:
    """Whole seconds, rounded up, by the clock of the store that counted."""
    return max(0, math.ceil(tally.reset_at - tally.stamp / 1_000_000))


def limit_problem(status: LimitStatus, upgrade_url: str | None) -> Problem:
    """The 429 of a caller who has reached a limit."""
    retry_after = seconds_to_wait(status.tally)
    policy, rate, tally = status.policy, status.policy.rate, status.tally
    what = _COUNTED.get(policy.name.partition("-")[0], "requests")
    hints = (f"Try again in {retry_after} s.", policy.advice, f"The operator's setting is {policy.setting}.")
    return Problem(
        problems.RATE_LIMITED,
        f"{rate.limit:,} {what} per {rate.per} are allowed for each {policy.subject} "
        f"(policy '{policy.name}').",
        hint=" ".join(hint for hint in hints if hint),
        headers={"Retry-After": str(retry_after)},
        retryAfter=retry_after,
        limit=tally.limit,
        used=tally.used,
        resetAt=iso(tally.reset_at),
        upgradeUrl=upgrade_url,
        details={"policy": policy.name, "reason": "limit_reached", "setting": policy.setting},
    )
