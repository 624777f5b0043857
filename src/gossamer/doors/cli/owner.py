"""The owner of the machine, in whose name the command line reads: `search` finds what was read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from gossamer.doors.cli import House
from gossamer.flows import upkeep
from gossamer.flows.admit import Caller
from gossamer.flows.keys import FIRST_EMAIL
from gossamer.problems import Unavailable
from gossamer.state import tenants
from gossamer.state.database import DatabaseTooNew
from gossamer.state.tenants import Role, Tier

STRANGER: Final = Caller(Role.ADMIN, tier=Tier.ENTERPRISE)  # may do everything, and nothing is noted


@asynccontextmanager
async def reading(house: House) -> AsyncIterator[Caller]:
    """Who reads, and what is read gets into the index. Without a database pages are read all the same."""
    index, log = house.reader.index, house.log
    caller = await _owner(house) if index is not None and index.is_kept else STRANGER
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


async def _owner(house: House) -> Caller:
    try:
        await house.database.migrate()
        async with house.database.write() as connection:
            owner = await tenants.ensure_tenant(connection, FIRST_EMAIL)
    except (Unavailable, DatabaseTooNew) as error:
        house.log.warning("not_indexed", "what is read will not be found by search", why=str(error))
        return STRANGER
    return Caller(Role.ADMIN, tenant_id=owner.id, tier=Tier.ENTERPRISE)
