"""A week in five minutes: a synthetic web with known changes, and a clock that goes from one planned time to
the next as soon as all work is done. Recrawls, monitors, schedules, webhooks and retention run together on a
real server; in the larger size with a worker and PostgreSQL, whose clock moves too.

Every change is told once, nothing else is; every planned time fires once; nothing is given up that could be
delivered; and what is stored does not grow.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

from tests.doors.services import AS_ADMIN
from tests.servers.postgres import TEMPLATE, PostgresServer
from tests.soak.installation import GossamerProcess, Server, Worker, settings_environment
from tests.soak.orphans import adopting
from tests.soak.promises import looking_into
from tests.soak.week.judging import judge_runs, judge_storage, judge_told
from tests.soak.week.known_web import HOUR, KnownWeb
from tests.soak.week.moved_clock import MovedClock
from tests.soak.week.plan import (
    BEGAN,
    CHECKS,
    MONITORS,
    PAGES,
    RARE,
    SCHEDULES,
    WeekMonitor,
    count_crawled_changes,
)
from tests.soak.week.receivers import HANG, HANG_UP, OK, WeekReceiver
from tests.soak.week.stores import StorageLook, Stores
from tests.soak.week.week_outcome import WeekOutcome

SETTLE_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.15
DAY_HOURS: Final = 24
PAST_MIDNIGHT: Final = 0.25  # hours, where nothing is planned; else seconds would decide what is in a day
MAX_REFUSALS: Final = 10
ON_TIME_SECONDS: Final = 1.0  # after a planned time, the clock stands there
RETRY_SECONDS: Final = 300.0  # after the end; the monitors look again later
KEPT: Final = {
    "KEEP_COMPLETED_URLS": "1d",
    "KEEP_FAILED_URLS": "1d",
    "KEEP_BODIES": "2d",
    "KEEP_PAGES": "2d",
    "KEEP_JOBS": "1d",
    "KEEP_SCHEDULE_RUNS": "2d",
    "KEEP_CHANGES": "2d",
    "KEEP_DELIVERIES": "2d",
    "ARCHIVE": "false",
}
EVENTS: Final = ("monitor.*", "webhook.*", "schedule.*", "crawl.completed", "batch.completed")


@dataclass
class WeekServers:
    """The processes, under the moved clock."""

    clock: MovedClock
    server: Server
    database_url: str
    blobs: Path
    workers: list[Worker] = field(default_factory=list)
    postgres: PostgresServer | None = None

    @property
    def processes(self) -> list[GossamerProcess]:
        return [self.server, *self.workers]

    def enforce_retention(self) -> None:
        """As a server does every ten minutes, which none of these lives long enough for."""
        command = [sys.executable, "-m", "gossamer", "upkeep", "--quiet", "--json"]
        done = subprocess.run(command, env=dict(self.server.environ), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if self.postgres is not None:
            self.postgres.sql("VACUUM", TEMPLATE)


class Week:
    def __init__(self, servers: WeekServers, size: str, days: int) -> None:
        self.complaints: list[str] = []
        self._on = servers
        self._size = size
        self._days = days
        self._began = time.monotonic()
        self._steps = 0
        self._refusals = 0
        self._looks: list[StorageLook] = []
        self._web = KnownWeb(PAGES, servers.clock.now, BEGAN.timestamp())
        self._receivers = [
            WeekReceiver("steady", _steady, lambda: self._web.hour),
            WeekReceiver("away", _away, lambda: self._web.hour),
            WeekReceiver("dead", lambda hour, _: OK if hour < 4 else 500, lambda: self._web.hour),
            WeekReceiver("gone", lambda hour, _: OK if hour < 12 else 410, lambda: self._web.hour),
        ]
        self._runs: dict[str, dict[str, Any]] = {}

    async def pass_by(self) -> WeekOutcome:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._web.serving())
            for receiver in self._receivers:
                await stack.enter_async_context(receiver.serving())
            database = await stack.enter_async_context(looking_into(self._on.database_url))
            self._stores = Stores(database, self._on.blobs)
            self._client = await stack.enter_async_context(
                httpx.AsyncClient(base_url=self._on.server.url, timeout=60, trust_env=False)
            )
            await self._set_up()
            await self._live()
            changes = await self._judge()
        return WeekOutcome(
            size=self._size,
            days=self._days,
            seconds=time.monotonic() - self._began,
            steps=self._steps,
            requests=self._web.looks,
            runs=sum(map(len, self._runs.values())),
            changes=changes,
            receivers=self._receivers,
            looks=self._looks,
            complaints=self.complaints,
        )

    # Beginning.

    async def _set_up(self) -> None:
        made = await self._ask("POST", "/api/admin/keys", {"email": "week@example.com"}, AS_ADMIN)
        self._client.headers["Authorization"] = f"Bearer {made['key']}"
        for receiver in self._receivers:
            made = await self._ask("POST", "/api/webhooks", {"url": receiver.url, "events": EVENTS})
            receiver.secret = made["secret"]
        self._webhooks = {
            one["url"]: one["id"] for one in (await self._ask("GET", "/api/webhooks"))["webhooks"]
        }
        crawl = {
            "seeds": [self._web.url_of("/c/home")],
            "refresh": "auto",
            "refreshMost": 6 * 3600,
            "sitemaps": False,
        }
        self._crawl = (await self._ask("POST", "/api/crawls", crawl))["crawlId"]
        await self._settle()
        self._monitors = {
            monitor.name: (await self._ask("POST", "/api/monitors", self._body(monitor)))["monitorId"]
            for monitor in MONITORS
        }
        self._schedules = {}
        for schedule in SCHEDULES:
            urls = [self._web.url_of("/d/1"), self._web.url_of("/d/2")]
            task = {"urls": urls} if schedule.task == "batch" else {"seeds": [self._web.url_of("/d/home")]}
            body = {
                "name": schedule.name,
                "task": {"kind": schedule.task, **task},
                "timing": schedule.timing,
                "paused": schedule.paused,
            }
            shown = await self._ask("POST", "/api/schedules", body)
            self._schedules[schedule.name] = (shown["scheduleId"], self._on.clock.now())
        await self._settle()

    def _body(self, monitor: WeekMonitor) -> dict[str, Any]:
        urls = [self._web.url_of(page.path) for page in monitor.pages]
        watch: dict[str, Any] = {"kind": monitor.kind}
        match monitor.kind:
            case "page":
                watch["url"] = urls[0]
            case "list":
                watch["urls"] = urls
            case "crawl":
                watch["crawlId"] = self._crawl
            case "search":
                watch["query"] = RARE
        return {"name": monitor.name, "watch": watch, "timing": CHECKS, **monitor.options}

    # Living.

    async def _live(self) -> None:
        clock, began = self._on.clock, BEGAN.timestamp()
        for day in range(1, self._days + 1):
            end = began + (day * DAY_HOURS + PAST_MIDNIGHT) * HOUR
            while (moment := await self._stores.find_next(clock.now())) is not None and moment <= end:
                self._steps += 1
                await self._go_to(moment)
            await self._keep_runs()
            await asyncio.to_thread(self._on.enforce_retention)
            self._looks.append(await self._stores.measure())
            self._say(f"day {day}: {self._looks[-1].all_rows:,} rows, {self._web.looks:,} requests for pages")
        await self._let_retry()

    async def _let_retry(self) -> None:
        """What was told at the last step and not accepted is tried again; no later step gives it the time."""
        clock, end = self._on.clock, self._on.clock.now() + RETRY_SECONDS
        while (moment := await self._stores.find_retry(clock.now())) is not None and moment <= end:
            await self._go_to(moment)

    async def _go_to(self, moment: float) -> None:
        self._on.clock.move_to(moment + ON_TIME_SECONDS)
        await self._stores.stir()
        await self._settle()

    async def _settle(self) -> None:
        """Until nothing is left to do, at two looks in a row."""
        until, quiet = time.monotonic() + SETTLE_SECONDS, 0
        while quiet < 2:
            left = await self._stores.find_left(self._on.clock.now())
            quiet = 0 if left else quiet + 1
            if time.monotonic() > until:
                self.complaints.append(f"hour {self._web.hour:.1f}: {', '.join(left)} not done in time")
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _keep_runs(self) -> None:
        """Before retention removes them."""
        for name, (id_, _) in self._schedules.items():
            runs = (await self._ask("GET", f"/api/schedules/{id_}/runs?limit=100"))["runs"]
            self._runs.setdefault(name, {}).update({run["runId"]: run for run in runs})

    # Judging.

    async def _judge(self) -> int:
        hours = self._days * DAY_HOURS + PAST_MIDNIGHT
        for receiver in self._receivers[:2]:
            for monitor in MONITORS:
                self.complaints += judge_told(monitor, self._monitors[monitor.name], receiver, hours)
        for receiver in self._receivers:
            self.complaints += receiver.complaints
        for schedule in SCHEDULES:
            planned = schedule.planned(self._schedules[schedule.name][1], hours)
            self.complaints += judge_runs(schedule.name, planned, list(self._runs[schedule.name].values()))
        self.complaints += judge_storage(self._looks)
        await self._judge_letters()
        self._judge_logs()
        crawl = await self._ask("GET", f"/api/crawls/{self._crawl}")
        found, expected = int(crawl["freshness"]["month"]["changed"]), count_crawled_changes(hours)
        if found < expected:
            self.complaints.append(f"recrawls have found {found} changes of {expected}")
        return found

    async def _judge_letters(self) -> None:
        """Given up is only what went to those who are dead; and they are disabled."""
        hooks = {one["url"]: one for one in (await self._ask("GET", "/api/webhooks"))["webhooks"]}
        for receiver in self._receivers:
            path = f"/api/webhooks/{self._webhooks[receiver.url]}/deliveries"
            dead = (await self._ask("GET", f"{path}?state=given_up&limit=100"))["deliveries"]
            if dead and receiver.name in ("steady", "away"):
                self.complaints.append(f"{len(dead)} events for {receiver.name} were given up")
            reason = hooks[receiver.url]["disabledReason"]
            expected = {"dead": "failing" if self._days > 4 else None, "gone": "gone"}.get(receiver.name)
            if reason != expected:
                self.complaints.append(f"the webhook {receiver.name} is disabled: {reason}, not {expected}")

    def _judge_logs(self) -> None:
        for process in self._on.processes:
            for line in process.log.splitlines():
                if '"level":"error"' in line or "Traceback" in line:
                    self.complaints.append(f"{process.name} says {line[:1_000]}")

    async def _ask(self, method: str, path: str, body: Any = None, headers: Any = None) -> Any:
        answer = await self._client.request(method, path, json=body, headers=headers)
        while answer.status_code == 503 and self._is_patient(answer):
            await asyncio.sleep(float(answer.headers["retry-after"]))
            answer = await self._client.request(method, path, json=body, headers=headers)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def _is_patient(self, answer: httpx.Response) -> bool:
        """A machine that is busy with other things is no fault."""
        self._say(f"asked again: {answer.json()['detail']}")
        self._refusals += 1
        return self._refusals < MAX_REFUSALS

    def _say(self, what: str) -> None:
        print(f"{time.monotonic() - self._began:6.1f} s  {self._size}: {what}", file=sys.stderr, flush=True)


def _steady(hour: float, number: int) -> int:
    """Fails now and then, and once says nothing at all."""
    if number == 25:
        return HANG
    return 500 if number % 7 == 3 else OK


def _away(hour: float, number: int) -> int:
    """Not there for hours, twice; back in time for everything to arrive by the end of that day."""
    return HANG_UP if 9 < hour < 15 or 100 < hour < 108 else OK


@contextmanager
def serving(size: str, folder: Path) -> Iterator[WeekServers]:
    folder.chmod(0o755)  # the clock is for PostgreSQL too, which is another user
    clock = MovedClock(folder, BEGAN.timestamp())
    data = folder / "data"
    with ExitStack() as stack:
        stores, postgres = {"DATA_DIR": str(data)}, None
        if size == "server":
            postgres = PostgresServer("max_connections=100", environ=clock.environ)
            stack.callback(postgres.remove)
            postgres.start()
            postgres.sql(f"CREATE DATABASE {TEMPLATE}")
            stores |= {"DATABASE_URL": postgres.url_of(TEMPLATE)}
        environ = {**settings_environment({**KEPT, **stores}), **clock.environ}
        server = Server("server", folder / "server", environ)
        workers = [Worker("worker", folder / "worker", environ)] if postgres else []
        url = stores.get("DATABASE_URL", f"sqlite:///{data}/gossamer.db")
        servers = WeekServers(clock, server, url, data / "blobs", workers, postgres)
        for process in servers.processes:
            stack.callback(process.kill)
            process.start()
        yield servers


def live_through(size: str, days: int) -> WeekOutcome:
    with tempfile.TemporaryDirectory(prefix="gossamer-week-") as name, adopting() as orphans:
        with serving(size, Path(name)) as servers:
            outcome = asyncio.run(Week(servers, size, days).pass_by())
        outcome.complaints.extend(f"{orphan} is left behind" for orphan in orphans())
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/soak week", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--size", choices=["embedded", "server", "both"], default="both")
    parser.add_argument("--days", type=int, default=7)
    chosen = parser.parse_args()
    sizes = ["embedded", "server"] if chosen.size == "both" else [chosen.size]
    outcomes = [live_through(size, chosen.days) for size in sizes]
    print("\n\n".join(map(str, outcomes)))
    sys.exit(1 if any(outcome.complaints for outcome in outcomes) else 0)


if __name__ == "__main__":
    main()
