"""Puts pages that are stored back into the frontier, so that they are fetched again.

The crawl goes on, with a new revision: what it stores then replaces what it had stored (`settling.py`). Rows
are locked in the order of `frontier.py`.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import and_, case, literal, select, update

from gossamer.state.crawl import crawl_counts, new_urls
from gossamer.state.crawl.crawl_counts import CountChange
from gossamer.state.crawl.crawl_tables import crawls, frontier
from gossamer.state.crawl.crawled_pages import StoredPage
from gossamer.state.crawl.new_urls import MEDIUM, NewUrl
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock

ENDED: Final = ("completed", "failed", "blocked")

_urls: Final = frontier.c
_crawls: Final = crawls.c


async def put(
    connection: AsyncConnection, crawl_id: str, pages: Sequence[StoredPage], *, now: int | None = None
) -> int:
    """Returns how many URLs wait now. A crawl that was canceled takes none. Raises `CrawlsGone`."""
    new = [NewUrl(page.url, page.url_hash, page.host, page.depth, MEDIUM) for page in pages]
    return await put_urls(connection, crawl_id, new, now=now)


async def put_urls(
    connection: AsyncConnection,
    crawl_id: str,
    new: Sequence[NewUrl],
    *,
    max_pages: int | None = None,
    now: int | None = None,
) -> int:
    """The same for URLs. `max_pages` is what the crawl was meant to store, if that is to be kept."""
    tally = CountChange()
    state = await connection.scalar(select(_crawls.state).where(_crawls.id == crawl_id))
    if state == "canceled":
        return 0
    await new_urls.insert(
        connection, [(crawl_id, each) for each in new], tally, now
    )  # those it has forgotten
    hosts = {each.host for each in new}
    await new_urls.lock_hosts(connection, hosts, now)
    await new_urls.wake(connection, hosts, now)
    await _wait_again(connection, crawl_id, [each.url_hash for each in new], tally, now)
    await crawl_counts.lock_all(connection, [crawl_id])
    await tally.write(connection, now)
    number = sum(change[0] for change in tally.by_host.values())
    await _reopen(connection, crawl_id, number, max_pages)
    return number


async def _wait_again(
    connection: AsyncConnection, crawl_id: str, hashes: Sequence[str], tally: CountChange, now: int | None
) -> None:
    chosen = and_(_urls.crawl_id == crawl_id, _urls.url_hash.in_(hashes), _urls.state.in_(ENDED))
    found = select(_urls.url_hash, _urls.host, _urls.state).where(chosen).order_by(_urls.url_hash)
    rows = (await connection.execute(found.with_for_update())).all()
    for row in rows:
        tally.move(crawl_id, row.host, before=row.state, after="pending")
    waiting = {"state": "pending", "attempt": 0, "lapses": 0, "reason": ""}
    times = {"due_at": clock(now), "updated_at": clock(now)}
    await connection.execute(update(frontier).where(chosen).values(**waiting, **times))


async def _reopen(
    connection: AsyncConnection, crawl_id: str, number: int, max_pages: int | None = None
) -> None:
    """There is room for these pages, also if the crawl has stored as many as it was meant to."""
    bound = _crawls.pages + _crawls.in_progress + number
    most = _crawls.max_pages if max_pages is None else literal(max_pages)
    change = update(crawls).where(_crawls.id == crawl_id)
    await connection.execute(
        change.values(
            revision=_crawls.revision + 1,
            max_pages=case((most < bound, bound), else_=most),
            state=case((_crawls.state == "done", "running"), else_=_crawls.state),
            finished_at=case((_crawls.state == "done", None), else_=_crawls.finished_at),
        )
    )
