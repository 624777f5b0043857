"""The tables of crawls that are kept fresh. A change needs a revision."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    SmallInteger,
    String,
    Table,
    Text,
    false,
)

from gossamer.state.db.columns import id_, metadata, text_, time_, where_

# What the visits to a page have shown, beside its row in `crawled_pages`; or to a sitemap, which has none.
fresh_pages: Final = Table(
    "fresh_pages",
    metadata,
    id_("crawl_id", primary_key=True),
    Column("url_hash", String(64), primary_key=True),
    text_("host"),
    Column("priority", SmallInteger, nullable=False),
    Column("etag", Text, nullable=False),
    text_("last_modified"),
    time_("visited_at"),
    time_("next_at"),
    Column("visits", Integer, nullable=False),
    Column("changes", Integer, nullable=False),
    Column("tries", Float, nullable=False),
    Column("hits", Float, nullable=False),
    Column("observed_ms", BigInteger, nullable=False),
    Column("touches", Integer, nullable=False),
    Column("misses", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    time_("gone_at", nullable=True),
    Column("prior_days", Float, nullable=False, server_default="1.5"),
    Column("importance", Float, nullable=False, server_default="1"),
    Column("as_sitemap", Boolean, nullable=False, server_default=false()),
    Column("content_hash", String(64), nullable=False, server_default=""),  # of a sitemap
    time_("said_at", nullable=True),  # what a sitemap says, the last time it was read
    time_("hinted_at", nullable=True),  # when it told of a change, for which the page was not visited yet
    time_("changed_at", nullable=True),  # when a visit found a change without a hint,
    time_("changed_after", nullable=True),  # and the visit before that
    Index("ix_fresh_pages_due", "crawl_id", "next_at"),
    Index("ix_fresh_pages_gone", "crawl_id", "gone_at", **where_("gone_at IS NOT NULL")),
    Index("ix_fresh_pages_sitemaps", "crawl_id", "next_at", **where_("as_sitemap")),
    Index("ix_fresh_pages_unjudged", "crawl_id", "changed_at", **where_("changed_at IS NOT NULL")),
)

# What a page was, from its first change on. Bodies are in the blobs of the batches that stored them.
page_versions: Final = Table(
    "page_versions",
    metadata,
    id_("crawl_id", primary_key=True),
    Column("url_hash", String(64), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    text_("change"),
    time_("crawled_at"),
    Column("final_url", Text, nullable=False),
    Column("status_code", SmallInteger, nullable=True),
    text_("content_type"),
    Column("content_length", BigInteger, nullable=False),
    text_("content_hash"),
    Column("title", Text, nullable=False),
    Column("blob", String, nullable=True),
    Column("blob_offset", BigInteger, nullable=False),
    Column("blob_size", BigInteger, nullable=False),
    Index("ix_page_versions_blob", "crawl_id", "blob"),
)

# What freshness took, by host and day.
refresh_days: Final = Table(
    "refresh_days",
    metadata,
    id_("crawl_id", primary_key=True),
    Column("host", String, primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),  # since 1970-01-01, UTC
    *(
        Column(name, BigInteger, nullable=False)
        for name in ("planned", "visits", "changed", "gone", "unmodified", "failed", "bytes")
    ),
    *(Column(name, BigInteger, nullable=False, server_default="0") for name in ("moved", "sitemaps")),
)

# How good the hints of a host's sitemaps were.
hint_records: Final = Table(
    "hint_records",
    metadata,
    id_("crawl_id", primary_key=True),
    Column("host", String, primary_key=True),
    *(
        Column(name, Float, nullable=False)
        for name in ("followed", "confirmed", "expected", "changes", "announced")
    ),
)
