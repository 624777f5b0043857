"""Runs a command that needs the database, and nothing else."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from gossamer.doors.cli import Build, load, quiet_log
from gossamer.doors.cli.shared.service import CommandService

T = TypeVar("T")
WHERE = ("data_dir", "database_url", "redis_url")


def run_on_data(build: Build, /, flags: dict[str, Any], work: Callable[[CommandService], Awaitable[T]]) -> T:
    """For what is stored already: no first key is created."""

    async def inside() -> T:
        settings = load(flags)
        service = build(settings, quiet_log(settings))
        try:
            await service.database.migrate()
            return await work(service)
        finally:
            await service.close()

    return asyncio.run(inside())


def run_with(build: Build, /, flags: dict[str, Any], work: Callable[[CommandService], Awaitable[T]]) -> T:
    async def inside() -> T:
        settings = load(flags)
        service = build(settings, quiet_log(settings))
        try:
            await service.prepare()
            return await work(service)
        finally:
            await service.close()

    return asyncio.run(inside())
