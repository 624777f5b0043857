"""Hot hits through `gossamer serve` as fast as they are answered, beside nginx serving the same file."""

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
from bench.cache_settings import new_key, settings
from bench.contenders import usage
from bench.load import CONNECTIONS, Measurement, load, middle
from bench.servers import Cores, Server
from bench.table import table

CODINGS: Final = {"identity": {}, "gzip": {"Accept-Encoding": "gzip"}}
NGINX: Final = "nginx, static file"
# fmt: off
COLUMNS: Final = (
    "hot hits", "page", "kB sent", "per second", "p50 ms", "p99 ms", "CPU µs", "rate / nginx", "p99 / nginx",
)
# fmt: on
RENDER: Final = """wrk.method = "POST"
wrk.path = "/api/render"
wrk.body = '{body}'
wrk.headers["Authorization"] = "Bearer {key}"
wrk.headers["Content-Type"] = "application/json"
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One page in one coding."""

    size: int
    coding: str
    bytes: int  # as it is sent

    def __str__(self) -> str:
        return f"{self.size // 1000} kB, {self.coding}"


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    server: Server
    scripts: Mapping[int, Path]  # by size; none is a GET of the file


@dataclass(frozen=True, slots=True)
class Row:
    case: Case
    name: str
    middle: Measurement
    cpu: float  # microseconds of the server's processor for a hit
    rounds: tuple[Measurement, ...]


def measure(scratch: Path, origin: Server, cores: Cores, rounds: int, seconds: int) -> list[Row]:
    rows = []
    with ExitStack() as stack:
        contenders, cases = start(stack, scratch, origin, cores)
        for case in cases:
            for one in contenders:
                _ask(one, case, 1, cores)  # to warm up
            found = [_turn(contenders, case, seconds, cores) for _ in range(rounds)]
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
    ready = f"/{cache_pages.SIZES[0]}.html"
    nginx = stack.enter_context(site.serving(files, ready=ready, cores=cores.server))
    cases = [
        Case(size, coding, (files / f"{size}.html{'.gz' if coding == 'gzip' else ''}").stat().st_size)
        for size in cache_pages.SIZES
        for coding in CODINGS
    ]
    return [Contender(NGINX, nginx, {}), *ours], cases


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
    scripts = {}
    for size in cache_pages.SIZES:
        url = origin.address + cache_pages.path(size, 1)
        wait = json.dumps({"url": url, "wait": 60}).encode()
        body = json.dumps({"url": url})
        Caller(server.address, caller).ask(Request("POST", "/api/render", wait, cache="MISS"))
        hit = Request("POST", "/api/render", body.encode(), cache="HIT")
        (files / f"{size}.html").write_bytes(Caller(server.address, caller).ask(hit))
        compressed = Caller(server.address, {**caller, **CODINGS["gzip"]}).ask(hit)
        (files / f"{size}.html.gz").write_bytes(compressed)
        scripts[size] = folder / f"{size}.lua"
        scripts[size].write_text(RENDER.format(body=body, key=key))
    return Contender(name, server, scripts)


def _ask(contender: Contender, case: Case, seconds: int, cores: Cores) -> Measurement:
    return load(
        f"{contender.server.address}/{case.size}.html",
        seconds=seconds,
        headers=CODINGS[case.coding],
        cores=cores.load,
        script=contender.scripts.get(case.size),
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
