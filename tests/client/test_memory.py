"""Memory by the library: the engine here and a server do the same."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import gossamer
from gossamer import Client, GossamerError, SyncClient
from gossamer.client.calls.memory import MemoryCalls
from gossamer.client.sync import SyncMemory
from tests.client.conftest import OPEN
from tests.doors.fetches import say
from tests.site.server import Site

HERE = "library"
ARTICLE = "<title>Silk rope</title><main><h1>Silk rope</h1><p>" + "It is spun by hand at night. " * 20


async def test_values_are_put_got_listed_searched_and_deleted(web: Client, site: Site) -> None:
    memory = web.memory
    assert await memory.get("plan", namespace=HERE) is None
    first = await memory.put("plan", {"step": 1}, namespace=HERE, tags=["draft"], if_version=0)
    with pytest.raises(GossamerError, match="VERSION_CONFLICT") as refused:
        await memory.put("plan", {"step": 2}, namespace=HERE, if_version=0)
    assert refused.value.details["version"] == first.version == 1
    await memory.put("plan", "climb the mountain", namespace=HERE, format="text", if_version=1)
    entry = await memory.get("plan", namespace=HERE)
    assert entry is not None
    assert (entry.value, entry.version) == ("climb the mountain", 2)
    old = await memory.get("plan", namespace=HERE, version=1)
    assert old is not None
    assert old.value == {"step": 1}
    assert await memory.get("plan", namespace=HERE, version=9) is None
    assert [one.version for one in await memory.versions("plan", namespace=HERE)] == [2, 1]
    found = await memory.search("mountain", namespaces=[HERE])
    assert [hit.entry.key for hit in found.results] == ["plan"]
    page = await memory.put_page("rope", site.url(say(ARTICLE)), namespace=HERE)
    assert page.title == "Silk rope"
    assert [one.key for one in await memory.list(HERE, limit=1)] == ["plan"]
    assert [one.key for one in await memory.list(HERE)] == ["plan", "rope"]
    assert (await memory.restore("plan", 1, namespace=HERE)).version == 3
    assert await memory.delete("plan", namespace=HERE)
    assert not await memory.delete("plan", namespace=HERE)
    await memory.delete_namespace(HERE)
    assert HERE not in [one.name for one in (await memory.overview()).namespaces]


async def test_lines_are_exported_and_loaded(web: Client) -> None:
    memory = web.memory
    for number in range(3):
        await memory.put(f"{number}", "x" * number, namespace=HERE)
    lines = [msgspec.json.encode(entry) async for entry in memory.export(HERE)]
    await memory.delete_everything()
    assert await memory.load(lines) == 3
    assert [entry.value async for entry in memory.export(HERE)] == ["", "x", "xx"]
    await memory.delete_everything()


def test_the_blocking_form_has_every_call() -> None:
    calls = {name for name in vars(MemoryCalls) if not name.startswith("_")}
    assert calls <= set(dir(SyncMemory))


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[SyncClient]:
    with gossamer.open_sync(data_dir=str(tmp_path), **OPEN) as web:
        yield web


async def test_programs_that_wait_have_the_same_memory(waiting: SyncClient) -> None:
    def use() -> None:
        waiting.memory.put("key", [1, 2])
        entry = waiting.memory.get("key")
        assert entry is not None
        assert entry.value == [1, 2]
        assert [one.key for one in waiting.memory.export()] == ["key"]

    await asyncio.to_thread(use)
