"""What memory promises, on SQLite and on PostgreSQL: values, versions, expiry, quotas, and whose they are."""

import asyncio
from typing import Any

import msgspec
import pytest
from sqlalchemy import func, select
from tests.contract.memory.memory_ground import NOW, MemoryGround, open_ground

from gossamer.flows.memory import memory as memory_flow
from gossamer.problems import Problem
from gossamer.settings.values import PerTier
from gossamer.state.db.database import Database
from gossamer.state.db.tables import search_pages
from gossamer.state.memory.memory_tables import (
    memory_entries,
    memory_namespaces,
    memory_tags,
    memory_versions,
)
from gossamer.web.memory.memory_request import MemoryLine, MemoryWrite

HOUR = 3_600_000


async def rows(database: Database, table: Any) -> int:
    async with database.read() as connection:
        return await connection.scalar(select(func.count()).select_from(table)) or 0


VALUES: list[Any] = [
    *(None, 0, -1.5, 10**30, "", "text", "𝄞 é 东京 \u202e", [], {}),
    *({"a": [1, {"b": None}]}, "x" * 200_000, {f"k{number}": number for number in range(60_000)}),
]


async def test_what_is_put_is_what_is_got(ground: MemoryGround) -> None:
    for number, value in enumerate(VALUES):
        entry = await ground.put(f"{number}", value)
        assert (entry.version, entry.size) == (1, len(msgspec.json.encode(value)))
        assert await ground.value(f"{number}") == value


async def test_an_entry_says_what_is_known_of_it(ground: MemoryGround) -> None:
    await ground.put("plan", "# Plan\n", format="markdown", title="The plan", tags=("b", "a", "b"), ttl=60)
    entry = await ground.memory.get_one(ground.ours, ("notes", "plan"), now=NOW)
    assert (entry.format, entry.title, entry.tags) == ("markdown", "The plan", ("a", "b"))
    assert entry.created_at == entry.updated_at == "2027-01-15T08:00:00.000Z"
    assert entry.expires_at == "2027-01-15T08:01:00.000Z"


async def test_versions_grow_by_one_and_the_last_are_kept(ground: MemoryGround) -> None:
    for number in range(1, 7):
        assert (await ground.put("key", number)).version == number
    versions = await ground.memory.versions(ground.ours, ("notes", "key"), now=NOW)
    assert [one.version for one in versions] == [6, 5, 4, 3]
    old = await ground.memory.get_one(ground.ours, ("notes", "key"), 4, now=NOW)
    assert (msgspec.json.decode(old.value), old.version) == (4, 4)
    with pytest.raises(Problem, match="does not have this version"):
        await ground.memory.get_one(ground.ours, ("notes", "key"), 2, now=NOW)
    assert await ground.size() == (1, 4)  # of the digits 3 to 6


async def test_an_earlier_version_is_restored_by_writing_it(ground: MemoryGround) -> None:
    await ground.put("key", "# One", format="markdown", title="First", tags=("a",))
    await ground.put("key", 2)
    restored = MemoryWrite(namespace="notes", key="key", restore=1)
    (entry,) = await ground.memory.put(ground.ours, [restored], now=NOW)
    assert (entry.version, entry.format, entry.title, entry.tags) == (3, "markdown", "First", ("a",))
    assert await ground.value("key") == "# One"


async def test_without_versions_only_the_last_value_counts(database: Database) -> None:
    ground = await open_ground(database, keep_versions=0)
    await ground.put("key", "long value")
    await ground.put("key", 1)
    assert await ground.size() == (1, 1)
    assert await rows(database, memory_versions) == 0


async def test_a_write_that_expects_another_version_changes_nothing(ground: MemoryGround) -> None:
    await ground.put("key", 1)
    for expected in (0, 2):
        with pytest.raises(Problem) as refused:
            await ground.put("key", 2, if_version=expected)
        assert refused.value.kind.code == "VERSION_CONFLICT"
        assert refused.value.details["version"] == 1
    with pytest.raises(Problem, match="is not there"):
        await ground.put("other", 2, if_version=1)
    assert await ground.value("key") == 1
    assert (await ground.put("key", 2, if_version=1)).version == 2
    assert (await ground.put("new", 1, if_version=0)).version == 1


