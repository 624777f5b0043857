"""What a crawl remembers of its way: redirects in a row, sitemaps, how often it was cleared; its turns."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("crawls", sa.Column("clearings", sa.Integer, nullable=False, server_default="0"))
    op.add_column("frontier", sa.Column("hops", sa.SmallInteger, nullable=False, server_default="0"))
    op.add_column("frontier", sa.Column("as_sitemap", sa.Boolean, nullable=False, server_default=sa.false()))
    where = sa.text("pending > 0")
    op.create_index(
        "ix_crawl_hosts_turns",
        "crawl_hosts",
        ["crawl_id", "taken_at"],
        sqlite_where=where,
        postgresql_where=where,
    )
