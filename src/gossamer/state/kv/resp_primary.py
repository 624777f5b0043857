"""Which server to connect to, where the URL names several: Sentinels, or nodes of a cluster.

A cluster is used for its failover, not for its size: our scripts touch several keys in one step, so all keys
of an installation carry one hash tag and live in one slot, on one node at a time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from gossamer.problems import Unavailable
from gossamer.state.kv.resp_address import Address, Part, Place

# Connects to a server, asks it, and leaves. The first reply is the one to HELLO; errors are replies.
Ask = Callable[[Address, Sequence[tuple[Part, ...]]], Awaitable[list[Any]]]


async def find_primary(address: Address, tag: str, ask: Ask, deadline: float) -> Address:
    """The server to connect to now. `deadline` bounds the search over all that may know."""
    if not address.sentinels and not address.cluster:
        return address
    asked = address.sentinels or address.cluster
    why = Unavailable("cache", "no server knows the primary")
    for place in asked:
        try:
            async with asyncio.timeout(deadline / len(asked)):
                if address.sentinels:
                    return address.at(await _ask_sentinel(address.at(place), address.primary_name, ask))
                return address.at(await _ask_node(address.at(place), tag, ask))
        except (OSError, TimeoutError):
            continue
        except Unavailable as unavailable:
            why = unavailable
    raise why


def check_mode(hello: dict[bytes, Any], address: Address) -> None:
    """Refuse a server of another kind than the URL says, by what it said of itself."""
    mode = hello.get(b"mode", b"standalone")
    if mode == b"sentinel":
        raise Unavailable("cache", "it is a Sentinel: its URL begins with redis+sentinel://")
    if mode == b"cluster" and not address.cluster:
        raise Unavailable("cache", "it is a node of a cluster: its URL begins with redis+cluster://")
    if (address.sentinels or address.cluster) and hello.get(b"role") != b"master":
        raise Unavailable("cache", "it is a replica")


def unless_refused(replies: Sequence[Any]) -> Sequence[Any]:
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply
    return replies


async def _ask_sentinel(sentinel: Address, name: str, ask: Ask) -> Place:
    hello, *replies = await ask(sentinel, [("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)])
    if isinstance(hello, dict) and hello[b"mode"] != b"sentinel":
        raise Unavailable("cache", "it is no Sentinel")
    _, found = unless_refused([hello, *replies])
    if found is None:
        raise Unavailable("cache", "the Sentinels do not know a primary of that name")
    return found[0].decode(), int(found[1])


async def _ask_node(node: Address, tag: str, ask: Ask) -> Place:
    hello, *replies = await ask(node, [("CLUSTER", "KEYSLOT", tag), ("CLUSTER", "SLOTS")])
    if isinstance(hello, dict) and hello[b"mode"] != b"cluster":
        raise Unavailable("cache", "it is no cluster")
    _, slot, ranges = unless_refused([hello, *replies])
    for first, last, (host, port, *_), *_replicas in ranges:
        if first <= slot <= last:
            # An empty host: the one that was asked.
            return (host.decode() if host else node.host), port
    raise Unavailable("cache", "no node of the cluster has our slot")
