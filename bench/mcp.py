"""MCP: a cached page over /mcp beside the same page over POST /fetch, idle clients, and a cold start.

CPU is the server's own, by the clock of its process. All ways are asked in turn, in many short rounds, each
beginning with another way; one request after the other on a kept connection. A ratio compares two ways within
one round, which a busy machine slows alike; the median of the rounds is shown, with the quartiles. The start
is what `gossamer mcp` takes until `initialize` is answered.
"""

import argparse
import http.client
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from bench import servers
from bench.servers import Server
from bench.table import Machine, save, table, this_machine

SESSIONS: Final = 200
STARTS: Final = 5
WARM_UP: Final = 100  # requests
MODERN: Final = "2026-07-28"
WORDS: Final = b"<!doctype html><title>Silk</title><main><h1>Silk</h1>" + b"<p>Orb weavers spin. " * 400
_META: Final = "io.modelcontextprotocol"


@dataclass(frozen=True, slots=True)
class Way:
    """How a page is asked for."""

    name: str
    path: str
    body: Any
    headers: Mapping[str, str]


def main() -> None:
    options = _options()
    servers.stop_when_terminated()
    key = "sk_live_" + secrets.token_hex(16)
    with TemporaryDirectory(prefix="gossamer-bench-") as scratch, ExitStack() as stack:
        folder = Path(scratch)
        page = stack.enter_context(_page(folder))
        server = stack.enter_context(servers.gossamer(folder, _settings(key)))
        costs = measure(server, _ways(page.address + "/page.html", key), options.rounds, options.requests)
        before, after = open_sessions(server, key)
    starts = sorted(_start() for _ in range(STARTS))
    machine = this_machine()
    text = report(machine, costs, (before, after), starts, options)
    print(text)
    medians = {name: median(found) for name, found in costs.items()}
    found = {
        "milliseconds": medians,
        "ratios": ratios(costs),
        "memory": [before, after],
        "initialize": [asdict(one) for one in starts],
    }
    save("mcp", machine, text, {"rounds": options.rounds, "requests": options.requests, **found})


def _page(folder: Path) -> Any:
    served = folder / "served"
    served.mkdir()
    (served / "page.html").write_bytes(WORDS)
    port = servers.free_port()
    command = [
        sys.executable,
        "-m",
        "http.server",
        str(port),
        "--bind",
        "127.0.0.1",
        "--directory",
        str(served),
    ]
    return servers.running(command, port=port, ready="/page.html", folder=folder)


def _settings(key: str) -> dict[str, str]:
    unlimited = ("LIMIT_ADMIN", "LIMIT_HITS_PRO", "LIMIT_HITS_ENTERPRISE", "LIMIT_CONTROL_PRO")
    return {
        "GOSSAMER_BOOTSTRAP_KEY": key,
        "GOSSAMER_EGRESS_ALLOW": "127.0.0.1/32",
        "GOSSAMER_EGRESS_PORTS": "*",
        "GOSSAMER_ACCESS_LOG": "false",
        **{f"GOSSAMER_{name}": "1000000000/1" for name in unlimited},
    }


def _ways(url: str, key: str) -> list[Way]:
    caller = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    asked = {"url": url, "render": "auto", "maxTokens": 8_000}
    call = {"name": "fetch", "arguments": asked}
    envelope = {f"{_META}/protocolVersion": MODERN, f"{_META}/clientCapabilities": {}}
    modern = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "fetch"}
    return [
        Way("POST /fetch", "/fetch", {**asked, "formats": ["llm"], "cache": True}, caller),
        Way("MCP, 2025-11-25", "/mcp", _message(call), {**caller, "MCP-Protocol-Version": "2025-11-25"}),
        Way(f"MCP, {MODERN}", "/mcp", _message({**call, "_meta": envelope}), {**caller, **modern}),
    ]


def _message(params: dict[str, Any], method: str = "tools/call") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def measure(server: Server, ways: list[Way], rounds: int, requests: int) -> dict[str, list[float]]:
    """Milliseconds of the server's CPU for one answer, in each round."""
    found: dict[str, list[float]] = {way.name: [] for way in ways}
    with closing(http.client.HTTPConnection(server.address.removeprefix("http://"))) as connection:
        for way in ways:  # warms up
            _ask(server, connection, way, WARM_UP)
        for turn in range(rounds):
            first = turn % len(ways)
            for way in ways[first:] + ways[:first]:
                found[way.name].append(_ask(server, connection, way, requests))
    return found


def _ask(server: Server, connection: http.client.HTTPConnection, way: Way, requests: int) -> float:
    body = msgspec.json.encode(way.body)
    before = _cpu(server.pid)
    for _ in range(requests):
        connection.request("POST", way.path, body, dict(way.headers))
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200 or b"Orb weavers" not in said:
            raise servers.StartError(f"{way.name}: {answer.status} {said[:300]!r}")
    return (_cpu(server.pid) - before) / requests * 1000


def _cpu(pid: int) -> float:
    """Seconds that a process has used, with those of threads that have ended."""
    return time.clock_gettime((~pid << 3) | 2)  # as the kernel names the clock of another process


def open_sessions(server: Server, key: str) -> tuple[int, int]:
    """Bytes of memory before and with idle clients, each on a connection of its own."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    before, kept = server.resident(), []
    for _ in range(SESSIONS):
        connection = http.client.HTTPConnection(server.address.removeprefix("http://"))
        for message in (_message(hello, "initialize"), _message({}, "tools/list")):
            connection.request("POST", "/mcp", msgspec.json.encode(message), headers)
            connection.getresponse().read()
        kept.append(connection)
    after = server.resident()
    for connection in kept:
        connection.close()
    return before, after


@dataclass(frozen=True, slots=True, order=True)
class StartCost:
    """What `gossamer mcp` takes to its first answer."""

    cpu_seconds: float
    seconds: float


def _start() -> StartCost:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    with TemporaryDirectory() as folder:
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "gossamer", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "GOSSAMER_DATA_DIR": folder},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(_message(hello, "initialize")) + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        cost = StartCost(_cpu(process.pid), time.perf_counter() - began)
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
    return cost


def ratios(costs: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """The quartiles of what each way costs beside the first one, in the same round."""
    first = next(iter(costs.values()))
    return {
        name: quantiles([cost / plain for cost, plain in zip(found, first, strict=True)])
        for name, found in costs.items()
    }


def report(
    machine: Machine,
    costs: Mapping[str, list[float]],
    memory: tuple[int, int],
    starts: list[StartCost],
    options: argparse.Namespace,
) -> str:
    rows = [
        [name, f"{median(costs[name]):.3f}", f"{middle:.2f}", f"{low:.2f} to {high:.2f}"]
        for name, (low, middle, high) in ratios(costs).items()
    ]
    cached = table(["a cached page", "CPU ms", "CPU / POST /fetch", "quartiles"], rows)
    before, after = (size / 1e6 for size in memory)
    other = table(
        ["cost", "value"],
        [
            [f"memory of {SESSIONS} idle clients", f"{after - before:.1f} MB"],
            ["first answer of gossamer mcp, CPU", f"{median(one.cpu_seconds for one in starts):.2f} s"],
            ["first answer of gossamer mcp, shortest time", f"{min(one.seconds for one in starts):.2f} s"],
        ],
    )
    how = f"median of {options.rounds} rounds of {options.requests} requests; load {os.getloadavg()[0]:.0f}"
    return f"# MCP\n\n{machine}; {how}\n\n{cached}\n\n{other}\n"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench mcp", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--requests", type=int, default=10, help="per round and way")
    return parser.parse_args()


if __name__ == "__main__":
    main()
