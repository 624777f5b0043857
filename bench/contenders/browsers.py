"""Gossamer's pool of browsers as the server has it: a context for each page, every fence up."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.contenders.chromium import DEADLINE
from bench.contenders.rendered import keep
from bench.contenders.worker import ReadAsync, serve_tasks
from gossamer import __version__
from gossamer.app import Service
from gossamer.doors.cli import quiet_log
from gossamer.problems import Problem
from gossamer.reach.page.visit import Visit
from gossamer.settings.settings import Settings
from gossamer.web.url.url import Url


@asynccontextmanager
async def reader() -> AsyncIterator[ReadAsync]:
    settings = Settings.load(os.environ, None, {"data_dir": Path.cwd()})
    async with Service(settings, quiet_log(settings)) as service:

        async def read(url: str) -> str:
            try:
                rendered = await service.browsers.visit(Visit(url=Url.parse(url), timeout=DEADLINE))
                html = rendered.page.body.decode() if rendered.page.status == 200 else ""
            except Problem:
                html = ""  # it failed
            keep(url, html)
            return html

        yield read


if __name__ == "__main__":
    serve_tasks(__version__, reader())
