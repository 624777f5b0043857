"""The desk: what walks want of the database at about the same time is one transaction.

Who comes first is served at once; who comes meanwhile is served together with the others who did.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from gossamer.state.frontier import Frontier, Task
from gossamer.state.hosts import FoundRobots, HostLease, Hosts, Release

TOGETHER: Final = 50  # hosts: others wait for the transaction

Wish = TypeVar("Wish")
Given = TypeVar("Given")


class Together(Generic[Wish, Given]):
    def __init__(self, serve: Callable[[Sequence[Wish]], Awaitable[Sequence[Given]]]) -> None:
        self._serve = serve
        self._waiting: list[tuple[Wish, asyncio.Future[Given]]] = []
        self._serving: asyncio.Task[None] | None = None

    async def ask(self, wish: Wish) -> Given:
        answer: asyncio.Future[Given] = asyncio.get_running_loop().create_future()
        self._waiting.append((wish, answer))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve_all())
        return await answer

    async def _serve_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]
            try:
                given = await self._serve([wish for wish, _ in batch])
            except BaseException as error:
                for _, answer in batch:
                    if not answer.done():
                        answer.set_exception(_passed_on(error))
                if not isinstance(error, Exception):
                    raise
            else:
                for (_, answer), one in zip(batch, given, strict=True):
                    if not answer.done():  # who asked may be gone: the host's lease tells what becomes of it
                        answer.set_result(one)


class Desk:
    def __init__(self, frontier: Frontier, hosts: Hosts) -> None:
        self._frontier = frontier
        self._hosts = hosts
        self._takes = Together(self._take)
        self._releases = Together(self._release)
        self._robots = Together(self._keep_robots)

    async def take(self, lease: HostLease, most: int) -> list[Task]:
        return await self._takes.ask((lease, most))

    async def release(self, release: Release) -> bool:
        return await self._releases.ask(release)

    async def keep_robots(self, found: FoundRobots) -> bool:
        return await self._robots.ask(found)

    async def _take(self, wishes: Sequence[tuple[HostLease, int]]) -> list[list[Task]]:
        taken = await self._frontier.take_many(wishes)
        return [taken.get(lease.host, []) for lease, _ in wishes]

    async def _release(self, wishes: Sequence[Release]) -> list[bool]:
        held = await self._hosts.release_many(wishes)
        return [wish.lease.host in held for wish in wishes]

    async def _keep_robots(self, wishes: Sequence[FoundRobots]) -> list[bool]:
        held = await self._hosts.keep_robots_many(wishes)
        return [wish.lease.host in held for wish in wishes]


def _passed_on(error: BaseException) -> BaseException:
    """Who waits is not who was cancelled."""
    return RuntimeError("the desk was closed") if isinstance(error, asyncio.CancelledError) else error
