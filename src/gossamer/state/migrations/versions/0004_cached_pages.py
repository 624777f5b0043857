"""Cached pages, blobs to be dropped, and usage by the day."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    _cached_pages()
    op.create_table(
        "stray_blobs",
        sa.Column("name", sa.String, nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=False),
        sa.Column("dropping", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_stray_blobs")),
    )
    op.create_index(op.f("ix_stray_blobs_due_at"), "stray_blobs", ["due_at"])
    op.create_table(
        "usage_days",
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("key_id", sa.String(26), nullable=False),
        sa.Column("day", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("renders", sa.BigInteger, nullable=False),
        sa.Column("hot", sa.BigInteger, nullable=False),
        sa.Column("cold", sa.BigInteger, nullable=False),
        sa.Column("misses", sa.BigInteger, nullable=False),
        sa.Column("failures", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "key_id", "day", name=op.f("pk_usage_days")),
    )


def _cached_pages() -> None:
    op.create_table(
        "cached_pages",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("site", sa.String, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("variant", sa.String, nullable=False),
        sa.Column("edition", sa.BigInteger, nullable=False),
        sa.Column("blob", sa.String, nullable=True),
        sa.Column("hot_behind", sa.Boolean, nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=True),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
        sa.Column("deleted_at", sa.BigInteger, nullable=True),
        sa.Column("asked_url", sa.Text, nullable=False),
        sa.Column("final_url", sa.Text, nullable=False),
        sa.Column("status", sa.SmallInteger, nullable=False),
        sa.Column("headers_json", sa.Text, nullable=False),
        sa.Column("etag", sa.String(32), nullable=False),
        sa.Column("rendered_at", sa.BigInteger, nullable=False),
        sa.Column("render_ms", sa.Integer, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("stored_size", sa.BigInteger, nullable=False),
        sa.Column("render_count", sa.BigInteger, nullable=False),
        sa.Column("access_count", sa.BigInteger, nullable=False),
        sa.Column("accessed_at", sa.BigInteger, nullable=True),
        sa.CheckConstraint("length(name) = 64", name=op.f("ck_cached_pages_name_is_sha256")),
        sa.CheckConstraint(
            "deleted_at IS NULL OR blob IS NULL", name=op.f("ck_cached_pages_deleted_everywhere")
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_cached_pages_tenant_id")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_cached_pages")),
    )
    op.create_index(op.f("ix_cached_pages_tenant_id_site"), "cached_pages", ["tenant_id", "site"])
    op.create_index(op.f("ix_cached_pages_edition"), "cached_pages", ["edition"])
    op.create_index(
        "ix_cached_pages_due",
        "cached_pages",
        ["due_at"],
        sqlite_where=sa.text("due_at IS NOT NULL"),
        postgresql_where=sa.text("due_at IS NOT NULL"),
    )
