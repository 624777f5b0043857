"""Monitors: what is watched, snapshots of its pages, changes and checks."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "monitors",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("owner", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("spec_json", sa.Text, nullable=False),
        sa.Column("headers_sealed", sa.LargeBinary, nullable=True),
        sa.Column("edition", sa.Integer, nullable=False),
        sa.Column("muted", sa.Boolean, nullable=False),
        sa.Column("snoozed_until", sa.BigInteger, nullable=True),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("failing_since", sa.BigInteger, nullable=True),
        sa.Column("last_problem", sa.String, nullable=False),
        sa.Column("checked_at", sa.BigInteger, nullable=True),
        sa.Column("changed_at", sa.BigInteger, nullable=True),
        sa.Column("changes", sa.Integer, nullable=False),
        sa.Column("job_id", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_monitors"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_monitors_tenant_id"),
    )
    op.create_index("ix_monitors_owner", "monitors", ["owner", "id"])
    op.create_index("ix_monitors_tenant_id", "monitors", ["tenant_id"])
    op.create_table(
        "monitor_snapshots",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("monitor_id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("page", sa.String(64), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("taken_at", sa.BigInteger, nullable=False),
        sa.Column("is_current", sa.Boolean, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=True),
        sa.Column("blob", sa.String, nullable=True),
        sa.Column("picture", sa.String, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_monitor_snapshots"),
    )
    op.create_index("ix_monitor_snapshots_monitor_id", "monitor_snapshots", ["monitor_id", "id"])
    op.create_index("ix_monitor_snapshots_tenant_id", "monitor_snapshots", ["tenant_id"])
    op.create_index(
        "ix_monitor_snapshots_current",
        "monitor_snapshots",
        ["monitor_id", "page"],
        unique=True,
        sqlite_where=sa.text("is_current"),
        postgresql_where=sa.text("is_current"),
    )
    op.create_table(
        "monitor_changes",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("monitor_id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("check_id", sa.String(26), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("before_id", sa.String(26), nullable=True),
        sa.Column("after_id", sa.String(26), nullable=True),
        sa.Column("verdict_json", sa.Text, nullable=False),
        sa.Column("told", sa.Boolean, nullable=False),
        sa.Column("acknowledged_at", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_monitor_changes"),
    )
    op.create_index("ix_monitor_changes_monitor_id", "monitor_changes", ["monitor_id", "id"])
    op.create_index("ix_monitor_changes_tenant_id", "monitor_changes", ["tenant_id"])
    op.create_index("ix_monitor_changes_seen_at", "monitor_changes", ["seen_at"])
    op.create_table(
        "monitor_checks",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("monitor_id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("result", sa.String, nullable=False),
        sa.Column("detail_json", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_monitor_checks"),
    )
    op.create_index("ix_monitor_checks_monitor_id", "monitor_checks", ["monitor_id", "id"])
    op.create_index("ix_monitor_checks_tenant_id", "monitor_checks", ["tenant_id"])
