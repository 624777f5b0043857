"""Audits of whole sites: by which crawl their pages were had."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("audits", sa.Column("crawl_id", sa.String(26), nullable=True))
