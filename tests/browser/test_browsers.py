"""The pool: places and turns, browsers that end and are replaced, visits that are broken off."""

import asyncio
import os
import random
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from gossamer.problems import Problem, Unavailable
from gossamer.reach.browser import browser as browser_module
from gossamer.reach.browser.turns import BrowserTurns, Full
from gossamer.reach.sandbox import memory
from tests.browser.pages import DONE
from tests.browser.pools import Pool, family, is_alive, open_pool
from tests.site.server import Site


async def arrival(site: Site, target: str) -> None:
    """Until somebody has asked the site for that."""
    async with asyncio.timeout(60):
        while not site.seen(target):
            await asyncio.sleep(0.01)


def failure(problem: Problem) -> tuple[str, str]:
    return problem.kind.code, problem.members["details"]["reason"]


# Turns.


async def test_callers_take_turns() -> None:
    turns = BrowserTurns(1, 100)
    order: list[str] = []

    async def work(caller: str) -> None:
        await turns.take(caller)
        order.append(caller)
        await asyncio.sleep(0)
        turns.give_back()

    async with asyncio.TaskGroup() as group:
        for caller in "aaaaabbc":
            group.create_task(work(caller))
    assert "".join(order) == "aabcabaa"
    assert (turns.busy, turns.waiting) == (0, 0)


async def test_the_queue_is_bounded_and_can_be_left() -> None:
    turns = BrowserTurns(1, 2)
    await turns.take("a")
    waiting = [asyncio.create_task(turns.take(caller)) for caller in "ab"]
    await asyncio.sleep(0)
    with pytest.raises(Full):
        await turns.take("c")
    waiting[0].cancel()
    await asyncio.wait(waiting[:1])
    assert turns.waiting == 1
    turns.give_back()
    waiting[1].cancel()  # at the moment when its turn came
    await asyncio.wait(waiting)
    assert (turns.busy, turns.waiting) == (0, 0)
    await turns.take("c")


# Places.


async def test_who_cannot_be_served_is_told_when_to_come_back(site: Site) -> None:
    async with open_pool(places=1, queue=1) as pool:
        first = asyncio.create_task(pool.visit(site.url("/data?seconds=3&first")))
        await arrival(site, "/data?seconds=3&first")
        with pytest.raises(Unavailable) as caught:
            await pool.visit(site.url("/ok"), timeout=0.2)
        assert caught.value.members["retryAfter"] >= 1
        second = asyncio.create_task(pool.visit(site.url("/page/static")))
        await asyncio.sleep(0)
        with pytest.raises(Unavailable) as caught:
            await pool.visit(site.url("/ok"))
        assert caught.value.members["retryAfter"] >= 2
        assert (await first).page.status == 200
        assert DONE in (await second).page.text


async def test_no_browser_is_started_without_memory_for_it(site: Site) -> None:
    async with open_pool(available=lambda: 100_000_000) as pool:
        for attempt in (pool.visit(site.url("/ok")), pool.browsers.ping()):
            with pytest.raises(Unavailable, match="memory is short"):
                await attempt
        assert pool.running == []


def test_memory_is_what_the_machine_and_the_groups_leave(tmp_path: Path) -> None:
    proc, groups = tmp_path / "proc", tmp_path / "groups"
    inner = groups / "outer" / "inner"
    inner.mkdir(parents=True)
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 5000 kB\n")
    (proc / "self" / "cgroup").write_text("0::/outer/inner\n")
    assert memory.available(proc, groups) == 5_000 * 1024
    for folder, limit in ((inner, "max"), (groups / "outer", "3000000")):
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text("2000000\n")
        (folder / "memory.stat").write_text("anon 5\ninactive_file 300000\n")
    assert memory.available(proc, groups) == 1_300_000
    assert memory.available(proc / "none", groups / "none") is None


async def test_a_machine_without_chromium_says_so(site: Site) -> None:
    async with open_pool(named="/nowhere/chromium") as pool:
        with pytest.raises(Unavailable, match="no Chromium"):
            await pool.visit(site.url("/ok"))


# Browsers.


async def test_browsers_are_replaced_when_they_are_worn(site: Site) -> None:
    async with open_pool(places=1, visits_each=2) as pool:
        seen = []
        for _ in range(5):
            await pool.browsers.ping()
            seen += pool.pids
            assert DONE in (await pool.visit(site.url("/page/static"))).page.text
            await pool.rest()
        assert len(set(seen)) == 3
        assert pool.ended("worn") == 2
    assert family(seen) == []


async def test_a_visit_whose_browser_is_killed_is_tried_once_more(site: Site) -> None:
    async with open_pool(places=1) as pool:
        target = "/data?seconds=1.5&killed-once"
        visit = asyncio.create_task(pool.visit(site.url(target)))
        await arrival(site, target)
        os.kill(pool.pids[0], signal.SIGKILL)
        assert (await visit).page.status == 200
        assert len(site.seen(target)) == 2
        assert pool.ended("died") == 1

        target = "/data?seconds=5&killed-twice"
        visit = asyncio.create_task(pool.visit(site.url(target)))
        await arrival(site, target)
        os.kill(pool.pids[0], signal.SIGKILL)
        async with asyncio.timeout(60):
            while len(site.seen(target)) < 2:
                await asyncio.sleep(0.01)
        os.kill(pool.pids[0], signal.SIGKILL)
        with pytest.raises(Problem) as caught:
            await visit
        assert failure(caught.value) == ("RENDER_FAILED", "worker_error")
        assert DONE in (await pool.visit(site.url("/page/static"))).page.text


