"""The owner of the machine, on whose behalf the command line acts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from gossamer.doors.cli import CommandService
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.keys import ensure_owner
from gossamer.flows.upkeep import upkeep
from gossamer.problems import Unavailable
from gossamer.state.db.database import UnusableDatabase
from gossamer.state.tenants.tenants import Role, Tier

STRANGER: Final = Caller(Role.ADMIN, tier=Tier.ENTERPRISE)  # may do everything, and nothing is recorded


async def owner_of(service: CommandService) -> Caller:
    owner = await ensure_owner(service.database)
    return Caller(Role.ADMIN, tenant_id=owner.id, tier=Tier.ENTERPRISE)


@asynccontextmanager
async def reading(service: CommandService) -> AsyncIterator[Caller]:
    """Act as the owner, and index the pages that are read. Without a database, pages can still be read."""
    index, log = service.reader.index, service.log
    caller = await _reader(service) if index is not None and index.is_kept else STRANGER
    if index is None or caller is STRANGER:
        yield caller
        return
    keeping = asyncio.create_task(upkeep.keep_indexed(index, log))
    try:
        yield caller
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await upkeep.settle_index(index, log)


async def _reader(service: CommandService) -> Caller:
    try:
        await service.database.migrate()
        return await owner_of(service)
    except (Unavailable, UnusableDatabase) as error:
        service.log.warning(
            "not_indexed", "pages that are read now will not be found by search", why=str(error)
        )
        return STRANGER
