"""Caching at the HTTP door: the query parameter, and `X-Cache-Status`."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.repeating import RepeatableAnswer
from gossamer.flows.pages.caching import Admit, Caching
from gossamer.web.pages.cache_options import CacheOptions, CachePart

T = TypeVar("T")


class CacheQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The one option that may be given in the address too."""

    cache: Annotated[bool | None, Meta(description="The same as in the body, which wins.")] = None


async def through_cache(
    exchange: Exchange,
    body: CacheOptions,
    query: CacheQuery,
    make: Callable[[], Awaitable[T]],
    get_or_make: Callable[[Caching, Admit], Awaitable[tuple[T, CachePart]]],
) -> tuple[T, CachePart, str]:
    """The result, how the cache took part in it, and `X-Cache-Status`. Stops if the caller hangs up."""
    if not body.uses_cache(query.cache):
        await exchange.admit_work()
        return await exchange.unless_gone(make()), CachePart(), "BYPASS"
    caching = Caching.of(body, exchange.caller)
    made, part = await exchange.unless_gone(get_or_make(caching, exchange.admit_work))
    exchange.cache_hit = part.hit
    if part.hit and part.stored:
        exchange.repeatable = RepeatableAnswer(part, caching.max_age)
    return made, part, "HIT" if part.hit else "MISS"
