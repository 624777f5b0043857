"""Runs the frames of a page that nobody looks at.

A browser draws a page some sixty times a second: it paints, rasterises and composes layers, which takes a
tenth of a render's processor time. A page that is only read needs the rest of a frame: its callbacks, style,
layout, observers and animations. In a headless shell a tab can wait for a command before each frame, and the
command can ask for exactly that. Other browsers refuse the command.
"""

import asyncio
from typing import Any, Final

from gossamer.reach.browser.cdp import CdpGone, CdpRefused, CdpSession

FRAME_SECONDS: Final = 1 / 30  # a chain of animation frames takes twice as long as on a screen
# Options of a new target that waits for its frames.
WAITING: Final[dict[str, Any]] = {"enableBeginFrameControl": True}


async def run_frame(session: CdpSession, deadline: float) -> None:
    """Raises `CdpRefused` if the browser knows no such frames."""
    await session.tell("HeadlessExperimental.beginFrame", deadline, noDisplayUpdates=True)


async def run_frames(session: CdpSession, deadline: float) -> None:
    """Run one frame after another until the page is gone. A busy page has fewer of them."""
    loop = asyncio.get_running_loop()
    while loop.time() < deadline:
        due = loop.time() + FRAME_SECONDS
        try:
            await run_frame(session, deadline)
        except CdpRefused:
            pass  # between two documents
        except (CdpGone, TimeoutError):
            return
        await asyncio.sleep(due - loop.time())
