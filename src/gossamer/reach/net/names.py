"""Resolves names to addresses by DNS. Concurrent callers share a query, and answers are cached for a while.

The system's own resolver is not used: it blocks a thread, reads `/etc/hosts`, tries search domains, and takes
`2130706433` for an address. c-ares asks the name servers of the system, or the given ones, for exactly this
name, in a separate thread.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from math import inf
from typing import Final

import pycares
from aiodns import DNSResolver
from aiodns.error import ARES_ENODATA, ARES_ENOTFOUND, ARES_ETIMEOUT, DNSError
from msgspec import Struct

from gossamer.concurrency.single_flight import SingleFlight
from gossamer.problems import FETCH_FAILED, FETCH_TIMEOUT, Problem
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.web.url.address import Address

NAME_SECONDS: Final = 3.0  # for one name
RETRY_SECONDS: Final = 1.0  # until a question is asked again; c-ares shortens it if servers are quick
MAX_TRIES: Final = 4  # more than fit into the limit, which ends a question
MIN_LIFETIME: Final = 5.0  # seconds that an answer is remembered, whatever its TTL
MAX_LIFETIME: Final = 300.0
MAX_NAMES: Final = 10_000

HINT: Final = (
    "Check the spelling. A name that exists but leads to a private or reserved address is answered the same"
    " way; the operator's log tells them apart."
)

_KINDS: Final = ("AAAA", "A")
_OF_ARES: Final = {
    ARES_ENOTFOUND: FetchReason.DNS_NOT_FOUND,
    ARES_ENODATA: FetchReason.DNS_NOT_FOUND,
    ARES_ETIMEOUT: FetchReason.DNS_TIMEOUT,
}


class Resolution(Struct, frozen=True):
    """The addresses of a name, or the reason why there are none."""

    addresses: tuple[Address, ...]
    lifetime: float  # seconds; 0 if the failure says nothing about the name itself
    failure: FetchReason | None = None


class Records(Struct, frozen=True):
    """The answer to one question."""

    addresses: tuple[Address, ...] = ()
    lifetime: float = MAX_LIFETIME
    failure: FetchReason | None = None


class Names:
    def __init__(
        self,
        servers: Sequence[str] = (),
        *,
        limit: float = NAME_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`servers` are addresses, with `:port` if it is not 53; empty for those of the system."""
        self._servers = servers
        self._limit = limit
        self._clock = clock
        self._resolvers: list[DNSResolver] = []  # the last one is used
        self._known: OrderedDict[str, tuple[float, Resolution]] = OrderedDict()
        self._asking: SingleFlight[str, Resolution] = SingleFlight()
        self._fresh_until = -inf

    async def addresses(self, name: str) -> tuple[Address, ...]:
        """Every address of `name`, IPv6 first. Raises `Problem` if there is none."""
        answer = self._recall(name) or await self._asking.share(name, lambda: self._ask(name))
        if answer.failure:
            raise unresolved(name, answer.failure)
        return answer.addresses

    async def texts(self, name: str) -> tuple[str, ...]:
        """The TXT records of `name`, not from any cache of ours. Raises `Problem` if it cannot be asked for;
        a name without any has none."""
        try:
            question = (await self._open()).query_dns(name, "TXT")
        except pycares.AresError:
            raise unresolved(name, FetchReason.DNS_FAILED) from None
        try:
            await asyncio.wait([question], timeout=self._limit)
        finally:
            question.cancel()
        return _texts(name, question)

    def forget_soon(self, name: str) -> None:
        """Cache its addresses no longer than a name without any, so that timing reveals nothing."""
        known = self._known.get(name)
        if known is not None:
            self._known[name] = (min(known[0], self._clock() + MIN_LIFETIME), known[1])

    async def close(self) -> None:
        await self._asking.close()
        for resolver in self._resolvers:
            await resolver.close()

    def _recall(self, name: str) -> Resolution | None:
        until, answer = self._known.get(name, (0.0, None))
        if answer is not None and self._clock() >= until:
            del self._known[name]
            return None
        return answer

    def _remember(self, name: str, answer: Resolution) -> None:
        self._known[name] = (self._clock() + answer.lifetime, answer)
        while len(self._known) > MAX_NAMES:
            self._known.popitem(last=False)

    async def _ask(self, name: str) -> Resolution:
        try:
            resolver = await self._open()
        except pycares.AresError:  # the system has no sockets or threads left
            return Resolution((), 0, FetchReason.DNS_FAILED)
        questions = [resolver.query_dns(name, kind) for kind in _KINDS]
        try:
            await asyncio.wait(questions, timeout=self._limit)
        finally:
            for question in questions:
                question.cancel()
        answer = _combine([_records(question) for question in questions])
        if answer.lifetime:
            self._remember(name, answer)
        return answer

    async def _open(self) -> DNSResolver:
        # c-ares has an unbounded cache, which keeps negative answers for an hour. A new resolver every few
        # seconds bypasses it. The one before has time to finish its queries.
        if self._clock() >= self._fresh_until:
            self._fresh_until = self._clock() + MIN_LIFETIME
            self._resolvers.append(DNSResolver(self._servers, timeout=RETRY_SECONDS, tries=MAX_TRIES))
            if len(self._resolvers) > 2:
                await self._resolvers.pop(0).close()
        return self._resolvers[-1]


