"""Hot hits through `gossamer serve` as fast as they are answered, beside nginx serving the same files.

Equal requests have the same bytes each time, as a load generator sends them. Varied ones are what a proxy
sends: several pages, keys and robots, each request with an address, a trace and an id of its own. They come
over kept connections, over a new one each, or pipelined to an nginx that passes them on.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench import cache_pages, servers
from bench.apps import site
from bench.arrivals import Caller, Request
from bench.cache_proxy import proxying
from bench.cache_requests import CODINGS, EQUAL, TRAFFIC, Hits
from bench.cache_settings import new_key, settings
from bench.contenders import usage
from bench.load import CONNECTIONS, Measurement, load, middle
from bench.servers import Cores, Server
from bench.table import table

NGINX: Final = "nginx, static file"
# fmt: off
COLUMNS: Final = (
    "hot hits", "page", "kB sent", "per second", "p50 ms", "p99 ms", "CPU µs", "rate / nginx", "p99 / nginx",
)
# fmt: on
PAGES: Final = 8  # of each size
KEYS: Final = 4
PAGE_NUMBERS: Final = range(1, PAGES + 1)


@dataclass(frozen=True, slots=True)
class Case:
    """One page in one coding."""

    size: int
    coding: str
    bytes: int  # as it is sent
    traffic: str = EQUAL.name

    def __str__(self) -> str:
        return f"{self.size // 1000} kB, {self.coding}, {self.traffic}"


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    server: Server
    proxy: Server  # nginx in front of it
    scripts: Mapping[tuple[int, str, str], Path]  # by size, coding and traffic


@dataclass(frozen=True, slots=True)
class Row:
    case: Case
    name: str
    middle: Measurement
    cpu: float  # microseconds of the server's processor for a hit
    rounds: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, and for how long."""

    rounds: int
    seconds: int
    sizes: Sequence[int]
    traffic: Sequence[str]

    def includes(self, case: Case) -> bool:
        return case.size in self.sizes and case.traffic in self.traffic


def measure(scratch: Path, origin: Server, cores: Cores, plan: Plan) -> list[Row]:
    rows = []
    with ExitStack() as stack:
        contenders, cases = start(stack, scratch, origin, cores)
        for case in filter(plan.includes, cases):
            for one in contenders:
                _ask(one, case, 1, cores)  # to warm up
            found = [_turn(contenders, case, plan.seconds, cores) for _ in range(plan.rounds)]
            rows += [
                Row(
                    case,
                    one.name,
                    middle([each for each, _ in all_]),
                    median(cpu for _, cpu in all_),
                    tuple(each for each, _ in all_),
                )
                for one, all_ in zip(contenders, zip(*found, strict=True), strict=True)
            ]
    return rows


def _turn(
    contenders: Sequence[Contender], case: Case, seconds: int, cores: Cores
) -> list[tuple[Measurement, float]]:
    """Each of them once, and what a hit cost it."""
    found = []
    for one in contenders:
        before = usage.cpu_seconds(one.server.pid)
        measured = _ask(one, case, seconds, cores)
        spent = usage.cpu_seconds(one.server.pid) - before
        found.append((measured, spent / (measured.rate * seconds) * 1e6))
        servers.say(f"{case}: {one.name}: {measured.rate:,.0f}/s")
    return found


def start(
    stack: ExitStack, scratch: Path, origin: Server, cores: Cores
) -> tuple[list[Contender], list[Case]]:
    files = scratch / "files"
    files.mkdir()
    valkey = {"GOSSAMER_REDIS_URL": stack.enter_context(servers.valkey())}
    ours = [
        _gossamer(stack, scratch / "hits-valkey", "Gossamer, Valkey", valkey, origin, cores, files),
        _gossamer(stack, scratch / "hits-memory", "Gossamer, embedded", {}, origin, cores, files),
    ]
    ready = f"/{cache_pages.SIZES[0]}-1.html"
    nginx = stack.enter_context(site.serving(files, ready=ready, cores=cores.server))
    proxy = stack.enter_context(proxying(nginx, scratch / "proxy-nginx", ready=ready, cores=cores.load))
    cases = [
        Case(
            size,
            coding,
            (files / f"{size}-1.html{'.gz' if coding == 'gzip' else ''}").stat().st_size,
            traffic,
        )
        for size, coding, traffic in _cases()
    ]
    static = {
        size: Hits("GET", [(f"/{size}-{page}.html", "") for page in PAGE_NUMBERS], [""])
        for size in cache_pages.SIZES
    }
    return [Contender(NGINX, nginx, proxy, _scripts(scratch, static)), *ours], cases


