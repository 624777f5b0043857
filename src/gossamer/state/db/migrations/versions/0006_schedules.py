"""Schedules, and the history of their runs.

Servers of the revision before go on working with this schema during an upgrade, so this only adds.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "schedules",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("owner", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("subject", sa.String, nullable=False),
        sa.Column("task_json", sa.Text, nullable=False),
        sa.Column("task_sealed", sa.LargeBinary, nullable=True),
        sa.Column("timing_json", sa.Text, nullable=False),
        sa.Column("maker_via", sa.String, nullable=False),
        sa.Column("maker_id", sa.String, nullable=False),
        sa.Column("maker_name", sa.String, nullable=False),
        sa.Column("anchor_at", sa.BigInteger, nullable=False),
        sa.Column("planned_at", sa.BigInteger, nullable=True),
        sa.Column("next_at", sa.BigInteger, nullable=True),
        sa.Column("planned_from", sa.BigInteger, nullable=False),
        sa.Column("paused_at", sa.BigInteger, nullable=True),
        sa.Column("pause_reason", sa.String, nullable=False),
        sa.Column("lease_token", sa.String, nullable=True),
        sa.Column("leased_until", sa.BigInteger, nullable=True),
        sa.Column("work_id", sa.String, nullable=False),
        sa.Column("last_run_id", sa.String(26), nullable=True),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
    )
    waiting = _where("next_at IS NOT NULL")
    op.create_index("ix_schedules_due", "schedules", ["next_at"], **waiting)
    op.create_index("ix_schedules_planned_from", "schedules", ["planned_from"], **waiting)
    op.create_index("ix_schedules_owner", "schedules", ["owner", "id"])
    op.create_index("ix_schedules_tenant_id", "schedules", ["tenant_id"])
    owned = _where("subject <> ''")
    op.create_index("ix_schedules_subject", "schedules", ["kind", "subject"], unique=True, **owned)
    op.create_table(
        "schedule_runs",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("schedule_id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("planned_at", sa.BigInteger, nullable=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("trigger", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("reason", sa.String, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("work_id", sa.String, nullable=False),
        sa.Column("missed", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_schedule_runs_planned", "schedule_runs", ["schedule_id", "planned_at"], unique=True)
    op.create_index("ix_schedule_runs_schedule", "schedule_runs", ["schedule_id", "id"])
    op.create_index("ix_schedule_runs_tenant_id", "schedule_runs", ["tenant_id"])
    op.create_index("ix_schedule_runs_at", "schedule_runs", ["at"])


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
