"""Settling: the results of tasks, written under the leases of their hosts."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct, field
from msgspec.structs import fields, replace

from gossamer.problems import Unavailable
from gossamer.state.blobs import orphan_blobs
from gossamer.state.crawl import crawl_counts, crawled_pages, new_urls, trap_rows
from gossamer.state.crawl.crawl_counts import CountChange
from gossamer.state.crawl.crawled_pages import CrawledPage
from gossamer.state.crawl.hosts import HostLease
from gossamer.state.crawl.new_urls import NewUrl
from gossamer.state.crawl.refresh import fresh_pages, moved_pages, page_versions
from gossamer.state.crawl.refresh.fresh_pages import KnownPage, PageVisit, VisitedPage
from gossamer.state.crawl.removal import crawl_blobs, removed_pages
from gossamer.state.crawl.removal.crawl_blobs import NO_LINKS, LinksAt
from gossamer.state.crawl.trap_rows import TrapNews
from gossamer.state.db.bulk import bulk
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.jobs.job import clean
from gossamer.state.search import index_queue
from gossamer.state.webhooks import publishing
from gossamer.web.crawl.refresh.page_change import PageChange
from gossamer.web.webhooks.webhook import EventPage, LongWork

End = Literal["pending", "completed", "failed", "blocked"]
MAX_REASON_CHARS: Final = 500


class CrawlTask(Struct, frozen=True, kw_only=True):
    """A URL to be fetched now."""

    crawl_id: str
    url_hash: str
    url: str
    host: str
    depth: int
    priority: int
    attempt: int  # including this one
    hops: int = 0
    as_sitemap: bool = False
    revision: int = 0  # of the crawl when it was taken: URLs known before a later one may be new again
    known: KnownPage | None = None  # what is stored of it, if the crawl is kept fresh


class TaskEnd(Struct, frozen=True, kw_only=True):
    """The result of a task. `pending`: it is tried again from `due_at` (milliseconds) on."""

    task: CrawlTask
    state: End = "completed"
    page: CrawledPage | None = None
    due_at: int | None = None
    reason: str = ""
    counts: bool = True  # as an attempt
    visit: PageVisit | None = None  # if the crawl is kept fresh

    def __post_init__(self) -> None:
        if self.state == "pending" and self.page is not None:
            raise ValueError("a page is stored once, when its URL is done")


class HostNews(Struct, frozen=True, kw_only=True):
    """What was learned of the host; None leaves a value as it was."""

    next_at: int | None = None
    delay_ms: int | None = None
    failures: int | None = None
    resting_until: int | None = None
    is_allowed: bool | None = None
    renders: bool | None = None


_OF_HOST: Final = tuple(each.name for each in fields(HostNews))


class HostSettlement(Struct, frozen=True, kw_only=True):
    """The results of a batch of a host's tasks. Tasks that it does not name stay in progress."""

    ends: Sequence[TaskEnd] = ()
    new: Mapping[str, Sequence[NewUrl]] = field(default_factory=dict)  # by crawl
    traps: Sequence[TrapNews] = ()
    host: HostNews = HostNews()


def without_crawls(
    batches: Sequence[tuple[HostLease, HostSettlement]], gone: Collection[str]
) -> list[tuple[HostLease, HostSettlement]]:
    """The same results, except those of crawls that are gone."""
    return [
        (
            lease,
            replace(
                batch,
                ends=[end for end in batch.ends if end.task.crawl_id not in gone],
                new={crawl_id: urls for crawl_id, urls in batch.new.items() if crawl_id not in gone},
                traps=[each for each in batch.traps if each.crawl_id not in gone],
            ),
        )
        for lease, batch in batches
    ]


class LeasesLost(Exception):
    """Some of the leases are no longer held."""

    def __init__(self, held: set[str]) -> None:
        self.held = held


# A URL is found by its key. The concatenation keeps the databases from scanning everything that the host has
# in progress instead.

