"""A rolling upgrade: an installation of an older commit becomes one of this tree, while everybody works on.

Two servers and a worker of the older commit stand behind nginx, with the file of `deploy/`, on PostgreSQL and
Valkey. The schema is migrated by the new code, then the processes are replaced one after the other, as an
operator does it: SIGTERM, and the new one on the same port. No request may fail and no job may be lost.
"""

import argparse
import asyncio
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

from gossamer.state.db.database import HEAD
from tests.deploy.proxies import HOST, NginxFile
from tests.doors.services import AS_ADMIN
from tests.servers.postgres import TEMPLATE, PostgresServer
from tests.servers.valkey import Valkey
from tests.site.server import Site
from tests.soak.installation import CONNECTIONS, GossamerProcess, Server, Worker, settings_environment

ROOT: Final = Path(__file__).parents[2]
DATABASE: Final = "src/gossamer/state/db/database.py"
CALLERS: Final = 6
PAUSE: Final = 0.1  # seconds between two requests of a caller
BATCH: Final = 3  # pages
SECONDS: Final = 60.0
JUDGE_SECONDS: Final = 120.0


@dataclass
class Upgrade:
    """What was asked meanwhile, and what came of it."""

    sent: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    jobs: dict[str, str] = field(default_factory=dict)  # job id → batch id
    steps: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def complaints(self) -> list[str]:
        return [*self.failed, *(f"{job} is lost" for job in self.lost)]

    def __str__(self) -> str:
        asked = ", ".join(f"{count} {kind}" for kind, count in sorted(self.sent.items()))
        told = "\n".join(self.complaints[:40]) or "No request failed, no job was lost."
        steps = "\n".join(f"  {step}" for step in self.steps)
        return f"{steps}\n{asked}; {len(self.jobs)} jobs put, {len(self.lost)} lost\n{told}"


class Callers:
    """Ask through the proxy, one after the other, until they are told to stop."""

    def __init__(self, client: httpx.AsyncClient, site: Site, upgrade: Upgrade) -> None:
        self._client = client
        self._site = site
        self._upgrade = upgrade
        self._numbers = itertools.count()

    async def call(self, stop: asyncio.Event) -> None:
        kinds = itertools.cycle((self._cached, self._put, self._cached, self._read))
        for kind in kinds:
            if stop.is_set():
                return
            await kind()
            await asyncio.sleep(PAUSE)

    async def _cached(self) -> None:
        body = {"url": self._site.url("/ok?cached"), "cache": True}
        answer = await self._ask("fetch", "POST", "/fetch", (200,), json=body)
        if answer is not None and answer.json()["outcome"] != "ok":
            self._upgrade.failed.append(f"fetch: {answer.text[:200]}")

    async def _put(self) -> None:
        number = next(self._numbers)
        body = {"urls": [self._site.url(f"/ok?batch={number}-{page}") for page in range(BATCH)]}
        headers = {"Idempotency-Key": f"upgrade-{number}"}
        answer = await self._ask("put", "POST", "/batch/fetch", (202,), json=body, headers=headers)
        if answer is not None:
            self._upgrade.jobs[answer.json()["jobId"]] = answer.json()["batchId"]

    async def _read(self) -> None:
        if self._upgrade.jobs:
            job = list(self._upgrade.jobs)[-1]
            await self._ask("read", "GET", f"/api/jobs/{job}", (200,))

    async def _ask(
        self, kind: str, method: str, path: str, statuses: tuple[int, ...], **more: Any
    ) -> httpx.Response | None:
        self._upgrade.sent[kind] += 1
        try:
            answer = await self._client.request(method, path, **more)
        except httpx.HTTPError as error:
            self._upgrade.failed.append(f"{kind}: {type(error).__name__} {error}")
            return None
        if answer.status_code not in statuses:
            self._upgrade.failed.append(f"{kind}: {answer.status_code} {answer.text[:300]}")
            return None
        return answer


async def upgrade(folder: Path, old: Path, new: Path, calm: float) -> Upgrade:
    done = Upgrade()
    with ExitStack() as stack:
        site = Site(folder)
        site.start()
        stack.callback(site.stop)
        settings = _stores(folder, stack)
        kinds: list[tuple[type[GossamerProcess], str]] = [
            (Server, "server-1"), (Server, "server-2"), (Worker, "worker"),
        ]  # fmt: skip
        processes = [_process(kind, name, folder, settings, old, stack) for kind, name in kinds]
        for process in processes:
            await asyncio.to_thread(process.start)
        proxy_folder = folder / "proxy"
        proxy_folder.mkdir()
        proxy = NginxFile(proxy_folder, [processes[0].port, processes[1].port])
        stack.callback(proxy.kill)
        proxy.start()
        async with httpx.AsyncClient(
            base_url=f"https://127.0.0.1:{proxy.port}",
            verify=proxy.trust,
            headers={**AS_ADMIN, "Host": HOST},
            timeout=SECONDS,
        ) as client:
            stop = asyncio.Event()
            callers = Callers(client, site, done)
            calling = [asyncio.create_task(callers.call(stop)) for _ in range(CALLERS)]
            await asyncio.sleep(calm)
            await _step(done, "migrate", asyncio.to_thread(_migrate, new, settings))
            for process in processes:
                await asyncio.sleep(calm)
                await _step(done, f"replace {process.name}", asyncio.to_thread(_replace, process, new))
            await asyncio.sleep(calm)
            stop.set()
            await asyncio.gather(*calling)
            done.lost = await _unfinished(client, done.jobs)
    return done


