"""Renders in a storm: pages of every kind, hostile ones too, and callers that go away at random moments.

What is counted is what is left at rest: browser contexts that no visit will ever use, processes of browsers
that were ended, and memory. The first tenth of the visits only warms up what is measured.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gossamer.problems import Problem
from gossamer.reach.page.visit import Screenshot
from tests.browser.pages import COMPLETE, HOSTILE
from tests.browser.pools import Pool, family, open_pool
from tests.site.server import Site

TOLERANCE = 1.10
TIMEOUT = 5.0  # seconds; hostile pages use up all of it
QUICK = ("push-state", "dialogs-for-ever", "long-addresses")  # of the hostile ones


@dataclass(frozen=True, slots=True)
class Outcome:
    renders: int
    seconds: float
    ends: Counter[str]  # what came of the visits
    contexts: int  # left over
    processes: int  # left over when all is closed
    before: int  # bytes at rest, of a browser on average
    after: int

    @property
    def complaints(self) -> list[str]:
        return [
            *([f"{self.contexts} contexts are left"] if self.contexts else []),
            *([f"{self.processes} processes are left"] if self.processes else []),
            *(["memory is not given back"] if self.after > self.before * TOLERANCE else []),
            *(["no page was rendered"] if not self.ends["rendered"] else []),
        ]

    def __str__(self) -> str:
        ends = ", ".join(f"{count} {end}" for end, count in self.ends.most_common())
        return (
            f"{self.renders} visits in {self.seconds:.0f} s ({ends}): {self.contexts} contexts and "
            f"{self.processes} processes left, a browser at rest has {self.before / 1e6:.0f} MB before and "
            f"{self.after / 1e6:.0f} MB after"
        )


class Storm:
    def __init__(self, pool: Pool, site: Site, renders: int, hostile: float, seed: int) -> None:
        self.ends: Counter[str] = Counter()
        self.pids: set[int] = set()
        self._pool = pool
        self._site = site
        self._left = renders
        self._hostile = hostile
        self._random = random.Random(seed)

    async def blow(self, callers: int) -> None:
        await asyncio.gather(*(self._caller() for _ in range(callers)))

    async def _caller(self) -> None:
        while self._left > 0:
            self._left -= 1
            self.ends[await self._visit()] += 1
            self.pids.update(self._pool.pids)

    async def _visit(self) -> str:
        chance = self._random
        name = chance.choice(QUICK if chance.random() < self._hostile else tuple(COMPLETE))
        shot = Screenshot() if chance.random() < 0.05 else None
        url = self._site.url(f"/page/{name}")
        visit = asyncio.create_task(self._pool.visit(url, capture=shot, timeout=TIMEOUT))
        if chance.random() < 0.25:
            await asyncio.wait([visit], timeout=chance.random())
            visit.cancel()
        try:
            await visit
        except asyncio.CancelledError:
            return "broken off"
        except Problem as problem:
            return str(problem.members["details"]["reason"])
        return "rendered"


async def at_rest(pool: Pool) -> int:
    """Bytes of a browser on average, when nothing goes on; the least of a few looks."""
    await pool.contexts()
    looks = []
    for _ in range(5):
        looks.append(sum(browser._engine.memory() for browser in pool.running) / len(pool.running))
        await asyncio.sleep(0.5)
    return int(min(looks))


async def soak(
    site: Site, *, renders: int, callers: int = 4, hostile: float = 0.02, seed: int = 1
) -> Outcome:
    assert set(QUICK) <= set(HOSTILE)
    began = time.monotonic()
    async with open_pool(places=callers, visits_each=100_000) as pool:
        warm_up = Storm(pool, site, renders // 10, 0, seed)
        await warm_up.blow(callers)
        before = await at_rest(pool)
        storm = Storm(pool, site, renders - renders // 10, hostile, seed + 1)
        await storm.blow(callers)
        contexts, after = await pool.contexts(), await at_rest(pool)
    pids = [*warm_up.pids, *storm.pids]
    return Outcome(
        renders,
        time.monotonic() - began,
        warm_up.ends + storm.ends,
        contexts,
        len(family(pids)),
        before,
        after,
    )


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="gossamer-soak-") as folder:
        site = Site(Path(folder))
        site.start()
        try:
            outcome = asyncio.run(
                soak(site, renders=options.renders, callers=options.callers, seed=options.seed)
            )
        finally:
            site.stop()
    print(outcome, flush=True)
    for complaint in outcome.complaints:
        print(complaint, file=sys.stderr)
    sys.exit(1 if outcome.complaints else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/soak render", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--renders", type=int, default=2_000)
    parser.add_argument("--callers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
