"""Links of crawled pages: where in a blob the links of a crawl's pages are.

Servers of the revision before go on working with this schema during an upgrade, so this only adds. What they
and earlier ones have stored has no links; these are read from the bodies.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("crawl_blobs", sa.Column("links_offset", sa.BigInteger, nullable=True))
    op.add_column("crawl_blobs", sa.Column("links_size", sa.BigInteger, nullable=True))
