"""Everything in a storm: all kinds of requests at once, while one thing after another is broken.

Real servers and workers, in both sizes: embedded, and on PostgreSQL, Valkey and S3. Every answer is judged
when it comes: it is right, or a refusal that says when to come back; only who asked a server that was killed
may be cut. In the end whatever was acknowledged is there exactly once, nothing is left behind, and all is
well.
"""

import argparse
import asyncio
import itertools
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import text

from gossamer.problems import Unavailable
from tests.crawl.origin import Origin
from tests.crawl.web import Web
from tests.servers.daemon import free_port
from tests.site.server import Site
from tests.soak.callers import Ask, Callers
from tests.soak.faults import BOTH, FAULTS, StopError, possible
from tests.soak.installation import AtRest, GossamerProcess, Installation, installed
from tests.soak.orphans import adopting
from tests.soak.outcome import Outcome, Recovery
from tests.soak.promises import Promises, looking_into
from tests.soak.traffic import DECK, Place, Traffic

CALM_SECONDS: Final = 3.0  # before a fault, and after the last one
LOOK_SECONDS: Final = 0.2
MORE_MEGABYTES: Final = 150
MORE_DESCRIPTORS: Final = 40
WARM_SECONDS: Final = 300.0
REST_SECONDS: Final = 20.0
JUDGE_SECONDS: Final = 150.0  # the leases of who was killed run out within 60
STORED_SECONDS: Final = 20.0  # repair looks every five, and again after ten
OWED: Final = "SELECT count(*) FROM cached_pages WHERE blob IS NULL AND deleted_at IS NULL"


@dataclass(frozen=True, slots=True)
class Options:
    seconds: float = 120.0
    rate: float = 15.0  # requests a second
    seed: int = 1
    faults: Sequence[str] = ()  # empty: all
    patience: float = 5.0  # seconds after which everything works again; twice that to be found healthy
    lapse: bool = False  # do not wait for the leases of who was killed


class Storm:
    def __init__(self, installation: Installation, origin: Origin, site: Site, options: Options) -> None:
        self.complaints: list[str] = []
        self._recoveries: dict[str, list[Recovery]] = defaultdict(list)
        self._on = installation
        self._options = options
        self._chance = random.Random(options.seed)
        self._web = origin.web
        self._callers = Callers(installation.servers, random.Random(options.seed + 1))
        self._traffic = Traffic(self._callers, self._web, site, random.Random(options.seed + 2))
        self._numbers = itertools.count(1)
        self._began = time.monotonic()

    async def blow(self) -> Outcome:
        async with asyncio.timeout(WARM_SECONDS):
            await self._traffic.warm_up()
        self._say("warm")
        await asyncio.sleep(1)
        before = await asyncio.to_thread(self._on.at_rest)
        stop = asyncio.Event()
        flowing = asyncio.create_task(self._traffic.flow(self._options.rate, stop))
        await self._break_things()
        ended = time.monotonic()
        healthy = await self._until_healthy(ended)
        await self._calm()
        stop.set()
        await flowing
        self._say("judging")
        await self._judge(before)
        await self._callers.close()
        self.complaints += self._callers.complaints
        self.complaints += [
            f"no {kind} was answered" for kind in DECK if not self._callers.tallies[kind].answered
        ]
        seconds = time.monotonic() - self._began
        tallies = self._callers.tallies
        held_back = self._traffic.held_back
        return Outcome(self._on.size, seconds, tallies, self._recoveries, healthy, held_back, self.complaints)

    async def _break_things(self) -> None:
        """Every fault once in each round, in an order that the seed decides; at least one round."""
        began = time.monotonic()
        names = [name for name in possible(self._on) if name in (self._options.faults or FAULTS)]
        for round_ in itertools.count():
            self._chance.shuffle(names)
            for name in names:
                if round_ and time.monotonic() - began > self._options.seconds:
                    return
                await asyncio.sleep(self._chance.uniform(0.3, 1.0) * CALM_SECONDS)
                await self._break(name)

    async def _break(self, name: str) -> None:
        fault = FAULTS[name]
        try:
            async with fault.breaking(self._on, self._chance):
                await asyncio.sleep(fault.seconds)
        except StopError as error:
            self.complaints.append(str(error))
        mended = time.monotonic()
        answered, rendered = await asyncio.gather(self._until_answered(mended), self._until_rendered(mended))
        recovery = Recovery(answered, rendered, await self._until_stored(mended))
        self._recoveries[name].append(recovery)
        self._say(f"{name}: {recovery}")
        if (
            max(answered, rendered) > self._options.patience
            or recovery.stored > STORED_SECONDS + self._options.patience
        ):
            self.complaints.append(f"{name}: {recovery}")

    async def _until_answered(self, since: float) -> float:
        """Each server looks up a key and jobs, fetches a page and searches."""
        for server in self._on.servers:
            place = self._place()
            for ask in (
                Ask("probe", "GET", "/api/me"),
                Ask("probe", "POST", "/fetch", {"url": place.url}, judge=place.wrong_fetch),
                Ask("probe", "GET", "/api/jobs?limit=1"),
                Ask("probe", "POST", "/search", {"query": "page"}),
            ):
                while await self._callers.ask(ask, server) is None and self._is_soon(since):
                    await asyncio.sleep(LOOK_SECONDS)
        return time.monotonic() - since

    async def _until_rendered(self, since: float) -> float:
        place = self._place()
        ask = Ask(
            "probe", "POST", "/api/render", {"url": place.url, "wait": 5}, (200, 202), place.wrong_render
        )
        while self._is_soon(since):
            answer = await self._callers.ask(ask)
            if answer is not None and answer.status_code == 200:
                break
            await asyncio.sleep(LOOK_SECONDS)
        return time.monotonic() - since

    async def _until_stored(self, since: float) -> float:
        async with looking_into(self._on.database_url) as database:
            while time.monotonic() - since < 4 * STORED_SECONDS:
                with suppress(Unavailable):
                    async with database.read() as connection:
                        if not await connection.scalar(text(OWED)):
                            break
                await asyncio.sleep(LOOK_SECONDS)
        return time.monotonic() - since

    def _is_soon(self, since: float) -> bool:
        return time.monotonic() - since < 4 * self._options.patience

    async def _until_healthy(self, since: float) -> float:
        for server in self._on.servers:
            told = "nothing"
            while told != "healthy" and self._is_soon(since):
                answer = await self._callers.ask(Ask("probe", "GET", "/health"), server)
                told = answer.json()["status"] if answer is not None else "nothing"
                await asyncio.sleep(LOOK_SECONDS)
            if told != "healthy":
                body = answer.text if answer is not None else ""
                self.complaints.append(f"{server.name} is {told}: {body}")
        healthy = time.monotonic() - since
        if healthy > 2 * self._options.patience:
            self.complaints.append(f"healthy only after {healthy:.1f} s")
        return healthy

    async def _calm(self) -> None:
        """Nothing is broken, so nothing is away."""
        before = {kind: tally.away for kind, tally in self._callers.tallies.items()}
        await asyncio.sleep(CALM_SECONDS)
        for kind, tally in self._callers.tallies.items():
            if away := tally.away - before.get(kind, 0):
                self.complaints.append(f"{away} of {kind} refused while nothing was broken")

    async def _judge(self, before: dict[str, AtRest]) -> None:
        promises = Promises(self._on, self._traffic.acknowledged, self._web)
        await promises.judge(JUDGE_SECONDS, lapse=self._options.lapse)
        self.complaints += promises.complaints
        await self._rest(before)
        await asyncio.gather(*(asyncio.to_thread(self._end, process) for process in self._on.processes))

    async def _rest(self, before: dict[str, AtRest]) -> None:
        """Memory and descriptors are given back in time."""
        until = time.monotonic() + REST_SECONDS
        while (kept := _kept(before, await asyncio.to_thread(self._on.at_rest))) and time.monotonic() < until:
            await asyncio.sleep(LOOK_SECONDS)
        self.complaints += kept

    def _end(self, process: GossamerProcess) -> None:
        if code := process.terminate():
            self.complaints.append(f"{process.name} ended with {code}")
        for line in process.log.splitlines():
            if "Traceback" in line or "Fatal Python error" in line:
                self.complaints.append(f"{process.name} says {line[:1_500]}")

    def _place(self) -> Place:
        return Place.of(self._web, 0, 1, f"?probe={next(self._numbers)}")

    def _say(self, what: str) -> None:
        print(
            f"{time.monotonic() - self._began:6.1f} s  {self._on.size}: {what}", file=sys.stderr, flush=True
        )


