"""Memory for agents: stores, namespaces, entries with tags, and their earlier versions.

Servers of the revision before go on working with this schema during an upgrade: it only adds tables.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "memory_stores",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("owner", sa.String, nullable=True),
        *_counts(),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.UniqueConstraint("owner"),
        sa.CheckConstraint("entries >= 0 AND bytes >= 0", name="counts"),
    )
    op.create_index("ix_memory_stores_tenant_id", "memory_stores", ["tenant_id"])
    op.create_table(
        "memory_namespaces",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("store_id", sa.String(26), nullable=False),
        sa.Column("name", sa.String, nullable=True),
        *_counts(),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["store_id"], ["memory_stores.id"]),
        sa.CheckConstraint("entries >= 0 AND bytes >= 0", name="counts"),
    )
    op.create_index("uq_memory_namespaces_name", "memory_namespaces", ["store_id", "name"], unique=True)
    op.create_table(
        "memory_entries",
        sa.Column("namespace_id", sa.String(26), nullable=False),
        _bytewise("key"),
        sa.Column("version", sa.BigInteger, nullable=False),
        *_content(),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("namespace_id", "key"),
        sa.ForeignKeyConstraint(["namespace_id"], ["memory_namespaces.id"]),
        sa.CheckConstraint("version > 0", name="version"),
        sa.CheckConstraint("format IN ('json', 'text', 'markdown')", name="format"),
    )
    expiring = _where("expires_at IS NOT NULL")
    op.create_index("ix_memory_entries_expires_at", "memory_entries", ["expires_at"], **expiring)
    op.create_table(
        "memory_tags",
        sa.Column("namespace_id", sa.String(26), nullable=False),
        _bytewise("tag"),
        _bytewise("key"),
        sa.PrimaryKeyConstraint("namespace_id", "tag", "key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "memory_versions",
        sa.Column("namespace_id", sa.String(26), nullable=False),
        _bytewise("key"),
        sa.Column("version", sa.BigInteger, nullable=False, autoincrement=False),
        *_content(),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("namespace_id", "key", "version"),
    )


def _counts() -> list[Any]:
    return [
        sa.Column("entries", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
    ]


def _content() -> list[Any]:
    return [
        sa.Column("format", sa.String, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("tags_json", sa.Text, nullable=False),
        sa.Column("source_json", sa.Text, nullable=True),
    ]


def _bytewise(name: str) -> Any:
    kind = sa.String().with_variant(sa.String(collation="C"), "postgresql")
    return sa.Column(name, kind, nullable=False)


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
