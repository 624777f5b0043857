"""Caching at the HTTP door: what a request says about the cache, and what its answer says of it."""

from typing import Annotated, Final, Protocol

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.doors.http import moments
from gossamer.flows.caching import Caching, Part
from gossamer.flows.read import Reply

SHORTEST_TTL: Final = 60
LONGEST_TTL: Final = 86_400


class Cacheable(Protocol):
    """What a request says about the cache."""

    cache: bool | None
    cache_ttl: int
    max_age: int | None


class CacheQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The one option that may stand in the address too."""

    cache: Annotated[bool | None, Meta(description="The same as in the body, which wins.")] = None


class CacheMetadata(msgspec.Struct, rename="camel"):
    """How the cache took part."""

    hit: bool
    key: str
    age: Annotated[int | UnsetType, Meta(description="Seconds since it was kept.")] = UNSET
    expires_at: Annotated[str | UnsetType, Meta(description="Absent where nothing was kept.")] = UNSET


def caches(body: Cacheable, query: CacheQuery) -> bool:
    asked = body.cache if body.cache is not None else query.cache
    return bool(asked) if asked is not None else body.max_age is not None


def caching(body: Cacheable, tenant: str) -> Caching:
    return Caching(tenant, min(max(body.cache_ttl, SHORTEST_TTL), LONGEST_TTL), body.max_age)


def cache_metadata(reply: Reply | Part, now: float) -> CacheMetadata | UnsetType:
    if not reply.key:
        return UNSET
    return CacheMetadata(
        hit=reply.hit,
        key=reply.key,
        age=max(0, int(now - reply.since)) if reply.hit and reply.since is not None else UNSET,
        expires_at=moments.iso(reply.until) if reply.until is not None else UNSET,
    )
