"""Gates: how many may talk to one address at once, however many hosts live there.

Networks that the operator has opened on purpose have none.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final
from weakref import WeakValueDictionary

from gossamer.problems import Problem
from gossamer.reach.dial import Dialer
from gossamer.web.address import Network

LOCATE_SECONDS: Final = 5.0
OPEN: Final = nullcontext()


class Gates:
    def __init__(self, dialer: Dialer, most: int, open_networks: Sequence[Network]) -> None:
        self._dialer = dialer
        self._most = most
        self._open = open_networks
        self._gates: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def of(self, host: str) -> AbstractAsyncContextManager[object]:
        name, _, port = host.rpartition(":")
        deadline = asyncio.get_running_loop().time() + LOCATE_SECONDS
        try:
            addresses = await self._dialer.locate(name, int(port), deadline=deadline)
        except Problem:  # who talks to it finds out why
            return OPEN
        first = min(addresses, key=str)
        if any(first in network for network in self._open if network.version == first.version):
            return OPEN
        gate = self._gates.get(str(first))
        if gate is None:
            gate = self._gates[str(first)] = asyncio.Semaphore(self._most)
        return gate
