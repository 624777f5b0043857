"""Receives the bytes of a request, a bounded amount of work at a time."""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from gossamer.doors.http.server.upgrading import Upgrade
from gossamer.problems import Problem


class Flow(FlowControl):
    """Resuming parses the buffered bytes first, and then reads more."""

    def __init__(self, transport: asyncio.Transport, go_on: Callable[[], None]) -> None:
        super().__init__(transport)
        self._go_on = go_on

    def resume_reading(self) -> None:
        if self.read_paused:
            self.read_paused = False
            self._go_on()


class RequestReceiver:
    """The application's `receive`. Raises the problem of a faulty or late body where the body is read."""

    def __init__(self, cycle: RequestResponseCycle, upgrade: Upgrade | None = None) -> None:
        self._cycle = cycle
        self._upgrade = upgrade
        self._receive = cycle.receive
        self._problem: Problem | None = None

    async def __call__(self) -> Any:
        if self._upgrade is not None and self._upgrade.accepted:
            return await self._upgrade.receive()
        message = await self._receive() if self._problem is None else None
        if self._problem is not None:
            raise self._problem
        return message

    def refuse(self, problem: Problem) -> None:
        self._problem = problem
        self._cycle.message_event.set()
