"""Jobs, what is told about them, and who works on them."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    _jobs()
    _job_events()
    _workers()


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("job_id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("max_attempts", sa.Integer, nullable=False),
        sa.Column("queued_at", sa.BigInteger, nullable=False),
        sa.Column("run_at", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=True),
        sa.Column("finished_at", sa.BigInteger, nullable=True),
        sa.Column("locked_until", sa.BigInteger, nullable=True),
        sa.Column("locked_by", sa.String, nullable=True),
        sa.Column("lease_token", sa.String(32), nullable=True),
        sa.Column("cancel_requested", sa.Boolean, nullable=False),
        sa.Column("idempotency_key", sa.String(64), nullable=True),
        sa.Column("payload_json", sa.Text, nullable=False),
        sa.Column("result_json", sa.Text, nullable=True),
        sa.Column("last_error", sa.Text, nullable=True),
        sa.Column("progress_pct", sa.SmallInteger, nullable=False),
        sa.Column("event_seq", sa.Integer, nullable=False),
        sa.Column("request_id", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("job_id", name="pk_jobs"),
        _check("jobs", "status", "status IN ('queued', 'running', 'done', 'failed', 'canceled')"),
        _check("jobs", "progress_pct", "progress_pct BETWEEN 0 AND 100"),
        _check("jobs", "attempts", "attempt BETWEEN 0 AND max_attempts AND max_attempts > 0"),
        _check("jobs", "leased_while_running", "(status = 'running') = (lease_token IS NOT NULL)"),
        _check("jobs", "lease_ends", "status <> 'running' OR locked_until IS NOT NULL"),
        _check("jobs", "finished_when_it_ends", "(status IN ('queued', 'running')) = (finished_at IS NULL)"),
        _check(
            "jobs",
            "valid_timestamps",
            "(started_at IS NULL OR started_at >= queued_at)"
            " AND (finished_at IS NULL OR started_at IS NULL OR finished_at >= started_at)",
        ),
    )
    op.create_index(
        "ix_jobs_claimable",
        "jobs",
        ["kind", "tenant_id", "priority", "run_at", "job_id"],
        **_where("status = 'queued' AND locked_until IS NULL"),
    )
    op.create_index("ix_jobs_expired", "jobs", ["locked_until"], **_where("locked_until IS NOT NULL"))
    op.create_index(
        "uq_jobs_idempotency_key",
        "jobs",
        ["tenant_id", "idempotency_key"],
        unique=True,
        **_where("idempotency_key IS NOT NULL AND status IN ('queued', 'running')"),
    )
    op.create_index("ix_jobs_tenant_id_job_id", "jobs", ["tenant_id", "job_id"])


def _job_events() -> None:
    types = "'status_changed', 'step_started', 'step_done', 'warning', 'error', 'metric'"
    op.create_table(
        "job_events",
        sa.Column("job_id", sa.String(26), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("event_type", sa.String, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("data_json", sa.Text, nullable=True),
        sa.Column("progress_pct", sa.SmallInteger, nullable=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "seq", name="pk_job_events"),
        _check("job_events", "event_type", f"event_type IN ({types})"),
        _check("job_events", "progress_pct", "progress_pct BETWEEN 0 AND 100"),
    )


def _workers() -> None:
    op.create_table(
        "workers",
        sa.Column("name", sa.String, nullable=False),
        sa.Column("kinds", sa.String, nullable=False),
        sa.Column("running", sa.Integer, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_workers"),
    )


def _check(table: str, name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{table}_{name}"))


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
