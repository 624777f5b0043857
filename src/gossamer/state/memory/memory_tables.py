"""The tables of memory. Values are compressed JSON: they are small enough to be rows."""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Table,
    Text,
)

from gossamer.state.db.columns import id_, metadata, text_, time_, where_
from gossamer.state.db.tables import tenants


def _key(name: str = "key", **options: Any) -> Column[str]:
    """Compared by its bytes, as SQLite does it."""
    return Column(name, String().with_variant(String(collation="C"), "postgresql"), **options)


# What one tenant or one wallet has. Without an owner: it was deleted, and its rows are being removed.
memory_stores: Final = Table(
    "memory_stores",
    metadata,
    id_(primary_key=True),  # also what the search index knows its entries by
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    Column("owner", String, nullable=True, unique=True),
    Column("entries", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),  # of values, earlier versions included
    time_("created_at"),
    CheckConstraint("entries >= 0 AND bytes >= 0", name="counts"),
    Index(None, "tenant_id"),
)

# Without a name: it was deleted. Its entries do not count any more.
memory_namespaces: Final = Table(
    "memory_namespaces",
    metadata,
    id_(primary_key=True),
    id_("store_id", ForeignKey(memory_stores.c.id), nullable=False),
    Column("name", String, nullable=True),
    Column("entries", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    time_("created_at"),
    CheckConstraint("entries >= 0 AND bytes >= 0", name="counts"),
    Index("uq_memory_namespaces_name", "store_id", "name", unique=True),
)

memory_entries: Final = Table(
    "memory_entries",
    metadata,
    id_("namespace_id", ForeignKey(memory_namespaces.c.id), primary_key=True),
    _key(primary_key=True),
    Column("version", BigInteger, nullable=False),
    text_("format"),
    Column("size", BigInteger, nullable=False),  # of the value, not compressed
    Column("title", Text, nullable=False),
    Column("tags_json", Text, nullable=False),
    Column("source_json", Text, nullable=True),  # the page that it was read from
    time_("created_at"),
    time_("updated_at"),
    time_("expires_at", nullable=True),
    Column("body", LargeBinary, nullable=False),
    CheckConstraint("version > 0", name="version"),
    CheckConstraint("format IN ('json', 'text', 'markdown')", name="format"),
    Index("ix_memory_entries_expires_at", "expires_at", **where_("expires_at IS NOT NULL")),
)

# By which tags entries are listed.
memory_tags: Final = Table(
    "memory_tags",
    metadata,
    id_("namespace_id", primary_key=True),
    _key("tag", primary_key=True),
    _key(primary_key=True),
    sqlite_with_rowid=False,
)

# What entries were before.
memory_versions: Final = Table(
    "memory_versions",
    metadata,
    id_("namespace_id", primary_key=True),
    _key(primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    text_("format"),
    Column("size", BigInteger, nullable=False),
    Column("title", Text, nullable=False),
    Column("tags_json", Text, nullable=False),
    Column("source_json", Text, nullable=True),
    time_("updated_at"),
    Column("body", LargeBinary, nullable=False),
)
