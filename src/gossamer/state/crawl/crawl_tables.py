"""The tables of crawls: their URLs, hosts, pages and counts. A change needs a revision."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    SmallInteger,
    String,
    Table,
    Text,
    false,
)

from gossamer.state.db.columns import id_, metadata, text_, time_, where_
from gossamer.state.db.tables import tenants
from gossamer.web.outcome.outcome import Outcome

# `frontier.py` explains in which order rows are locked. Counts are updated in the transaction that changes
# the rows they count. Tables that are written by the thousand have no foreign keys.
crawls: Final = Table(
    "crawls",
    metadata,
    id_(primary_key=True),
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    text_("name"),
    text_("state"),
    Column("is_default", Boolean, nullable=False),  # takes the URLs that are added to no other crawl
    Column("deleting", Boolean, nullable=False, server_default=false()),  # nobody sees it any more
    Column("spec_json", Text, nullable=False),
    Column("max_pages", BigInteger, nullable=False),
    Column("pending", BigInteger, nullable=False),
    Column("in_progress", BigInteger, nullable=False),
    Column("completed", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("blocked", BigInteger, nullable=False),
    Column("pages", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    # Grows when known URLs may be new again: pending ones were removed, or its scope has grown.
    Column("revision", Integer, nullable=False, server_default="0"),
    time_("created_at"),
    time_("started_at", nullable=True),
    time_("finished_at", nullable=True),
    text_("request_id"),
    Column("quota_tier", String, nullable=True),  # whose quotas it is held to; empty: to none
    Column("held_by", String, nullable=True),  # the quota that has paused it
    Column("has_webhook", Boolean, nullable=False, server_default=false()),  # unused since 0007
    Column("keeps_fresh", Boolean, nullable=False, server_default=false()),  # its pages are visited again
    time_("weighed_at", nullable=True),  # when the importance of its pages was found
    CheckConstraint("state IN ('running', 'paused', 'done', 'canceled')", name="state"),
    CheckConstraint("(state IN ('done', 'canceled')) = (finished_at IS NOT NULL)", name="finished_when_over"),
    CheckConstraint("pending >= 0 AND in_progress >= 0", name="counts"),
    CheckConstraint("pages + in_progress <= max_pages", name="most_pages"),
    Index(None, "tenant_id", "id"),
    Index("uq_crawls_default", "tenant_id", unique=True, **where_("is_default")),
    Index("ix_crawls_running", "id", **where_("state = 'running'")),
    Index("ix_crawls_deleting", "id", **where_("deleting")),
    Index("ix_crawls_held", "id", **where_("held_by IS NOT NULL")),
)

# The lease and the pace of each host, for all crawls.
hosts: Final = Table(
    "hosts",
    metadata,
    Column("host", String, primary_key=True),  # with its port
    time_("due_at", nullable=True),  # when it can be leased, or the end of its lease; empty: nothing to do
    time_("next_at"),  # no request before
    time_("resting_until"),
    Column("lease_token", String(32), nullable=True),
    time_("locked_until", nullable=True),
    Column("locked_by", String, nullable=True),
    Column("delay_ms", Integer, nullable=True),
    Column("failures", Integer, nullable=False),  # in a row
    Column("is_allowed", Boolean, nullable=False),
    Column("renders", Boolean, nullable=False),  # its pages are empty without JavaScript
    Column("pages", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    time_("added_at"),
    CheckConstraint("(lease_token IS NULL) = (locked_until IS NULL)", name="lease_ends"),
    CheckConstraint("lease_token IS NULL OR due_at = locked_until", name="due_when_the_lease_ends"),
    Index("ix_hosts_due", "due_at", **where_("due_at IS NOT NULL")),
    Index("ix_hosts_leased", "locked_until", **where_("lease_token IS NOT NULL")),
)

host_robots: Final = Table(
    "host_robots",
    metadata,
    Column("host", String, primary_key=True),
    Column("status", SmallInteger, nullable=True),  # empty: there was no answer
    Column("body", Text, nullable=False),
    time_("fetched_at"),
    time_("expires_at"),
)

# The part of a crawl on one host.
crawl_hosts: Final = Table(
    "crawl_hosts",
    metadata,
    id_("crawl_id", primary_key=True),
    Column("host", String, primary_key=True),
    id_("tenant_id", nullable=False),
    Column("pending", BigInteger, nullable=False),
    Column("in_progress", BigInteger, nullable=False),
    Column("completed", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("blocked", BigInteger, nullable=False),
    time_("taken_at"),  # crawls take turns
    CheckConstraint("pending >= 0 AND in_progress >= 0", name="counts"),
    Index("ix_crawl_hosts_pending", "host", "taken_at", **where_("pending > 0")),
    Index("ix_crawl_hosts_turns", "crawl_id", "taken_at", **where_("pending > 0")),
    Index(None, "tenant_id", "host"),
)

frontier: Final = Table(
    "frontier",
    metadata,
    id_("crawl_id", primary_key=True),
    Column("url_hash", String(64), primary_key=True),
    Column("url", Text, nullable=False),
    text_("host"),
    Column("priority", SmallInteger, nullable=False),
    Column("depth", SmallInteger, nullable=False),
    text_("state"),
    Column("attempt", SmallInteger, nullable=False),
    Column("lapses", SmallInteger, nullable=False),  # how often a worker that had taken it was lost
    time_("due_at"),
    time_("added_at"),
    time_("updated_at"),
    Column("reason", Text, nullable=False),
    Column("hops", SmallInteger, nullable=False, server_default="0"),  # redirects that led to it
    Column("as_sitemap", Boolean, nullable=False, server_default=false()),  # else as a page
    Column("found_on", String(64), nullable=True),  # the URL that led to it first; empty for seeds
    CheckConstraint("priority BETWEEN 1 AND 3", name="priority"),
    CheckConstraint("state IN ('pending', 'in_progress', 'completed', 'failed', 'blocked')", name="state"),
    Index(
        "ix_frontier_pending",
        "crawl_id",
        "host",
        "priority",
        "due_at",
        **where_("state = 'pending'"),
    ),
    Index("ix_frontier_in_progress", "host", **where_("state = 'in_progress'")),
    Index("ix_frontier_sitemaps", "crawl_id", "url_hash", **where_("as_sitemap")),
    Index("ix_frontier_refused", "crawl_id", "state", "url_hash", **where_("state IN ('failed', 'blocked')")),
)


def _odd(column: str, condition: str) -> Index:
    """An index for searches for the few pages of a crawl that differ from the others."""
    name = f"ix_crawled_pages_odd_{column}"
    return Index(name, "crawl_id", column, "crawled_at", "url_hash", **where_(condition))


crawled_pages: Final = Table(
    "crawled_pages",
    metadata,
    id_("crawl_id", primary_key=True),
    Column("url_hash", String(64), primary_key=True),
    Column("url", Text, nullable=False),
    Column("final_url", Text, nullable=False),
    text_("host"),
    Column("status_code", SmallInteger, nullable=True),  # empty: there was no answer
    text_("content_type"),
    Column("content_length", BigInteger, nullable=False),
    text_("content_hash"),
    Column("fingerprint", String(32), nullable=False),  # of the text; empty: there is none
    Column("duplicate_of", String(64), nullable=True),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    text_("language"),
    Column("canonical", Text, nullable=False),
    text_("directives"),  # what the page asks of robots, separated by commas
    Column("links_count", Integer, nullable=False),
    Column("depth", SmallInteger, nullable=False),
    text_("via"),
    time_("crawled_at"),  # only grows, in the order of a crawl's transactions
    Column("duration_ms", Integer, nullable=False),
    Column("error", Text, nullable=False),
    text_("outcome"),
    Column("blob", String, nullable=True),
    Column("blob_offset", BigInteger, nullable=False),
    Column("blob_size", BigInteger, nullable=False),
    Column("screenshot", String, nullable=True),  # the blob with a picture of it
    Index(None, "crawl_id", "crawled_at", "url_hash"),
    Index(None, "crawl_id", "host", "crawled_at", "url_hash"),
    _odd("outcome", "outcome <> 'ok'"),
    _odd("status_code", "status_code <> 200"),
)

# What workers tell each other of a host that has traps. Written under the lease of the host.
trap_states: Final = Table(
    "trap_states",
    metadata,
    id_("crawl_id", primary_key=True),
    Column("host", String, primary_key=True),
    Column("state_json", Text, nullable=False),
    time_("updated_at"),
)

# The traps that a crawl has met, and how many URLs it did not follow because of them.
crawl_traps: Final = Table(
    "crawl_traps",
    metadata,
    id_("crawl_id", primary_key=True),
    Column("host", String, primary_key=True),
    Column("kind", String, primary_key=True),
    Column("pattern", String, primary_key=True),
    Column("cut", BigInteger, nullable=False),
    Column("example", Text, nullable=False),
    time_("since"),
)

# The blobs that have pages of a crawl. A blob may have pages of several crawls, and goes with the last one.
crawl_blobs: Final = Table(
    "crawl_blobs",
    metadata,
    Column("blob", String, primary_key=True),
    id_("crawl_id", primary_key=True),
    Column("links_offset", BigInteger, nullable=True),  # of the links of these pages in the blob;
    Column("links_size", BigInteger, nullable=True),  # empty: they were not kept
    Index(None, "crawl_id"),
)

# Files of pages that crawls do not keep any more. A crawl that is deleted takes its archives with it.
archives: Final = Table(
    "archives",
    metadata,
    id_(primary_key=True),
    id_("tenant_id", nullable=False),
    id_("crawl_id", nullable=False),
    time_("first_at"),  # when its first page was crawled,
    time_("last_at"),  # and its last one
    Column("pages", Integer, nullable=False),
    Column("bodies", Integer, nullable=False),  # pages whose content it has
    Column("bytes", BigInteger, nullable=False),  # of its files
    text_("rows_blob"),
    Column("warc_blob", String, nullable=True),  # empty: it has no content
    time_("created_at"),
    time_("restored_at", nullable=True),  # pages of it are in their crawl again since then,
    Column("is_restored", Boolean, nullable=False, server_default=false()),  # and all of them were
    Index(None, "crawl_id", "id"),
    Index(None, "tenant_id", "id"),
    Index(None, "created_at"),
)

# Batches of crawled pages, by blob and crawl, that are not in the search index yet.
unindexed: Final = Table(
    "unindexed",
    metadata,
    Column("blob", String, primary_key=True),
    id_("crawl_id", primary_key=True),
    id_("tenant_id", nullable=False),
    time_("crawled_at"),
    time_("due_at"),  # when the batch can be taken, or when the worker that took it must be done
    Column("attempt", SmallInteger, nullable=False),
    Index(None, "due_at"),
)


def _happened() -> list[Column[int]]:
    """What happened in a span of time."""
    counts = ("fetched", "failed", "blocked", "retried", "added", "bytes", "duration_ms")
    classes = ("status_2xx", "status_3xx", "status_4xx", "status_5xx")
    outcomes = [f"outcome_{outcome}" for outcome in Outcome]
    return [
        *(Column(name, BigInteger, nullable=False) for name in (*counts, *classes)),
        *(Column(name, BigInteger, nullable=False, server_default="0") for name in outcomes),
    ]


crawl_minutes: Final = Table(
    "crawl_minutes",
    metadata,
    id_("crawl_id", primary_key=True),
    Column("minute", Integer, primary_key=True, autoincrement=False),  # since 1970-01-01
    *_happened(),
    Index(None, "minute"),
)

# Minutes that are not kept any more, added up.
crawl_days: Final = Table(
    "crawl_days",
    metadata,
    id_("crawl_id", primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),  # since 1970-01-01, UTC
    *_happened(),
    Index(None, "day"),
)
