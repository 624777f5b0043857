"""Names to addresses: DNS and nothing else, asked once for all who wait, remembered for a bounded time.

The system's own resolver is not used: it blocks a thread, reads `/etc/hosts`, tries search domains, and takes
`2130706433` for an address. c-ares asks the name servers of the system, or those that are given, for exactly
the name, in a thread of its own.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from math import inf
from typing import Final

import pycares
from aiodns import DNSResolver
from aiodns.error import ARES_ENODATA, ARES_ENOTFOUND, ARES_ETIMEOUT, DNSError

from gossamer.problems import FETCH_FAILED, FETCH_TIMEOUT, Problem
from gossamer.web.address import Address

LIMIT: Final = 3.0  # seconds for one name
TRY: Final = 1.0  # seconds until a question is asked again; c-ares shortens it where servers are quick
TRIES: Final = 4  # more than fit into the limit, which is what ends a question
SHORTEST: Final = 5.0  # seconds that an answer is remembered, whatever its TTL
LONGEST: Final = 300.0
MOST_NAMES: Final = 10_000

NOT_FOUND: Final = "dns_not_found"
FAILED: Final = "dns_failed"
LATE: Final = "dns"  # the reason of a FETCH_TIMEOUT

_KINDS: Final = ("AAAA", "A")


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of a name: its addresses, or why there are none."""

    addresses: tuple[Address, ...]
    lifetime: float  # seconds; 0 when it says nothing about the name itself
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Records:
    """What came of one question."""

    addresses: tuple[Address, ...] = ()
    lifetime: float = LONGEST
    failure: str = ""


class Names:
    def __init__(
        self,
        servers: Sequence[str] = (),
        *,
        limit: float = LIMIT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`servers` are addresses, with `:port` where it is not 53; empty: those of the system."""
        self._servers = servers
        self._limit = limit
        self._clock = clock
        self._resolvers: list[DNSResolver] = []  # the one that is asked last
        self._known: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._asking: dict[str, asyncio.Task[Answer]] = {}
        self._fresh_until = -inf

    async def addresses(self, name: str) -> tuple[Address, ...]:
        """Every address of `name`, IPv6 first; a Problem when there is none."""
        answer = self._remembered(name) or await self._shared(name)
        if answer.failure:
            raise _problem(name, answer.failure)
        return answer.addresses

    async def close(self) -> None:
        for task in self._asking.values():
            task.cancel()
        for resolver in self._resolvers:
            await resolver.close()

    def _remembered(self, name: str) -> Answer | None:
        until, answer = self._known.get(name, (0.0, None))
        if answer is not None and self._clock() >= until:
            del self._known[name]
            return None
        return answer

    def _remember(self, name: str, answer: Answer) -> None:
        self._known[name] = (self._clock() + answer.lifetime, answer)
        while len(self._known) > MOST_NAMES:
            self._known.popitem(last=False)

    async def _shared(self, name: str) -> Answer:
        task = self._asking.get(name)
        if task is None:
            task = self._asking[name] = asyncio.create_task(self._ask(name))
            task.add_done_callback(lambda _: self._asking.pop(name))
        # The question belongs to all who wait for it: one who leaves does not take it along.
        return await asyncio.shield(task)

    async def _ask(self, name: str) -> Answer:
        try:
            resolver = await self._open()
        except pycares.AresError:  # the system has no sockets or threads left
            return Answer((), 0, FAILED)
        questions = [resolver.query_dns(name, kind) for kind in _KINDS]
        try:
            await asyncio.wait(questions, timeout=self._limit)
        finally:
            for question in questions:
                question.cancel()
        answer = _combined([_records(question) for question in questions])
        if answer.lifetime:
            self._remember(name, answer)
        return answer

    async def _open(self) -> DNSResolver:
        # c-ares remembers answers too, any number of them, and that there are none for an hour. A fresh one
        # every few seconds leaves ours the only memory; the one before has time to finish its questions.
        if self._clock() >= self._fresh_until:
            self._fresh_until = self._clock() + SHORTEST
            self._resolvers.append(DNSResolver(self._servers, timeout=TRY, tries=TRIES))
            if len(self._resolvers) > 2:
                await self._resolvers.pop(0).close()
        return self._resolvers[-1]


def _records(question: asyncio.Future[pycares.DNSResult]) -> Records:
    if question.cancelled():
        return Records(failure=LATE)
    try:
        answer = question.result().answer
    except DNSError as error:
        known = {ARES_ENOTFOUND: NOT_FOUND, ARES_ENODATA: NOT_FOUND, ARES_ETIMEOUT: LATE}
        return Records(failure=known.get(error.args[0], FAILED))
    addresses = tuple(
        ip_address(record.data.addr)
        for record in answer
        if isinstance(record.data, pycares.ARecordData | pycares.AAAARecordData)
    )
    lifetime = min((record.ttl for record in answer), default=0)  # of the aliases on the way, too
    return Records(addresses, lifetime, "" if addresses else NOT_FOUND)


def _combined(found: Sequence[Records]) -> Answer:
    """Addresses of either kind are enough; without any, the worst of what went wrong is the reason."""
    addresses = tuple(address for records in found for address in records.addresses)
    if addresses:
        lifetime = min(records.lifetime for records in found)
        return Answer(addresses, min(max(lifetime, SHORTEST), LONGEST))
    failures = {records.failure for records in found}
    for failure in (LATE, FAILED):
        if failure in failures:
            return Answer((), 0, failure)
    return Answer((), SHORTEST, NOT_FOUND)


def _problem(name: str, reason: str) -> Problem:
    details = {"host": name, "reason": reason}
    if reason == LATE:
        return Problem(FETCH_TIMEOUT, f"No name server answered for {name} in time", details=details)
    said = "does not exist" if reason == NOT_FOUND else "could not be resolved"
    return Problem(FETCH_FAILED, f"The host name {name} {said}", details=details)