async def _step(done: Upgrade, name: str, work: Any) -> None:
    began, before = time.monotonic(), sum(done.sent.values())
    said = await work
    asked = sum(done.sent.values()) - before
    done.steps.append(f"{name}: {time.monotonic() - began:.1f} s, {asked} requests meanwhile{said or ''}")
    print(done.steps[-1], flush=True)


async def _unfinished(client: httpx.AsyncClient, jobs: Mapping[str, str]) -> list[str]:
    """The jobs that were acknowledged and do not end, or end without all their pages."""
    lost: list[str] = []
    deadline = time.monotonic() + JUDGE_SECONDS
    for job, batch in jobs.items():
        while (state := (await client.get(f"/api/jobs/{job}")).json().get("status")) in ("queued", "running"):
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(0.2)
        found = (await client.get(f"/batch/fetch/{batch}")).json()
        if state != "done" or found.get("ok") != BATCH:
            lost.append(f"{job} ({state}, {found.get('ok')} of {BATCH} pages)")
    return lost


def _stores(folder: Path, stack: ExitStack) -> dict[str, str]:
    postgres, valkey = PostgresServer(CONNECTIONS), Valkey(folder)
    stack.callback(postgres.remove)
    stack.callback(valkey.kill)
    valkey.start()
    postgres.start()
    postgres.sql(f"CREATE DATABASE {TEMPLATE}")
    return settings_environment(
        {
            "DATABASE_URL": postgres.url_of(TEMPLATE),
            "REDIS_URL": valkey.url,
            "DATA_DIR": str(folder / "data"),
            "TRUSTED_PROXIES": "127.0.0.1",
            "PUBLIC_URL": f"https://{HOST}",
        }
    )


def _process(
    kind: type[GossamerProcess],
    name: str,
    folder: Path,
    settings: Mapping[str, str],
    tree: Path,
    stack: ExitStack,
) -> GossamerProcess:
    process = kind(name, folder / name, {**settings, **_code(tree)})
    stack.callback(process.kill)
    return process


def _replace(process: GossamerProcess, new: Path) -> str:
    """As an operator does: the old one drains, and the new one begins where it was."""
    status = process.terminate()
    process.take_over(_code(new))
    process.start()
    return "" if status == 0 else f"; the old one ended with {status}"


def _migrate(new: Path, settings: Mapping[str, str]) -> str:
    command = [sys.executable, "-m", "gossamer", "migrate"]
    environ = {**os.environ, **settings, **_code(new)}
    said = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    return f"; {said.stdout.splitlines()[0]}"


def _code(tree: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(tree / "src")}


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def find_reference() -> str:
    """The last commit whose schema has another revision than this tree's; else the one before."""
    brought = ""  # the commit that brought this tree's revision, as far as is known
    for commit in _git("log", "--format=%H", "--", DATABASE).split():
        found = re.search(r'(?m)^HEAD: Final = "(\w+)"', _git("show", f"{commit}:{DATABASE}"))
        if found is None or found[1] != HEAD:
            break
        brought = commit
    return f"{brought or 'HEAD'}~1"


@contextmanager
def checked_out(reference: str, folder: Path) -> Iterator[Path]:
    tree = folder / "old"
    _git("worktree", "add", "--quiet", "--detach", str(tree), reference)
    try:
        yield tree
    finally:
        _git("worktree", "remove", "--force", str(tree))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/soak upgrade", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "reference", nargs="?", help="the older commit; else the last one with another schema"
    )
    parser.add_argument("--calm", type=float, default=5.0, help="seconds between two steps")
    options = parser.parse_args()
    reference = _git("rev-parse", "--short", options.reference or find_reference())
    print(f"from {reference} to this tree ({HEAD})", flush=True)
    with tempfile.TemporaryDirectory(prefix="gossamer-soak-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with checked_out(reference, folder) as old:
            done = asyncio.run(upgrade(folder, old, ROOT, options.calm))
    print(done, flush=True)
    sys.exit(1 if done.complaints else 0)


if __name__ == "__main__":
    main()
