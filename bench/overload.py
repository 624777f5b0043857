"""Overload: three times what a quarter of a core can do, and who is still answered.

First the capacity is measured: so many of these requests, one after the other on a few connections. Then
three times as many arrive, whether or not earlier ones are answered. `--source` measures another checkout as
well.
"""

import argparse
import http.client
import json
import os
import random
import signal
import threading
import time
from asyncio import run as run_to_end
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench import cache_settings, servers
from bench.cache_times import percentile
from bench.table import save, table, this_machine
from gossamer.observe.logs import Log
from gossamer.state.db.database import open_database
from gossamer.state.search.search_document import IndexedDocument
from gossamer.state.search.search_index import SearchIndex
from gossamer.state.tenants.tenants import PUBLIC

SEED: Final = 20260101
SHARE: Final = 0.25  # of a core
PERIOD: Final = 0.1  # seconds in which the server has its share
TIMES: Final = 3  # the capacity
AT_ONCE: Final = 4  # connections that measure it
MOST_OUTSTANDING: Final = 1_500
ANSWER_SECONDS: Final = 60.0
JOB_SECONDS: Final = 180.0
PAGES: Final = 3_000
WORDS: Final = 400  # of a page
VOCABULARY: Final = [f"word{number}" for number in range(60)]  # so that nearly every page has every word
ADMIN: Final = cache_settings.new_key()
MIX: Final = {"search": 50, "fetch": 20, "key": 12, "job": 12, "audit": 6}  # of a hundred


@dataclass(slots=True)
class Tally:
    """How requests of one kind were answered."""

    sent: int = 0
    said: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)  # milliseconds, of those that were answered

    def row(self, kind: str) -> list[str]:
        spent = sorted(self.times)
        shown = [f"{percentile(spent, p):,.0f}" if spent else "" for p in (50, 99)]
        others = self.sent - self.said["ok"] - self.said["busy"] - self.said["away"]
        counts = [self.sent, self.said["ok"], self.said["busy"], self.said["away"], others]
        return [kind, *(f"{count:,}" for count in counts), *shown]


@dataclass(slots=True)
class Load:
    address: str
    target: str
    randomness: random.Random
    jobs: list[str] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=lambda: {kind: Tally() for kind in MIX})
    _mine: threading.local = field(default_factory=threading.local)

    def choose(self) -> str:
        return self.randomness.choices(list(MIX), list(MIX.values()))[0]

    def ask(self, kind: str, due: float) -> None:
        tally = self.tallies[kind]
        tally.sent += 1
        try:
            status, answer = self._send(*self._request(kind))
        except (OSError, http.client.HTTPException) as error:
            tally.said[type(error).__name__] += 1
            return
        said = "ok" if status < 300 else _refusal(status, answer)
        tally.said[said] += 1
        if said == "ok":
            tally.times.append((time.perf_counter() - due) * 1000)
            if kind == "audit":
                self.jobs.append(answer["jobId"])

    def ended(self) -> Counter[str]:
        """How the jobs ended, as soon as they have."""
        until = time.monotonic() + JOB_SECONDS
        ends: Counter[str] = Counter()
        left = list(self.jobs)
        while left and time.monotonic() < until:
            status, job = self._send("GET", f"/api/jobs/{left[-1]}", None)
            if status == 200 and job["status"] not in ("queued", "running"):
                ends[job["status"]] += 1
                left.pop()
            else:
                time.sleep(0.2)
        ends["not over"] = len(left)
        return ends

    def _request(self, kind: str) -> tuple[str, str, Mapping[str, Any] | None]:
        number = self.randomness.randrange(10**9)
        if kind == "search":
            words = self.randomness.sample(VOCABULARY, 4)
            return "POST", "/search", {"query": " ".join(words), "limit": 50}
        if kind == "fetch":
            return "POST", "/fetch/basic", {"url": f"{self.target}/{number}"}
        if kind == "audit":
            body = {"url": f"{self.target}/audit/{number}", "options": {"maxLinks": 0}}
            return "POST", "/audits", body
        known = self.randomness.choice(self.jobs or ["01HZZZZZZZZZZZZZZZZZZZZZZA"])
        return "GET", "/api/me" if kind == "key" or not self.jobs else f"/api/jobs/{known}", None

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[int, Any]:
        host = self.address.removeprefix("http://")
        connection = getattr(self._mine, "connection", None) or http.client.HTTPConnection(
            host, timeout=ANSWER_SECONDS
        )
        self._mine.connection = None  # unless all goes well
        headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        told = json.loads(answer.read() or b"null")
        self._mine.connection = connection
        return answer.status, told


def _refusal(status: int, answer: Any) -> str:
    if status != 503:
        return str(status)
    return "busy" if answer.get("code") == "SERVER_BUSY" else "away"


class Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"<title>A page</title><h1>A page</h1><p>{'Some words of it. ' * 60}</p>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - the name that it is looked up by

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


@contextmanager
def throttled(server: servers.Server) -> Iterator[None]:
    """A share of one core for the server and its children: they are stopped for the rest of each period."""
    stop = threading.Event()

    def send(number: signal.Signals) -> None:
        for pid in servers.family(server.pid):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def turn() -> None:
        while not stop.wait(PERIOD * SHARE):
            send(signal.SIGSTOP)
            time.sleep(PERIOD * (1 - SHARE))
            send(signal.SIGCONT)

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        send(signal.SIGCONT)


async def fill(folder: Path) -> None:
    """An index in which every search finds thousands of pages."""
    randomness = random.Random(SEED)
    database = open_database(str(folder / "gossamer.db"), deadline=600.0)
    await database.migrate()
    index = SearchIndex(database, Log(StringIO()), max_pages=2 * PAGES)
    for number in range(PAGES):
        text = " ".join(randomness.choices(VOCABULARY, k=WORDS))
        title = " ".join(randomness.choices(VOCABULARY, k=4))
        url = f"https://example.com/{number}"
        index.note(
            PUBLIC, IndexedDocument(url=url, title=title, description="", text=text, language="", seen_at=1.0)
        )
        if number % 500 == 0:
            await index.flush()
    await index.flush()
    await database.close()


def capacity(load: Load, seconds: float) -> float:
    """Requests a second that are answered when each is waited for."""
    until = time.monotonic() + seconds

    def ask() -> int:
        asked = 0
        while time.monotonic() < until:
            load.ask(load.choose(), time.perf_counter())
            asked += 1
        return asked

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return sum(one.result() for one in [threads.submit(ask) for _ in range(AT_ONCE)]) / seconds


def arrive(load: Load, rate: float, seconds: float) -> None:
    began = time.perf_counter()
    with ThreadPoolExecutor(MOST_OUTSTANDING) as threads:
        for number in range(round(rate * seconds)):
            due = began + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            threads.submit(load.ask, load.choose(), due)


def measure(source: Path, rate: float | None, seconds: float) -> tuple[float, Load, Counter[str]]:
    cores = servers.share_cores()
    with TemporaryDirectory() as temporary, site() as target:
        folder = Path(temporary)
        (folder / "data").mkdir()
        run_to_end(fill(folder / "data"))
        settings = {
            **cache_settings.settings(ADMIN),
            "PYTHONPATH": str(source),
            "GOSSAMER_BACKOFF_FAULTS": "0",
        }
        with servers.gossamer(folder, settings, cores=cores.server) as server, throttled(server):
            if rate is None:
                rate = capacity(Load(server.address, target, random.Random(SEED)), seconds)
            servers.say(f"{rate:.1f} requests a second are what it can do; {TIMES} times as many arrive")
            load = Load(server.address, target, random.Random(SEED + 1))
            arrive(load, TIMES * rate, seconds)
            return rate, load, load.ended()


def shown(name: str, load: Load, ends: Counter[str]) -> str:
    columns = ["kind", "sent", "answered", "busy", "away", "failed", "p50 ms", "p99 ms"]
    rows = [tally.row(kind) for kind, tally in load.tallies.items()]
    jobs = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()) if count)
    return f"## {name}\n\n{table(columns, rows)}\n\nJobs: {jobs or 'none'}.\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each part (default %(default)g)")
    parser.add_argument(
        "--source", type=Path, help="the folder src of another checkout, to be measured first"
    )
    options = parser.parse_args(arguments)
    servers.stop_when_terminated()
    ours = servers.ROOT / "src"
    rate, load, ends = measure(ours, None, options.seconds)
    parts = {"this one": (load, ends)}
    if options.source is not None:
        _, earlier, earlier_ends = measure(options.source.absolute(), rate, options.seconds)
        parts = {"before": (earlier, earlier_ends), "after": (load, ends)}
    machine = this_machine()
    head = (
        f"# Overload\n\n{machine}; SQLite, a quarter of a core, an index of {PAGES:,} pages. Capacity "
        f"{rate:.1f} requests a second; {TIMES} times as many arrive for {options.seconds:g} s, whether or "
        "not earlier ones are answered. `busy`: refused with SERVER_BUSY and `Retry-After`. `away`: 503 as "
        "if something were away. Times are of those that were answered, from when they were due.\n"
    )
    text = "\n".join([head, *(shown(name, *part) for name, part in parts.items())])
    document = {
        name: {
            "kinds": {kind: {"sent": tally.sent, **tally.said} for kind, tally in load.tallies.items()},
            "jobs": dict(ends),
        }
        for name, (load, ends) in parts.items()
    }
    print(text)
    save("overload", machine, text, {"capacity": rate, "parts": document})


if __name__ == "__main__":
    main()
