"""Repeat an action at an interval: the one loop behind everything that is done every few seconds."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from gossamer.problems import Unavailable

Sleep = Callable[[float], Awaitable[None]]


class Rest(Protocol):
    """A pause that may last longer than asked for, while there is nothing to do."""

    async def __call__(self, seconds: float, longest: float | None = None) -> None: ...


def ignore(_away: Unavailable) -> None:
    """For actions that may as well be done next time."""


async def every(
    seconds: float,
    action: Callable[[], Awaitable[bool | None]],
    *,
    at_once: bool = False,
    on_outage: Callable[[Unavailable], None] | None = None,
    sleep: Sleep = asyncio.sleep,
    rest: Sleep | None = None,
) -> None:
    """Run `action`, pause, and so on, until it returns False or this is cancelled.

    The pause comes first unless `at_once`. `on_outage` hears that something we depend on is away, and the
    next round tries again; without it that is an error, which ends the loop like any other. `rest` is the
    pause after a round without an outage, if it may last longer.
    """
    if not at_once:
        await sleep(seconds)
    while True:
        pause = rest or sleep
        try:
            if await action() is False:
                return
        except Unavailable as away:
            if on_outage is None:
                raise
            on_outage(away)
            pause = sleep
        await pause(seconds)
