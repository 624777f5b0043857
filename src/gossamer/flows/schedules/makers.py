"""Whose rights a schedule has: those that its maker has now. A maker who lost them stops the schedule."""

from typing import Final

from gossamer.flows.tenants.admit import Caller, key_holder, wallet
from gossamer.flows.tenants.sign_in import person
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.schedules.schedules import Schedule, ScheduleMaker, read_clock
from gossamer.state.tenants import tenants, users
from gossamer.state.tenants.activity import Via
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.web.schedules.schedule_words import PauseReason

MAX_ROTATIONS: Final = 100  # of one key, that are followed


def maker_of(caller: Caller) -> ScheduleMaker:
    return ScheduleMaker(caller.via, caller.key_id, caller.name)


async def find_maker(
    connection: AsyncConnection, schedule: Schedule, *, now: int | None = None
) -> Caller | PauseReason:
    """The caller that the maker would be now, or why it is none."""
    return await find_caller(connection, schedule.maker, schedule.tenant_id, now=now)


async def find_caller(
    connection: AsyncConnection, maker: ScheduleMaker, tenant: str, *, now: int | None = None
) -> Caller | PauseReason:
    if maker.via is Via.KEY:
        found = await _find_key(connection, maker.id, now)
    elif maker.via is Via.SESSION:
        found = await _find_person(connection, maker.id)
    elif maker.via is Via.WALLET:
        found = wallet(maker.id)
    else:  # the owner of the machine
        found = Caller(Role.ADMIN, "", tenant, Tier.ENTERPRISE, maker.name, Via.COMMAND)
    if isinstance(found, Caller) and found.tenant_id != tenant:
        return PauseReason.MAKER_GONE
    return found


async def _find_key(connection: AsyncConnection, key_id: str, now: int | None) -> Caller | PauseReason:
    """The key, or the one that replaced it."""
    key = await tenants.get_key(connection, key_id)
    for _ in range(MAX_ROTATIONS):
        if key is None or key.disabled_at is None:
            break
        successor = await tenants.find_successor(connection, key.id)
        if successor is None:
            return PauseReason.KEY_DISABLED
        key = successor
    if key is None:
        return PauseReason.MAKER_GONE
    if key.expires_at is not None and key.expires_at <= await read_clock(connection, now):
        return PauseReason.KEY_EXPIRED
    return key_holder(key)


async def _find_person(connection: AsyncConnection, user_id: str) -> Caller | PauseReason:
    user = await users.get_user(connection, user_id)
    if user is None:
        return PauseReason.MAKER_GONE
    return PauseReason.PERSON_DISABLED if user.disabled_at is not None else person(user)
