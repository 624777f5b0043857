"""What a long-running installation needs beside its pages.

Servers of the revision before go on working with this schema during an upgrade, so this only adds: columns
that may be empty or have a default, tables, and indexes.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Each step adds what one part needs."""
    _deletions()
    _crawl_days()
    _quotas()
    _archives()


def _deletions() -> None:
    op.create_table(
        "deletions",
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("subject", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("detail_json", sa.Text, nullable=False),
        sa.Column("accepted_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject"),
    )
    op.create_index(None, "deletions", ["tenant_id"])


def _crawl_days() -> None:
    op.create_table(
        "crawl_days",
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("day", sa.Integer, nullable=False, autoincrement=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in _DAY_COUNTS),
        sa.PrimaryKeyConstraint("crawl_id", "day"),
    )
    op.create_index(None, "crawl_days", ["day"])


_DAY_COUNTS = (
    "fetched",
    "failed",
    "blocked",
    "retried",
    "added",
    "bytes",
    "duration_ms",
    "status_2xx",
    "status_3xx",
    "status_4xx",
    "status_5xx",
)


def _quotas() -> None:
    op.create_table(
        "tenant_days",
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "day"),
    )
    op.add_column("crawls", sa.Column("quota_tier", sa.String, nullable=True))
    op.add_column("crawls", sa.Column("held_by", sa.String, nullable=True))
    held = sa.text("held_by IS NOT NULL")
    op.create_index("ix_crawls_held", "crawls", ["id"], sqlite_where=held, postgresql_where=held)


def _archives() -> None:
    op.create_table(
        "archives",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("first_at", sa.BigInteger, nullable=False),
        sa.Column("last_at", sa.BigInteger, nullable=False),
        sa.Column("pages", sa.Integer, nullable=False),
        sa.Column("bodies", sa.Integer, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("rows_blob", sa.String, nullable=False),
        sa.Column("warc_blob", sa.String, nullable=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("restored_at", sa.BigInteger, nullable=True),
        sa.Column("is_restored", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(None, "archives", ["crawl_id", "id"])
    op.create_index(None, "archives", ["tenant_id", "id"])
    op.create_index(None, "archives", ["created_at"])
