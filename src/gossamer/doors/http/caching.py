"""Caching at the HTTP door: what a request says about the cache, and what its answer says of it."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.doors.http import moments
from gossamer.doors.http.exchange import Exchange
from gossamer.flows.admit import Caller
from gossamer.flows.caching import Caching, Part
from gossamer.state.tenants import PUBLIC

T = TypeVar("T")
SHORTEST_TTL: Final = 60
LONGEST_TTL: Final = 86_400


class CacheOptions(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What a request says about the cache."""

    cache: Annotated[
        bool | None, Meta(description="Answer from the cache if it can, and keep the answer. Off by default.")
    ] = None
    cache_ttl: Annotated[
        int, Meta(description="Seconds for which it is kept; moved into 60 to 86,400 if outside.")
    ] = 3600
    max_age: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Take nothing older than this many seconds from the cache."),
    ] = None


class CacheQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The one option that may stand in the address too."""

    cache: Annotated[bool | None, Meta(description="The same as in the body, which wins.")] = None


class CacheMetadata(msgspec.Struct, rename="camel"):
    """How the cache took part."""

    hit: bool
    key: str
    age: Annotated[int | UnsetType, Meta(description="Seconds since it was kept.")] = UNSET
    expires_at: Annotated[str | UnsetType, Meta(description="Absent where nothing was kept.")] = UNSET


def caches(body: CacheOptions, query: CacheQuery) -> bool:
    asked = body.cache if body.cache is not None else query.cache
    return bool(asked) if asked is not None else body.max_age is not None


def caching(body: CacheOptions, caller: Caller) -> Caching:
    """Who has no key will pay by the call, and share what all such have."""
    tenant = caller.tenant_id or PUBLIC
    return Caching(tenant, min(max(body.cache_ttl, SHORTEST_TTL), LONGEST_TTL), body.max_age)


async def through_cache(
    exchange: Exchange,
    body: CacheOptions,
    query: CacheQuery,
    fresh: Callable[[], Awaitable[T]],
    kept: Callable[[Caching], Awaitable[tuple[T, Part]]],
) -> tuple[T, Part, str]:
    """What is answered, how the cache took part in it, and `X-Cache-Status`; all of it for somebody who is
    still there."""
    if not caches(body, query):
        return await exchange.unless_gone(fresh()), Part(), "BYPASS"
    made, part = await exchange.unless_gone(kept(caching(body, exchange.caller)))
    exchange.cache_hit = part.hit
    return made, part, "HIT" if part.hit else "MISS"


def cache_metadata(part: Part, now: float) -> CacheMetadata | UnsetType:
    if not part.key:
        return UNSET
    return CacheMetadata(
        hit=part.hit,
        key=part.key,
        age=max(0, int(now - part.since)) if part.hit and part.since is not None else UNSET,
        expires_at=moments.iso(part.until) if part.until is not None else UNSET,
    )
