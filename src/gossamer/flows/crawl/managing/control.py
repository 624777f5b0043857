"""Controls crawls, their frontier and hosts, with a line in the log of activity for each change."""

from msgspec import Struct

from gossamer.flows.crawl.politeness.robots import forget as forget_robots
from gossamer.flows.tenants.admit import Caller
from gossamer.flows.tenants.quotas import Quotas
from gossamer.state.crawl import crawls as table
from gossamer.state.crawl.crawls import Crawl, Crawls
from gossamer.state.crawl.frontier import ClearedUrls, Frontier
from gossamer.state.crawl.hosts import Hosts, Record
from gossamer.state.crawl.upkeep import importing
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.kv.hot import Hot
from gossamer.state.tenants import activity
from gossamer.state.tenants.activity import Action, ActivityEntry, Actor


class CrawlControl(Struct, frozen=True):
    crawls: Crawls
    frontier: Frontier
    hosts: Hosts
    hot: Hot
    quotas: Quotas

    # Each of these returns whether it changed anything: a crawl that is over stays so.

    async def pause(self, crawl: Crawl, by: Actor) -> bool:
        """An import has no pauses."""
        async with self.crawls.database.write() as connection:
            if await importing.is_importing(connection, crawl.id):
                return False
            changed = await table.pause(connection, crawl.id)
            if changed:
                await activity.record(connection, _entry(crawl, Action.CRAWL_PAUSED, by))
        return changed

    async def resume(self, crawl: Crawl, by: Actor) -> bool:
        """Raises `Problem` if a quota would only pause it again."""
        if crawl.state == "paused":
            await self.quotas.check_resume(crawl.tenant_id, crawl.quota_tier)
        async with self.crawls.database.write() as connection:
            changed = await table.resume(connection, crawl.id)
            if changed:
                await activity.record(connection, _entry(crawl, Action.CRAWL_RESUMED, by))
        if changed:
            await self.crawls.rouse(crawl.id)
        return changed

    async def stop(self, crawl: Crawl, by: Actor) -> bool:
        async with self.crawls.database.write() as connection:
            changed = await table.cancel(connection, crawl.id)
            if changed:
                await activity.record(connection, _entry(crawl, Action.CRAWL_STOPPED, by))
        return changed

    async def clear(self, crawl: Crawl, by: Actor) -> ClearedUrls:
        """Remove its pending URLs, as many as time allows."""
        return await self.frontier.clear(crawl.id, _recording(_entry(crawl, Action.FRONTIER_CLEARED, by)))

    async def recover(self, caller: Caller, by: Actor) -> int:
        """Give back the URLs that lost workers had taken, in all crawls; returns how many."""
        entry = ActivityEntry(caller.tenant_id, Action.FRONTIER_RECOVERED, "frontier", by)
        return await self.frontier.recover(_recording(entry))

    async def reset(self, host: str, caller: Caller, by: Actor) -> bool:
        """Forget the failures and the robots.txt of a host. False: the host is not known."""
        entry = ActivityEntry(caller.tenant_id, Action.DOMAIN_RESET, host, by)
        if not await self.hosts.reset(host, _recording(entry)):
            return False
        await forget_robots(self.hot, host)
        return True


def _recording(entry: ActivityEntry) -> Record:
    async def record(connection: AsyncConnection) -> None:
        await activity.record(connection, entry)

    return record


def _entry(crawl: Crawl, action: Action, by: Actor) -> ActivityEntry:
    return ActivityEntry(crawl.tenant_id, action, crawl.id, by)
