"""What is between a connection and its transport: pauses, and a close that waits."""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.flow_control import FlowControl


class Flow(FlowControl):
    """Resuming parses the buffered bytes first, and then reads more."""

    def __init__(self, transport: asyncio.Transport, go_on: Callable[[], None]) -> None:
        super().__init__(transport)
        self._go_on = go_on

    def resume_reading(self) -> None:
        if self.read_paused:
            self.read_paused = False
            self._go_on()


class LingeringTransport:
    """A transport whose closing waits until the client has stopped sending.

    If it closed at once, bytes that still arrive would reset the connection, and the answer would be lost.
    """

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = close
