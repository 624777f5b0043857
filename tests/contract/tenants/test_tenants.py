"""Tenants and keys as the tables keep them, on both databases."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest
from sqlalchemy.exc import IntegrityError
from ulid import ULID

from gossamer.state.db.database import Database
from gossamer.state.tenants import tenants
from gossamer.state.tenants.tenants import Key, Role, Tenant, Tier

NOW = 1_700_000_000_000


async def given_tenant(database: Database, email: str = "a@example.com") -> Tenant:
    async with database.write() as connection:
        return await tenants.ensure_tenant(connection, email, name="A", now=NOW)


def key_of(tenant: Tenant, secret: str) -> Key:
    return Key(
        id=str(ULID()),
        tenant_id=tenant.id,
        email=tenant.email,
        hash=tenants.key_hash(secret),
        prefix=f"{secret[:4]}...",
        role=Role.USER,
        tier=Tier.PRO,
        label="",
        created_at=NOW,
    )


async def given_key(database: Database, tenant: Tenant, secret: str) -> Key:
    async with database.write() as connection:
        key = await tenants.add_key(connection, key_of(tenant, secret), now=NOW)
    assert key is not None
    return key


def test_roles_are_ordered() -> None:
    assert all(higher.may(lower) and not lower.may(higher) for lower, higher in pairwise(Role))
    assert all(role.may(role) for role in Role)


def test_a_key_does_not_show_its_hash() -> None:
    key = key_of(Tenant("t", "a@example.com", "", 0), "secret")
    assert key.hash not in repr(key)


def test_a_key_survives_serialisation() -> None:
    key = key_of(Tenant("t", "a@example.com", "", 0), "secret")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(key), type=Key) == key


async def test_the_same_email_is_the_same_tenant(database: Database) -> None:
    first = await given_tenant(database)
    assert first == Tenant(first.id, "a@example.com", "A", NOW)
    assert await given_tenant(database) == first
    assert (await given_tenant(database, "b@example.com")).id != first.id


async def test_the_same_email_at_the_same_time_is_the_same_tenant(database: Database) -> None:
    found = await asyncio.gather(*(given_tenant(database) for _ in range(20)))
    assert len({tenant.id for tenant in found}) == 1


async def test_an_email_is_kept_in_lower_case(database: Database) -> None:
    with pytest.raises(IntegrityError):
        await given_tenant(database, "A@example.com")


async def test_a_key_is_found_by_its_hash_and_id(database: Database) -> None:
    tenant = await given_tenant(database)
    key = await given_key(database, tenant, "secret")
    assert key == replace(key_of(tenant, "secret"), id=key.id)
    async with database.read() as connection:
        assert await tenants.find_key(connection, tenants.key_hash("secret")) == key
        assert await tenants.find_key(connection, tenants.key_hash("other")) is None
        assert await tenants.get_key(connection, key.id) == key
        assert await tenants.get_key(connection, str(ULID())) is None


async def test_a_hash_is_there_once(database: Database) -> None:
    tenant = await given_tenant(database)
    await given_key(database, tenant, "secret")
    async with database.write() as connection:
        assert await tenants.add_key(connection, key_of(tenant, "secret")) is None
        assert await tenants.count_keys(connection) == 1


async def test_keys_are_listed_newest_first_in_pages(database: Database) -> None:
    ours, theirs = await given_tenant(database), await given_tenant(database, "b@example.com")
    made = [await given_key(database, tenant, f"{n}") for n, tenant in enumerate([ours, theirs, ours, ours])]
    async with database.read() as connection:
        assert await tenants.list_keys(connection) == made[::-1]
        first = await tenants.list_keys(connection, email=ours.email, limit=2)
        assert first == [made[3], made[2]]
        assert await tenants.list_keys(connection, email=ours.email, before=first[-1].id) == [made[0]]
        assert await tenants.list_keys(connection, email="c@example.com") == []


async def test_disabling_happens_once(database: Database) -> None:
    key = await given_key(database, await given_tenant(database), "secret")
    async with database.write() as connection:
        assert await tenants.disable_key(connection, key.id, "lost", now=NOW + 1)
        assert not await tenants.disable_key(connection, key.id, "again", now=NOW + 2)
        assert not await tenants.disable_key(connection, str(ULID()), "unknown")
        disabled = await tenants.get_key(connection, key.id)
    assert disabled is not None
    assert (disabled.disabled_at, disabled.disabled_reason) == (NOW + 1, "lost")


async def test_touching_is_a_batch_and_never_goes_back(database: Database) -> None:
    tenant = await given_tenant(database)
    used, idle = await given_key(database, tenant, "used"), await given_key(database, tenant, "idle")
    unknown = {str(ULID()) for _ in range(2_500)}
    for now in (NOW + 5, NOW + 3):
        async with database.write() as connection:
            await tenants.touch_keys(connection, {used.id, *unknown}, now=now)
    async with database.read() as connection:
        kept = {key.id: key.last_used_at for key in await tenants.list_keys(connection)}
    assert kept == {used.id: NOW + 5, idle.id: None}


async def test_touching_the_same_keys_at_once_blocks_nobody(database: Database) -> None:
    tenant = await given_tenant(database)
    ids = [(await given_key(database, tenant, f"{n}")).id for n in range(20)]

    async def touch(order: list[str]) -> None:
        async with database.write() as connection:
            for key_id in order:
                await tenants.touch_keys(connection, [key_id])

    await asyncio.gather(touch(ids), touch(ids[::-1]), touch(ids), touch(ids[::-1]))
    async with database.read() as connection:
        assert all(key.last_used_at for key in await tenants.list_keys(connection))
