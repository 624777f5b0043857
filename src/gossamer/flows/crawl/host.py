"""The crawl of one host: its best URLs in batches, each fetched when its turn has come.

The lease gives the host to this process alone, so nothing else needs to be asked before a request. The crawl
of a host ends when there is nothing to do, when another worker should have the host, or when the next
request is too far off to hold the lease.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Final

from msgspec import Struct

from gossamer.concurrency.loop_turns import LoopTurns
from gossamer.flows.crawl.content import PagePicture
from gossamer.flows.crawl.frontier_batcher import FrontierBatcher
from gossamer.flows.crawl.lease import HeldHost
from gossamer.flows.crawl.plan import CrawlPlan, Plans
from gossamer.flows.crawl.politeness.pace import REFUSALS
from gossamer.flows.crawl.politeness.robots import RobotsFiles, Rules
from gossamer.flows.crawl.visiting.fetch import LEARNED, CrawlFetcher
from gossamer.flows.crawl.visiting.page_parser import PageParser, is_quick_here
from gossamer.flows.crawl.visiting.page_processor import PageProcessor
from gossamer.flows.crawl.visiting.revisiting import note_visit
from gossamer.flows.crawl.visiting.visit import Visited, blocked, broken, put_off, unanswered, unreadable
from gossamer.flows.crawl.writer import Writer
from gossamer.flows.render.serve import LimitReached
from gossamer.observe.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.reach.http.retry import retry_after
from gossamer.state.crawl.frontier import Frontier
from gossamer.state.crawl.hosts import Hosts
from gossamer.state.crawl.settling import CrawlTask
from gossamer.web.crawl.parts import PageParts
from gossamer.web.pages.page import Page
from gossamer.web.url.url import Url

MAX_TASKS: Final = 200  # of a batch
FIRST_TASKS: Final = 20  # until the pace is known
MAX_HELD_SECONDS: Final = 5.0  # for which a host is held without a request
AGAIN_SECONDS: Final = 0.25  # until the database is tried again
DEFECT_SECONDS: Final = 15.0  # until a host is tried again after a defect of ours
REST_SECONDS: Final = 3600.0  # for a host whose robots.txt cannot be had
MAX_URLS: Final = 2_000  # that are written with their page or sitemap; more than that are written before it

Waiting = deque[tuple[CrawlTask, CrawlPlan]]


class CrawlParts(Struct, frozen=True):
    """The services that the crawl of a host needs."""

    frontier: Frontier
    hosts: Hosts
    batcher: FrontierBatcher
    plans: Plans
    robots: RobotsFiles
    fetcher: CrawlFetcher
    parser: PageParser
    processor: PageProcessor
    writer: Writer
    turns: LoopTurns
    log: Log
    randomness: Callable[[], float] = random.random


class HostCrawl:
    def __init__(
        self,
        parts: CrawlParts,
        held: HeldHost,
        gate: AbstractAsyncContextManager[object],
        concurrency: Callable[[], int],
    ) -> None:
        self._parts = parts
        self._held = held
        self._concurrency = concurrency  # how many requests may run at once, given the other hosts
        self._gate = gate  # of the host's address, which other hosts may share
        self._rules: Rules | None = None
        self._most = FIRST_TASKS
        self._found = False  # new URLs of this host
        self._shells = 0
        self._over = False
        self._parsing = (
            asyncio.Lock()
        )  # one page at a time, so that large pages of other hosts have their turn

    async def run(self) -> None:
        try:
            while not self._is_over() and await self._crawl_batch():
                pass
        except Unavailable:
            raise
        except Exception:
            self._rest(DEFECT_SECONDS)
            raise
        finally:
            await self._leave()

    async def _crawl_batch(self) -> bool:
        """Crawl one batch; returns whether there may be more."""
        asked, self._found = self._most, False
        tasks = await self._parts.batcher.take(self._held.lease, asked)
        await self._crawl_tasks(tasks)
        if len(tasks) == asked:
            return True
        await self._parts.writer.wait_settled(self._held.host)
        return self._found

    def _is_over(self) -> bool:
        return self._over or self._held.leave or self._held.lost

    async def _leave(self) -> None:
        """Write the results and release the host; tasks that were not done go back."""
        held = self._held
        if not held.lost:
            await self._parts.writer.wait_settled(held.host)
        if not held.lost:
            held.released = True
            await self._release()

    async def _release(self) -> None:
        """Retry while the database is away; in the end the lease runs out."""
        while True:
            try:
                await self._parts.batcher.release(self._held.release())
                return
            except Unavailable:
                if not self._held.holds():
                    raise
            await asyncio.sleep(AGAIN_SECONDS)

    async def _crawl_tasks(self, tasks: Sequence[CrawlTask]) -> None:
        revisions = {task.crawl_id: task.revision for task in tasks}
        found = {crawl: await self._parts.plans.get(crawl, least) for crawl, least in revisions.items()}
        plans = [plan for plan in found.values() if plan is not None]
        waiting = deque((task, plan) for task in tasks if (plan := found[task.crawl_id]) is not None)
        await self._crawl_concurrently(waiting, plans)
        gap = max((self._held.pace.gap(self._delay(plan)) for plan in plans), default=0.0)
        self._most = max(1, min(MAX_TASKS, int(MAX_HELD_SECONDS / gap))) if gap else MAX_TASKS

    async def _crawl_concurrently(self, waiting: Waiting, plans: Sequence[CrawlPlan]) -> None:
        def concurrency() -> int:
            now = asyncio.get_running_loop().time()
            return min([self._concurrency(), *(self._at_once(plan, now) for plan in plans)])

        async def crawl_next(number: int) -> None:
            while waiting and not self._is_over() and number < concurrency():
                await self._do(*waiting.popleft())

        if self._rules is None and waiting:
            await self._do(*waiting.popleft())
        async with asyncio.TaskGroup() as group:
            for number in range(1, min(len(waiting), concurrency())):
                group.create_task(crawl_next(number))
            await crawl_next(0)

    def _delay(self, plan: CrawlPlan) -> float | None:
        return plan.pace_on(self._held.host).delay

    def _at_once(self, plan: CrawlPlan, now: float) -> int:
        asked = plan.pace_on(self._held.host)
        allowed = self._held.pace.concurrency(asked.delay, now)
        return allowed if asked.concurrency is None else min(allowed, asked.concurrency)

    async def _do(self, task: CrawlTask, plan: CrawlPlan) -> None:
        try:
            await self._handle(task, plan)
        except Unavailable as away:
            self._over = True
            self._parts.log.warning("crawl_paused", "a host waits", host=self._held.host, why=away.detail)

    async def _handle(self, task: CrawlTask, plan: CrawlPlan) -> None:
        parts, url = self._parts, Url.parse(task.url)
        if not await parts.plans.is_running(plan):
            return
        if merged := parts.processor.find_merged(task, plan):
            self._put(merged)
            return
        try:
            rules = self._rules or await self._learn_rules(url, plan)
        except Unavailable:
            raise
        except Problem as problem:  # the host does not exist, or must not be visited
            self._put(unanswered(task, plan, problem, parts.randomness()))
            return
        if rules.unknown and not rules.again:
            self._rest(REST_SECONDS)
        elif not rules.robots.allows(url.target):
            self._put(blocked(task, plan, "robots_unreachable" if rules.unknown else "robots"))
        elif await self._wait_turn():
            await self._visit(task, plan, url, rules)

    def _put(self, visited: Visited) -> None:
        note_visit(visited, self._parts.randomness())
        self._parts.writer.put(self._held, visited)

    async def _learn_rules(self, url: Url, plan: CrawlPlan) -> Rules:
        """The host's rules; fetching them counts as a request to the host."""
        held = self._held
        if not await self._wait_turn():
            raise Unavailable("host", "it is not its turn")
        rules, asked = await self._parts.robots.of(held.lease, url, held.now(), self._permission)
        held.pace.robots_delay = rules.delay
        if asked:
            held.pace.record_end(asyncio.get_running_loop().time(), self._delay(plan))
        self._rules = rules
        return rules

    @asynccontextmanager
    async def _permission(self) -> AsyncIterator[None]:
        """Permission to send the host a request now."""
        async with self._gate:
            if not self._held.holds():
                raise Unavailable("host", "it is not ours any more")
            yield

    async def _wait_turn(self) -> bool:
        """Wait until the host may be asked; False if that takes too long."""
        await self._parts.writer.wait_for_room()
        pause = self._held.pace.next_at - asyncio.get_running_loop().time()
        if pause > MAX_HELD_SECONDS:
            self._over = True
        elif pause > 0:
            await asyncio.sleep(pause)
        return not self._is_over() and self._held.holds()

    async def _visit(self, task: CrawlTask, plan: CrawlPlan, url: Url, rules: Rules) -> None:
        held, clock = self._held, asyncio.get_running_loop().time
        held.delay, held.tenant = self._delay(plan), plan.crawl.tenant_id
        async with self._gate:
            if not held.holds():
                return
            visited: Visited | None = None
            try:
                visited = await self._fetch_and_process(task, plan, url, rules)
            finally:
                if visited is None or visited.counts:  # else no request was sent
                    held.pace.record_end(clock(), held.delay)
        if rest := held.pace.rest(clock()):
            self._rest(rest)
        held.pace.record_urls(clock(), len(visited.urls), held.delay)
        self._found = self._found or any(new.host == held.host for new in visited.urls)
        if visited.hints:
            await self._parts.frontier.note_hints(task, plan.spec, visited.hints)
        if len(visited.urls) > MAX_URLS:
            await self._parts.frontier.add(task.crawl_id, visited.urls)
            visited.urls.clear()
        self._put(visited)

    async def _fetch_and_process(self, task: CrawlTask, plan: CrawlPlan, url: Url, rules: Rules) -> Visited:
        rendering = "never" if task.as_sitemap else plan.rendering_of(url)
        try:
            if rendering == "always" or (rendering == "auto" and self._held.renders):
                rendered = await self._render(task, plan, url, rules)
                if rendered is not None:
                    return rendered
            began = asyncio.get_running_loop().time()
            page = await self._parts.fetcher.fetch(url, plan.spec, plan.crawl.tenant_id, known=task.known)
            self._record_answer(page, began)
            visited = await self._process(task, plan, page, rules)
            if rendering == "auto":
                return await self._with_script(visited, url, rules)
            return visited
        except Unavailable:
            raise
        except LimitReached as full:
            return put_off(task, plan, full.status)
        except Problem as problem:
            self._held.pace.record_failure(asyncio.get_running_loop().time())
            return unanswered(task, plan, problem, self._parts.randomness())
        except Exception as error:  # noqa: BLE001 - a page that breaks us is not tried again
            self._parts.log.error("crawl_defect", "a page could not be processed", url=task.url, cause=error)
            return broken(task, plan)

    async def _with_script(self, plain: Visited, url: Url, rules: Rules) -> Visited:
        """Visit an empty shell with a browser, and remember a host that serves nothing else."""
        self._shells = self._shells + 1 if plain.needs_script else 0
        if not plain.needs_script:
            return plain
        self._held.renders = self._held.renders or self._shells >= LEARNED
        self._held.pace.record_end(asyncio.get_running_loop().time(), self._delay(plain.plan))
        if not await self._wait_turn():
            return plain
        return await self._render(plain.task, plain.plan, url, rules) or plain

    async def _render(self, task: CrawlTask, plan: CrawlPlan, url: Url, rules: Rules) -> Visited | None:
        """None if a browser shows nothing."""
        began = asyncio.get_running_loop().time()
        rendered = await self._parts.fetcher.render(url, plan)
        if rendered is None:
            return None
        self._record_answer(rendered.page, began)
        visited = await self._process(task, plan, rendered.page, rules)
        if visited.page is not None and rendered.capture is not None:
            visited.picture = PagePicture.of(rendered.capture.body)
        return visited

    def _record_answer(self, page: Page, began: float) -> None:
        """Note how the host answers, which decides when it is asked again."""
        now = asyncio.get_running_loop().time()
        after = retry_after(page.header("retry-after"), time.time()) if page.status in REFUSALS else 0.0
        self._held.pace.record_answer(now, now - began, page.status, after)

    async def _process(self, task: CrawlTask, plan: CrawlPlan, page: Page, rules: Rules) -> Visited:
        parts = self._parts
        if is_quick_here(task, page):
            await parts.turns.take()
            return parts.processor.process(
                task, plan, page, rules.robots, parts.randomness(), waiting=self._held.waiting
            )
        try:
            async with self._parsing:
                found = await parts.parser.parse(task, page, plan.spec.max_urls_per_page)
        except Unavailable:
            raise
        except Problem as problem:
            return unreadable(task, plan, page, problem)
        gathered = partial(
            parts.processor.process,
            task,
            plan,
            page,
            rules.robots,
            parts.randomness(),
            found,
            waiting=self._held.waiting,
        )
        return gathered() if isinstance(found, PageParts) else await asyncio.to_thread(gathered)

    def _rest(self, seconds: float) -> None:
        self._held.resting = max(self._held.resting, asyncio.get_running_loop().time() + seconds)
        self._over = True
