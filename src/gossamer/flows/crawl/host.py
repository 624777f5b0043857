"""The walk of one host: its best URLs in batches, each asked for when its turn has come.

The host is ours while the lease lasts, so nobody is asked whether it may be talked to. A walk ends when
there is nothing to do, when somebody else should have the host, or when it is to be left in peace for longer
than a lease is worth holding.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from gossamer.flows.crawl.desk import Desk
from gossamer.flows.crawl.fetch import LEARNED, Fetching
from gossamer.flows.crawl.harvest import Harvest
from gossamer.flows.crawl.lease import Held
from gossamer.flows.crawl.pace import REFUSALS
from gossamer.flows.crawl.plan import Plan, Plans
from gossamer.flows.crawl.robots import RobotsFiles, Rules
from gossamer.flows.crawl.taking import Taking, is_at_hand
from gossamer.flows.crawl.visit import Visited, blocked, broken, put_off, unanswered, unreadable
from gossamer.flows.crawl.writer import Writer
from gossamer.flows.serve import LimitReached
from gossamer.logs import Log
from gossamer.problems import Problem, Unavailable
from gossamer.reach.retry import retry_after
from gossamer.state.frontier import Frontier, Task
from gossamer.state.hosts import Hosts
from gossamer.web.page import Page
from gossamer.web.parts import Parts
from gossamer.web.url import Url

MOST_TASKS: Final = 200  # of a batch
FIRST_TASKS: Final = 20  # until the pace is known
PATIENCE: Final = 5.0  # seconds that a host is held for without being asked
AGAIN_SECONDS: Final = 0.25  # until a database that is away is asked again
DEFECT_SECONDS: Final = 15.0  # until a host is tried again whose walk ended with a defect of ours
REST_SECONDS: Final = 3600.0  # of a host that does not say what its rules are
MOST_URLS: Final = 2_000  # of a page or sitemap that are written with it; more are written before

Waiting = deque[tuple[Task, Plan]]
P = TypeVar("P", Page, Page | None)


@dataclass(frozen=True, slots=True)
class Crew:
    """Who a walk needs."""

    frontier: Frontier
    hosts: Hosts
    desk: Desk
    plans: Plans
    robots: RobotsFiles
    fetching: Fetching
    taking: Taking
    harvest: Harvest
    writer: Writer
    log: Log
    randomness: Callable[[], float] = random.random


class Walk:
    def __init__(
        self,
        crew: Crew,
        held: Held,
        gate: AbstractAsyncContextManager[object],
        lanes: Callable[[], int],
    ) -> None:
        self._crew = crew
        self._held = held
        self._lanes = lanes  # how many may ask at once, as there are other hosts too
        self._gate = gate  # of the address, which may have many hosts
        self._rules: Rules | None = None
        self._most = FIRST_TASKS
        self._found = False  # something that is to be fetched from this host
        self._shells = 0
        self._over = False
        self._apart = asyncio.Lock()  # one page at a time: others' large pages are to have their turn

    async def run(self) -> None:
        try:
            while not self._is_over() and await self._go_on():
                pass
        except Unavailable:
            raise
        except Exception:
            self._rest(DEFECT_SECONDS)
            raise
        finally:
            await self._leave()

    async def _go_on(self) -> bool:
        """One batch; whether there may be more."""
        asked, self._found = self._most, False
        tasks = await self._crew.desk.take(self._held.lease, asked)
        await self._round(tasks)
        if len(tasks) == asked:
            return True
        await self._crew.writer.settled(self._held.host)
        return self._found

    def _is_over(self) -> bool:
        return self._over or self._held.leave or self._held.lost

    async def _leave(self) -> None:
        """Write what there is, and let others have the host; what was taken and not done goes back."""
        held = self._held
        if not held.lost:
            await self._crew.writer.settled(held.host)
        if not held.lost:
            held.released = True
            await self._release()

    async def _release(self) -> None:
        """As soon as the database is there; if it is not in time, the lease runs out."""
        while True:
            try:
                await self._crew.desk.release(self._held.release())
                return
            except Unavailable:
                if not self._held.holds():
                    raise
            await asyncio.sleep(AGAIN_SECONDS)

    async def _round(self, tasks: Sequence[Task]) -> None:
        found = {task.crawl_id: await self._crew.plans.get(task.crawl_id) for task in tasks}
        plans = [plan for plan in found.values() if plan is not None]
        waiting = deque((task, plan) for task in tasks if (plan := found[task.crawl_id]) is not None)
        await self._walk(waiting, plans)
        gap = max((self._held.pace.gap(plan.spec.delay) for plan in plans), default=0.0)
        self._most = max(1, min(MOST_TASKS, int(PATIENCE / gap))) if gap else MOST_TASKS

    async def _walk(self, waiting: Waiting, plans: Sequence[Plan]) -> None:
        def lanes() -> int:
            now = asyncio.get_running_loop().time()
            return min([self._lanes(), *(self._held.pace.lanes(plan.spec.delay, now) for plan in plans)])

        async def lane(number: int) -> None:
            while waiting and not self._is_over() and number < lanes():
                await self._do(*waiting.popleft())

        if self._rules is None and waiting:
            await self._do(*waiting.popleft())
        async with asyncio.TaskGroup() as group:
            for number in range(1, min(len(waiting), lanes())):
                group.create_task(lane(number))
            await lane(0)

    async def _do(self, task: Task, plan: Plan) -> None:
        try:
            await self._attend(task, plan)
        except Unavailable as away:
            self._over = True
            self._crew.log.warning("crawl_paused", "a host waits", host=self._held.host, why=away.detail)

    async def _attend(self, task: Task, plan: Plan) -> None:
        crew, held, url = self._crew, self._held, Url.parse(task.url)
        if not await crew.plans.is_running(plan):
            return
        try:
            rules = self._rules or await self._learn(url, plan)
        except Unavailable:
            raise
        except Problem as problem:  # there is no such host, or none that may be visited
            crew.writer.put(held, unanswered(task, plan, problem, crew.randomness()))
            return
        if rules.unknown and not rules.again:
            self._rest(REST_SECONDS)
        elif not rules.robots.allows(url.target):
            crew.writer.put(held, blocked(task, plan, "robots_unreachable" if rules.unknown else "robots"))
        elif await self._turn():
            await self._visit(task, plan, url, rules)

    async def _learn(self, url: Url, plan: Plan) -> Rules:
        """The host's rules; who had to ask for them has asked it something."""
        held = self._held
        if not await self._turn():
            raise Unavailable("host", "it is not its turn")
        rules, asked = await self._crew.robots.of(held.lease, url, held.now(), self._passage)
        held.pace.asked = rules.delay
        if asked:
            held.pace.ended(asyncio.get_running_loop().time(), plan.spec.delay)
        self._rules = rules
        return rules

    @asynccontextmanager
    async def _passage(self) -> AsyncIterator[None]:
        """The right to ask the host something now."""
        async with self._gate:
            if not self._held.holds():
                raise Unavailable("host", "it is not ours any more")
            yield

    async def _turn(self) -> bool:
        """Wait until the host may be asked; False when that is not to be waited for."""
        await self._crew.writer.room()
        pause = self._held.pace.next_at - asyncio.get_running_loop().time()
        if pause > PATIENCE:
            self._over = True
        elif pause > 0:
            await asyncio.sleep(pause)
        return not self._is_over() and self._held.holds()

    async def _visit(self, task: Task, plan: Plan, url: Url, rules: Rules) -> None:
        held, clock = self._held, asyncio.get_running_loop().time
        held.delay, held.tenant = plan.spec.delay, plan.crawl.tenant_id
        async with self._gate:
            if not held.holds():
                return
            visited: Visited | None = None
            try:
                visited = await self._visited(task, plan, url, rules)
            finally:
                if visited is None or visited.counts:  # else it was not asked
                    held.pace.ended(clock(), plan.spec.delay)
        if rest := held.pace.rest(clock()):
            self._rest(rest)
        held.pace.brought(clock(), len(visited.urls), plan.spec.delay)
        self._found = self._found or any(new.host == held.host for new in visited.urls)
        if len(visited.urls) > MOST_URLS:
            await self._crew.frontier.add(task.crawl_id, visited.urls)
            visited.urls.clear()
        self._crew.writer.put(held, visited)

    async def _visited(self, task: Task, plan: Plan, url: Url, rules: Rules) -> Visited:
        rendering = "never" if task.as_sitemap else plan.spec.render
        try:
            if rendering == "always" or (rendering == "auto" and self._held.renders):
                page = await self._timed(self._crew.fetching.rendered(url, plan))
                if page is not None:
                    return await self._harvested(task, plan, page, rules)
            page = await self._timed(self._crew.fetching.plain(url, plan))
            visited = await self._harvested(task, plan, page, rules)
            if rendering == "auto":
                return await self._with_script(visited, url, rules)
            return visited
        except Unavailable:
            raise
        except LimitReached as full:
            return put_off(task, plan, full.standing)
        except Problem as problem:
            self._held.pace.failed(asyncio.get_running_loop().time())
            return unanswered(task, plan, problem, self._crew.randomness())
        except Exception as error:  # noqa: BLE001 - whatever a page does to us, it does not do it twice
            self._crew.log.error("crawl_defect", "a page could not be taken apart", url=task.url, cause=error)
            return broken(task, plan)

    async def _with_script(self, plain: Visited, url: Url, rules: Rules) -> Visited:
        """An empty shell is visited with a browser; who hands out nothing else is known for it."""
        self._shells = self._shells + 1 if plain.needs_script else 0
        if not plain.needs_script:
            return plain
        self._held.renders = self._held.renders or self._shells >= LEARNED
        self._held.pace.ended(asyncio.get_running_loop().time(), plain.plan.spec.delay)
        if not await self._turn():
            return plain
        page = await self._timed(self._crew.fetching.rendered(url, plain.plan))
        return plain if page is None else await self._harvested(plain.task, plain.plan, page, rules)

    async def _timed(self, getting: Awaitable[P]) -> P:
        """How the host answers decides on when it is asked again."""
        clock = asyncio.get_running_loop().time
        started = clock()
        page = await getting
        if page is not None:
            after = retry_after(page.header("retry-after"), time.time()) if page.status in REFUSALS else 0.0
            self._held.pace.answered(clock(), clock() - started, page.status, after)
        return page

    async def _harvested(self, task: Task, plan: Plan, page: Page, rules: Rules) -> Visited:
        crew = self._crew
        if is_at_hand(task, page):
            return crew.harvest.of(task, plan, page, rules.robots, crew.randomness())
        try:
            async with self._apart:
                found = await crew.taking.of(task, page, plan.spec.max_urls_per_page)
        except Unavailable:
            raise
        except Problem as problem:
            return unreadable(task, plan, page, problem)
        gathered = partial(crew.harvest.of, task, plan, page, rules.robots, crew.randomness(), found)
        return gathered() if isinstance(found, Parts) else await asyncio.to_thread(gathered)

    def _rest(self, seconds: float) -> None:
        self._held.resting = max(self._held.resting, asyncio.get_running_loop().time() + seconds)
        self._over = True
