"""The stages of stopping a process.

running ──▶ leaving ──▶ draining ──▶ cutting
              │            │            └── what is still under way is answered with 503
              │            └── no new connections; what is under way goes on
              └── `/health/ready` says 503, everything is served: load balancers notice
"""

import asyncio
from enum import IntEnum
from typing import Final

from gossamer import problems
from gossamer.problems import Problem

RETRY_SECONDS: Final = 1


class Stage(IntEnum):
    RUNNING = 0
    LEAVING = 1
    DRAINING = 2
    CUTTING = 3


class Stopping:
    def __init__(self) -> None:
        self.stage = Stage.RUNNING
        self.has_begun = False
        self.draining = asyncio.Event()  # for workers and other background work

    @property
    def is_cutting(self) -> bool:
        return self.stage is Stage.CUTTING

    def leave(self) -> None:
        self._enter(Stage.LEAVING)

    def drain(self) -> None:
        self._enter(Stage.DRAINING)
        self.draining.set()

    def cut(self) -> None:
        self._enter(Stage.CUTTING)

    def _enter(self, stage: Stage) -> None:
        self.stage = max(self.stage, stage)
        self.has_begun = True

    def problem(self) -> Problem:
        return Problem(
            problems.SERVICE_UNAVAILABLE,
            "The server is being stopped.",
            hint="Send the request again, with the same Idempotency-Key if it has one: another server takes "
            "it, or this one when it is back.",
            headers={"Retry-After": str(RETRY_SECONDS)},
            retryAfter=RETRY_SECONDS,
            details={"reason": "stopping"},
        )
