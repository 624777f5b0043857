"""Sites of their owners, and what robots ask of them.

Servers of the revision before go on working with this schema during an upgrade, so this only adds.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "sites",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("owner", sa.String, nullable=False),
        sa.Column("origin", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("token", sa.String, nullable=False),
        sa.Column("proof", sa.String, nullable=False),
        sa.Column("settings_json", sa.Text, nullable=False),
        sa.Column("proven_at", sa.BigInteger, nullable=True),
        sa.Column("checked_at", sa.BigInteger, nullable=True),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
    )
    op.create_index("ix_sites_origin", "sites", ["owner", "origin"], unique=True)
    op.create_index("ix_sites_tenant_id", "sites", ["tenant_id"])
    op.create_index("ix_sites_checked_at", "sites", ["checked_at"])
    op.create_table(
        "site_bot_hours",
        sa.Column("site_id", sa.String(26), nullable=False),
        sa.Column("hour", sa.BigInteger, nullable=False),
        sa.Column("bot", sa.String, nullable=False),
        sa.Column("outcome", sa.String, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("visits", sa.BigInteger, nullable=False),
        sa.Column("milliseconds", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("site_id", "hour", "bot", "outcome", "status"),
    )
    op.create_index("ix_site_bot_hours_tenant_id", "site_bot_hours", ["tenant_id"])
    op.create_index("ix_site_bot_hours_hour", "site_bot_hours", ["hour"])
    op.create_table(
        "site_asked_pages",
        sa.Column("site_id", sa.String(26), nullable=False),
        sa.Column("url_hash", sa.String, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("visits", sa.BigInteger, nullable=False),
        sa.Column("misses", sa.BigInteger, nullable=False),
        sa.Column("last_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("site_id", "url_hash"),
    )
    op.create_index("ix_site_asked_pages_tenant_id", "site_asked_pages", ["tenant_id"])
    op.create_index("ix_site_asked_pages_last_at", "site_asked_pages", ["last_at"])
    op.create_table(
        "site_warm_days",
        sa.Column("site_id", sa.String(26), nullable=False),
        sa.Column("day", sa.BigInteger, nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("site_id", "day"),
    )
    op.create_index("ix_site_warm_days_tenant_id", "site_warm_days", ["tenant_id"])
