"""Follows long work for a while, and tells the client how far it is."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from gossamer.doors.mcp.tools.tool import ToolCall

PATIENCE_SECONDS: Final = 25.0  # then the answer is the id of the work
Progress = tuple[float, float | None, str]  # done, of how many, and the same in words
_OVER: Final = frozenset({"done", "failed", "canceled", "paused"})


async def follow(call: ToolCall, events: str, progress: Callable[[Any], Progress | None]) -> None:
    """Until the work is over or our patience is. Progress only grows, as the protocol asks."""
    furthest = -1.0
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for event in call.api.events(events):
                found = progress(event)
                if found is not None and found[0] > furthest:
                    furthest = found[0]
                    await call.report(*found)
    except TimeoutError:
        pass


def job_progress(event: Any) -> Progress | None:
    percent = event.get("progress")
    return None if percent is None else (float(percent), 100.0, f"{percent} %")


def crawl_progress(crawl: Any) -> Progress:
    counts, wanted = crawl["counts"], crawl["options"]["maxPages"]
    said = f"{counts['pages']} pages stored, {counts['pending']} addresses waiting"
    return float(counts["pages"]), float(wanted), said


def is_over(status: str) -> bool:
    return status in _OVER
