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
    _backups()
    _restores()


def _backups() -> None:
    op.create_table(
        "backups",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("place", sa.String, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("snapshot_at", sa.BigInteger, nullable=True),
        sa.Column("finished_at", sa.BigInteger, nullable=True),
        sa.Column("held_until", sa.BigInteger, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("bytes", sa.BigInteger, nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("id", name="pk_backups"),
    )
    op.create_index("ix_backups_finished_at", "backups", ["finished_at"])


def _restores() -> None:
    op.create_table(
        "restores",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("backup_id", sa.String, nullable=False),
        sa.Column("place", sa.String, nullable=False),
        sa.Column("snapshot_at", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_restores"),
    )