async def test_an_idle_browser_that_died_is_not_used(site: Site) -> None:
    async with open_pool(places=1) as pool:
        await pool.browsers.ping()
        (pid,) = pool.pids
        os.kill(pid, signal.SIGKILL)
        assert DONE in (await pool.visit(site.url("/page/static"))).page.text
        assert pid not in pool.pids


async def test_a_browser_that_nobody_visits_is_ended_and_health_starts_no_other(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_module, "UNVISITED_SECONDS", -1.0)
    async with open_pool(places=1) as pool:
        await pool.browsers.ping()
        assert len(pool.running) == 1
        await pool.browsers._reap()
        assert pool.running == []
        assert pool.ended("idle") == 1
        await pool.browsers.ping()
        assert pool.running == []
        await pool.visit(site.url("/ok"))
        await pool.rest()
        await pool.browsers._reap()  # the next visit finds it
        assert len(pool.running) == 1
        os.kill(pool.pids[0], signal.SIGKILL)
        async with asyncio.timeout(20):
            while pool.running:
                await pool.browsers._reap()
                await asyncio.sleep(0.01)
        await pool.browsers.ping()  # one that died proves nothing
        assert len(pool.running) == 1


async def test_a_hung_browser_is_ended_and_replaced(site: Site) -> None:
    async with open_pool(places=1) as pool:
        await pool.browsers.ping()  # its start is not part of the visit's time
        visit = asyncio.create_task(pool.visit(site.url("/data?seconds=9&hung"), timeout=2.5))
        await arrival(site, "/data?seconds=9&hung")
        members = family(pool.pids)
        for process in members:
            process.suspend()
        with pytest.raises(Problem) as caught:
            await visit
        assert failure(caught.value) == ("RENDER_FAILED", "render_timeout")
        assert DONE in (await pool.visit(site.url("/page/static"))).page.text
        assert pool.ended("hung") == 1
        assert not any(map(is_alive, members))


async def test_a_page_that_takes_too_much_memory_ends(site: Site) -> None:
    async with open_pool(places=2, megabytes_each=600) as pool:
        greedy = asyncio.create_task(pool.visit(site.url("/page/allocate"), wait_for="b.never"))
        assert DONE in (await pool.visit(site.url("/page/timers"))).page.text
        with pytest.raises(Problem, match="too much memory") as caught:
            await greedy
        assert failure(caught.value) == ("RENDER_FAILED", "page_error")
        await pool.rest()
        assert pool.ended("memory") == 1


@pytest.mark.parametrize(
    "name",
    [
        "loop",
        "workers",
        "push-state",
        "never-loads",
        "dialogs-for-ever",
        "requests",
        "long-addresses",
        "grow",
        "frames",
    ],
)
async def test_a_hostile_page_harms_nobody_else(pool: Pool, site: Site, name: str) -> None:
    """It ends, with what could be read of it or a reason, and meanwhile others are served."""
    hostile = asyncio.create_task(pool.visit(site.url(f"/page/{name}?hostile"), timeout=4))
    neighbour = await pool.visit(site.url("/page/fetched?neighbour"))
    assert DONE in neighbour.page.text
    with suppress(Problem):
        assert (await hostile).page.text
    assert hostile.done()
    assert await pool.contexts() == 0


async def test_nothing_is_left_of_visits_that_are_broken_off(pool: Pool, site: Site) -> None:
    """At random moments, from before there is a tab to after the page was read."""
    chance = random.Random(5)
    pages = ("fetched", "timers", "shadow", "framed", "slowly-fetched")

    async def broken_off() -> None:
        visit = asyncio.create_task(pool.visit(site.url(f"/page/{chance.choice(pages)}?broken-off")))
        await asyncio.wait([visit], timeout=chance.random() * 0.8)
        visit.cancel()
        with suppress(asyncio.CancelledError):
            await visit

    for _ in range(6):
        await asyncio.gather(*(broken_off() for _ in range(4)))
    assert await pool.contexts() == 0
    assert len(pool.running) <= 2
    assert (await pool.visit(site.url("/page/static"))).settled


async def test_whoever_waits_when_the_pool_closes_is_told(site: Site) -> None:
    async with open_pool(places=1) as pool:
        visits = [asyncio.create_task(pool.visit(site.url("/data?seconds=9&closing"))) for _ in range(3)]
        await arrival(site, "/data?seconds=9&closing")
        everyone = pool.pids
        await pool.browsers.close()
        results = await asyncio.gather(*visits, return_exceptions=True)
        assert all(isinstance(result, Unavailable) for result in results)
        assert family(everyone) == []
        with pytest.raises(Unavailable):
            await pool.browsers.ping()
