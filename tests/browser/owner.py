"""Starts a browser, says so, and waits to be killed.

    python -m tests.browser.owner [bubblewrap]

What it prints is JSON: the browser's process and folder, and what keeps it in.
"""

import asyncio
import json
import sys

from msgspec.structs import replace

from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.reach.sandbox import processes
from gossamer.reach.sandbox.chromium import launch
from gossamer.reach.sandbox.fence import Fence
from tests.browser.driver import SECONDS, binary, now, yard


async def main(bubblewrap: bool) -> None:
    async with yard() as place:
        layers = await Fence("prefer", Log(place.log), Metrics("0")).layers()
        layers = replace(layers, bubblewrap=layers.bubblewrap and bubblewrap)
        browser = await launch(binary(), place.proxy, layers=layers, deadline=now() + SECONDS)
        told = {
            "pid": browser.pid,
            "family": processes.list_family(browser.pid),
            "netns": browser.layers.netns,
            "sandbox": browser.layers.sandbox,
            "bubblewrap": browser.layers.bubblewrap,
            "log": place.log.getvalue(),
        }
        print(json.dumps(told), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        await browser.kill()


if __name__ == "__main__":
    asyncio.run(main("bubblewrap" in sys.argv))