async def test_of_many_that_compare_and_set_exactly_one_wins(ground: MemoryGround) -> None:
    await ground.put("counter", 0)

    async def bump(number: int) -> bool:
        try:
            await ground.put("counter", number, if_version=1)
        except Problem as problem:
            assert problem.kind.code == "VERSION_CONFLICT"  # noqa: PT017
            return False
        return True

    won = await asyncio.gather(*(bump(number) for number in range(1, 9)))
    assert sum(won) == 1
    assert await ground.value("counter") == 1 + won.index(True)


async def test_of_many_that_create_a_key_exactly_one_wins(ground: MemoryGround) -> None:
    """Also where the store and the namespace do not exist yet."""
    results = await asyncio.gather(
        *(ground.put("lock", number, if_version=0) for number in range(6)), return_exceptions=True
    )
    assert sum(not isinstance(one, Problem) for one in results) == 1
    assert await ground.size() == (1, 1)


async def test_several_writes_happen_all_or_not_at_all(ground: MemoryGround) -> None:
    await ground.put("b", 1)
    both = [
        MemoryWrite(namespace="notes", key="a", value=1),
        MemoryWrite(namespace="notes", key="b", value=2, if_version=7),
    ]
    with pytest.raises(Problem, match="notes/b has version 1"):
        await ground.memory.put(ground.ours, both, now=NOW)
    assert await ground.value("a") is None
    assert await ground.found("a") == []


async def test_one_call_may_write_a_key_twice(ground: MemoryGround) -> None:
    twice = [MemoryWrite(namespace="notes", key="a", value=value) for value in ("first", "second")]
    written = await ground.memory.put(ground.ours, twice, now=NOW)
    assert [entry.version for entry in written] == [1, 2]
    assert await ground.found("second") == ["a"]
    assert await ground.found("first") == []


async def test_an_entry_is_gone_when_its_time_is_over(ground: MemoryGround) -> None:
    await ground.put("short", 1, ttl=60, tags=("a",))
    await ground.put("long", 1)
    assert await ground.value("short", now=NOW + 59_999) == 1
    later = NOW + 60_000
    assert await ground.value("short", now=later) is None
    assert await ground.keys(now=later) == ["long"]
    assert await ground.keys(now=later, tag="a") == []
    with pytest.raises(Problem, match="There is no entry"):
        await ground.memory.versions(ground.ours, ("notes", "short"), now=later)


async def test_a_key_whose_time_is_over_begins_anew(ground: MemoryGround) -> None:
    await ground.put("key", "old", ttl=60)
    await ground.put("key", "older", ttl=60)
    later = NOW + HOUR
    entry = await ground.put("key", "new", if_version=0, now=later)
    assert entry.version == 1
    assert [
        one.version for one in await ground.memory.versions(ground.ours, ("notes", "key"), now=later)
    ] == [1]
    assert await ground.size() == (1, len('"new"'))


async def test_upkeep_removes_what_has_expired(ground: MemoryGround) -> None:
    for number in range(5):
        await ground.put(f"{number}", "word", ttl=60, tags=("a",))
        await ground.put(f"{number}", "word", ttl=60, tags=("a",), by=ground.theirs)
    await ground.put("kept", "word")
    assert await ground.memory.sweep(now=NOW + 59_000) == 0
    assert await ground.memory.sweep(now=NOW + 60_000) == 10
    assert (await ground.size(), await ground.size(ground.theirs)) == ((1, 6), (0, 0))
    for table, left in ((memory_entries, 1), (memory_tags, 0), (memory_namespaces, 1), (search_pages, 1)):
        assert await rows(ground.database, table) == left


async def test_lists_are_by_key_and_go_on_from_a_cursor(ground: MemoryGround) -> None:
    keys = ["a", "a/1", "a/2", "a0", "aé", "b", "ä", "𝄞"]
    for key in reversed(keys):
        await ground.put(key, 1, tags=("even",) if keys.index(key) % 2 == 0 else ())
    assert await ground.keys() == keys  # in the order of their characters
    assert await ground.keys(prefix="a/") == ["a/1", "a/2"]
    assert await ground.keys(prefix="a") == keys[:5]
    assert await ground.keys(after="a/2", limit=2) == ["a0", "aé"]
    assert await ground.keys(tag="even") == keys[::2]
    assert await ground.keys(tag="even", after="a", prefix="a") == ["a/2", "aé"]
    assert await ground.keys(namespace="other") == []


