"""Webhook endpoints of tenants, the work whose end is to be told, and a log of attempts.

Servers of the revision before go on working with this schema during an upgrade, so this only adds. What they
subscribe is moved to the endpoints by servers that know them.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_LISTENING = "disabled_at IS NULL AND ended_at IS NULL"


def upgrade() -> None:
    _add_endpoints()
    op.create_table(
        "ended_work",
        sa.Column("work_id", sa.String(26), nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("work_id"),
        sa.CheckConstraint("kind IN ('job', 'crawl')", name="kind"),
    )
    for column in (
        sa.Column("owner", sa.String, nullable=False, server_default=""),
        sa.Column("subject", sa.String, nullable=False, server_default=""),
        sa.Column("event_key", sa.String, nullable=True),
        sa.Column("attempts_json", sa.Text, nullable=False, server_default="[]"),
        sa.Column("resent_at", sa.BigInteger, nullable=True),
    ):
        op.add_column("webhook_deliveries", column)
    op.create_index("ix_webhook_deliveries_log", "webhook_deliveries", ["sender", "id"])
    op.create_index("ix_webhook_deliveries_owner", "webhook_deliveries", ["owner", "id"])
    once = _where("event_key IS NOT NULL")
    op.create_index(
        "ix_webhook_deliveries_once", "webhook_deliveries", ["sender", "event_key"], unique=True, **once
    )


def _add_endpoints() -> None:
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("owner", sa.String, nullable=False),
        sa.Column("work_id", sa.String(26), nullable=True),
        sa.Column("for_operators", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("events", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False, server_default=""),
        sa.Column("shape", sa.String, nullable=False),
        sa.Column("metadata_json", sa.Text, nullable=False),
        sa.Column("headers_sealed", sa.LargeBinary, nullable=True),
        sa.Column("secret_sealed", sa.LargeBinary, nullable=True),
        sa.Column("old_secret_sealed", sa.LargeBinary, nullable=True),
        sa.Column("old_secret_until", sa.BigInteger, nullable=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger, nullable=True),
        sa.Column("disabled_at", sa.BigInteger, nullable=True),
        sa.Column("disabled_reason", sa.String, nullable=True),
        sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
        sa.Column("failing_since", sa.BigInteger, nullable=True),
        sa.Column("held_until", sa.BigInteger, nullable=True),
        sa.Column("delivered_at", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
    )
    op.create_index("ix_webhook_endpoints_tenant_id", "webhook_endpoints", ["tenant_id"])
    bound = _where("work_id IS NOT NULL")
    op.create_index("ix_webhook_endpoints_work", "webhook_endpoints", ["work_id"], unique=True, **bound)
    listening = _where(_LISTENING)
    op.create_index("ix_webhook_endpoints_listening", "webhook_endpoints", ["tenant_id"], **listening)
    operators = _where(f"for_operators AND {_LISTENING}")
    op.create_index("ix_webhook_endpoints_operators", "webhook_endpoints", ["id"], **operators)
    kept = _where("headers_sealed IS NOT NULL AND ended_at IS NOT NULL")
    op.create_index("ix_webhook_endpoints_headers", "webhook_endpoints", ["ended_at"], **kept)


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
