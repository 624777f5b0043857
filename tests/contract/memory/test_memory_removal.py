"""Deleting memory, on both databases: hidden at once, and nothing is left, however often it is killed."""

import asyncio
from contextlib import suppress

import pytest
from sqlalchemy import select
from tests.contract.memory.memory_ground import NOW, MemoryGround

from gossamer.flows.data.removal.memory_removal import MemoryRemoval, forgetting
from gossamer.flows.webhooks.webhook_keys import owner_of
from gossamer.state.db.tables import search_lexicon, search_pages, search_tenants, search_weights
from gossamer.state.jobs.deletions import Deletion
from gossamer.state.memory import removal as removal_rows
from gossamer.state.memory.memory_tables import (
    memory_entries,
    memory_namespaces,
    memory_stores,
    memory_tags,
    memory_versions,
)
from gossamer.state.tenants import tenant_data

TABLES = (memory_stores, memory_namespaces, memory_entries, memory_tags, memory_versions)
INDEX = (search_pages, search_weights, search_lexicon, search_tenants)


async def quietly(name: str, percent: int) -> None:
    """Nobody looks at the progress."""


async def what_is_left(ground: MemoryGround) -> list[str]:
    async with ground.database.read() as connection:
        return [
            str(table.name)
            for table in (*TABLES, *INDEX)
            if (await connection.execute(select(table).limit(1))).first() is not None
        ]


async def fill(ground: MemoryGround) -> None:
    for number in range(6):
        for _ in range(2):
            await ground.put(f"{number}", "mountain", namespace=f"n{number % 2}", tags=("a", "b"))


async def accept(ground: MemoryGround, namespace: str = "") -> Deletion:
    async with ground.database.write() as connection:
        deletion = forgetting(owner_of(ground.ours), namespace)
        accepted = await MemoryRemoval(ground.database).accept(connection, deletion, None)
    assert accepted is not None
    return accepted.deletion


async def test_everything_is_hidden_at_once_and_a_new_store_begins(
    ground: MemoryGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal_rows, "ROWS_AT_ONCE", 2)
    await fill(ground)
    deletion = await accept(ground)
    assert await ground.size() == (0, 0)
    assert await ground.value("0", namespace="n0") is None
    await ground.put("0", "new", namespace="n0")
    removing = MemoryRemoval(ground.database)
    await removing.remove(deletion, quietly)
    for _ in range(2):  # also if it was finished before
        await removing.remove(deletion, quietly)
        async with ground.database.write() as connection:
            await removing.finish(connection, deletion)
    assert await ground.value("0", namespace="n0") == "new"
    await ground.memory.delete(ground.ours, [("n0", "0")], now=NOW)
    assert await what_is_left(ground) == [
        "memory_stores",
        "search_lexicon",
        "search_tenants",
    ]  # of the new one


async def test_a_removal_that_is_killed_at_any_step_is_finished_by_the_next(
    ground: MemoryGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal_rows, "ROWS_AT_ONCE", 2)
    await fill(ground)
    deletion = await accept(ground)
    removing = MemoryRemoval(ground.database)
    for lives in range(1, 100):
        left = lives

        async def die(name: str, percent: int) -> None:
            """The process is killed at the first step, then at the second, and so on."""
            nonlocal left
            left -= 1
            if not left:
                raise asyncio.CancelledError

        with suppress(asyncio.CancelledError):
            await removing.remove(deletion, die)
            break
    assert 1 < lives < 99
    async with ground.database.write() as connection:
        await removing.finish(connection, deletion)
    assert await what_is_left(ground) == []


async def test_a_tenant_goes_with_its_memory(ground: MemoryGround) -> None:
    await fill(ground)
    await accept(ground, "n1")  # its job is lost with the tenant
    tenant = ground.ours.tenant_id
    async with ground.database.read() as connection:
        assert await tenant_data.what_is_left(connection, tenant) == "memory_stores"
    await MemoryRemoval(ground.database).remove_of_tenant(tenant)
    assert await what_is_left(ground) == []
    async with ground.database.read() as connection:
        assert await tenant_data.what_is_left(connection, tenant) == ""
