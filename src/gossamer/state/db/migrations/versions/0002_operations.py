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
    _quotas()
    _outcomes_of_crawls()
    _how_urls_were_found()
    _screenshots_of_crawled_pages()


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


def _outcomes_of_crawls() -> None:
    for outcome in ("ok", "blocked", "soft_404", "login_wall", "parked", "empty", "error"):
        column = sa.Column(f"outcome_{outcome}", sa.BigInteger, nullable=False, server_default="0")
        op.add_column("crawl_minutes", column)


def _how_urls_were_found() -> None:
    op.add_column("frontier", sa.Column("found_on", sa.String(64), nullable=True))


def _screenshots_of_crawled_pages() -> None:
    op.add_column("crawled_pages", sa.Column("screenshot", sa.String, nullable=True))
