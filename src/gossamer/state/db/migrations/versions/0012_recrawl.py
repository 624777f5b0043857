"""Crawls that are kept fresh: visits, versions, and what freshness took.

Servers of the revision before go on working with this schema during an upgrade, so this only adds.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

GONE = sa.text("gone_at IS NOT NULL")


def upgrade() -> None:
    op.add_column("crawls", sa.Column("keeps_fresh", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "fresh_pages",
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("url_hash", sa.String(64), nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("priority", sa.SmallInteger, nullable=False),
        sa.Column("etag", sa.Text, nullable=False),
        sa.Column("last_modified", sa.String, nullable=False),
        sa.Column("visited_at", sa.BigInteger, nullable=False),
        sa.Column("next_at", sa.BigInteger, nullable=False),
        sa.Column("visits", sa.Integer, nullable=False),
        sa.Column("changes", sa.Integer, nullable=False),
        sa.Column("tries", sa.Float, nullable=False),
        sa.Column("hits", sa.Float, nullable=False),
        sa.Column("observed_ms", sa.BigInteger, nullable=False),
        sa.Column("touches", sa.Integer, nullable=False),
        sa.Column("misses", sa.Integer, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("gone_at", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("crawl_id", "url_hash"),
    )
    op.create_index("ix_fresh_pages_due", "fresh_pages", ["crawl_id", "next_at"])
    op.create_index(
        "ix_fresh_pages_gone",
        "fresh_pages",
        ["crawl_id", "gone_at"],
        sqlite_where=GONE,
        postgresql_where=GONE,
    )
    op.create_table(
        "page_versions",
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("url_hash", sa.String(64), nullable=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("change", sa.String, nullable=False),
        sa.Column("crawled_at", sa.BigInteger, nullable=False),
        sa.Column("final_url", sa.Text, nullable=False),
        sa.Column("status_code", sa.SmallInteger, nullable=True),
        sa.Column("content_type", sa.String, nullable=False),
        sa.Column("content_length", sa.BigInteger, nullable=False),
        sa.Column("content_hash", sa.String, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("blob", sa.String, nullable=True),
        sa.Column("blob_offset", sa.BigInteger, nullable=False),
        sa.Column("blob_size", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("crawl_id", "url_hash", "number"),
    )
    op.create_index("ix_page_versions_blob", "page_versions", ["crawl_id", "blob"])
    op.create_table(
        "refresh_days",
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("day", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("planned", sa.BigInteger, nullable=False),
        sa.Column("visits", sa.BigInteger, nullable=False),
        sa.Column("changed", sa.BigInteger, nullable=False),
        sa.Column("gone", sa.BigInteger, nullable=False),
        sa.Column("unmodified", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("crawl_id", "host", "day"),
    )