_END: Final = bulk(
    """
UPDATE frontier SET state = given.state, due_at = COALESCE(given.due_at, frontier.due_at),
    attempt = attempt - given.given_back, updated_at = {now}, reason = given.reason
FROM {given} WHERE frontier.crawl_id = given.crawl_id AND frontier.url_hash = given.url_hash
    AND frontier.host || '' = given.host AND frontier.state || '' = 'in_progress'
RETURNING frontier.crawl_id, frontier.url_hash""",
    rows={
        "crawl_id": "text",
        "url_hash": "text",
        "host": "text",
        "state": "text",
        "due_at": "bigint",
        "given_back": "smallint",
        "reason": "text",
    },
)
_NEWS: Final = bulk(
    """
UPDATE hosts SET next_at = {greatest}(hosts.next_at, COALESCE(given.next_at, 0)),
    delay_ms = COALESCE(given.delay_ms, hosts.delay_ms), failures = COALESCE(given.failures, hosts.failures),
    resting_until = COALESCE(given.resting_until, hosts.resting_until),
    is_allowed = COALESCE(given.is_allowed, hosts.is_allowed),
    renders = COALESCE(given.renders, hosts.renders),
    pages = hosts.pages + given.pages, bytes = hosts.bytes + given.bytes
FROM {given} WHERE hosts.host = given.host""",
    rows={
        "host": "text",
        "next_at": "bigint",
        "delay_ms": "int",
        "failures": "int",
        "resting_until": "bigint",
        "is_allowed": "boolean",
        "renders": "boolean",
        "pages": "bigint",
        "bytes": "bigint",
    },
)
_HAPPENED: Final = {"completed": "fetched", "failed": "failed", "blocked": "blocked", "pending": "retried"}


async def settle(
    connection: AsyncConnection,
    batches: Sequence[tuple[HostLease, HostSettlement]],
    blobs: Sequence[str],
    now: int | None,
    links: Mapping[str, LinksAt] = NO_LINKS,
) -> set[str]:
    """Write the results; returns the hosts. Raises `LeasesLost` unless all of them are held, and `CrawlsGone`
    if a crawl is being deleted."""
    tally = CountChange()
    found = ((crawl_id, url) for _, batch in batches for crawl_id, urls in batch.new.items() for url in urls)
    awake = await new_urls.insert(connection, found, tally, now)
    own = {lease.host: lease for lease, _ in batches}
    rows = await new_urls.lock_hosts(connection, awake | own.keys(), now)
    tokens = {row.host: row.lease_token for row in rows if row.leased}
    held = {host for host, lease in own.items() if tokens.get(host) == lease.token}
    if len(held) < len(own):
        raise LeasesLost(held)
    await new_urls.wake(connection, awake - own.keys(), now)
    ended = await _end_tasks(connection, [end for _, batch in batches for end in batch.ends], now)
    await _NEWS(connection, now, _news(batches, ended))
    _count(ended, tally)
    told = await crawl_counts.lock_all(connection, tally.crawls)
    await _keep(connection, ended, blobs, now, links)
    await fresh_pages.record(connection, _visits(ended), now)
    await moved_pages.drop_words(connection, _moved(ended), now)
    await trap_rows.keep(connection, _trap_news(batches, set(tally.crawls)), now)
    await tally.write(connection, now)
    if told:
        await _tell(connection, told, ended, now)
    return held


async def _end_tasks(connection: AsyncConnection, ends: Sequence[TaskEnd], now: int | None) -> list[TaskEnd]:
    """End the tasks; returns those that were in progress, each once."""
    by_key = {(end.task.crawl_id, end.task.url_hash): end for end in ends}
    rows = [
        (*key, end.task.host, end.state, end.due_at, int(not end.counts), clean(end.reason, MAX_REASON_CHARS))
        for key, end in sorted(by_key.items())
    ]
    return [by_key[row.crawl_id, row.url_hash] for row in await _END(connection, now, rows)]


