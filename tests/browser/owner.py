"""Starts a browser, says so, and waits to be killed.

    python -m tests.browser.owner [jail]

What it prints is JSON: the browser's process and folder, and what keeps it in.
"""

import asyncio
import json
import sys

from gossamer.reach import processes
from gossamer.reach.chromium import Layers, launch
from tests.browser.driver import SECONDS, binary, now, yard


async def main(jail: bool) -> None:
    async with yard() as place:
        layers = Layers(jail=jail)
        browser = await launch(binary(), place.proxy, layers=layers, deadline=now() + SECONDS)
        told = {
            "pid": browser.pid,
            "family": processes.family(browser.pid),
            "walled": browser.walled,
            "sandboxed": browser.sandboxed,
            "jailed": browser.jailed,
            "log": place.log.getvalue(),
        }
        print(json.dumps(told), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        await browser.kill()


if __name__ == "__main__":
    asyncio.run(main("jail" in sys.argv))
