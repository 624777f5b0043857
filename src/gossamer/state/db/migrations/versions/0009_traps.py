"""Traps of crawls: what workers have learned of a host, and what was not followed.

Servers of the revision before go on working with this schema during an upgrade, so this only adds.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "trap_states",
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("state_json", sa.Text, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("crawl_id", "host"),
    )
    op.create_table(
        "crawl_traps",
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("pattern", sa.String, nullable=False),
        sa.Column("cut", sa.BigInteger, nullable=False),
        sa.Column("example", sa.Text, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("crawl_id", "host", "kind", "pattern"),
    )
