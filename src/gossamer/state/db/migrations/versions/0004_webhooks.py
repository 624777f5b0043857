"""Webhooks of crawls and batches.

Servers of the revision before go on working with this schema during an upgrade, so this only adds: a column
with a default, a table, and indexes. Events of subscriptions have no address in `webhook_deliveries`, so a
server that does not know subscriptions cannot send them unsigned, and leaves them for later.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("crawls", sa.Column("has_webhook", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "webhook_subscriptions",
        sa.Column("work_id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("owner", sa.String, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("events", sa.String, nullable=False),
        sa.Column("shape", sa.String, nullable=False),
        sa.Column("metadata_json", sa.Text, nullable=False),
        sa.Column("headers_sealed", sa.LargeBinary, nullable=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("work_id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.CheckConstraint("kind IN ('crawl', 'batch')", name="kind"),
    )
    op.create_index("ix_webhook_subscriptions_tenant_id", "webhook_subscriptions", ["tenant_id"])
    running = _where("ended_at IS NULL")
    op.create_index("ix_webhook_subscriptions_running", "webhook_subscriptions", ["work_id"], **running)
    kept = _where("headers_sealed IS NOT NULL AND ended_at IS NOT NULL")
    op.create_index("ix_webhook_subscriptions_headers", "webhook_subscriptions", ["ended_at"], **kept)
    op.create_index("ix_webhook_deliveries_sender", "webhook_deliveries", ["sender", "due_at"])


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
