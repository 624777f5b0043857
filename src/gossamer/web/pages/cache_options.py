"""What a request says about the cache, and what its answer says about it."""

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gossamer.web.pages.timestamps import iso

MIN_TTL: Final = 60  # seconds
MAX_TTL: Final = 86_400


class CacheOptions(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, dict=True
):
    """Whether a request may be answered from the cache, and how long its answer is kept there."""

    cache: Annotated[
        bool | None,
        Meta(description="Answer from the cache if possible, and keep the answer there. Off by default."),
    ] = None
    cache_ttl: Annotated[
        int,
        Meta(description="Seconds to keep the answer. A value outside 60 to 86,400 is moved to the nearest."),
    ] = 3600
    max_age: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Take no answer from the cache that is older than this many seconds."),
    ] = None

    def uses_cache(self, default: bool | None = None) -> bool:
        """`default` counts where the request does not say; without it, a `max_age` asks for the cache."""
        asked = self.cache if self.cache is not None else default
        return asked if asked is not None else self.max_age is not None

    @property
    def ttl(self) -> int:
        """Seconds, within the bounds."""
        return min(max(self.cache_ttl, MIN_TTL), MAX_TTL)


class CachePart(Struct, frozen=True):
    """How the cache took part in an answer."""

    hit: bool = False
    since: float | None = None  # Unix seconds; None where nothing was kept
    until: float | None = None
    key: str = ""  # as answers show it
    stored: str = ""  # the key that it is kept under


class CacheMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """How the cache took part."""

    hit: bool
    key: str
    age: Annotated[int | UnsetType, Meta(description="Seconds since the answer was kept.")] = UNSET
    expires_at: Annotated[str | UnsetType, Meta(description="Absent if nothing was kept.")] = UNSET


def cache_metadata(part: CachePart, now: float) -> CacheMetadata | UnsetType:
    if not part.key:
        return UNSET
    return CacheMetadata(
        hit=part.hit,
        key=part.key,
        age=max(0, int(now - part.since)) if part.hit and part.since is not None else UNSET,
        expires_at=iso(part.until) if part.until is not None else UNSET,
    )
