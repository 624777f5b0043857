"""Crawls in a storm: workers are killed and frozen past their leases while hosts and pages are counted.

`pages`: no delay, a great many pages: every page that can be reached is stored exactly once, and no more was
fetched again than the workers that were struck had in hand. `pace`: many hosts that ask for a pause between
requests: none of them is asked too soon or twice at once, by their own record.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.crawl.judging import Account
from tests.crawl.stage import Stage, settings_of, staged
from tests.crawl.web import Web
from tests.servers.daemon import free_port
from tests.servers.postgres import TEMPLATE, PostgresServer
from tests.servers.s3 import Rclone
from tests.servers.valkey import Valkey

LONGEST = 3_600.0  # seconds


@dataclass(frozen=True, slots=True)
class Outcome:
    seconds: float
    visits: int
    kills: int
    freezes: int
    in_hand: int
    account: Account
    impolite: list[str]

    @property
    def wrong(self) -> list[str]:
        too_many = self.account.refetched > self.in_hand
        return [
            *self.account.wrong,
            *(["more fetched again than was in hand"] if too_many else []),
            *self.impolite[:10],
        ]

    def __str__(self) -> str:
        found = "; ".join(self.wrong) or "nothing lost, nothing twice"
        again = f"{self.account.refetched} fetched again (at most {self.in_hand})"
        storm = f"{self.kills} kills, {self.freezes} freezes"
        complaints = f"{len(self.impolite)} complaints of hosts"
        return f"{self.visits} requests in {self.seconds:.0f} s, {storm}: {found}, {again}, {complaints}"


async def storm(stage: Stage, delay: float, options: argparse.Namespace) -> Outcome:
    began = time.monotonic()
    await stage.begin()
    stage.workers.fill()
    while not (await stage.crawl()).is_over:
        await asyncio.sleep(options.every)
        await stage.workers.kill_one()
        if options.freezes and not stage.workers.frozen:
            await stage.workers.freeze_one()
        if time.monotonic() - began > LONGEST:
            raise SystemExit(f"it does not end: {(await stage.crawl()).counts}; {stage.said()}")
    workers, visits = stage.workers, stage.origin.visits()
    seconds = time.monotonic() - began
    struck = (workers.kills, workers.freezes, workers.in_hand)
    impolite = stage.complaints(delay) if delay else []
    return Outcome(seconds, len(visits), *struck, await stage.account(), impolite)


async def _one(name: str, folder: Path, options: argparse.Namespace) -> Outcome:
    postgres, valkey, s3 = PostgresServer(), Valkey(folder), Rclone(folder)
    try:
        for server in (postgres, valkey, s3):
            server.start()
        postgres.sql(f"CREATE DATABASE {TEMPLATE}")
        postgres.url = postgres.url_of(TEMPLATE)
        stores = settings_of(postgres, valkey, s3, s3.url)
        web, delay = _web(name, options)
        async with staged(folder / name, web, stores, workers=options.workers, seed=options.seed) as stage:
            return await storm(stage, delay, options)
    finally:
        for daemon in (valkey, s3):
            daemon.kill()
        postgres.remove()


def _web(name: str, options: argparse.Namespace) -> tuple[Web, float]:
    if name == "pages":
        pages = options.pages // options.page_hosts
        return Web(hosts=options.page_hosts, pages=pages, port=free_port(), odd=False), 0.0
    delay = options.delay
    return Web(hosts=options.hosts, pages=options.host_pages, port=free_port(), delay=delay), delay


def main() -> None:
    options = _options()
    failed = False
    for name in options.on:
        with tempfile.TemporaryDirectory(prefix="gossamer-soak-") as folder:
            outcome = asyncio.run(_one(name, Path(folder), options))
        print(f"{name}: {outcome}", flush=True)
        failed = failed or bool(outcome.wrong)
    sys.exit(1 if failed else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/soak crawl", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--page-hosts", type=int, default=40, help="that they are spread over")
    parser.add_argument("--hosts", type=int, default=50, help="that ask for a delay")
    parser.add_argument("--host-pages", type=int, default=40)
    parser.add_argument("--delay", type=float, default=1.0, help="seconds that they ask for")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--every", type=float, default=8.0, help="seconds between kills")
    parser.add_argument("--no-freezes", dest="freezes", action="store_false")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--on", choices=["pages", "pace"], nargs="+", default=["pages", "pace"])
    return parser.parse_args()


if __name__ == "__main__":
    main()
