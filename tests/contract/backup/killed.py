"""Backs up, restores or moves in a process of its own, which kills itself when a line begins as told."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable

from gossamer.flows.data.backup.back_up import BackupMaker
from gossamer.flows.data.backup.move import Mover
from gossamer.flows.data.backup.restore import Restorer
from gossamer.state.backup.backup_place import open_place
from gossamer.state.blobs.blobs import open_blobs
from gossamer.state.db.database import open_database
from gossamer.state.kv.hot_memory import MemoryHot

WORK, FATAL, PLACE, SOURCE, SOURCE_BLOBS, TARGET, TARGET_BLOBS = sys.argv[1:]


def report(line: str) -> None:
    if line.startswith(FATAL):
        os.kill(os.getpid(), signal.SIGKILL)


async def back_up() -> None:
    place = await open_place(PLACE, "", {}, create=True)
    source, blobs = open_database(SOURCE), open_blobs(SOURCE_BLOBS, {})
    await BackupMaker(database=source, database_url=SOURCE, blobs=blobs, place=place, report=report).run()


async def restore() -> None:
    place = await open_place(PLACE, "", {})
    target, blobs = open_database(TARGET), open_blobs(TARGET_BLOBS, {})
    restorer = Restorer(
        database=target, database_url=TARGET, blobs=blobs, hot=MemoryHot(), place=place, report=report
    )
    await restorer.run(await place.newest())


async def move() -> None:
    mover = Mover(
        source=open_database(SOURCE),
        source_url=SOURCE,
        target=open_database(TARGET),
        target_url=TARGET,
        blobs=open_blobs(SOURCE_BLOBS, {}),
        target_blobs=open_blobs(TARGET_BLOBS, {}),
        report=report,
    )
    await mover.run()


WORKS: dict[str, Callable[[], Awaitable[None]]] = {"backup": back_up, "restore": restore, "move": move}


async def main() -> None:
    await WORKS[WORK]()


asyncio.run(main())
