"""Audits and their reports."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "audits",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("job_id", sa.String(26), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("options_json", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger, nullable=True),
        sa.Column("score", sa.SmallInteger, nullable=True),
        sa.Column("report_json", sa.Text, nullable=True),
        sa.CheckConstraint("score BETWEEN 0 AND 100", name=op.f("ck_audits_score")),
        sa.CheckConstraint(
            "(score IS NULL) = (report_json IS NULL)", name=op.f("ck_audits_scored_when_reported")
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_audits_tenant_id_tenants")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audits")),
        sa.UniqueConstraint("job_id", name=op.f("uq_audits_job_id")),
    )
    op.create_index(op.f("ix_audits_tenant_id_id"), "audits", ["tenant_id", "id"])