async def _keep(
    connection: AsyncConnection,
    ended: Sequence[TaskEnd],
    blobs: Sequence[str],
    now: int | None,
    links: Mapping[str, LinksAt],
) -> None:
    rows = [
        (task.crawl_id, task.url_hash, task.url, task.host, task.depth, *page.as_row())
        for task, page in ((end.task, end.page) for end in ended)
        if page is not None
    ]
    if not rows:  # also if all of this was written before, unknown to the worker
        return
    kept = [
        (blob, end.task.crawl_id)
        for end in ended
        if end.page is not None
        for blob in (end.page.blob, end.page.screenshot)
        if blob is not None
    ]
    kept += [(links[row[0]].blob, row[0]) for row in rows if row[0] in links]
    named = {blob for blob, _ in kept}
    for blob in blobs:  # one that no row names, because a lease was lost, stays an orphan
        if blob in named and not await orphan_blobs.claim(connection, blob):
            raise Unavailable("blobs", "an upload took too long")
    # URLs of a later revision may have been stored before, and forgotten since.
    again = [(end.task.crawl_id, end.task.url_hash) for end in ended if end.page and end.task.revision]
    changes = _changes(ended)
    await page_versions.keep_first(connection, changes.keys())
    await removed_pages.make_room(connection, again)
    await crawled_pages.INSERT(connection, now, rows)
    await page_versions.add(connection, changes)
    await removed_pages.drop_surplus(connection, changes.keys())
    await crawl_blobs.add(connection, set(kept), links)
    readable = [
        (end.page.blob, end.task.crawl_id, end.task.url_hash)
        for end in ended
        if end.page is not None and end.page.blob is not None
    ]
    await index_queue.add(connection, readable)


def _changes(ended: Sequence[TaskEnd]) -> dict[tuple[str, str], PageChange]:
    """The pages that are replaced by another version."""
    return {
        (end.task.crawl_id, end.task.url_hash): end.visit.change
        for end in ended
        if end.visit is not None
        and end.visit.change.is_told
        and end.visit.change is not PageChange.NEW
        and not end.task.as_sitemap
    }


def _moved(ended: Sequence[TaskEnd]) -> list[tuple[str, str]]:
    return [
        (end.task.crawl_id, end.task.url)
        for end in ended
        if end.visit is not None and end.visit.change is PageChange.MOVED
    ]


def _visits(ended: Sequence[TaskEnd]) -> list[VisitedPage]:
    return [
        VisitedPage(task.crawl_id, task.url_hash, task.host, task.priority, visit, task.as_sitemap)
        for task, visit in ((end.task, end.visit) for end in ended)
        if visit is not None
    ]


async def _tell(
    connection: AsyncConnection, tenants: Mapping[str, str], ended: Sequence[TaskEnd], now: int | None
) -> None:
    for crawl_id, tenant_id in tenants.items():
        pages = [
            EventPage(
                end.task.url_hash,
                end.task.url,
                end.page.outcome == "ok",
                end.page.blob is not None,
                "" if end.visit is None else end.visit.change.told,
            )
            for end in ended
            if end.page is not None
            and end.task.crawl_id == crawl_id
            and (end.visit is None or end.visit.change.is_told)
        ]
        if pages:
            await publishing.publish_pages(connection, LongWork.CRAWL, tenant_id, crawl_id, pages, now=now)


def _trap_news(
    batches: Sequence[tuple[HostLease, HostSettlement]], locked: Collection[str]
) -> list[tuple[str, TrapNews]]:
    return [(lease.host, each) for lease, batch in batches for each in batch.traps if each.crawl_id in locked]


def _count(ended: Sequence[TaskEnd], tally: CountChange) -> None:
    for end in ended:
        task, page = end.task, end.page
        tally.move(task.crawl_id, task.host, before="in_progress", after=end.state)
        more = {_HAPPENED[end.state]: 1}
        if page is not None:
            more |= {"pages": 1, "bytes": page.content_length, "duration_ms": page.duration_ms}
            if page.status_code is not None and 200 <= page.status_code < 600:
                more[f"status_{page.status_code // 100}xx"] = 1
            if page.outcome:
                more[f"outcome_{page.outcome}"] = 1
        tally.count(task.crawl_id, **more)


def _news(
    batches: Sequence[tuple[HostLease, HostSettlement]], ended: Sequence[TaskEnd]
) -> list[tuple[Any, ...]]:
    news: dict[str, list[Any]] = {}
    for lease, batch in batches:
        before = news.get(lease.host, [None] * len(_OF_HOST))
        after = [getattr(batch.host, name) for name in _OF_HOST]
        news[lease.host] = [new if new is not None else old for old, new in zip(before, after, strict=True)]
    sizes: dict[str, list[int]] = {host: [] for host in news}
    for end in ended:
        if end.page is not None:
            sizes[end.task.host].append(end.page.content_length)
    return [(host, *news[host], len(sizes[host]), sum(sizes[host])) for host in news]
