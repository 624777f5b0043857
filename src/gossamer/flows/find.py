"""Find: a question in, pages out, from all who know some: our own index and the providers that are set.

All are asked at once. One that fails takes nothing away from what the others found; but where nothing was
found and somebody has not answered, that is no answer: to say "nothing" would be wrong.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, Protocol

import msgspec

from gossamer.breaker import Breaker
from gossamer.flows.caching import Caching, Made, Part, has, keys, through
from gossamer.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.reach.search import Provider
from gossamer.state.cache import Cache
from gossamer.state.search_index import SearchIndex
from gossamer.web.fusion import Hit, Ranked, fused
from gossamer.web.question import Question
from gossamer.web.url import Url

SECONDS: Final = 10.0  # for any of them, whatever its own deadline
SERVICE: Final = "search"
_STATES: Final = {"closed": "answers", "half-open": "is tried again", "open": "away"}  # of breakers


class Source(Protocol):
    """Somebody who can be asked on behalf of a tenant."""

    rest: ClassVar[float]  # seconds for which it is left alone when it keeps failing

    async def find(self, tenant: str, question: Question) -> list[Hit]: ...


@dataclass(frozen=True, slots=True)
class OwnIndex:
    index: SearchIndex
    rest: ClassVar[float] = 5.0

    async def find(self, tenant: str, question: Question) -> list[Hit]:
        return [
            Hit(
                url=match.url,
                title=match.title,
                snippet=match.snippet,
                published_at=match.published_at,
                seen_at=match.seen_at,
            )
            for match in await self.index.search(tenant, question)
        ]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A provider; it is not told who asks."""

    provider: Provider
    rest: ClassVar[float] = 60.0

    async def find(self, tenant: str, question: Question) -> list[Hit]:
        return await self.provider.search(question)


@dataclass(frozen=True, slots=True)
class Account:
    """How it went with one of those who were asked."""

    status: Literal["ok", "failed", "skipped"]
    count: int = 0
    latency_ms: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    results: tuple[Ranked, ...]
    providers: dict[str, Account]
    at: float  # Unix seconds

    @property
    def complete(self) -> bool:
        return all(account.status == "ok" for account in self.providers.values())


@dataclass(frozen=True, slots=True)
class Finder:
    sources: Mapping[str, Source]  # in the order in which they count where they are even
    cache: Cache
    log: Log
    clock: Callable[[], float] = field(default=time.time)
    ticks: Callable[[], float] = field(default=time.monotonic)
    seconds: float = SECONDS
    breakers: Mapping[str, Breaker] = field(init=False)

    def __post_init__(self) -> None:
        breakers = {name: Breaker(seconds=source.rest) for name, source in self.sources.items()}
        object.__setattr__(self, "breakers", breakers)

    async def find(self, question: Question, tenant: str) -> Found:
        """Raises `Unavailable` where there is nothing to show and somebody has not answered."""
        answers = await asyncio.gather(*(self._ask(name, question, tenant) for name in self.sources))
        accounts = {name: account for name, account, _ in answers}
        rankings = {name: hits for name, account, hits in answers if account.status == "ok"}
        found = Found(tuple(fused(rankings, question.limit)), accounts, self.clock())
        if not found.results and not found.complete:
            raise _nobody_knows(accounts)
        return found

    async def find_through(self, question: Question, caching: Caching) -> tuple[Found, Part]:
        """From the cache, or into it. What somebody is missing from is not kept."""

        async def make() -> Made:
            found = await self.find(question, caching.tenant)
            return Made(msgspec.msgpack.encode(found), found.at, found.complete)

        key = _key(question, caching)
        return await through(self.cache, caching, key, Found, make, patience=self.seconds)

    async def has(self, question: Question, caching: Caching) -> bool:
        return await has(self.cache, caching, _key(question, caching))

    async def states(self) -> Mapping[str, Any]:
        """For who asks how we are; raises `Unavailable` while somebody is left alone."""
        states = {name: _STATES[breaker.state(self.ticks())] for name, breaker in self.breakers.items()}
        away = [name for name, state in states.items() if state == "away"]
        if away:
            raise Unavailable(SERVICE, f"no answers from {', '.join(away)}")
        return states

    async def _ask(self, name: str, question: Question, tenant: str) -> tuple[str, Account, list[Hit]]:
        breaker = self.breakers[name]
        if not breaker.allows(self.ticks()):
            return name, Account("skipped", reason="it kept failing and is left alone for a while"), []
        started = self.ticks()
        try:
            async with asyncio.timeout(self.seconds):
                hits = await self.sources[name].find(tenant, question)
        except (Problem, TimeoutError) as error:
            breaker.failed(self.ticks())
            return name, self._failure(name, _why(error, self.seconds), self._since(started)), []
        except BaseException:
            breaker.given_up()
            raise
        breaker.succeeded(self.ticks())
        kept = [hit for hit in hits if _fits(hit, question, self.clock())]
        return name, Account("ok", len(kept), self._since(started)), kept

    def _since(self, started: float) -> int:
        return round((self.ticks() - started) * 1000)

    def _failure(self, name: str, why: str, latency: int) -> Account:
        self.log.warning("search_provider_failed", "a search goes on without it", provider=name, why=why)
        return Account("failed", latency_ms=latency, reason=why)


def _fits(hit: Hit, question: Question, now: float) -> bool:
    """Providers take site and time as a wish."""
    since = question.since(now)
    if since is not None and hit.published_at is not None and hit.published_at < since:
        return False
    try:
        return question.is_there(Url.parse(hit.url).host)
    except Problem:
        return False


def _why(error: Exception, seconds: float) -> str:
    if isinstance(error, Problem):
        return str(error.members.get("details", {}).get("reason", error.kind.title))
    return f"no answer within {seconds:g} s"


def _nobody_knows(accounts: Mapping[str, Account]) -> Unavailable:
    reasons = {name: account.reason for name, account in accounts.items() if account.status != "ok"}
    problem = Unavailable(
        SERVICE, "; ".join(f"{name}: {why}" for name, why in reasons.items()), retry_after=5
    )
    problem.members["details"]["providers"] = {
        name: {"status": account.status, "count": account.count, "latency": account.latency_ms}
        | ({"reason": account.reason} if account.reason else {})
        for name, account in accounts.items()
    }
    return problem


def _key(question: Question, caching: Caching) -> tuple[str, str]:
    return keys("search", caching.tenant, _parameters(question))


def _parameters(question: Question) -> dict[str, object]:
    return {
        "query": question.text,
        "limit": question.limit,
        "site": question.site,
        "recency": question.recency,
        "language": question.language,
    }
