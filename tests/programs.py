"""Programs that a test starts and waits for, other people's clients among them."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
SECONDS: Final = 120.0


@dataclass(frozen=True)
class Run:
    """What a program has printed, and how it ended."""

    said: str
    errors: str
    code: int

    def json(self) -> Any:
        """All that it printed."""
        assert self.code == 0, self.errors
        return json.loads(self.said)

    def last_json(self) -> Any:
        """What it printed last."""
        assert self.code == 0, self.errors
        return json.loads(self.said.splitlines()[-1])


def usual_environ(**more: str) -> dict[str, str]:
    """Ours, without what would change how Python and Node run."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("NODE_", "PYTHON"))}
    return {**known, **more}


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