async def test_a_prefix_is_no_pattern(ground: MemoryGround) -> None:
    for key in ("a%", "a_", "ab", "a\\"):
        await ground.put(key, 1)
    assert await ground.keys(prefix="a%") == ["a%"]
    assert await ground.keys(prefix="a_") == ["a_"]
    assert await ground.keys(prefix="a\\") == ["a\\"]


async def test_tags_follow_the_last_write(ground: MemoryGround) -> None:
    await ground.put("key", 1, tags=("a", "b"))
    await ground.put("key", 1, tags=("b", "c"))
    assert [await ground.keys(tag=tag) for tag in "abc"] == [[], ["key"], ["key"]]


async def test_nobody_sees_what_others_remember(ground: MemoryGround) -> None:
    callers = [ground.ours, ground.theirs, ground.alice, ground.bob]
    words = ["aardvark", "buffalo", "cheetah", "dolphin"]
    for word, caller in zip(words, callers, strict=True):
        await ground.put("secret", f"mine is {word}", by=caller)
    for word, caller in zip(words, callers, strict=True):
        assert await ground.value("secret", by=caller) == f"mine is {word}"
        found = await ground.find("mine", by=caller)
        assert [one.ranked.hit.snippet for one in found.found] == [f"**mine** is {word}"]
        others = [other for other in words if other != word]
        assert [await ground.found(other, by=caller) for other in others] == [[], [], []]
        assert [entry.key async for entry in ground.memory.export(caller, now=NOW)] == ["secret"]
    assert await ground.memory.delete(ground.alice, [("notes", "secret")], now=NOW) == 1
    assert [(await ground.size(caller))[0] for caller in callers] == [1, 1, 0, 1]


async def test_a_quota_of_entries_holds_however_many_write_at_once(database: Database) -> None:
    ground = await open_ground(database, memory_entries=PerTier(5, None, None))
    results = await asyncio.gather(
        *(ground.put(f"{number}", number) for number in range(10)), return_exceptions=True
    )
    refused = [one for one in results if isinstance(one, Problem)]
    assert [one.kind.code for one in refused] == ["QUOTA_EXCEEDED"] * 5
    assert {one.details["quota"] for one in refused} == {"memory_entries"}
    assert await ground.size() == (5, 5)
    assert len(await ground.keys()) == 5


async def test_a_quota_of_bytes_counts_earlier_versions(database: Database) -> None:
    ground = await open_ground(database, memory_bytes=PerTier(100, None, None))
    await ground.put("key", "x" * 48)
    await ground.put("key", "x" * 48)
    with pytest.raises(Problem) as full:
        await ground.put("key", "x" * 48)
    assert (full.value.kind.code, full.value.details["quota"]) == ("QUOTA_EXCEEDED", "memory_bytes")
    assert full.value.members["used"] == 100
    assert await ground.size() == (1, 100)


async def test_what_has_expired_makes_room(database: Database) -> None:
    ground = await open_ground(database, memory_entries=PerTier(3, None, None))
    for number in range(3):
        await ground.put(f"old{number}", number, ttl=60)
    with pytest.raises(Problem):
        await ground.put("new", 1)
    await ground.put("new", 1, now=NOW + HOUR)
    assert await ground.keys(now=NOW + HOUR) == ["new"]
    assert (await ground.size())[0] == 1


async def test_a_wallet_has_a_small_quota_of_its_own(ground: MemoryGround) -> None:
    for key in ("a", "b"):
        await ground.put(key, 1, by=ground.alice)
    with pytest.raises(Problem, match="2 entries of memory are allowed"):
        await ground.put("c", 1, by=ground.alice)
    await ground.put("a", 2, by=ground.alice)  # is there already
    await ground.put("c", 1, by=ground.bob)


