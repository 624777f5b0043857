"""Telemetry: what this process sends to other tools, and the end of that."""

import asyncio
from contextlib import suppress
from typing import Final

from msgspec import Struct

from gossamer.observe import traces
from gossamer.observe.sentry import Sentry

CLOSE_SECONDS: Final = 2.0


class Telemetry(Struct, frozen=True):
    sentry: Sentry | None

    async def close(self) -> None:
        """Send what is left, if that can be done soon."""
        if self.sentry is None and not traces.are_on():
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.to_thread(self._close)

    def _close(self) -> None:
        traces.close()
        if self.sentry is not None:
            self.sentry.close()
