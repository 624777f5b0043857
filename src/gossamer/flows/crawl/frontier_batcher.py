"""Gathers what host crawls ask of the database at about the same time into one transaction."""

from collections.abc import Sequence
from typing import Final

from gossamer.concurrency.coalescer import Coalescer
from gossamer.state.crawl.frontier import Frontier
from gossamer.state.crawl.hosts import FoundRobots, HostLease, Hosts, Release
from gossamer.state.crawl.settling import CrawlTask

MAX_HOSTS: Final = 50  # in one transaction: others wait for it


class FrontierBatcher:
    def __init__(self, frontier: Frontier, hosts: Hosts) -> None:
        self._frontier = frontier
        self._hosts = hosts
        self._takes = Coalescer(self._take, max_batch=MAX_HOSTS)
        self._releases = Coalescer(self._release, max_batch=MAX_HOSTS)
        self._robots = Coalescer(self._keep_robots, max_batch=MAX_HOSTS)

    async def take(self, lease: HostLease, most: int) -> list[CrawlTask]:
        return await self._takes.ask((lease, most))

    async def release(self, release: Release) -> bool:
        return await self._releases.ask(release)

    async def keep_robots(self, found: FoundRobots) -> bool:
        return await self._robots.ask(found)

    async def _take(self, batch: Sequence[tuple[HostLease, int]]) -> list[list[CrawlTask]]:
        taken = await self._frontier.take_many(batch)
        return [taken.get(lease.host, []) for lease, _ in batch]

    async def _release(self, batch: Sequence[Release]) -> list[bool]:
        held = await self._hosts.release_many(batch)
        return [one.lease.host in held for one in batch]

    async def _keep_robots(self, batch: Sequence[FoundRobots]) -> list[bool]:
        held = await self._hosts.keep_robots_many(batch)
        return [one.lease.host in held for one in batch]
