# ruff: noqa: S608 - only constants of this module are put into these statements
"""Turns: whose hosts are leased next when more hosts wait than can be leased.

Tenants take turns, and so do the crawls of each tenant: a tenant or crawl that was never served comes first,
then the one that was served longest ago. Each process has its own order. A part of the leases goes to the
hosts that have waited longest, whichever crawl they belong to, so that no host is overlooked.
"""

from collections import OrderedDict
from typing import Final

from gossamer.state.db.bulk import bulk
from gossamer.state.db.single import Executor

MAX_REMEMBERED: Final = 10_000  # tenants and crawls
MAX_CRAWLS: Final = 1_000  # with hosts to lease, the newest ones; the hosts of older crawls wait longer
CRAWLS_AT_ONCE: Final = 16  # whose hosts are considered
HOSTS_AT_ONCE: Final = 500  # of a crawl that are searched for one that can be leased
BY_AGE: Final = 4  # every fourth lease goes to the host that has waited longest

_RUNNING: Final = "state = 'running' AND pending > 0 AND pages + in_progress < max_pages"
_DUE_HOSTS: Final = f"""
(SELECT host FROM crawl_hosts WHERE crawl_id = {{crawl}} AND pending > 0 ORDER BY taken_at
    LIMIT {HOSTS_AT_ONCE}) AS its JOIN hosts ON hosts.host = its.host WHERE due_at <= {{now}}"""
_CRAWLS: Final = bulk(
    f"SELECT id, tenant_id FROM crawls WHERE {_RUNNING} ORDER BY id DESC LIMIT {MAX_CRAWLS}"
)
_HOSTS: Final = bulk(
    f"SELECT hosts.host FROM {_DUE_HOSTS} LIMIT {{most}}", values={"crawl": "text", "most": "int"}
)
_STARVING: Final = bulk(
    f"""
SELECT count(*) AS crawls FROM (
    SELECT 1 FROM crawls WHERE {_RUNNING} AND in_progress = 0
        AND EXISTS (SELECT 1 FROM {_DUE_HOSTS.replace("{crawl}", "crawls.id")})
    LIMIT {{most}}
) AS found""",
    values={"most": "int"},
)


async def count_starving(executor: Executor, most: int, now: int | None) -> int:
    """The number of crawls without a URL in progress that have a host to lease, up to `most`."""
    (found,) = await _STARVING(executor, now, most=most)
    return int(found.crawls)


class HostTurns:
    def __init__(self) -> None:
        self._served: OrderedDict[str, int] = OrderedDict()  # the last turn of each tenant and crawl
        self._turn = 0
        self._leased = 0

    async def choose(self, executor: Executor, most: int, now: int | None) -> list[str]:
        """At most `most` hosts of the crawls whose turn it is. A crawl without a host to lease has had its
        turn too."""
        crawls = await _CRAWLS(executor, now)
        if len(crawls) < 2:
            return []
        wanted = self._take_share(most)
        due: dict[str, list[str]] = {}
        tenants = {row.id: row.tenant_id for row in crawls}
        for crawl_id in self._in_turn(tenants)[: CRAWLS_AT_ONCE if wanted else 0]:
            rows = await _HOSTS(executor, now, crawl=crawl_id, most=wanted)
            due[crawl_id] = [row.host for row in rows]
            if not rows:
                self._serve(crawl_id)
        return self._deal(due, tenants, wanted)

    def _take_share(self, most: int) -> int:
        before, self._leased = self._leased, self._leased + most
        return most - (self._leased // BY_AGE - before // BY_AGE)

    def _in_turn(self, tenants: dict[str, str]) -> list[str]:
        """The first crawl of each tenant, then the second of each, and so on."""
        of_tenant: dict[str, int] = {}
        places: dict[str, tuple[int, int]] = {}
        for crawl_id in sorted(tenants, key=self._last):
            tenant = tenants[crawl_id]
            of_tenant[tenant] = of_tenant.get(tenant, 0) + 1
            places[crawl_id] = (of_tenant[tenant], self._last(tenant))
        return sorted(places, key=places.__getitem__)

    def _deal(self, due: dict[str, list[str]], tenants: dict[str, str], wanted: int) -> list[str]:
        dealt: dict[str, None] = {}
        while len(dealt) < wanted and (left := [crawl_id for crawl_id, hosts in due.items() if hosts]):
            crawl_id = min(left, key=lambda each: (self._last(tenants[each]), self._last(each)))
            dealt[due[crawl_id].pop(0)] = None
            self._serve(tenants[crawl_id], crawl_id)
        return list(dealt)

    def _last(self, name: str) -> int:
        return self._served.get(name, 0)

    def _serve(self, *names: str) -> None:
        self._turn += 1
        for name in names:
            self._served[name] = self._turn
            self._served.move_to_end(name)
        while len(self._served) > MAX_REMEMBERED:
            self._served.popitem(last=False)
