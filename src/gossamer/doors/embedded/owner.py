"""The owner of the machine, on whose behalf the command line and the library act."""

import asyncio
import getpass
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from gossamer.doors.embedded.parts import EngineParts
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.keys import ensure_owner
from gossamer.flows.upkeep import upkeep
from gossamer.problems import Unavailable, UnusableDatabase
from gossamer.state.tenants import tenants
from gossamer.state.tenants.activity import Via
from gossamer.state.tenants.tenants import Role, Tier

STRANGER: Final = Caller(Role.ADMIN, tier=Tier.ENTERPRISE)  # may do everything, and nothing is recorded


async def owner_of(service: EngineParts) -> Caller:
    owner = await ensure_owner(service.database)
    return Caller(
        Role.ADMIN,
        tenant_id=owner.id,
        tier=Tier.ENTERPRISE,
        name=f"cli:{getpass.getuser()}",
        via=Via.COMMAND,
    )


def as_tenant(email: str) -> "Callable[[EngineParts], AbstractAsyncContextManager[Caller]]":
    """Act as somebody who has pages here; as a stranger if nobody has this address."""

    @asynccontextmanager
    async def acting(service: EngineParts) -> AsyncIterator[Caller]:
        await service.database.migrate()
        async with service.database.read() as connection:
            tenant_id = await tenants.find_tenant(connection, email) or tenants.PUBLIC
        yield Caller(Role.ADMIN, tenant_id=tenant_id, tier=Tier.ENTERPRISE)

    return acting


@asynccontextmanager
async def as_stranger(service: EngineParts) -> AsyncIterator[Caller]:
    """Act without a database, for calls that leave nothing behind."""
    yield STRANGER


@asynccontextmanager
async def as_owner(service: EngineParts) -> AsyncIterator[Caller]:
    """Act as the owner on what is stored, which must be there."""
    await service.database.migrate()
    yield await owner_of(service)


@asynccontextmanager
async def reading(service: EngineParts) -> AsyncIterator[Caller]:
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


async def _reader(service: EngineParts) -> Caller:
    try:
        await service.database.migrate()
        return await owner_of(service)
    except (Unavailable, UnusableDatabase) as error:
        service.log.warning(
            "not_indexed", "pages that are read now will not be found by search", why=str(error)
        )
        return STRANGER
