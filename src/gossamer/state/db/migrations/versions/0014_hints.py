"""Crawls that are kept fresh: hints of sitemaps, and the importance of pages.

Servers of the revision before go on working with this schema during an upgrade, so this only adds.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("crawls", sa.Column("weighed_at", sa.BigInteger, nullable=True))
    for column in (
        sa.Column("prior_days", sa.Float, nullable=False, server_default="1.5"),
        sa.Column("importance", sa.Float, nullable=False, server_default="1"),
        sa.Column("as_sitemap", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("content_hash", sa.String(64), nullable=False, server_default=""),
        sa.Column("said_at", sa.BigInteger, nullable=True),
        sa.Column("hinted_at", sa.BigInteger, nullable=True),
        sa.Column("changed_at", sa.BigInteger, nullable=True),
        sa.Column("changed_after", sa.BigInteger, nullable=True),
    ):
        op.add_column("fresh_pages", column)
    for name in ("moved", "sitemaps"):
        op.add_column("refresh_days", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
    _index("ix_fresh_pages_sitemaps", "fresh_pages", ["crawl_id", "next_at"], "as_sitemap")
    _index("ix_fresh_pages_unjudged", "fresh_pages", ["crawl_id", "changed_at"], "changed_at IS NOT NULL")
    _index("ix_frontier_sitemaps", "frontier", ["crawl_id", "url_hash"], "as_sitemap")
    op.create_table(
        "hint_records",
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("followed", sa.Float, nullable=False),
        sa.Column("confirmed", sa.Float, nullable=False),
        sa.Column("expected", sa.Float, nullable=False),
        sa.Column("changes", sa.Float, nullable=False),
        sa.Column("announced", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("crawl_id", "host"),
    )


def _index(name: str, table: str, columns: list[str], which: str) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(which), postgresql_where=sa.text(which))
