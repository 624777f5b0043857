"""Limits: how much may be asked by whom. One sliding-window limiter, one table of policies.

Counted in Hot, so that all processes share the count. When Hot is away each process counts by itself: a
failure never blocks a request and never opens the gate wide.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer import problems
from gossamer.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.setting_values import Rate
from gossamer.settings import Settings
from gossamer.state.hot import Hot, Tally, Window
from gossamer.state.hot_memory import MemoryHot


@dataclass(frozen=True, slots=True)
class Policy:
    """A row of the table: at most `rate.limit` in any `rate.seconds`, for each subject."""

    name: str
    rate: Rate
    subject: str  # what is counted by, for people

    def window(self, subject: str, cost: int) -> Window:
        return Window(f"rl:{self.name}:{subject}", self.rate.limit, self.rate.seconds, cost)


class Standing(NamedTuple):
    """How a subject stands with a policy."""

    policy: Policy
    subject: str
    tally: Tally


_SUBJECTS: Final[Mapping[str, str]] = {
    "anonymous-post": "network address",
    "anonymous-read": "network address",
    "user": "API key",
    "admin": "API key",
    "seed-injection": "API key",
    "wallet": "wallet",
    "unpaid": "network address",
    "renders-free": "tenant",
    "renders-pro": "tenant",
    "renders-enterprise": "tenant",
}


def policies(settings: Settings) -> dict[str, Policy]:
    """The table; each row's numbers come from the setting of its name."""
    return {
        name: Policy(name, getattr(settings, f"limit_{name.replace('-', '_')}"), subject)
        for name, subject in _SUBJECTS.items()
    }


class Limits:
    def __init__(self, hot: Hot, table: Mapping[str, Policy], log: Log) -> None:
        self.table = table
        self._hot = hot
        self._local = MemoryHot()
        self._log = log
        self._degraded = False

    async def take(self, asks: Sequence[tuple[str, str]], *, cost: int = 1) -> list[Standing]:
        """Count `cost` for each (policy, subject), or nothing where one is full; a cost of 0 only looks."""
        return self._standings(asks, await self._tallies(self.windows(asks, cost=cost)))

    def windows(self, asks: Sequence[tuple[str, str]], *, cost: int = 1) -> list[Window]:
        return [self.table[name].window(subject, cost) for name, subject in asks]

    def counted(self, asks: Sequence[tuple[str, str]], tallies: Sequence[Tally]) -> list[Standing]:
        """How it stands where somebody else has asked Hot to count in the windows."""
        self._say(degraded=False)
        return self._standings(asks, tallies)

    def _standings(self, asks: Sequence[tuple[str, str]], tallies: Sequence[Tally]) -> list[Standing]:
        return [
            Standing(self.table[name], subject, tally)
            for (name, subject), tally in zip(asks, tallies, strict=True)
        ]

    async def restore(self, name: str, subject: str, used: int, at: float) -> None:
        """Count what was counted before, and was lost with Hot, as if it had been at this time."""
        policy = self.table[name]
        with suppress(Unavailable):
            await self._hot.take([policy.window(subject, min(used, policy.rate.limit))], now=at)

    async def give_back(self, standing: Standing, *, cost: int = 1) -> None:
        window = standing.policy.window(standing.subject, cost)
        try:
            await self._hot.give_back(window, standing.tally.stamp)
        except Unavailable:
            await self._local.give_back(window, standing.tally.stamp)

    async def _tallies(self, windows: Sequence[Window]) -> list[Tally]:
        try:
            tallies = await self._hot.take(windows)
        except Unavailable as away:
            self._say(degraded=True, why=away.detail)
            return await self._local.take(windows)
        self._say(degraded=False)
        return tallies

    def _say(self, *, degraded: bool, why: str = "") -> None:
        if degraded == self._degraded:
            return
        self._degraded = degraded
        if degraded:
            self._log.warning(
                "limits_local", "each process limits by itself until the cache is back", why=why
            )
        else:
            self._log.info("limits_shared", "limits are shared again")


def tightest(standings: Sequence[Standing]) -> Standing:
    """The one that its subject will run into first: the fullest, and of those the longest to wait for."""
    if len(standings) == 1:
        return standings[0]
    return min(standings, key=lambda s: (s.tally.allowed, s.tally.remaining, -s.tally.reset_at))


def refusal(standing: Standing, retry_after: int, reset_at: str, upgrade_url: str | None) -> Problem:
    """The 429 that this standing deserves."""
    rate, tally = standing.policy.rate, standing.tally
    what = "renders" if standing.policy.name.startswith("renders") else "requests"
    return Problem(
        problems.RATE_LIMITED,
        f"{rate.limit:,} {what} per {rate.per} are allowed for each {standing.policy.subject} "
        f"(policy '{standing.policy.name}').",
        hint=f"Try again in {retry_after} s.",
        headers={"Retry-After": str(retry_after)},
        retryAfter=retry_after,
        limit=tally.limit,
        used=tally.used,
        resetAt=reset_at,
        upgradeUrl=upgrade_url,
        details={"policy": standing.policy.name},
    )
