"""The child that becomes a browser: whoever starts one and gives up leaves nothing open."""

import asyncio
import gc
import os
from pathlib import Path

from gossamer.reach.sandbox import child_process
from gossamer.reach.sandbox.child_process import Child


def _open_sockets() -> set[str]:
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:  # the one that the listing was read through
            continue
    return {name for name in found if name.startswith("socket:")}


async def test_a_start_that_is_cancelled_at_any_turn_leaves_nothing_open(tmp_path: Path) -> None:
    environment = child_process.environment(tmp_path)
    await child_process.end(await child_process.start("none", environment))  # the loop opens what it keeps
    before = _open_sockets()
    turns = 0
    is_over = False
    while not is_over:
        starting = asyncio.create_task(child_process.start("none", environment))
        for _ in range(turns):
            await asyncio.sleep(0)
        is_over = starting.done()
        starting.cancel()
        [outcome] = await asyncio.gather(starting, return_exceptions=True)
        if isinstance(outcome, Child):
            await child_process.end(outcome)
        gc.collect()  # what is not closed would be told as a warning, which fails the test
        turns = turns + 1 if turns < 20 else turns * 2
    assert _open_sockets() <= before
