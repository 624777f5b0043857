"""Warm: the pages of a list or a sitemap, rendered before anybody asks for them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gossamer.flows.admit import Caller
from gossamer.flows.render import Look, page_key
from gossamer.flows.serve import LimitReached, Serving, Wish
from gossamer.flows.workshop import Workshop
from gossamer.problems import Problem, Unavailable, validation_error
from gossamer.reach.dial import Dialer
from gossamer.reach.fetch import Ask, Fetcher
from gossamer.reach.visit import Step
from gossamer.state.page_cache import PageCache
from gossamer.state.tenants import Role, Tier
from gossamer.web import sitemap
from gossamer.web.url import Url, cache_form

KIND: Final = "warm"
MOST: Final = 10_000  # pages
MOST_LISTED: Final = 1_000  # in a request
MOST_SITEMAPS: Final = 50  # of one index; an index in an index is not followed
MOST_TOLD: Final = 100  # of the pages that could not be queued,
MOST_JOBS_TOLD: Final = 1_000  # and of the jobs of those that could
PRIORITY: Final = 10  # behind what somebody waits for
AT_ONCE: Final = 8
SITEMAP_SECONDS: Final = 30.0
STEP_EVERY: Final = 100  # pages


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """What a job carries: a list, or the address of a sitemap."""

    urls: tuple[str, ...] = ()
    sitemap: str = ""
    limit: int = MOST
    bot: str = "default"
    keep_scripts: bool = False
    max_age: float | None = None  # seconds; what is cached and not older is left alone
    timeout: float = 30.0
    key_id: str = ""
    tier: str = "free"


@dataclass(slots=True)
class Warmed:
    """What came of it. Pages beyond the tenant's limit are not queued; ask again when there is room."""

    found: int = 0
    queued: int = 0
    cached: int = 0  # fresh already
    limited: int = 0
    refused: int = 0
    job_ids: list[str] = field(default_factory=list)  # the first of them
    problems: list[dict[str, str]] = field(default_factory=list)  # likewise

    def told(self) -> dict[str, Any]:
        """The result of the job."""
        return {
            "found": self.found,
            "queued": self.queued,
            "cached": self.cached,
            "limited": self.limited,
            "refused": self.refused,
            "jobIds": self.job_ids,
            "problems": self.problems,
        }

    def refuse(self, url: str, problem: Problem) -> None:
        self.refused += 1
        if len(self.problems) < MOST_TOLD:
            reason = (problem.members.get("details") or {}).get("reason", problem.kind.code)
            self.problems.append({"url": url[:2_048], "reason": str(reason), "message": problem.detail})


@dataclass(frozen=True, slots=True)
class Warmer:
    fetcher: Fetcher
    dialer: Dialer
    cache: PageCache
    serving: Serving
    workshop: Workshop

    async def warm(self, wanted: Payload, tenant: str, request_id: str, step: Step) -> Warmed:
        """Queue the renders. Again is no harm: what is queued or cached already is not queued once more."""
        await step("finding the pages", 5)
        warmed = Warmed()
        urls = wanted.urls or await self._listed(wanted.sitemap, wanted.limit, warmed)
        chosen = list({cache_key(url): url for url in reversed(urls)}.values())[::-1][: wanted.limit]
        warmed.found = len(chosen)
        caller = Caller(Role.USER, wanted.key_id, tenant, Tier(wanted.tier))
        for at in range(0, len(chosen), STEP_EVERY):
            await step("queueing renders", 10 + 85 * at // len(chosen))
            await self._queue(chosen[at : at + STEP_EVERY], caller, wanted, request_id, warmed)
        return warmed

    async def _queue(
        self, urls: Sequence[str], caller: Caller, wanted: Payload, request_id: str, warmed: Warmed
    ) -> None:
        places = asyncio.Semaphore(AT_ONCE)
        troubles: list[Problem] = []

        async def one(text: str) -> None:
            async with places:
                try:
                    await self._one(text, caller, wanted, request_id, warmed)
                except LimitReached:
                    warmed.limited += 1
                except Unavailable as away:
                    troubles.append(away)
                except Problem as problem:
                    warmed.refuse(text, problem)

        async with asyncio.TaskGroup() as group:
            for text in urls:
                group.create_task(one(text))
        if troubles:
            raise troubles[0]  # the job is tried again

    async def _one(self, text: str, caller: Caller, wanted: Payload, request_id: str, warmed: Warmed) -> None:
        url = Url.parse(text)
        self.dialer.admit(url.host, url.port)
        look = Look(bot=wanted.bot, keep_scripts=wanted.keep_scripts)
        wish = Wish(url=url, look=look, timeout=wanted.timeout, max_age=wanted.max_age)
        key = page_key(caller.tenant_id, url, look)
        known = await self.cache.status(key)
        if known is not None and wish.is_fresh(self.serving.age(known.rendered_at)):
            warmed.cached += 1
            return
        queued = await self.serving.queue(caller, wish, key, request_id, priority=PRIORITY)
        warmed.queued += 1
        if len(warmed.job_ids) < MOST_JOBS_TOLD:
            warmed.job_ids.append(queued.job.job_id)

    async def _listed(self, address: str, most: int, warmed: Warmed) -> Sequence[str]:
        entries = await self._sitemap(Url.parse(address))
        if entries.problem and not entries.urls:
            raise validation_error(f"The sitemap cannot be used: {entries.problem}.")
        if not entries.is_index:
            return entries.urls[:most]
        urls: list[str] = []
        for inner in entries.urls[:MOST_SITEMAPS]:
            if len(urls) >= most:
                break
            try:
                urls += (await self._sitemap(Url.parse(inner))).urls
            except Problem as problem:
                warmed.refuse(inner, problem)
        return urls[:most]

    async def _sitemap(self, url: Url) -> sitemap.Entries:
        """Inside a job: one attempt, since the job's own policy is the only loop."""
        page = await self.fetcher.fetch(Ask(url=url, timeout=SITEMAP_SECONDS, attempts=1))
        if page.status != 200:
            return sitemap.Entries((), problem=f"its server answered with {page.status}")
        return await self.workshop.entries(page)


def cache_key(text: str) -> str:
    """Spellings of one page are one; what is no URL is refused later."""
    try:
        return cache_form(Url.parse(text))
    except Problem:
        return text
