"""Search: a question in, pages out, from our own index and the providers that are configured.

All sources are asked at once. One that fails does not spoil the results of the others. But if nothing was
found and a needed source has not answered, the search fails: to say "nothing" would be wrong.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.concurrency.breaker import Breaker
from gossamer.flows.pages.caching import (
    Admit,
    CacheKey,
    Caching,
    MadeAnswer,
    admit_always,
    admit_or_pass,
    get_or_make,
    has,
)
from gossamer.observe.logs import Log
from gossamer.problems import Busy, Problem, Unavailable
from gossamer.reach.services.search import Provider
from gossamer.state.cache import Cache
from gossamer.state.search.search_index import SearchIndex
from gossamer.web.pages.cache_options import CachePart
from gossamer.web.search.fusion import Ranked, SearchHit, fuse
from gossamer.web.search.question import Question
from gossamer.web.search.search_answer import AccountStatus
from gossamer.web.search.vectors import NOTHING_NEAR, NearestPages
from gossamer.web.url.url import Url

SECONDS: Final = 10.0  # for each source, whatever its own deadline
SERVICE: Final = "search"
_STATES: Final = {"closed": "answers", "half-open": "is tried again", "open": "away"}  # of breakers


class Hits(Struct, frozen=True):
    """The hits of one source; incomplete if it stopped early, not current if it lacks what was read last."""

    hits: Sequence[SearchHit]
    complete: bool = True
    corrected: Mapping[str, str] = msgspec.field(
        default_factory=dict
    )  # words that were replaced, and by what
    near: NearestPages = NOTHING_NEAR  # of our index, found by meaning
    current: bool = True


Near = Awaitable[NearestPages]  # what the source by meaning has found
_NO_HITS: Final = Hits(())


class SearchSource(Protocol):
    """An index or a provider that is searched on behalf of a tenant."""

    rest: ClassVar[float]  # seconds for which it is not asked after repeated failures
    is_needed: ClassVar[bool]  # without its answer, "nothing was found" would be wrong
    helps: ClassVar[bool]  # it has no hits of its own, but pages that the index ranks with its own

    async def find(self, tenant: str, question: Question, near: Near) -> Hits: ...


class IndexSource(Struct, frozen=True):
    index: SearchIndex
    seconds: float = SECONDS - 1
    rest: ClassVar[float] = 5.0
    is_needed: ClassVar[bool] = True
    helps: ClassVar[bool] = False

    async def find(self, tenant: str, question: Question, near: Near) -> Hits:
        """A timeout means that the database is busy: an unreachable one fails sooner."""
        try:
            async with asyncio.timeout(self.seconds):
                matches = await self.index.search(tenant, question, await near)
        except TimeoutError:
            raise Busy(SERVICE, f"no answer within {self.seconds:g} s") from None
        hits = [
            SearchHit(
                url=match.url,
                title=match.title,
                snippet=match.snippet,
                published_at=match.published_at,
                seen_at=match.seen_at,
                passages=match.passages,
                missing=match.missing,
            )
            for match in matches.found
        ]
        return Hits(hits, matches.complete, matches.corrected, current=matches.current)


class ProviderSource(Struct, frozen=True):
    """A provider. It does not learn which tenant asks."""

    provider: Provider
    rest: ClassVar[float] = 60.0
    is_needed: ClassVar[bool] = True
    helps: ClassVar[bool] = False

    async def find(self, tenant: str, question: Question, near: Near) -> Hits:
        return Hits(await self.provider.search(question))


class Account(Struct, frozen=True):
    """How one source answered."""

    status: AccountStatus
    count: int = 0
    latency_ms: int = 0
    reason: str = ""

    @property
    def has_answered(self) -> bool:
        return self.status in ("ok", "partial")


class SearchResults(Struct, frozen=True):
    results: tuple[Ranked, ...]
    providers: dict[str, Account]
    at: float  # Unix seconds
    corrected: dict[str, str] = msgspec.field(
        default_factory=dict
    )  # words that our index replaced, and by what

    @property
    def complete(self) -> bool:
        return all(account.status == "ok" for account in self.providers.values())


@dataclass(frozen=True, slots=True)
class Finder:
    sources: Mapping[str, SearchSource]  # earlier ones win a tie
    cache: Cache
    log: Log
    clock: Callable[[], float] = field(default=time.time)
    ticks: Callable[[], float] = field(default=time.monotonic)
    seconds: float = SECONDS
    breakers: Mapping[str, Breaker] = field(init=False)

    def __post_init__(self) -> None:
        breakers = {name: Breaker(seconds=source.rest) for name, source in self.sources.items()}
        object.__setattr__(self, "breakers", breakers)

    async def find(self, question: Question, tenant: str) -> SearchResults:
        """Raises `Unavailable` if nothing was found and a needed source has not answered."""
        near: asyncio.Future[NearestPages] = asyncio.get_running_loop().create_future()
        if not any(source.helps for source in self.sources.values()):
            near.set_result(NOTHING_NEAR)
        answers = await asyncio.gather(
            *(
                (self._help if source.helps else self._ask)(name, question, tenant, near)
                for name, source in self.sources.items()
            )
        )
        accounts = {name: account for name, account, _ in answers}
        rankings = {
            name: found.hits
            for name, account, found in answers
            if account.has_answered and not self.sources[name].helps
        }
        corrected = {word: meant for *_, found in answers for word, meant in found.corrected.items()}
        found = SearchResults(tuple(fuse(rankings, question.limit)), accounts, self.clock(), corrected)
        needed = {name: account for name, account in accounts.items() if self.sources[name].is_needed}
        if not found.results and any(account.status != "ok" for account in needed.values()):
            raise _no_results(accounts)
        return found

    async def find_cached(
        self, question: Question, caching: Caching, admit: Admit = admit_always
    ) -> tuple[SearchResults, CachePart]:
        """From the cache, or searched and kept there. An incomplete result is not kept."""

        async def make() -> MadeAnswer:
            await admit_or_pass(admit)
            found = await self.find(question, caching.tenant)
            return MadeAnswer(msgspec.msgpack.encode(found), found.at, found.complete)

        key = _key(question, caching)
        return await get_or_make(self.cache, caching, key, SearchResults, make, patience=self.seconds)

    async def has(self, question: Question, caching: Caching) -> bool:
        return await has(self.cache, caching, _key(question, caching))

    async def states(self) -> Mapping[str, Any]:
        """For the health check. Raises `Unavailable` while a source is not asked."""
        states = {name: _STATES[breaker.state(self.ticks())] for name, breaker in self.breakers.items()}
        away = [name for name, state in states.items() if state == "away"]
        if away:
            raise Unavailable(SERVICE, f"no answers from {', '.join(away)}")
        return states

    async def _help(
        self, name: str, question: Question, tenant: str, near: "asyncio.Future[NearestPages]"
    ) -> tuple[str, Account, Hits]:
        """Ask the source that the index waits for; however that ends, the index goes on."""
        found = _NO_HITS
        try:
            answer = await self._ask(name, question, tenant, near)
            found = answer[2]
            return answer
        finally:
            if not near.done():
                near.set_result(found.near)

    async def _ask(self, name: str, question: Question, tenant: str, near: Near) -> tuple[str, Account, Hits]:
        breaker = self.breakers[name]
        if not breaker.allows(self.ticks()):
            return name, Account("skipped", reason="it kept failing and is left alone for a while"), _NO_HITS
        started = self.ticks()
        try:
            async with asyncio.timeout(self.seconds):
                found = await self.sources[name].find(tenant, question, near)
        except Busy as busy:
            breaker.record_unknown()  # it works, and may be asked again
            return name, Account("busy", 0, self._since(started), _why(busy, self.seconds)), _NO_HITS
        except (Problem, TimeoutError) as error:
            breaker.record_failure(self.ticks())
            return name, self._failure(name, _why(error, self.seconds), self._since(started)), _NO_HITS
        except BaseException:
            breaker.record_unknown()
            raise
        breaker.record_success(self.ticks())
        kept = [hit for hit in found.hits if _fits(hit, question, self.clock())]
        reason = _why_partial(found)
        status: AccountStatus = "partial" if reason else "ok"
        account = Account(status, len(kept) + len(found.near.passages), self._since(started), reason)
        return name, account, replace(found, hits=kept)

    def _since(self, started: float) -> int:
        return round((self.ticks() - started) * 1000)

    def _failure(self, name: str, why: str, latency: int) -> Account:
        self.log.warning("search_provider_failed", "a search goes on without it", provider=name, why=why)
        return Account("failed", latency_ms=latency, reason=why)


def _fits(hit: SearchHit, question: Question, now: float) -> bool:
    """Whether a hit is of the site and the time that were asked for; providers may ignore both."""
    since = question.since(now)
    if since is not None and hit.published_at is not None and hit.published_at < since:
        return False
    try:
        return question.is_on_site(Url.parse(hit.url).host)
    except Problem:
        return False


def _why_partial(found: Hits) -> str:
    if not found.complete:
        return "it took too long, and was ended early"
    return "" if found.current else "pages that were read last could not be added to it"


def _why(error: Exception, seconds: float) -> str:
    if isinstance(error, Problem):
        return error.reason or error.kind.title
    return f"no answer within {seconds:g} s"


def _no_results(accounts: Mapping[str, Account]) -> Unavailable:
    silent = {name: account for name, account in accounts.items() if account.status != "ok"}
    is_busy = all(account.status == "busy" for account in silent.values())
    why = "; ".join(f"{name}: {account.reason}" for name, account in silent.items())
    problem = (Busy if is_busy else Unavailable)(SERVICE, why, retry_after=5)
    problem.add_details(
        providers={
            name: {"status": account.status, "count": account.count, "latency": account.latency_ms}
            | ({"reason": account.reason} if account.reason else {})
            for name, account in accounts.items()
        }
    )
    return problem


def _key(question: Question, caching: Caching) -> CacheKey:
    return CacheKey.of("search", caching.tenant, _parameters(question))


def _parameters(question: Question) -> dict[str, object]:
    return {
        "query": question.text,
        "limit": question.limit,
        "site": question.site,
        "recency": question.recency,
        "language": question.language,
    }
