"""Caching: an answer from the cache, or made and kept there; only a good answer is kept."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Self, TypeVar

import msgspec
from msgspec import Struct

from gossamer.flows.tenants.admit import Caller
from gossamer.state.cache import Cache, CachedAnswer, NotAdmitted
from gossamer.state.tenants.tenants import PUBLIC
from gossamer.web.pages.cache_options import CacheOptions, CachePart
from gossamer.web.pages.page_request import Target
from gossamer.web.url.url import answer_key, shared_url

T = TypeVar("T")
Admit = Callable[[], Awaitable[None]]  # called before an answer is made; raises if it may not be


R = TypeVar("R", bound=Target)


class Caching(Struct, frozen=True):
    """Whose cache, for how long, and how old an answer may be."""

    tenant: str
    ttl: float  # seconds
    max_age: float | None = None

    @classmethod
    def of(cls, options: CacheOptions, caller: Caller) -> Self:
        """Callers without a key pay by the call, and share one cache."""
        return cls(caller.tenant_id or PUBLIC, options.ttl, options.max_age)


class MadeAnswer(Struct, frozen=True):
    """An answer that was not in the cache."""

    value: bytes
    at: float  # Unix seconds
    good: bool


async def admit_always() -> None:
    """Default for `Admit`: every caller may have an answer made."""


async def admit_or_pass(admit: Admit) -> None:
    """Ask for one of several callers who share a run. A refusal is that caller's alone: another one of them
    makes the answer."""
    try:
        await admit()
    except Exception as refusal:
        raise NotAdmitted(refusal) from refusal


def to_shared(request: R) -> R:
    """The same request in the one spelling that is used when other callers may get the answer.

    Whatever the key does not name is not sent: else one caller could choose what the next one is served."""
    lowered = {name.lower(): value for name, value in request.headers.items()}
    return request.respelled(shared_url(request.address).href, dict(sorted(lowered.items())))


class CacheKey(Struct, frozen=True):
    shown: str
    stored: str  # by tenant, and in full
    flight: str  # concurrent requests with the same one share one run, and also its failure

    @classmethod
    def of(
        cls, endpoint: str, tenant: str, parameters: Mapping[str, object], manner: Sequence[object] = ()
    ) -> Self:
        """`parameters` are everything that the answer depends on. `manner` decides only whether it can be
        had, as a timeout does: callers whose manner differs do not share a failure."""
        stored = f"{endpoint}:{tenant}:{_digest(parameters)}"
        return cls(answer_key(endpoint, parameters), stored, f"{stored}:{_digest(manner)}")


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


async def has(cache: Cache, caching: Caching, key: CacheKey) -> bool:
    """Whether `get_or_make` would answer from the cache now."""
    return await cache.get(key.stored, caching.max_age) is not None


async def get_or_make(
    cache: Cache,
    caching: Caching,
    key: CacheKey,
    shape: type[T],
    make: Callable[[], Awaitable[MadeAnswer]],
    *,
    patience: float,
) -> tuple[T, CachePart]:
    """`patience` bounds the wait for another process that makes the same answer, in seconds."""

    async def keep() -> CachedAnswer:
        made = await make()
        if made.good:
            return await cache.put(key.stored, made.value, caching.ttl)
        return CachedAnswer(made.at, made.at, made.value)

    kept, hit = await cache.get_or(key.stored, caching.max_age, keep, flight=key.flight, patience=patience)
    answer = _decode(kept, shape)
    if answer is None:  # another version of ours has kept it, in another shape
        kept, hit = await keep(), False
        answer = msgspec.msgpack.decode(kept.value, type=shape)
    if kept.until <= kept.since:
        return answer, CachePart(key=key.shown)
    return answer, CachePart(hit, kept.since, kept.until, key.shown, key.stored)


def _decode(kept: CachedAnswer, shape: type[T]) -> T | None:
    try:
        return msgspec.msgpack.decode(kept.value, type=shape)
    except msgspec.MsgspecError:
        return None
