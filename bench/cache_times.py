"""How long callers wait for each operation, at a moderate rate, beside what was asked of it."""

import json
import math
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from bench import cache_pages, servers
from bench.arrivals import AnswerError, Caller, Request, arrive
from bench.cache_settings import new_key, settings
from bench.servers import Server
from bench.table import table

SIZE: Final = cache_pages.SIZES[-1]
PERCENTILES: Final = (50, 95, 99)
# What was asked for, in milliseconds, by percentile.
ASKED: Final = {
    "hit, hot": (30, 100, 200),
    "hit, cold": (150, 300, 500),
    "miss (202)": (50, 150, 300),
    "job status": (20, 50, 100),
    "invalidation": (100, 300, 500),
    "fresh render": (3_000, 5_000, 10_000),
}
HITS_PER_SECOND: Final = 50.0
HITS: Final = 1_000
COLD_PER_SECOND: Final = 10.0
COLD_TURNS: Final = 3  # over all the pages
DROPS_PER_SECOND: Final = 10.0
POLL_SECONDS: Final = 0.1
RENDER_SECONDS: Final = 60.0

Times = dict[str, list[float]]  # milliseconds, by operation


@dataclass(frozen=True, slots=True)
class Setup:
    name: str
    settings: Mapping[str, str]
    hot: str = ""  # the Valkey that is emptied when the page is to be cold


@dataclass(slots=True)
class Bench:
    setup: Setup
    folder: Path
    origin: Server
    pages: int
    rate: float  # fresh renders per second
    key: str = field(default_factory=new_key)
    times: Times = field(default_factory=lambda: {name: [] for name in ASKED})

    def run(self) -> Times:
        self.folder.mkdir()
        with self._server() as caller:
            self._render(caller)
            self._say("fresh renders")
            self.times["hit, hot"] = arrive(caller, self._hits(HITS, "HIT"), HITS_PER_SECOND)
            self._say("hot hits")
        for turn in range(COLD_TURNS):
            self._empty_hot()
            with self._server() as caller:
                self.times["hit, cold"] += arrive(caller, self._hits(self.pages, "COLD"), COLD_PER_SECOND)
                self._say(f"cold hits, {turn + 1} of {COLD_TURNS}")
        with self._server() as caller:
            self.times["invalidation"] = arrive(caller, self._drops(), DROPS_PER_SECOND)
            self._say("invalidations")
        return self.times

    def _render(self, caller: Caller) -> None:
        """Each page once, and ask for its status until it is done."""
        lock = threading.Lock()

        def follow(due: float, body: bytes) -> None:
            took, polls = _follow(caller, json.loads(body)["statusUrl"], due)
            with lock:
                self.times["fresh render"].append(took)
                self.times["job status"] += polls

        requests = [self._post(number, 202, "MISS") for number in range(self.pages)]
        self.times["miss (202)"] = arrive(caller, requests, self.rate, follow)

    def _hits(self, count: int, cache: str) -> list[Request]:
        return [self._post(number % self.pages, 200, cache) for number in range(count)]

    def _post(self, number: int, status: int, cache: str) -> Request:
        body = json.dumps({"url": self.origin.address + cache_pages.path(SIZE, number)}).encode()
        return Request("POST", "/api/render", body, status, cache)

    def _drops(self) -> list[Request]:
        urls = [self.origin.address + cache_pages.path(SIZE, number) for number in range(self.pages)]
        return [Request("DELETE", f"/api/cache?url={quote(url, safe='')}") for url in urls]

    def _empty_hot(self) -> None:
        if self.setup.hot:
            flush(self.setup.hot)

    @contextmanager
    def _server(self) -> Iterator[Caller]:
        """A start that knows nothing but what lasts, and has answered a few requests."""
        with servers.gossamer(self.folder, {**settings(self.key), **self.setup.settings}) as server:
            headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            caller = Caller(server.address, headers)
            for _ in range(20):
                caller.ask(Request("GET", "/api/me"))
            yield caller

    def _say(self, what: str) -> None:
        servers.say(f"{self.setup.name}: {what}")


def report(found: Mapping[str, Times], pages: int, rate: float) -> str:
    columns = ["milliseconds", *(f"asked p{each}" for each in PERCENTILES)]
    columns += [f"{name} p{each}" for name in found for each in PERCENTILES]
    rows = [
        [operation, *(f"{each:,}" for each in asked), *(_cells(found, operation))]
        for operation, asked in ASKED.items()
    ]
    how = (
        f"{pages} pages of {SIZE // 1000} kB, not compressed on the way; {rate:g} fresh renders a second "
        f"(with their misses, and a status check every {POLL_SECONDS:g} s each), {HITS_PER_SECOND:g} hot "
        f"hits, {COLD_PER_SECOND:g} cold ones, {DROPS_PER_SECOND:g} invalidations"
    )
    return f"{how}\n\n{table(columns, rows)}"


def document(found: Mapping[str, Times]) -> dict[str, Any]:
    return {
        name: {
            operation: {
                "count": len(values),
                **{f"p{each}": round(percentile(values, each), 2) for each in PERCENTILES},
            }
            for operation, values in times.items()
        }
        for name, times in found.items()
    }


def percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def flush(address: str) -> None:
    where = urlsplit(address)
    with socket.create_connection((where.hostname, where.port), timeout=10) as connection:
        connection.sendall(b"FLUSHALL\r\n")
        if not connection.recv(100).startswith(b"+OK"):
            raise AnswerError("Valkey was not emptied")


def _follow(caller: Caller, status_url: str, due: float) -> tuple[float, list[float]]:
    """Milliseconds until it was seen to be done, and those of each look."""
    polls = []
    while time.perf_counter() - due < RENDER_SECONDS:
        time.sleep(POLL_SECONDS)
        began = time.perf_counter()
        status = json.loads(caller.ask(Request("GET", status_url)))
        polls.append((time.perf_counter() - began) * 1000)
        if status["status"] == "completed":
            return (time.perf_counter() - due) * 1000, polls
        if status["status"] == "failed":
            break
    raise AnswerError(f"{status_url}: {status}")


def _cells(found: Mapping[str, Times], operation: str) -> list[str]:
    values = [percentile(times[operation], each) for times in found.values() for each in PERCENTILES]
    return [f"{value:,.0f}" if value >= 100 else f"{value:.1f}" for value in values]
