"""The client finds the primary: by Sentinels, and in a cluster by our slot. All servers are real."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.servers.questions import of_each_kind
from tests.servers.valkey import PATIENCE, ClusterNode, Sentinel, Valkey

from gossamer.problems import Unavailable
from gossamer.state.kv.hot_redis import RedisHot

SOON = 30.0  # a failover takes Valkey some seconds
SLOTS = 16384
StartValkey = Callable[..., Valkey]


def until(happens: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + SOON
    while not (found := happens()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


async def eventually(act: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(SOON):
        while True:
            try:
                return await act()
            except Unavailable:
                await asyncio.sleep(0.02)


async def refusal(url: str) -> str:
    hot = RedisHot(url, deadline=PATIENCE)
    try:
        with pytest.raises(Unavailable) as refused:
            await hot.ping()
        return refused.value.detail
    finally:
        await hot.close()


# Sentinel.


@pytest.fixture
def replicated(start_valkey: StartValkey, tmp_path: Path) -> Iterator[tuple[Valkey, Valkey, Sentinel]]:
    """A primary, its replica, and a Sentinel that knows both."""
    primary = start_valkey()
    replica = start_valkey("--replicaof", "127.0.0.1", str(primary.port))
    until(lambda: "state=online" in primary.ask("INFO", "replication"))
    sentinel = Sentinel(tmp_path, primary)
    sentinel.start()
    until(lambda: sentinel.ask("SENTINEL", "REPLICAS", "main"))
    yield primary, replica, sentinel
    sentinel.kill()


async def test_sentinels_name_the_primary(replicated: tuple[Valkey, Valkey, Sentinel]) -> None:
    primary, _, sentinel = replicated
    nobody = 1  # a port without a server: the next Sentinel is asked
    hot = RedisHot(f"redis+sentinel://127.0.0.1:{nobody},127.0.0.1:{sentinel.port}/main/2", deadline=PATIENCE)
    await of_each_kind(hot)
    await hot.put("k", b"v", PATIENCE)
    await hot.close()
    assert "db2:keys=" in primary.ask("INFO", "keyspace")


async def test_after_a_failover_the_new_primary_is_used(replicated: tuple[Valkey, Valkey, Sentinel]) -> None:
    primary, replica, sentinel = replicated
    hot = RedisHot(f"redis+sentinel://127.0.0.1:{sentinel.port}/main", deadline=PATIENCE)
    await of_each_kind(hot)
    primary.kill()
    await eventually(hot.ping)
    await of_each_kind(hot)
    await hot.close()
    assert "role:master" in replica.ask("INFO", "replication")


async def test_an_unknown_name_is_said(replicated: tuple[Valkey, Valkey, Sentinel]) -> None:
    *_, sentinel = replicated
    assert "do not know" in await refusal(f"redis+sentinel://127.0.0.1:{sentinel.port}/other")


async def test_a_url_of_the_wrong_kind_is_said(replicated: tuple[Valkey, Valkey, Sentinel]) -> None:
    primary, _, sentinel = replicated
    assert "redis+sentinel://" in await refusal(f"redis://127.0.0.1:{sentinel.port}")
    assert "no Sentinel" in await refusal(f"redis+sentinel://127.0.0.1:{primary.port}/main")
    assert "no cluster" in await refusal(f"redis+cluster://127.0.0.1:{primary.port}")


async def test_where_no_sentinel_answers_it_is_said() -> None:
    assert "no server knows the primary" in await refusal("redis+sentinel://127.0.0.1:1,127.0.0.1:2/main")


# Cluster.


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[ClusterNode, ClusterNode]]:
    """Two primaries, each with half of the slots."""
    first, second = (ClusterNode(tmp_path / name) for name in "ab")
    for node, begin in ((first, 0), (second, SLOTS // 2)):
        node.start()
        assert node.ask("CLUSTER", "ADDSLOTSRANGE", begin, begin + SLOTS // 2 - 1) == "OK"
    first.ask("CLUSTER", "MEET", "127.0.0.1", second.port, second.bus)
    until(lambda: all("cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in (first, second)))
    yield first, second
    first.kill()
    second.kill()


@pytest.fixture
async def clustered(nodes: tuple[ClusterNode, ClusterNode]) -> AsyncIterator[RedisHot]:
    hot = RedisHot(f"redis+cluster://127.0.0.1:1,127.0.0.1:{nodes[0].port}", deadline=PATIENCE)
    yield hot
    await hot.close()


def owner_and_other(nodes: tuple[ClusterNode, ClusterNode]) -> tuple[ClusterNode, ClusterNode, int]:
    first, second = nodes
    slot = first.ask("CLUSTER", "KEYSLOT", "gossamer")
    return (first, second, slot) if slot < SLOTS // 2 else (second, first, slot)


async def test_all_keys_live_in_one_slot(nodes: tuple[ClusterNode, ClusterNode], clustered: RedisHot) -> None:
    owner, other, slot = owner_and_other(nodes)
    await of_each_kind(clustered)
    await clustered.keep_page("p", b"body")
    assert owner.ask("CLUSTER", "COUNTKEYSINSLOT", slot) == owner.ask("DBSIZE") > 0
    assert other.ask("DBSIZE") == 0
    await clustered.clear()
    assert owner.ask("DBSIZE") == 0


@pytest.mark.parametrize("prefix", ["a", "b", "c", "d"])
async def test_other_prefixes_have_other_slots(nodes: tuple[ClusterNode, ClusterNode], prefix: str) -> None:
    hot = RedisHot(f"redis+cluster://127.0.0.1:{nodes[1].port}", prefix, deadline=PATIENCE)
    await of_each_kind(hot)
    await hot.close()


async def test_a_slot_that_moves_is_followed(
    nodes: tuple[ClusterNode, ClusterNode], clustered: RedisHot
) -> None:
    owner, other, slot = owner_and_other(nodes)
    await clustered.put("k", b"v", PATIENCE)
    new = other.ask("CLUSTER", "MYID")
    other.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", owner.ask("CLUSTER", "MYID"))
    owner.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", new)
    with pytest.raises(Unavailable, match="ASK"):  # it may be there already: callers go on without
        await clustered.get("missing")
    assert await clustered.get("k") == b"v"
    owner.ask("FLUSHALL")
    for node in (other, owner):
        assert node.ask("CLUSTER", "SETSLOT", slot, "NODE", new) == "OK"
    with pytest.raises(Unavailable, match="MOVED"):
        await clustered.get("k")
    await eventually(clustered.ping)
    await of_each_kind(clustered)
    assert other.ask("DBSIZE") > 0


async def test_a_node_needs_the_url_of_a_cluster(nodes: tuple[ClusterNode, ClusterNode]) -> None:
    assert "redis+cluster://" in await refusal(nodes[0].url)


async def test_a_slot_without_a_node_is_said(tmp_path: Path) -> None:
    node = ClusterNode(tmp_path)
    node.start()
    try:
        assert "no node of the cluster has our slot" in await refusal(
            f"redis+cluster://127.0.0.1:{node.port}"
        )
    finally:
        node.kill()