def report(rows: Sequence[Row], rounds: int, seconds: int) -> str:
    hits = table(
        COLUMNS,
        [_cells(row, _nginx(rows, row)) for row in rows],
    )
    how = f"wrk, {CONNECTIONS} connections, one process on a core of its own"
    return f"{how}, median of {rounds} rounds of {seconds} s\n\n{hits}"


def document(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {
            "name": row.name,
            **asdict(row.case),
            **asdict(row.middle),
            "cpu": round(row.cpu, 1),
            "rate_to_nginx": round(row.middle.rate / _nginx(rows, row).rate, 3),
            "p99_to_nginx": round(row.middle.p99 / _nginx(rows, row).p99, 3),
            "rounds": [asdict(one) for one in row.rounds],
        }
        for row in rows
    ]


def _gossamer(
    stack: ExitStack,
    folder: Path,
    name: str,
    more: Mapping[str, str],
    origin: Server,
    cores: Cores,
    files: Path,
) -> Contender:
    """A server whose cache holds the pages; what it serves is also written for nginx."""
    folder.mkdir()
    key = new_key()
    server = stack.enter_context(servers.gossamer(folder, {**settings(key), **more}, cores=cores.server))
    caller = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    asking = Caller(server.address, caller)
    new = json.dumps({"label": "bench"}).encode()
    issued = [json.loads(asking.ask(Request("POST", "/api/keys", new, status=201))) for _ in range(KEYS - 1)]
    keys = [key, *(one["key"] for one in issued)]
    bodies = {}
    for size in cache_pages.SIZES:
        urls = [origin.address + cache_pages.path(size, page) for page in PAGE_NUMBERS]
        bodies[size] = [("/api/render", json.dumps({"url": url})) for url in urls]
        for page, url in zip(PAGE_NUMBERS, urls, strict=True):
            wait = json.dumps({"url": url, "wait": 60}).encode()
            asking.ask(Request("POST", "/api/render", wait, cache="MISS"))
            hit = Request("POST", "/api/render", json.dumps({"url": url}).encode(), cache="HIT")
            (files / f"{size}-{page}.html").write_bytes(asking.ask(hit))
            compressed = Caller(server.address, {**caller, **CODINGS["gzip"]}).ask(hit)
            (files / f"{size}-{page}.html.gz").write_bytes(compressed)
    hits = {size: Hits("POST", targets, keys) for size, targets in bodies.items()}
    proxy = stack.enter_context(proxying(server, folder / "proxy", ready="/health/live", cores=cores.load))
    return Contender(name, server, proxy, _scripts(folder, hits))


def _cases() -> list[tuple[int, str, str]]:
    return [
        (size, coding, traffic) for size in cache_pages.SIZES for coding in CODINGS for traffic in TRAFFIC
    ]


def _scripts(folder: Path, hits: Mapping[int, Hits]) -> dict[tuple[int, str, str], Path]:
    return {
        (size, coding, traffic): hits[size].script(folder / f"{number}.lua", coding, TRAFFIC[traffic])
        for number, (size, coding, traffic) in enumerate(_cases())
    }


def _ask(contender: Contender, case: Case, seconds: int, cores: Cores) -> Measurement:
    asked = contender.proxy if TRAFFIC[case.traffic].is_proxied else contender.server
    return load(
        asked.address,
        seconds=seconds,
        cores=cores.load,
        script=contender.scripts[case.size, case.coding, case.traffic],
        size=case.bytes,
    )


def _nginx(rows: Sequence[Row], row: Row) -> Measurement:
    return next(one.middle for one in rows if one.case == row.case and one.name == NGINX)


def _cells(row: Row, nginx: Measurement) -> list[str]:
    return [
        row.name,
        str(row.case),
        f"{row.case.bytes / 1000:.1f}",
        f"{row.middle.rate:,.0f}",
        f"{row.middle.p50:.2f}",
        f"{row.middle.p99:.2f}",
        f"{row.cpu:.0f}",
        f"{row.middle.rate / nginx.rate:.2f}",
        f"{row.middle.p99 / nginx.p99:.1f}",
    ]
