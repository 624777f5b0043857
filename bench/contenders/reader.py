"""Gossamer in process: the reader that every door uses, without a door."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.contenders.worker import ReadAsync, serve_tasks
from gossamer import __version__
from gossamer.app import Service
from gossamer.doors.cli import quiet_log
from gossamer.flows.tenants.admit import NOBODY
from gossamer.settings.settings import Settings
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.page_request import PageRequest


@asynccontextmanager
async def reader() -> AsyncIterator[ReadAsync]:
    settings = Settings.load(os.environ, None, {"data_dir": Path.cwd()})
    service = Service(settings, quiet_log(settings))

    async def read(url: str) -> str:
        found = await service.reader.read(PageRequest(url), NOBODY)
        if found.status != 200:
            raise RuntimeError(f"{url} answered {found.status}")
        return (found.markdown or "") if found.outcome is Outcome.OK else ""

    try:
        yield read
    finally:
        await service.close()


if __name__ == "__main__":
    serve_tasks(__version__, reader())
