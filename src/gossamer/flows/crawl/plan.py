"""Plans: what each crawl is to do, prepared for the inner loop and reread every few seconds."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from gossamer.state.crawl import crawled_pages, trap_rows
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.crawl.settling import CrawlTask
from gossamer.web.crawl.fingerprint import Neighbours
from gossamer.web.crawl.scope import Scope
from gossamer.web.crawl.spec import CrawlSpec, Rendering
from gossamer.web.crawl.traps.crawl_traps import CrawlTraps
from gossamer.web.sites.rule_set import RulePace
from gossamer.web.url.url import Url

FRESH_SECONDS: Final = 2.0  # how late a pause or stop may be noticed
MAX_PLANS: Final = 200
MAX_ALIKE: Final = 20_000  # pages of a crawl that later ones are compared with
READ_AT_ONCE: Final = 1_000  # of these, to keep each query short
AMPLE: Final = 2  # URLs that sitemaps may add for each page that may still be stored,
SPARE: Final = 1_000  # and some for those that robots.txt forbids

OpenRules = Callable[[Crawl], Awaitable[Crawl]]  # the crawl with the headers of its rules


@dataclass(slots=True)
class CrawlPlan:
    crawl: Crawl
    scope: Scope
    alike: Neighbours
    salt: int
    read_at: float
    room: int = field(init=False)  # for URLs of sitemaps, until it is read again
    denied: int = 0  # links that robots.txt forbids
    nested: Counter[str] = field(default_factory=Counter)  # sitemaps of each host that others name
    genuine: Counter[str] = field(default_factory=Counter)  # genuine pages, by the page they resemble
    traps: CrawlTraps | None = field(init=False)  # None: everything is followed
    traps_read_at: int = 0  # on the database's clock
    paces: dict[str, RulePace] = field(default_factory=dict)  # of hosts

    def __post_init__(self) -> None:
        crawl = self.crawl
        careful = crawl.spec.traps == "auto"
        now = max(crawl.created_at, crawl.started_at or 0)
        self.traps = CrawlTraps(now, crawl.spec.trap_exceptions) if careful else None
        self.renew(self.crawl, self.read_at)

    @property
    def spec(self) -> CrawlSpec:
        return self.crawl.spec

    def rendering_of(self, url: Url) -> Rendering:
        """When a browser is used for this page. A picture needs one, whatever the rules say."""
        spec = self.spec
        ruled = spec.rule_set.at(url).render if spec.rules and not spec.screenshots else None
        return ruled or spec.rendering

    def pace_on(self, host: str) -> RulePace:
        """The slowest that the crawl and its rules ask for."""
        known = self.paces.get(host)
        if known is None:
            ruled, delay = self.spec.rule_set.pace(host), self.spec.delay
            slowest = max((each for each in (ruled.delay, delay) if each is not None), default=None)
            known = self.paces[host] = RulePace(slowest, ruled.concurrency)
        return known

    def renew(self, crawl: Crawl, now: float) -> None:
        """Take over what may have changed since it was read."""
        self.paces.clear()
        if crawl.spec.seeds != self.crawl.spec.seeds:  # of the default crawl
            self.scope = Scope.of(crawl.spec)
        self.crawl, self.read_at = crawl, now
        wanted = AMPLE * (crawl.spec.max_pages - crawl.counts.pages) + SPARE
        self.room = max(0, wanted - crawl.counts.pending)

    def salt_of(self, task: CrawlTask) -> int:
        """Keeps the known URLs of this crawl apart from those of others, and from those of a revision."""
        return hash((self.salt, task.revision, 0 if self.traps is None else self.traps.retractions))


class Plans:
    def __init__(
        self, crawls: Crawls, clock: Callable[[], float], open_rules: OpenRules | None = None
    ) -> None:
        """Without `open_rules`, the headers of rules are not sent."""
        self._crawls = crawls
        self._open_rules = open_rules
        self._clock = clock
        self._plans: OrderedDict[str, CrawlPlan] = OrderedDict()
        self._reading = asyncio.Lock()

    async def get(self, crawl_id: str, revision: int = 0) -> CrawlPlan | None:
        """The plan, of this revision at least. None: there is no such crawl any more."""
        plan = self._plans.get(crawl_id)
        if self._is_fresh(plan, revision):
            return plan
        async with self._reading:
            plan = self._plans.get(crawl_id)
            if not self._is_fresh(plan, revision):
                plan = await self._read(crawl_id, plan)
        return plan

    def _is_fresh(self, plan: CrawlPlan | None, revision: int) -> bool:
        if plan is None or plan.crawl.revision < revision:
            return False
        return self._clock() - plan.read_at < FRESH_SECONDS

    async def is_running(self, plan: CrawlPlan) -> bool:
        """As of a few seconds ago."""
        if self._clock() - plan.read_at < FRESH_SECONDS:
            return plan.crawl.state == "running"
        found = await self.get(plan.crawl.id)  # which brings the same plan up to date
        return found is not None and found.crawl.state == "running"

    async def _read(self, crawl_id: str, before: CrawlPlan | None) -> CrawlPlan | None:
        now = self._clock()
        crawl = await self._crawls.get(crawl_id)
        if crawl is None:
            self._plans.pop(crawl_id, None)
            return None
        if self._open_rules is not None:
            crawl = await self._open_rules(crawl)
        if before is not None:
            before.renew(crawl, now)
            plan = before
        else:
            plan = CrawlPlan(crawl, Scope.of(crawl.spec), Neighbours(MAX_ALIKE), hash((crawl_id, now)), now)
            await self._read_contents(plan)
        await self._read_traps(plan)
        self._plans[crawl_id] = plan
        self._plans.move_to_end(crawl_id)
        while len(self._plans) > MAX_PLANS:
            self._plans.popitem(last=False)
        return plan

    async def _read_contents(self, plan: CrawlPlan) -> None:
        """What the pages have to say that were stored before this process knew of the crawl."""
        before = None
        while len(plan.alike) < min(MAX_ALIKE, plan.crawl.counts.pages):
            async with self._crawls.database.read() as connection:
                found, before = await crawled_pages.contents(
                    connection, plan.crawl.id, before=before, limit=READ_AT_ONCE
                )
            for each in found:
                plan.alike.add(each.fingerprint, each.url_hash)
                if plan.traps is not None:
                    plan.traps.add_content(each.host, each.content_hash, each.url_hash)
            if before is None:
                break

    async def _read_traps(self, plan: CrawlPlan) -> None:
        """What other workers have learned since."""
        if plan.traps is None:
            return
        async with self._crawls.database.read() as connection:
            found = await trap_rows.states(connection, plan.crawl.id, since=plan.traps_read_at)
        for host, state, written_at in found:
            plan.traps.take_over(host, state)
            plan.traps_read_at = max(plan.traps_read_at, written_at)
