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
    _outcomes_of_crawls()
    _how_urls_were_found()
    _screenshots_of_crawled_pages()


def _outcomes_of_crawls() -> None:
    for outcome in ("ok", "blocked", "soft_404", "login_wall", "parked", "empty", "error"):
        column = sa.Column(f"outcome_{outcome}", sa.BigInteger, nullable=False, server_default="0")
        op.add_column("crawl_minutes", column)


def _how_urls_were_found() -> None:
    op.add_column("frontier", sa.Column("found_on", sa.String(64), nullable=True))


def _screenshots_of_crawled_pages() -> None:
    op.add_column("crawled_pages", sa.Column("screenshot", sa.String, nullable=True))
