"""Batches and what was read for them."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "batches",
        sa.Column("job_id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("tier", sa.String, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("headers_json", sa.Text, nullable=True),
        sa.Column("plan_json", sa.Text, nullable=False),
        sa.Column("urls_json", sa.Text, nullable=False),
        sa.CheckConstraint("total > 0", name=op.f("ck_batches_total")),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_batches_tenant_id")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_batches")),
    )
    with_headers = sa.text("headers_json IS NOT NULL")
    op.create_index(
        "ix_batches_headers",
        "batches",
        ["job_id"],
        sqlite_where=with_headers,
        postgresql_where=with_headers,
    )
    op.create_table(
        "batch_results",
        sa.Column("job_id", sa.String(26), nullable=False),
        sa.Column("position", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("ok", sa.Boolean, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=True),
        sa.Column("blob", sa.String, nullable=True),
        sa.CheckConstraint("status IN ('done', 'failed')", name=op.f("ck_batch_results_status")),
        sa.CheckConstraint("status = 'done' OR NOT ok", name=op.f("ck_batch_results_ok_when_done")),
        sa.CheckConstraint("(body IS NULL) <> (blob IS NULL)", name=op.f("ck_batch_results_kept_once")),
        sa.PrimaryKeyConstraint("job_id", "position", name=op.f("pk_batch_results")),
    )
