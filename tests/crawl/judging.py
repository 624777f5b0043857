"""Verdicts on a crawl: what the hosts would complain of, and whether every page is accounted for.

Nothing here asks the crawler. Politeness is judged by what the servers kept, and pages by the rows that a
plain query finds.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import text

from gossamer.state.db.database import Database
from tests.crawl.origin import Visit
from tests.crawl.web import DEPTH, TRACKED, Web

# A worker leaves to the next one when a host may be asked again, in whole milliseconds of the database's
# clock, which is not the clock of the servers.
ROUNDING = 0.005
PAGES = text("SELECT url, status_code, content_hash FROM crawled_pages WHERE crawl_id = :crawl")
LEFT = text("SELECT count(*) FROM frontier WHERE crawl_id = :crawl AND state IN ('pending', 'in_progress')")
COUNTED = text("SELECT pages, completed + failed + blocked FROM crawls WHERE id = :crawl")
SETTLED = text("SELECT count(*) FROM frontier WHERE crawl_id = :crawl")
# The same things, as three tables count them.
STORED = "(SELECT sum(content_length) FROM crawled_pages WHERE crawl_id = :crawl)"
SUMMED = [
    text(f"SELECT {counts} FROM {table} WHERE {crawl} = :crawl")
    for counts, table, crawl in (
        ("completed, failed, blocked, bytes", "crawls", "id"),
        ("sum(fetched), sum(failed), sum(blocked), sum(bytes)", "crawl_minutes", "crawl_id"),
        (f"sum(completed), sum(failed), sum(blocked), {STORED}", "crawl_hosts", "crawl_id"),
    )
]


@dataclass(frozen=True, slots=True)
class Complaint:
    address: str
    before: Visit
    visit: Visit

    def __str__(self) -> str:
        seconds = self.visit.began - self.before.ended
        first, second = self.before.target, self.visit.target
        return f"{self.address}: {second} came {seconds:.3f} s after the answer to {first}"


def complaints(visits: Iterable[Visit], delay: float) -> list[Complaint]:
    """Of hosts that were asked twice at once, or sooner after an answer than they want it."""
    by_address: dict[str, list[Visit]] = defaultdict(list)
    for visit in visits:
        by_address[visit.address].append(visit)
    return [
        Complaint(address, before, visit)
        for address, seen in by_address.items()
        for before, visit in pairwise(sorted(seen, key=lambda one: one.began))
        if visit.began < before.ended + delay - ROUNDING
    ]


@dataclass(frozen=True, slots=True)
class Account:
    """Of one crawl."""

    lost: frozenset[str]  # pages that are there and were not stored
    twice: frozenset[str]
    invented: frozenset[str]  # stored as good, and are not
    left: int  # URLs that nothing has become of yet
    miscounted: tuple[str, ...]
    refetched: int  # answers with a page beyond the first for each
    forbidden: frozenset[str]

    @property
    def wrong(self) -> list[str]:
        named = {"lost": self.lost, "twice": self.twice, "invented": self.invented, "asked": self.forbidden}
        told = [f"{len(urls)} {name}, as {min(urls)}" for name, urls in named.items() if urls]
        return [*told, *([f"{self.left} left"] if self.left else []), *self.miscounted]


async def account(
    database: Database, crawl_id: str, web: Web, visits: Sequence[Visit], *, depth: int = DEPTH
) -> Account:
    async with database.read() as connection:
        which = {"crawl": crawl_id}
        rows = [tuple(row) for row in await connection.execute(PAGES, which)]
        left = await connection.scalar(LEFT, which)
        pages, settled = (await connection.execute(COUNTED, which)).one()
        urls = await connection.scalar(SETTLED, which)
        sums = [tuple(map(int, (await connection.execute(one, which)).one())) for one in SUMMED]
    stored = Counter(url.removesuffix(TRACKED) for url, status, content in rows if status == 200 and content)
    good = web.all_good(depth)
    counted = {"pages": (pages, len(rows)), "URLs": (settled, (urls or 0) - (left or 0))}
    counted |= {"by the minute": (sums[1], sums[0]), "by host": (sums[2], sums[0])}
    return Account(
        lost=frozenset(good - stored.keys()),
        twice=frozenset(url for url, times in stored.items() if times > 1),
        invented=frozenset(stored.keys() - good),
        left=left or 0,
        miscounted=tuple(f"{a} {name} counted, {b} there" for name, (a, b) in counted.items() if a != b),
        refetched=_refetched(web, visits),
        forbidden=frozenset(
            f"{visit.address}{visit.target}" for visit in visits if web.forbidden(visit.target)
        ),
    )


def _refetched(web: Web, visits: Iterable[Visit]) -> int:
    served = Counter(
        (visit.address, visit.target.removesuffix(TRACKED)) for visit in visits if visit.status == 200
    )
    pages = {(web.address(host), target) for host in range(web.hosts) for target in web.good(host)}
    return sum(times - 1 for which, times in served.items() if which in pages)
