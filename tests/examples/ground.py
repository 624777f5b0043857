"""Runs examples as people run them, at one server for all of them."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.doors.services import ADMIN_KEY

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples"
SECONDS: Final = 90.0
HERE: Final = {  # for those that need no server
    "GOSSAMER_EGRESS_ALLOW": "127.0.0.1/32",
    "GOSSAMER_EGRESS_PORTS": "*",
    "GOSSAMER_CRAWL_DELAY": "0",
    "GOSSAMER_LOG_LEVEL": "error",
}


@dataclass(frozen=True)
class Run:
    """What a program has printed, and how it ended."""

    said: str
    errors: str
    code: int


def environment(folder: Path, server: str = "") -> dict[str, str]:
    """Of a program, in which nothing is set by accident."""
    named = {"GOSSAMER_SERVER": server, "GOSSAMER_KEY": ADMIN_KEY} if server else HERE
    passed = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**passed, "PYTHONPATH": str(ROOT / "src"), "GOSSAMER_DATA_DIR": str(folder), **named}


@asynccontextmanager
async def started(
    environ: Mapping[str, str], *command: str | Path, folder: Path = ROOT
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        cwd=folder,
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def run(environ: Mapping[str, str], *command: str | Path, folder: Path = ROOT) -> Run:
    async with started(environ, *command, folder=folder) as process, asyncio.timeout(SECONDS):
        said, errors = await process.communicate()
    assert process.returncode is not None
    return Run(said.decode(), errors.decode(), process.returncode)


async def run_example(
    environ: Mapping[str, str], name: str, *arguments: str | Path, python: Path | None = None
) -> Run:
    return await run(environ, python or sys.executable, EXAMPLES / name, *arguments)
