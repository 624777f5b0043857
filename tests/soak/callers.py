"""A client that judges every answer it gets, and counts by kind of request what came of them."""

import asyncio
import math
import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import httpx

from tests.doors.services import AS_ADMIN
from tests.soak.installation import Server

PATIENCE: Final = 60.0  # seconds for one answer: a server's own deadline is shorter
KEEP_SECONDS: Final = (
    0.5  # for which an idle connection is used again; a stopping server has served it by then
)
GIVE_UP: Final = (
    45.0  # seconds for which the same request is sent again; idempotency keys are remembered for 60
)
PAUSE: Final = 0.25  # seconds before it is
WORDS: Final = 200  # characters of a wrong answer that are told

Judge = Callable[[httpx.Response], str | None]  # what is wrong with an answer


@dataclass(slots=True)
class Tally:
    """Of one kind of request."""

    sent: int = 0
    answered: int = 0
    refused: int = 0  # with 503 or 429, as they should be
    away: int = 0  # of these, because something does not answer
    cut: int = 0  # by the end of the server
    wrong: int = 0
    seconds: list[float] = field(default_factory=list)  # that right answers took

    def percentile(self, part: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else 0.0


@dataclass(frozen=True, slots=True)
class Ask:
    kind: str
    method: str
    path: str
    body: Mapping[str, Any] | None = None
    statuses: tuple[int, ...] = (200,)
    judge: Judge = lambda _answer: None
    headers: Mapping[str, str] = field(default_factory=lambda: AS_ADMIN)


class Callers:
    def __init__(self, servers: Sequence[Server], chance: random.Random) -> None:
        self.tallies: dict[str, Tally] = defaultdict(Tally)
        self.complaints: list[str] = []
        self.servers = servers
        self._chance = chance
        self._client = httpx.AsyncClient(
            timeout=PATIENCE,
            trust_env=False,
            limits=httpx.Limits(keepalive_expiry=KEEP_SECONDS, max_connections=None),
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def ask(self, ask: Ask, server: Server | None = None) -> httpx.Response | None:
        """The answer, if it was the right one."""
        server = server or self._chance.choice(self.servers)
        tally, began = self.tallies[ask.kind], time.monotonic()
        tally.sent += 1
        try:
            answer = await self._client.request(
                ask.method, server.url + ask.path, json=ask.body, headers=dict(ask.headers)
            )
        except httpx.HTTPError as error:
            self._count_cut(ask, tally, server, began, error)
            return None
        wrong = self._wrong(ask, answer)
        if wrong:
            tally.wrong += 1
            self._complain(ask, server, f"{wrong}: {answer.status_code} {answer.text[:WORDS]!r}")
        elif _is_refusal(ask, answer):
            tally.refused += 1
            tally.away += answer.json()["code"] == "SERVICE_UNAVAILABLE"
        else:
            tally.answered += 1
            tally.seconds.append(time.monotonic() - began)
            return answer
        return None

    async def insist(self, ask: Ask, key: str) -> httpx.Response | None:
        """The same request until it is answered, under one idempotency key; None: nobody knows."""
        until = time.monotonic() + GIVE_UP
        named = replace(ask, headers={**ask.headers, "Idempotency-Key": key})
        while time.monotonic() < until:
            if (answer := await self.ask(named)) is not None:
                return answer
            await asyncio.sleep(PAUSE)
        return None

    def _count_cut(
        self, ask: Ask, tally: Tally, server: Server, began: float, error: httpx.HTTPError
    ) -> None:
        if server.was_absent(began, time.monotonic()) and not isinstance(error, httpx.TimeoutException):
            tally.cut += 1
        else:
            tally.wrong += 1
            self._complain(ask, server, f"{type(error).__name__} after {time.monotonic() - began:.1f} s")

    def _wrong(self, ask: Ask, answer: httpx.Response) -> str | None:
        if answer.status_code in ask.statuses:
            return ask.judge(answer)
        if answer.status_code not in (429, 503):
            return "not a status that it may have"
        if answer.headers.get("content-type") != "application/problem+json":
            return "not a problem document"
        return None if answer.headers.get("retry-after", "").isdecimal() else "without Retry-After"

    def _complain(self, ask: Ask, server: Server, what: str) -> None:
        self.complaints.append(
            f"{ask.kind}: {ask.method} {ask.path} {dict(ask.body or {})} at {server.name}: {what}"
        )


def _is_refusal(ask: Ask, answer: httpx.Response) -> bool:
    return answer.status_code in (429, 503) and answer.status_code not in ask.statuses
