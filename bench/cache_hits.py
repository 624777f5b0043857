"""Hot hits through `gossamer serve` as fast as they are answered, beside nginx serving the same files.

Equal requests have the same bytes each time, as a load generator sends them. Varied ones are what a proxy
sends: several pages, keys and robots, each request with an address, a trace and an id of its own.
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
from bench.cache_settings import new_key, settings
from bench.contenders import usage
from bench.load import CONNECTIONS, Measurement, load, middle
from bench.servers import Cores, Server
from bench.table import table

CODINGS: Final[dict[str, dict[str, str]]] = {"identity": {}, "gzip": {"Accept-Encoding": "gzip"}}
EQUAL: Final = "equal"
TRAFFIC: Final = (EQUAL, "varied")
NGINX: Final = "nginx, static file"
# fmt: off
COLUMNS: Final = (
    "hot hits", "page", "kB sent", "per second", "p50 ms", "p99 ms", "CPU µs", "rate / nginx", "p99 / nginx",
)
# fmt: on
PAGES: Final = 8  # of each size
KEYS: Final = 4
PAGE_NUMBERS: Final = range(1, PAGES + 1)
VARIED: Final = 1_999  # different requests, which are sent in turn
ROBOTS: Final = (
    "Googlebot/2.1",
    "bingbot/2.0",
    "GPTBot/1.2",
    "ClaudeBot/1.0",
    "PerplexityBot/1.0",
    "Applebot/0.1",
)
# Requests are made before the load begins, so that making them takes no time of it.
REQUESTS: Final = """local requests = {}
function init(args)
  math.randomseed(7)
  for number = 1, %(number)d do
    local headers = %(headers)s
    if %(varied)s then
      headers["User-Agent"] = "Mozilla/5.0 (compatible; " .. %(robots)s[number %% %(robot_count)d + 1] .. ")"
      headers["X-Forwarded-For"] = string.format("198.51.100.%%d, 192.0.2.%%d", number %% 250, number %% 7)
      headers["X-Request-Id"] = string.format("%%08x%%08x", math.random(0, 2^31), math.random(0, 2^31))
      headers["traceparent"] = string.format("00-%%08x%%08x%%08x%%08x-%%08x%%08x-01", math.random(0, 2^31),
        math.random(0, 2^31), math.random(0, 2^31), number, math.random(0, 2^31), number)
    end
    local path, body = %(paths)s, %(bodies)s
    headers["Authorization"] = %(keys)s
    requests[number] = wrk.format(%(method)s, path, headers, body)
  end
end
local sent = 0
function request()
  sent = sent + 1
  return requests[sent %% #requests + 1]
end
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One page in one coding."""

    size: int
    coding: str
    bytes: int  # as it is sent
    traffic: str = EQUAL

    def __str__(self) -> str:
        return f"{self.size // 1000} kB, {self.coding}, {self.traffic}"


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    server: Server
    scripts: Mapping[tuple[int, str, str], Path]  # by size, coding and traffic


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
    ready = f"/{cache_pages.SIZES[0]}-1.html"
    nginx = stack.enter_context(site.serving(files, ready=ready, cores=cores.server))
    cases = [
        Case(
            size,
            coding,
            (files / f"{size}-1.html{'.gz' if coding == 'gzip' else ''}").stat().st_size,
            traffic,
        )
        for size in cache_pages.SIZES
        for coding in CODINGS
        for traffic in TRAFFIC
    ]
    scripts = {
        case: _script(
            scratch,
            f"nginx-{number}",
            case[1],
            case[2],
            "GET",
            [(f"/{case[0]}-{page}.html", "") for page in PAGE_NUMBERS],
            [""],
        )
        for number, case in enumerate(_cases())
    }
    return [Contender(NGINX, nginx, scripts), *ours], cases


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
    scripts = {
        case: _script(folder, f"hits-{number}", case[1], case[2], "POST", bodies[case[0]], keys)
        for number, case in enumerate(_cases())
    }
    return Contender(name, server, scripts)


def _cases() -> list[tuple[int, str, str]]:
    return [
        (size, coding, traffic) for size in cache_pages.SIZES for coding in CODINGS for traffic in TRAFFIC
    ]


def _script(
    folder: Path,
    name: str,
    coding: str,
    traffic: str,
    method: str,
    targets: Sequence[tuple[str, str]],
    keys: Sequence[str],
) -> Path:
    """What wrk sends: paths and bodies, and keys, in turn if the traffic is varied."""
    varied = traffic != EQUAL
    targets, keys = (targets, keys) if varied else (targets[:1], keys[:1])

    def in_turn(values: Sequence[str]) -> str:
        return f"({_lua(values)})[number % {len(values)} + 1]"

    headers = dict(CODINGS[coding]) | ({"Content-Type": "application/json"} if method == "POST" else {})
    path = folder / f"{name}.lua"
    path.write_text(
        REQUESTS
        % {
            "number": VARIED if varied else 1,
            "varied": str(varied).lower(),
            "headers": "{"
            + ", ".join(f"[{json.dumps(name)}] = {json.dumps(value)}" for name, value in headers.items())
            + "}",
            "robots": f"({_lua(ROBOTS)})",
            "robot_count": len(ROBOTS),
            "paths": in_turn([path for path, _ in targets]),
            "bodies": in_turn([body for _, body in targets]) if method == "POST" else "nil",
            "keys": in_turn([f"Bearer {key}" for key in keys]),
            "method": json.dumps(method),
        }
    )
    return path


def _lua(values: Sequence[str]) -> str:
    return "{" + ", ".join(json.dumps(value) for value in values) + "}"


def _ask(contender: Contender, case: Case, seconds: int, cores: Cores) -> Measurement:
    return load(
        contender.server.address,
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
