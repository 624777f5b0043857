"""Caching: an answer of ours from the cache, or into it; only what turned out well is kept."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from gossamer.state.cache import Cache, Kept
from gossamer.web.url import answer_key

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Caching:
    """Whose cache, for how long, and how old an answer may be."""

    tenant: str
    ttl: float
    max_age: float | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """How the cache took part."""

    hit: bool = False
    since: float | None = None  # Unix seconds; None where nothing was kept
    until: float | None = None
    key: str = ""  # as it is shown


@dataclass(frozen=True, slots=True)
class Made:
    """An answer, made anew."""

    value: bytes
    at: float  # Unix seconds
    good: bool


def keys(endpoint: str, tenant: str, parameters: Mapping[str, object]) -> tuple[str, str]:
    """The key that is shown, and the one that things are stored under: by tenant, and in full."""
    encoded = msgspec.json.encode(parameters, order="deterministic")
    stored = f"{endpoint}:{tenant}:{hashlib.sha256(encoded).hexdigest()}"
    return answer_key(endpoint, parameters), stored


async def has(cache: Cache, caching: Caching, key: tuple[str, str]) -> bool:
    """Whether `through` would answer from the cache now."""
    return await cache.get(key[1], caching.max_age) is not None


async def through(
    cache: Cache,
    caching: Caching,
    key: tuple[str, str],
    shape: type[T],
    make: Callable[[], Awaitable[Made]],
    *,
    patience: float,
) -> tuple[T, Part]:
    shown, stored = key

    async def keep() -> Kept:
        made = await make()
        if made.good:
            return await cache.put(stored, made.value, caching.ttl)
        return Kept(made.value, made.at, made.at)

    kept, hit = await cache.get_or(stored, caching.max_age, keep, patience=patience)
    answer = _decoded(kept, shape)
    if answer is None:  # another version of ours has kept it, in another shape
        kept, hit = await keep(), False
        answer = msgspec.msgpack.decode(kept.value, type=shape)
    if kept.until <= kept.since:
        return answer, Part(key=shown)
    return answer, Part(hit, kept.since, kept.until, shown)


def _decoded(kept: Kept, shape: type[T]) -> T | None:
    try:
        return msgspec.msgpack.decode(kept.value, type=shape)
    except msgspec.MsgspecError:
        return None
