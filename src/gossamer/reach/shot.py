"""Shots: a picture of a page, of all of it, or of one element."""

import asyncio
import base64
import math
from collections.abc import Coroutine
from typing import Any, Final

import msgspec

from gossamer.problems import ELEMENT_NOT_FOUND, Problem
from gossamer.reach.tab import Tab
from gossamer.reach.visit import Shot
from gossamer.reach.waiting import Document

TALLEST: Final = 16_384  # pixels of the picture; what textures hold, and about what a reader bears
MOST_PIXELS: Final = 64_000_000
UNROLLING: Final = 5.0  # seconds at most


class Frame(msgspec.Struct):
    """A part of a page, in its own pixels."""

    x: float
    y: float
    width: float
    height: float


class _Picture(msgspec.Struct):
    data: str


def prepare(tab: Tab, shot: Shot, deadline: float) -> list[Coroutine[Any, Any, None]]:
    """What is to be told before the page is asked for."""
    size = {"width": shot.width, "height": shot.height, "deviceScaleFactor": shot.scale, "mobile": False}
    scheme = {"name": "prefers-color-scheme", "value": "dark" if shot.dark else "light"}
    return [
        tab.session.tell("Emulation.setDeviceMetricsOverride", deadline, **size),
        tab.session.tell("Emulation.setEmulatedMedia", deadline, features=[scheme]),
    ]


async def take(tab: Tab, document: Document, shot: Shot, deadline: float) -> bytes:
    loop = asyncio.get_running_loop()
    patience = min(UNROLLING, max(0.0, (deadline - loop.time()) / 2))
    tallest = TALLEST / shot.scale if shot.full_page else 0
    await document.run("unroll", deadline, tallest, patience * 1000)
    options: dict[str, Any] = {"format": shot.format, "optimizeForSpeed": True}
    if shot.quality is not None and shot.format != "png":
        options["quality"] = shot.quality
    if shot.full_page or shot.selector is not None:
        frame = _bounded(await _frame(document, shot, deadline), shot)
        options |= {"clip": {**msgspec.to_builtins(frame), "scale": 1}, "captureBeyondViewport": True}
    picture = await tab.session.ask(_Picture, "Page.captureScreenshot", deadline, **options)
    return base64.b64decode(picture.data)


async def _frame(document: Document, shot: Shot, deadline: float) -> Frame:
    raw = await document.run("frame", deadline, shot.selector)
    frame = msgspec.json.decode(raw, type=Frame | None)
    if frame is None or frame.width < 1 or frame.height < 1:
        raise Problem(
            ELEMENT_NOT_FOUND,
            "No element of the page that can be seen matches the selector",
            details={"selector": shot.selector},
        )
    return frame


def _bounded(frame: Frame, shot: Shot) -> Frame:
    width = min(math.ceil(frame.width), int(TALLEST / shot.scale))
    tallest = min(TALLEST / shot.scale, MOST_PIXELS / (width * shot.scale**2))
    return Frame(
        max(0.0, frame.x), max(0.0, frame.y), width, max(1, min(math.ceil(frame.height), int(tallest)))
    )
