"""The tables of crawls that are kept fresh. A change needs a revision."""

from typing import Final

from sqlalchemy import BigInteger, Column, Float, Index, Integer, SmallInteger, String, Table, Text

from gossamer.state.db.columns import id_, metadata, text_, time_, where_

# What the visits to a page have shown, beside its row in `crawled_pages`.
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
    Index("ix_fresh_pages_due", "crawl_id", "next_at"),
    Index("ix_fresh_pages_gone", "crawl_id", "gone_at", **where_("gone_at IS NOT NULL")),
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
)
