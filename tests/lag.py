"""How long an event loop did not come round."""

import asyncio
import time


class Lag:
    def __init__(self) -> None:
        self.most = 0.0  # seconds, at worst

    async def tick(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            self.most = max(self.most, time.monotonic() - before)
