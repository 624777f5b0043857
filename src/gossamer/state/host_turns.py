# ruff: noqa: S608 - what is put into these statements are other parts of them
"""Turns: whose hosts are leased next where more of them wait than there is room for.

Tenants take turns, and so do the crawls of each: who was served longest ago comes first, before them who
never was. Each process keeps its own order. Some go to the hosts that have waited longest, whoever wants
them, so that nobody is overlooked.
"""

from collections import OrderedDict
from typing import Final

from gossamer.state.alone import Hand
from gossamer.state.given import given

REMEMBERED: Final = 10_000  # tenants and crawls
MOST_CRAWLS: Final = 1_000  # the newest of those that want something; the hosts of older ones wait longer
CRAWLS_AT_ONCE: Final = 16  # whose hosts are looked at
HOSTS_AT_ONCE: Final = 500  # of a crawl, for one that can be leased
BY_AGE: Final = 4  # every fourth host is the one that has waited longest

_RUNNING: Final = "state = 'running' AND pending > 0 AND pages + in_progress < max_pages"
_RIPE: Final = f"""
(SELECT host FROM crawl_hosts WHERE crawl_id = {{crawl}} AND pending > 0 ORDER BY taken_at
    LIMIT {HOSTS_AT_ONCE}) AS its JOIN hosts ON hosts.host = its.host WHERE due_at <= {{now}}"""
_CRAWLS: Final = given(
    f"SELECT id, tenant_id FROM crawls WHERE {_RUNNING} ORDER BY id DESC LIMIT {MOST_CRAWLS}"
)
_HOSTS: Final = given(
    f"SELECT hosts.host FROM {_RIPE} LIMIT {{most}}", values={"crawl": "text", "most": "int"}
)
_STARVING: Final = given(
    f"""
SELECT count(*) AS crawls FROM (
    SELECT 1 FROM crawls WHERE {_RUNNING} AND in_progress = 0
        AND EXISTS (SELECT 1 FROM {_RIPE.replace("{crawl}", "crawls.id")})
    LIMIT {{most}}
) AS found""",
    values={"most": "int"},
)


async def starving(hand: Hand, most: int, now: int | None) -> int:
    """Of how many crawls nothing is in progress though it could be, up to `most`."""
    (found,) = await _STARVING(hand, now, most=most)
    return int(found.crawls)


class Turns:
    def __init__(self) -> None:
        self._served: OrderedDict[str, int] = OrderedDict()  # tenants and crawls: the how manieth turn it was
        self._turn = 0
        self._leased = 0

    async def chosen(self, hand: Hand, most: int, now: int | None) -> list[str]:
        """The hosts of those whose turn it is, at most so many; who is looked at has had a turn."""
        crawls = await _CRAWLS(hand, now)
        if len(crawls) < 2:
            return []
        wanted = self._without_age(most)
        ripe: dict[str, list[str]] = {}
        tenants = {row.id: row.tenant_id for row in crawls}
        for crawl_id in self._in_turn(tenants)[: CRAWLS_AT_ONCE if wanted else 0]:
            rows = await _HOSTS(hand, now, crawl=crawl_id, most=wanted)
            ripe[crawl_id] = [row.host for row in rows]
            if not rows:
                self._serve(crawl_id)
        return self._dealt(ripe, tenants, wanted)

    def _without_age(self, most: int) -> int:
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

    def _dealt(self, ripe: dict[str, list[str]], tenants: dict[str, str], wanted: int) -> list[str]:
        dealt: dict[str, None] = {}
        while len(dealt) < wanted and (left := [crawl_id for crawl_id, hosts in ripe.items() if hosts]):
            crawl_id = min(left, key=lambda each: (self._last(tenants[each]), self._last(each)))
            dealt[ripe[crawl_id].pop(0)] = None
            self._serve(tenants[crawl_id], crawl_id)
        return list(dealt)

    def _last(self, name: str) -> int:
        return self._served.get(name, 0)

    def _serve(self, *names: str) -> None:
        self._turn += 1
        for name in names:
            self._served[name] = self._turn
            self._served.move_to_end(name)
        while len(self._served) > REMEMBERED:
            self._served.popitem(last=False)
