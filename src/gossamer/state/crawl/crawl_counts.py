# ruff: noqa: S608 - only constants of this module are put into these statements
"""Counts of a crawl: its URLs in each state, by host and in total, and its events in each minute.

Counts are updated in the transaction that changes the URLs, so rows need never be counted. A transaction that
writes here first locks its crawls with `lock`, in the order of their ids.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from gossamer.state.db.bulk import bulk
from gossamer.state.db.single import Executor, Rows
from gossamer.web.outcome.outcome import Outcome

STATES: Final = ("pending", "in_progress", "completed", "failed", "blocked")
_PLACE: Final = {state: place for place, state in enumerate(STATES)}
MINUTE_MS: Final = 60_000
DAY_MS: Final = 86_400_000
MINUTE_COUNTS: Final = (
    "fetched", "failed", "blocked", "retried", "added", "bytes", "duration_ms",
    "status_2xx", "status_3xx", "status_4xx", "status_5xx", *(f"outcome_{each}" for each in Outcome),
)  # fmt: skip


class CountChange(Struct):
    """The changes that a transaction makes to the counts."""

    by_host: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    by_crawl: dict[str, Counter[str]] = field(
        default_factory=dict
    )  # `pages`, `bytes` and the counts of a minute

    def move(self, crawl_id: str, host: str, *, before: str = "", after: str = "") -> None:
        changes = self.by_host.setdefault((crawl_id, host), [0] * len(STATES))
        if before:
            changes[_PLACE[before]] -= 1
        if after:
            changes[_PLACE[after]] += 1

    def count(self, crawl_id: str, **more: int) -> None:
        counts = self.by_crawl.setdefault(crawl_id, Counter())
        for name, number in more.items():
            counts[name] += number

    @property
    def crawls(self) -> list[str]:
        return sorted({crawl_id for crawl_id, _ in self.by_host} | set(self.by_crawl))

    async def write(self, executor: Executor, now: int | None) -> None:
        places = sorted(self.by_host)
        await _NEW_HOSTS(executor, now, [place for place in places if self.by_host[place][0] > 0])
        await _HOSTS(executor, now, [(*place, *self.by_host[place]) for place in places])
        sums = {crawl_id: [0] * len(STATES) for crawl_id in self.crawls}
        for (crawl_id, _), changes in self.by_host.items():
            sums[crawl_id] = [sum(pair) for pair in zip(sums[crawl_id], changes, strict=True)]
        none: Counter[str] = Counter()
        rows = [(each, self.by_crawl.get(each, none)) for each in self.crawls]
        await _CRAWLS(
            executor, now, [(each, *sums[each], counts["pages"], counts["bytes"]) for each, counts in rows]
        )
        stored = [(each, counts["pages"], counts["bytes"]) for each, counts in rows if counts["pages"]]
        await _DAYS(executor, now, stored)
        happened = [(each, *(counts[name] for name in MINUTE_COUNTS)) for each, counts in rows]
        await _MINUTES(executor, now, [row for row in happened if any(row[1:])])


_LOCK: Final = bulk(
    """
SELECT id, tenant_id, state, deleting, revision, keeps_fresh, max_pages - pages - in_progress AS room,
    EXISTS (SELECT 1 FROM webhook_endpoints WHERE webhook_endpoints.tenant_id = crawls.tenant_id
        AND disabled_at IS NULL AND ended_at IS NULL) AS has_listener
FROM crawls
WHERE id IN (SELECT crawl_id FROM {given}) ORDER BY id {for_update}""",
    rows={"crawl_id": "text"},
)
_NEW_HOSTS: Final = bulk(
    f"""
INSERT INTO crawl_hosts (crawl_id, host, tenant_id, {", ".join(STATES)}, taken_at)
SELECT crawl_id, host, tenant_id, {", ".join("0" for _ in STATES)}, 0
FROM {{given}} JOIN crawls ON crawls.id = given.crawl_id WHERE true
ON CONFLICT (crawl_id, host) DO NOTHING""",
    rows={"crawl_id": "text", "host": "text"},
)
_HOSTS: Final = bulk(
    f"""
UPDATE crawl_hosts SET {", ".join(f"{name} = crawl_hosts.{name} + given.{name}" for name in STATES)},
    taken_at = CASE WHEN given.in_progress > 0 THEN {{now}} ELSE taken_at END
FROM {{given}} WHERE crawl_hosts.crawl_id = given.crawl_id AND crawl_hosts.host = given.host""",
    rows={"crawl_id": "text", "host": "text", **dict.fromkeys(STATES, "bigint")},
)
_SUMMED: Final = (*STATES, "pages", "bytes")
_CRAWLS: Final = bulk(
    f"""
UPDATE crawls SET {", ".join(f"{name} = crawls.{name} + given.{name}" for name in _SUMMED)},
    started_at = CASE WHEN given.in_progress > 0 THEN COALESCE(started_at, {{now}}) ELSE started_at END
FROM {{given}} WHERE crawls.id = given.crawl_id""",
    rows={"crawl_id": "text", **dict.fromkeys(_SUMMED, "bigint")},
)
_MINUTES: Final = bulk(
    f"""
INSERT INTO crawl_minutes (crawl_id, minute, {", ".join(MINUTE_COUNTS)})
SELECT crawl_id, {{now}} / {MINUTE_MS}, {", ".join(MINUTE_COUNTS)} FROM {{given}} WHERE true
ON CONFLICT (crawl_id, minute) DO UPDATE SET
    {", ".join(f"{name} = crawl_minutes.{name} + excluded.{name}" for name in MINUTE_COUNTS)}""",
    rows={"crawl_id": "text", **dict.fromkeys(MINUTE_COUNTS, "bigint")},
)


# In the order of their ids, so that two transactions cannot deadlock.
_DAYS: Final = bulk(
    f"""
INSERT INTO tenant_days (tenant_id, day, pages, bytes)
SELECT crawls.tenant_id, {{now}} / {DAY_MS}, SUM(given.pages), SUM(given.bytes)
FROM {{given}} JOIN crawls ON crawls.id = given.crawl_id WHERE true
GROUP BY crawls.tenant_id ORDER BY crawls.tenant_id
ON CONFLICT (tenant_id, day) DO UPDATE SET
    pages = tenant_days.pages + excluded.pages, bytes = tenant_days.bytes + excluded.bytes""",
    rows={"crawl_id": "text", "pages": "bigint", "bytes": "bigint"},
)


class CrawlsGone(Exception):
    """Nothing may be written for these crawls: they are being deleted, or are deleted."""

    def __init__(self, crawl_ids: set[str]) -> None:
        self.crawl_ids = crawl_ids


async def lock(executor: Executor, crawl_ids: Iterable[str]) -> Rows:
    """Lock the crawls in the order of their ids; returns id, tenant, state, whether it is being deleted,
    revision, whether it is kept fresh, room for more pages, and whether somebody of the tenant listens to
    webhooks."""
    return await _LOCK(executor, None, [(crawl_id,) for crawl_id in sorted(set(crawl_ids))])


async def lock_all(executor: Executor, crawl_ids: Iterable[str]) -> dict[str, str]:
    """Lock the crawls; returns the tenants of those whose pages somebody may hear of. Raises `CrawlsGone`
    unless all of them are there to stay: whoever deletes one marks it under the same lock, so nothing is
    written for it afterwards."""
    wanted = set(crawl_ids)
    found = [row for row in await lock(executor, wanted) if not row.deleting]
    if len(found) < len(wanted):
        raise CrawlsGone(wanted - {row.id for row in found})
    return {row.id: row.tenant_id for row in found if row.has_listener}
