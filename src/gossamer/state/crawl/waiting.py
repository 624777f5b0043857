"""Why a host is not asked now, and what a crawl waits for while it sends no requests.

robots_unreachable   the robots.txt of the host cannot be fetched; it is tried again after an hour
failing              it failed too often in a row, or a defect of ours ended its crawl
pace                 it asks for a pause: a long delay, or a Retry-After
retry                the URLs left have failed before, and are tried again then
render_limit         the pages left need a browser, and the tenant may not render more before
turn                 the workers are busy with other hosts
worker               there is no worker that crawls
page_quota           the tenant's crawls have stored as many pages as they may on a day; until midnight (UTC)
byte_quota           the tenant keeps as many bytes as it may
"""

from typing import Any, Final

from msgspec import Struct
from sqlalchemy import func, select, text, union_all

from gossamer.state.crawl.crawl_tables import crawl_hosts, frontier, host_robots, hosts
from gossamer.state.db.connection import AsyncConnection
from gossamer.state.db.database import clock
from gossamer.state.jobs import heartbeats
from gossamer.web.crawl.progress import WaitReason
from gossamer.web.robots.robots import RobotsAccess, access_of

RENDER_LIMIT: Final = "render_limit"

SOON_MS: Final = 2_000  # within which a worker that has room begins with a host

# Of a host and, if there is one, its robots.txt; what `reason` looks at.
OWN: Final = (hosts.c.due_at, hosts.c.lease_token, hosts.c.next_at, hosts.c.resting_until)
ITS_ROBOTS: Final = (host_robots.c.host.label("asked"), host_robots.c.status.label("robots_status"))


class Waiting(Struct, frozen=True, kw_only=True):
    reason: WaitReason
    until: int | None  # None if it is not known
    hosts: int = 1


def of_host(row: Any) -> Waiting | None:
    """`row.now` is the database's time."""
    until = max(row.next_at, row.resting_until)
    if row.lease_token is not None or until <= row.now:
        return None
    return Waiting(reason=_reason(row), until=until)


async def of_crawl(connection: AsyncConnection, crawl_id: str, *, now: int | None = None) -> Waiting | None:
    """None if it is being crawled, is about to be, or has nothing to do."""
    leased_first = hosts.c.lease_token.is_(None)
    query = (
        select(hosts.c.host, *OWN, *ITS_ROBOTS, clock(now).label("now"), func.count().over().label("hosts"))
        .join(crawl_hosts, crawl_hosts.c.host == hosts.c.host)
        .outerjoin(host_robots, host_robots.c.host == hosts.c.host)
        .where(crawl_hosts.c.crawl_id == crawl_id, crawl_hosts.c.pending > 0, hosts.c.due_at.is_not(None))
        .order_by(leased_first, hosts.c.due_at)
    )
    row = (await connection.execute(query.limit(1))).first()
    if row is None or row.lease_token is not None:
        return None
    if row.due_at > row.now:
        reason = _reason(row)
        if reason == "retry" and await _first_reason(connection, crawl_id, row.host) == RENDER_LIMIT:
            reason = RENDER_LIMIT
        return Waiting(reason=reason, until=row.due_at, hosts=row.hosts)
    alive = await heartbeats.alive(connection, now=now)
    if not any(heartbeats.CRAWL in worker.kinds for worker in alive):
        return Waiting(reason="worker", until=None, hosts=row.hosts)
    late = row.due_at <= row.now - SOON_MS
    return Waiting(reason="turn", until=None, hosts=row.hosts) if late else None


async def _first_reason(connection: AsyncConnection, crawl_id: str, host: str) -> str:
    """Why the URL that is tried first on this host was put off. The first of each priority is enough."""
    here = (frontier.c.crawl_id == crawl_id, frontier.c.host == host, text("state = 'pending'"))
    query = select(frontier.c.due_at, frontier.c.reason).where(*here).order_by(frontier.c.due_at).limit(1)
    levels = [query.where(frontier.c.priority == level).subquery().select() for level in (3, 2, 1)]
    rows = (await connection.execute(union_all(*levels))).all()
    return str(min(rows).reason) if rows else ""


def _reason(row: Any) -> WaitReason:
    if row.resting_until > row.now:
        silent = row.asked is not None and access_of(row.robots_status) is RobotsAccess.DISALLOW_ALL
        return "robots_unreachable" if silent else "failing"
    return "pace" if row.next_at > row.now else "retry"