def storm(size: str, options: Options) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="gossamer-soak-") as name, adopting() as orphans:
        folder = Path(name)
        site, origin = Site(folder), Origin(folder, Web(hosts=24, pages=30, port=free_port(), odd=False))
        site.start()
        origin.start()
        try:
            with installed(size, folder) as installation:
                outcome = asyncio.run(Storm(installation, origin, site, options).blow())
        finally:
            origin.kill()
            site.stop()
        outcome.complaints.extend(f"{orphan} is left behind" for orphan in orphans())
    return outcome


def _kept(before: dict[str, AtRest], after: dict[str, AtRest]) -> list[str]:
    return [
        f"{name} had {old}, and has {new}"
        for name, new in after.items()
        if (old := before[name]).megabytes + MORE_MEGABYTES < new.megabytes
        or old.descriptors + MORE_DESCRIPTORS < new.descriptors
    ]


def main() -> None:
    chosen = _chosen()
    options = Options(chosen.seconds, chosen.rate, chosen.seed, chosen.faults, chosen.patience, chosen.lapse)
    failed = False
    for size in BOTH if chosen.size == "both" else (chosen.size,):
        outcome = storm(size, options)
        print(f"{outcome}\n", flush=True)
        failed = failed or bool(outcome.complaints)
    sys.exit(1 if failed else 0)


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/soak mixed", description=(__doc__ or "").partition("\n")[0]
    )
    usual = Options()
    parser.add_argument("--size", choices=[*BOTH, "both"], default="both")
    parser.add_argument("--seconds", type=float, default=usual.seconds, help="of faults, for each size")
    parser.add_argument("--rate", type=float, default=usual.rate, help="requests a second")
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--faults", nargs="+", choices=sorted(FAULTS), default=(), metavar="FAULT",
                        help=f"of {', '.join(FAULTS)}")  # fmt: skip
    parser.add_argument("--patience", type=float, default=usual.patience, help="seconds for recovery")
    parser.add_argument("--lapse", action="store_true", help="end the leases of what was killed at once")
    return parser.parse_args()


if __name__ == "__main__":
    main()
