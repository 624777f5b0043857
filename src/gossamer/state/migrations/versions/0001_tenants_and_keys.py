"""Tenants, API keys, their audit log, and what must not happen twice."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "tenants",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("email", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tenants"),
        sa.UniqueConstraint("email", name="uq_tenants_email"),
        sa.CheckConstraint("email = lower(email)", name=op.f("ck_tenants_email_is_lower_case")),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("prefix", sa.String, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("tier", sa.String, nullable=False),
        sa.Column("label", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("disabled_at", sa.BigInteger, nullable=True),
        sa.Column("disabled_reason", sa.String, nullable=False),
        sa.Column("last_used_at", sa.BigInteger, nullable=True),
        sa.Column("rotated_from", sa.String(26), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name="fk_api_keys_tenant_id"),
        sa.ForeignKeyConstraint(["rotated_from"], ["api_keys.id"], name="fk_api_keys_rotated_from"),
        sa.UniqueConstraint("hash", name="uq_api_keys_hash"),
        sa.CheckConstraint("length(hash) = 64", name=op.f("ck_api_keys_hash_is_sha256")),
        sa.CheckConstraint("role IN ('user', 'admin')", name=op.f("ck_api_keys_role")),
        sa.CheckConstraint("tier IN ('free', 'pro', 'enterprise')", name=op.f("ck_api_keys_tier")),
    )
    op.create_index("ix_api_keys_tenant_id_id", "api_keys", ["tenant_id", "id"])
    op.create_table(
        "key_events",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("key_id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("action", sa.String, nullable=False),
        sa.Column("actor", sa.String, nullable=False),
        sa.Column("request_id", sa.String, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("detail", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_key_events"),
        sa.CheckConstraint(
            "action IN ('created', 'registered', 'rotated', 'disabled')", name=op.f("ck_key_events_action")
        ),
    )
    op.create_index("ix_key_events_key_id_id", "key_events", ["key_id", "id"])
    op.create_index("ix_key_events_tenant_id_id", "key_events", ["tenant_id", "id"])
    op.create_table(
        "once",
        sa.Column("scope", sa.String(64), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("answer", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("scope", name="pk_once"),
        sa.CheckConstraint("length(scope) = 64", name=op.f("ck_once_scope_is_sha256")),
        sa.CheckConstraint("length(fingerprint) = 64", name=op.f("ck_once_fingerprint_is_sha256")),
    )
    op.create_index("ix_once_expires_at", "once", ["expires_at"])