async def test_there_are_not_endless_namespaces(
    ground: MemoryGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.state.memory.stores.MAX_NAMESPACES", 2)
    for name in ("a", "b"):
        await ground.put("key", 1, namespace=name)
    with pytest.raises(Problem, match="2 namespaces of memory are allowed"):
        await ground.put("key", 1, namespace="c")
    await ground.memory.delete(ground.ours, [("a", "key")], now=NOW)  # an empty namespace goes
    await ground.put("key", 1, namespace="c")


async def test_deleting_can_expect_a_version_too(ground: MemoryGround) -> None:
    await ground.put("key", 1)
    with pytest.raises(Problem) as refused:
        await ground.memory.delete(ground.ours, [("notes", "key")], 2, now=NOW)
    assert refused.value.kind.code == "VERSION_CONFLICT"
    assert await ground.memory.delete(ground.ours, [("notes", "key")], 1, now=NOW) == 1
    assert await ground.memory.delete(ground.ours, [("notes", "key"), ("none", "such")], now=NOW) == 0


async def test_an_export_can_be_imported(ground: MemoryGround) -> None:
    await ground.put("a", {"x": 1.5}, tags=("t",), title="A")
    await ground.put("b", "# Text", format="markdown", namespace="docs")
    await ground.put("gone", 1, ttl=1)
    later = NOW + HOUR
    exported = [msgspec.json.encode(entry) async for entry in ground.memory.export(ground.ours, now=later)]
    lines = [msgspec.json.decode(line, type=MemoryLine) for line in exported]
    assert [(line.namespace, line.key) for line in lines] == [("docs", "b"), ("notes", "a")]
    assert await ground.memory.import_lines(ground.theirs, lines, now=later) == 2
    again = [msgspec.json.encode(entry) async for entry in ground.memory.export(ground.theirs, now=later)]
    kept = ("namespace", "key", "value", "format", "title", "tags", "size")
    decoded = [[msgspec.json.decode(line) for line in each] for each in (exported, again)]
    first, second = ([{name: one.get(name) for name in kept} for one in each] for each in decoded)
    assert first == second


async def test_an_export_reads_a_few_at_a_time(ground: MemoryGround, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_flow, "EXPORTED_AT_ONCE", 3)
    keys = [f"{number:02}" for number in range(10)]
    writes = [MemoryWrite(namespace="notes", key=key, value=key) for key in keys]
    await ground.memory.put(ground.ours, writes, now=NOW)
    assert [entry.key async for entry in ground.memory.export(ground.ours, "notes", now=NOW)] == keys


async def test_a_small_namespace_is_deleted_at_once(ground: MemoryGround) -> None:
    for key in ("a", "b"):
        await ground.put(key, 1)
    await ground.put("a", 1, namespace="other")
    assert await ground.memory.delete_if_small(ground.ours, "none") is None
    assert await ground.memory.delete_if_small(ground.ours, "notes") == 2
    assert [one.name for one in (await ground.memory.sizes(ground.ours)).namespaces] == ["other"]
    assert await ground.memory.delete_if_small(ground.ours, None) == 1
    assert await ground.size() == (0, 0)
    assert await rows(ground.database, search_pages) == 0


async def test_a_clock_that_was_set_back_changes_no_order(ground: MemoryGround) -> None:
    await ground.put("key", "first")
    entry = await ground.put("key", "second", now=NOW - HOUR)
    assert entry.version == 2
    assert await ground.found("second") == ["key"]


async def test_a_hostile_key_is_refused(ground: MemoryGround) -> None:
    for key in ("", "a\0b", "a\nb", "\ud800", "a\x7f", "\uffff", "x" * 257, "é" * 129):
        with pytest.raises(Problem) as refused:
            await ground.put(key, 1)
        assert refused.value.kind.code == "VALIDATION_ERROR"


async def test_an_odd_key_is_a_key(ground: MemoryGround) -> None:
    odd = ["../../etc/passwd", "'; DROP TABLE memory_entries; --", "a b", "%00", "x" * 256, "👩‍👩‍👧", "~"]
    for key in odd:
        await ground.put(key, "needle")
        assert await ground.value(key) == "needle"
        assert await ground.keys(prefix=key) == [key]
    assert sorted(await ground.found("needle")) == sorted(odd)


async def test_a_value_that_is_too_deep_or_too_large_is_refused(ground: MemoryGround) -> None:
    deep: Any = []
    for _ in range(101):
        deep = [deep]
    with pytest.raises(Problem, match="more than 100 lists"):
        await ground.put("deep", deep)
    with pytest.raises(Problem) as large:
        await ground.put("large", "x" * 1_048_576)
    assert large.value.kind.code == "PAYLOAD_TOO_LARGE"
    assert await ground.size() == (0, 0)