def _records(question: asyncio.Future[pycares.DNSResult]) -> Records:
    if question.cancelled():
        return Records(failure=FetchReason.DNS_TIMEOUT)
    try:
        answer = question.result().answer
    except DNSError as error:
        return Records(failure=_OF_ARES.get(error.args[0], FetchReason.DNS_FAILED))
    addresses = tuple(
        ip_address(record.data.addr)
        for record in answer
        if isinstance(record.data, pycares.ARecordData | pycares.AAAARecordData)
    )
    lifetime = min((record.ttl for record in answer), default=0)  # including the aliases on the way
    return Records(addresses, lifetime, None if addresses else FetchReason.DNS_NOT_FOUND)


def _texts(name: str, question: asyncio.Future[pycares.DNSResult]) -> tuple[str, ...]:
    if question.cancelled():
        raise unresolved(name, FetchReason.DNS_TIMEOUT)
    try:
        answer = question.result().answer
    except DNSError as error:
        failure = _OF_ARES.get(error.args[0], FetchReason.DNS_FAILED)
        if failure is FetchReason.DNS_NOT_FOUND:
            return ()
        raise unresolved(name, failure) from None
    found = (record.data.data for record in answer if isinstance(record.data, pycares.TXTRecordData))
    return tuple(data.decode("utf-8", "replace") if isinstance(data, bytes) else data for data in found)


def _combine(found: Sequence[Records]) -> Resolution:
    """Addresses of either kind are enough. Without any, the worst failure is the reason."""
    addresses = tuple(address for records in found for address in records.addresses)
    if addresses:
        lifetime = min(records.lifetime for records in found)
        return Resolution(addresses, min(max(lifetime, MIN_LIFETIME), MAX_LIFETIME))
    failures = {records.failure for records in found}
    for failure in (FetchReason.DNS_TIMEOUT, FetchReason.DNS_FAILED):
        if failure in failures:
            return Resolution((), 0, failure)
    return Resolution((), MIN_LIFETIME, FetchReason.DNS_NOT_FOUND)


def unresolved(name: str, reason: FetchReason) -> Problem:
    """The problem of a name without addresses. One whose addresses are refused is `DNS_NOT_FOUND` too."""
    details = {"host": name, "reason": reason.value}
    if reason is FetchReason.DNS_TIMEOUT:
        return Problem(FETCH_TIMEOUT, f"No name server answered for {name} in time", details=details)
    if reason is FetchReason.DNS_NOT_FOUND:
        return Problem(
            FETCH_FAILED, f"The host name {name} has no public address", hint=HINT, details=details
        )
    return Problem(FETCH_FAILED, f"The host name {name} could not be resolved", details=details)
