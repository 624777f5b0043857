"""The frontier against a model of itself: several workers that lose their leases, and no URL is lost."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import delete
from tests.contract.crawl.crawl_ground import LEASE, NOW, SECOND, Ground, page, url

from gossamer.state.crawl.hosts import HostLease
from gossamer.state.crawl.settling import CrawlTask, End, HostNews, HostSettlement, TaskEnd
from gossamer.state.db.columns import metadata
from gossamer.state.db.database import Database, open_database

HOSTS = ("a:80", "b:80", "c:80")
PATHS = 6
MAX_PAGES = 12
TABLES = (
    "crawl_minutes", "crawled_pages", "frontier", "crawl_hosts", "host_robots", "hosts", "crawls",
)  # fmt: skip


@dataclass
class Held:
    """A lease as its worker knows it, which may have ended, and what was taken under it."""

    lease: HostLease
    until: int
    tasks: list[CrawlTask] = field(default_factory=list)


@dataclass
class Expected:
    """What the model believes of a crawl's URLs; `next_at` and such are the database's affair."""

    states: dict[tuple[str, str], str] = field(default_factory=dict)  # by host and hash of the URL
    pages: int = 0

    def count(self, state: str) -> int:
        return sum(1 for each in self.states.values() if each == state)


class Crawling(RuleBasedStateMachine):
    runner: asyncio.Runner
    ground: Ground

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.crawls: dict[str, Expected] = {}
        self.held: list[Held] = []
        self.holder: dict[str, Held] = {}  # the last who leased a host
        self.talked: dict[str, int] = {}  # when its lease can last have been used, and one delay more

    def run_now(self, awaitable: Awaitable[Any]) -> Any:
        async def outcome() -> Any:
            return await awaitable

        return self.runner.run(outcome())

    @initialize()
    def begin(self) -> None:
        self.run_now(self._clear())
        for number in range(2):
            new = [url(host, number) for host in HOSTS]
            crawl = self.run_now(self.ground.crawl(new, now=self.now, max_pages=MAX_PAGES))
            self.crawls[crawl.id] = Expected()
            self._add(crawl.id, new)

    async def _clear(self) -> None:
        async with self.ground.database.write() as connection:
            for name in TABLES:
                await connection.execute(delete(metadata.tables[name]))

    def _add(self, crawl_id: str, new: list[Any]) -> int:
        known = self.crawls[crawl_id].states
        fresh = {(each.host, each.url_hash) for each in new} - known.keys()
        known.update(dict.fromkeys(fresh, "pending"))
        return len(fresh)

    def _is_held(self, held: Held) -> bool:
        return self.holder.get(held.lease.host) is held and held.until > self.now

    def _give_back(self, host: str) -> None:
        for crawl in self.crawls.values():
            for key, state in crawl.states.items():
                if key[0] == host and state == "in_progress":
                    crawl.states[key] = "pending"

    @rule(number=st.integers(0, 1), host=st.sampled_from(HOSTS), path=st.integers(0, PATHS - 1))
    def add(self, number: int, host: str, path: int) -> None:
        crawl_id = list(self.crawls)[number]
        new = [url(host, path)]
        assert self.run_now(self.ground.frontier.add(crawl_id, new, now=self.now)) == self._add(crawl_id, new)

    @rule(most=st.integers(1, 3))
    def lease(self, most: int) -> None:
        for lease in self.run_now(self.ground.hosts.lease("w", most, now=self.now)):
            before = self.holder.get(lease.host)
            assert before is None or not self._is_held(before)
            assert lease.next_at >= self.talked.get(lease.host, 0)
            held = Held(lease, self.now + LEASE)
            if before is not None:  # it ran out; a host that was given back has no holder
                assert lease.next_at >= before.until
            self._give_back(lease.host)
            self.holder[lease.host] = held
            self.held.append(held)

    @precondition(lambda self: self.held)
    @rule(number=st.integers(1, 4), most=st.integers(1, 4))
    def take(self, number: int, most: int) -> None:
        held = self.held[-min(number, len(self.held))]
        tasks = self.run_now(self.ground.frontier.take(held.lease, most, now=self.now))
        if not self._is_held(held):
            assert tasks == []
            return
        assert len(tasks) <= most
        for task in tasks:
            crawl = self.crawls[task.crawl_id]
            assert crawl.states[task.host, task.url_hash] == "pending"
            crawl.states[task.host, task.url_hash] = "in_progress"
        held.tasks += tasks
        for crawl in self.crawls.values():
            assert crawl.pages + crawl.count("in_progress") <= MAX_PAGES

    @precondition(lambda self: self.held)
    @rule(
        number=st.integers(1, 4),
        count=st.integers(0, 4),
        end=st.sampled_from(["completed", "completed", "failed", "blocked", "pending"]),
        links=st.lists(st.tuples(st.sampled_from(HOSTS), st.integers(0, PATHS - 1)), max_size=3),
    )
    def settle(self, number: int, count: int, end: End, links: list[tuple[str, int]]) -> None:
        held = self.held[-min(number, len(self.held))]
        tasks, held.tasks = held.tasks[:count], held.tasks[count:]
        new = [url(host, path, depth=1) for host, path in links]
        found = {task.crawl_id: new for task in tasks[:1]}
        stored = end in ("completed", "failed")
        ends = [
            TaskEnd(task=task, state=end, page=page(task) if stored else None, due_at=self.now)
            for task in tasks
        ]
        batch = HostSettlement(
            ends=ends, new=found, host=HostNews(next_at=self.now + SECOND, delay_ms=SECOND)
        )
        done = self.run_now(self.ground.frontier.settle(held.lease, batch, now=self.now))
        assert done == self._is_held(held)
        if done:
            self.talked[held.lease.host] = self.now + SECOND
            self._settled(ends, found)

    def _settled(self, ends: list[TaskEnd], found: dict[str, list[Any]]) -> None:
        for end in ends:
            crawl = self.crawls[end.task.crawl_id]
            assert crawl.states[end.task.host, end.task.url_hash] == "in_progress"
            crawl.states[end.task.host, end.task.url_hash] = end.state
            crawl.pages += end.page is not None
        for crawl_id, new in found.items():
            self._add(crawl_id, new)

    @precondition(lambda self: self.held)
    @rule(number=st.integers(1, 4), what=st.sampled_from(["extend", "extend", "release"]))
    def hold(self, number: int, what: str) -> None:
        held = self.held[-min(number, len(self.held))]
        if what == "extend":
            kept = self.run_now(self.ground.hosts.extend([held.lease], now=self.now))
            assert bool(kept) == self._is_held(held)
            held.until = self.now + LEASE if kept else held.until
            return
        released = self.run_now(self.ground.hosts.release(held.lease, now=self.now))
        assert released == self._is_held(held)
        if released:
            self._give_back(held.lease.host)
            del self.holder[held.lease.host]

    @rule(seconds=st.sampled_from([1, 4, 5, 14, 15, 16]))
    def pass_time(self, seconds: int) -> None:
        self.now += seconds * SECOND

    @rule()
    def recover(self) -> None:
        lapsed = {host for host, held in self.holder.items() if held.until <= self.now}
        taken = sum(
            1
            for crawl in self.crawls.values()
            for (host, _), state in crawl.states.items()
            if host in lapsed and state == "in_progress"
        )
        assert self.run_now(self.ground.frontier.recover(now=self.now)) == taken
        for host in lapsed:
            self._give_back(host)
            self.talked[host] = max(self.talked.get(host, 0), self.holder.pop(host).until)

    @invariant()
    def the_frontier_is_as_the_model_says(self) -> None:
        self.run_now(self.ground.check_counts())
        for crawl_id, expected in self.crawls.items():
            listed = self.run_now(self.ground.frontier.listing(crawl_id, limit=1_000))
            assert {(each.host, each.url_hash): each.state for each in listed} == expected.states
            counts = self.run_now(self.ground.crawls.counts(crawl_id))
            assert (counts.pages, counts.urls) == (expected.pages, len(expected.states))

    def teardown(self) -> None:
        """Whatever has happened: one worker that stays finds all that is left; nothing is stored twice."""
        for _ in range(200):
            self.now += LEASE
            leases = self.run_now(self.ground.hosts.lease("last", 3, now=self.now))
            if not leases:
                break
            for lease in leases:
                tasks = self.run_now(self.ground.frontier.take(lease, 50, now=self.now))
                ends = [TaskEnd(task=task, page=page(task)) for task in tasks]
                assert self.run_now(
                    self.ground.frontier.settle(lease, HostSettlement(ends=ends), now=self.now)
                )
                assert self.run_now(self.ground.hosts.release(lease, now=self.now))
        over = self.run_now(self.ground.crawls.finish(now=self.now + 3_600 * SECOND))
        assert set(over) == set(self.crawls)
        for crawl_id, expected in self.crawls.items():
            counts = self.run_now(self.ground.crawls.counts(crawl_id))
            assert counts.in_progress == 0
            assert counts.pending == 0 or counts.pages == MAX_PAGES
            assert counts.urls == len(expected.states)
        self.run_now(self.ground.check_counts())


async def _open(url: str) -> Ground:
    database = open_database(url)
    await database.migrate()
    return await Ground.on(database)


def test_whatever_happens_to_workers_every_url_is_accounted_for(database_url: str) -> None:
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        ground = runner.run(_open(database_url))
        database: Database = ground.database
        machine = type("Machine", (Crawling,), {"runner": runner, "ground": ground})
        try:
            run_state_machine_as_test(
                machine,
                settings=settings(
                    max_examples=12,
                    stateful_step_count=40,
                    deadline=None,
                    derandomize=True,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(database.close())
