"""Repeat an action at an interval: the one loop behind everything that is done every few seconds."""

import asyncio
from collections.abc import Awaitable, Callable

from gossamer.problems import Unavailable

Sleep = Callable[[float], Awaitable[None]]


def ignore(_away: Unavailable) -> None:
    """For actions that may as well be done next time."""


async def every(
    seconds: float,
    action: Callable[[], Awaitable[bool | None]],
    *,
    at_once: bool = False,
    on_outage: Callable[[Unavailable], None] | None = None,
    sleep: Sleep = asyncio.sleep,
) -> None:
    """Run `action`, pause, and so on, until it returns False or this is cancelled.

    The pause comes first unless `at_once`. `on_outage` hears that something we depend on is away, and the
    next round tries again; without it that is an error, which ends the loop like any other.
    """
    if not at_once:
        await sleep(seconds)
    while await _run(action, on_outage) is not False:
        await sleep(seconds)


async def _run(
    action: Callable[[], Awaitable[bool | None]], on_outage: Callable[[Unavailable], None] | None
) -> bool | None:
    try:
        return await action()
    except Unavailable as away:
        if on_outage is None:
            raise
        on_outage(away)
        return None
