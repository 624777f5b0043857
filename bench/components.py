"""Our own HTTP client, Redis client, HTTP layers and settings, each beside the library it stands in for.

Each contender is a process of its own on one core, and all take turns, round after round; each number is the
median of its rounds. The peers are tuned as their manuals advise, and all run on uvloop.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from bench import servers
from bench.contenders.peers import PeerError, python_with
from bench.servers import Cores
from bench.table import Machine, save, table, this_machine

PAGE: Final = b'{"text":"' + b"Orb weavers. " * 1_500 + b'"}\n'  # 20 kB
PACKAGES: Final = ("fastapi", "aiohttp", "httpx", "redis[hiredis]", "pydantic-settings", "uvloop")
GLIDE_PACKAGES: Final = ("valkey-glide", "uvloop")
OWN, PEERS = "bench.contenders.own_components", "bench.contenders.peer_components"
GLIDE: Final = "bench.contenders.glide_client"
LOAD_SETTINGS: Final = """import time; started = time.process_time()
from gossamer.settings.settings import Settings
Settings.load({"GOSSAMER_PORT": "80"})
print((time.process_time() - started) * 1e6)"""
# As many settings as ours has, of the same simple types.
LOAD_PEER_SETTINGS: Final = """import os, time; os.environ["APP_N0"] = "80"; started = time.process_time()
from pydantic_settings import BaseSettings, SettingsConfigDict
kinds = [(int, 1), (str, ""), (float, 1.0), (bool, True)]
fields = {{f"n{{i}}": kinds[i % 4] for i in range({count})}}
space = {{"__annotations__": {{name: kind for name, (kind, _) in fields.items()}},
         **{{name: default for name, (_, default) in fields.items()}},
         "model_config": SettingsConfigDict(env_prefix="APP_", env_file=".env"), "__module__": "__main__"}}
type("Settings", (BaseSettings,), space)()
print((time.process_time() - started) * 1e6)"""


@dataclass(frozen=True, slots=True)
class Contender:
    component: str
    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    component: str
    name: str
    microseconds: float
    rounds: tuple[float, ...]


def main() -> None:
    options = _options()
    servers.stop_when_terminated()
    machine, cores = this_machine(), servers.share_cores()
    with TemporaryDirectory(prefix="gossamer-bench-") as scratch, ExitStack() as stack:
        try:
            peers, glide = str(python_with(*PACKAGES)), str(python_with(*GLIDE_PACKAGES))
        except PeerError as error:
            sys.exit(f"bench: the peers cannot be installed: {error}")
        contenders = start(stack, Path(scratch), cores, peers, glide, options.calls)
        rows = measure(contenders, options.rounds, cores)
    text = report(machine, rows, options)
    print(text)
    save("components", machine, text, {"rounds": options.rounds, "rows": [asdict(row) for row in rows]})


def start(
    stack: ExitStack, scratch: Path, cores: Cores, peers: str, glide: str, calls: int
) -> list[Contender]:
    from gossamer.settings.settings import declarations

    page = stack.enter_context(servers.nginx(scratch, PAGE, cores=cores.load)).address
    valkey = stack.enter_context(servers.valkey())
    ours, theirs, count = (sys.executable, "-m", OWN), (peers, "-m", PEERS), str(calls)
    glides = (glide, "-m", GLIDE)
    http = "HTTP client: a page of 20 kB"
    read, script = "Redis client: a read", "Redis client: a script"
    route, settings = "HTTP layers: GET /api/me", "Settings: import and load"
    peer_settings = LOAD_PEER_SETTINGS.format(count=len(declarations()))
    return [
        Contender(http, "Gossamer", (*ours, "http", page, count)),
        Contender(http, "aiohttp", (*theirs, "aiohttp", page, count)),
        Contender(http, "httpx", (*theirs, "httpx", page, count)),
        Contender(read, "Gossamer", (*ours, "read", valkey, count)),
        Contender(read, "redis-py", (*theirs, "redis-read", valkey, count)),
        Contender(read, "valkey-glide", (*glides, "read", valkey, count)),
        Contender(script, "Gossamer", (*ours, "script", valkey, count)),
        Contender(script, "redis-py", (*theirs, "redis-script", valkey, count)),
        Contender(script, "valkey-glide", (*glides, "script", valkey, count)),
        Contender(route, "Gossamer, all layers", (*ours, "route", "", count)),
        Contender(route, "FastAPI, key only", (*theirs, "fastapi", "", count)),
        Contender(route, "FastAPI, four layers", (*theirs, "fastapi-layers", "", count)),
        Contender(settings, "Gossamer", (sys.executable, "-c", LOAD_SETTINGS)),
        Contender(settings, "pydantic-settings", (peers, "-c", peer_settings)),
    ]


def measure(contenders: Sequence[Contender], rounds: int, cores: Cores) -> list[Row]:
    found: list[list[float]] = [[] for _ in contenders]
    for turn in range(rounds):
        for contender, times in zip(contenders, found, strict=True):
            times.append(_run(contender, cores))
            servers.say(f"round {turn + 1}: {contender.component}: {contender.name}: {times[-1]:,.1f} µs")
    return [
        Row(one.component, one.name, round(median(times), 1), tuple(round(each, 1) for each in times))
        for one, times in zip(contenders, found, strict=True)
    ]


def report(machine: Machine, rows: Sequence[Row], options: argparse.Namespace) -> str:
    times = table(
        ["component", "contender", "µs", "µs / ours"],
        [[row.component, row.name, f"{row.microseconds:,.1f}", f"{_ratio(rows, row):.1f}"] for row in rows],
    )
    how = (
        f"CPU µs of a call, {options.calls:,} calls with 8 at once; for settings, of one import and load; "
        f"median of {options.rounds} rounds"
    )
    return f"# Components\n\n{machine}; {how}\n\n{times}\n"


def _run(contender: Contender, cores: Cores) -> float:
    pinned = ("taskset", "-c", cores.server) if cores.server else ()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    done = subprocess.run(
        [*pinned, *contender.command], cwd=servers.ROOT, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"bench: {contender.name} failed: {done.stderr.strip()[-2000:]}")
    return float(json.loads(done.stdout))


def _ratio(rows: Sequence[Row], row: Row) -> float:
    ours = next(one for one in rows if one.component == row.component)
    return row.microseconds / ours.microseconds


def _options() -> argparse.Namespace:
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="scripts/bench components", description=summary)
    parser.add_argument("--calls", type=int, default=8_000, help="of each contender in a round")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
