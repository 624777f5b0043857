"""Counts again, and corrects counts that are wrong. Crawls may run meanwhile."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec import Struct

from gossamer.state.crawl.upkeep import recount
from gossamer.state.crawl.upkeep.recount import CountDifference
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import Database

AT_ONCE: Final = 500
COUNT_SECONDS: Final = 120.0  # for one crawl or host

ListKeys = Callable[[AsyncConnection, str, int], Awaitable[Sequence[str]]]
Compare = Callable[[AsyncConnection, str], Awaitable[list[CountDifference]]]


class Recounter(Struct, frozen=True):
    database: Database

    async def recount(self, *, dry_run: bool = False) -> list[CountDifference]:
        """Returns what was wrong, or with `dry_run` is."""
        found = await self._all(recount.list_crawls, recount.compare_crawl, recount.fix_crawl, dry_run)
        return found + await self._all(recount.list_hosts, recount.compare_host, recount.fix_host, dry_run)

    async def _all(
        self, list_keys: ListKeys, compare: Compare, fix: Compare, dry_run: bool
    ) -> list[CountDifference]:
        found: list[CountDifference] = []
        after = ""
        while True:
            async with self.database.read() as connection:
                keys = await list_keys(connection, after, AT_ONCE)
            for key in keys:
                # Without a lock first: most counts are right, and nobody has to wait.
                async with self.database.read(seconds=COUNT_SECONDS) as connection:
                    wrong = await compare(connection, key)
                if wrong and not dry_run:
                    async with self.database.write(seconds=COUNT_SECONDS) as connection:
                        wrong = await fix(connection, key)
                found += wrong
            if len(keys) < AT_ONCE:
                return found
            after = keys[-1]
