"""Posing: a page made ready to be captured. What shows is loaded, what moves has come to its end."""

import asyncio
from typing import Final

from gossamer.reach.traffic import Traffic
from gossamer.reach.waiting import Document

PATIENCE: Final = 5.0  # seconds at most, and at most half of what is left


async def pose(document: Document, traffic: Traffic, reach: float, deadline: float) -> None:
    """`reach` is how far down the page is looked at first, so that what loads when it is seen does so."""
    now = asyncio.get_running_loop().time()
    patience = min(PATIENCE, max(0.0, (deadline - now) / 2))
    await document.run("unroll", deadline, reach, patience * 1000)
    await traffic.until(traffic.idle, now + patience)
    await document.run("still", deadline)
