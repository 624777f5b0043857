"""The tables. Times are milliseconds since the epoch, ids are ULIDs, hashes are SHA-256 in hex.

A change here needs a revision in `migrations/versions` and a new `HEAD` in `database.py`; a test compares.
"""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Table,
)

metadata: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _id(name: str = "id", *rest: Any, **options: Any) -> Column[str]:
    return Column(name, String(26), *rest, **options)


def _text(name: str, **options: Any) -> Column[str]:
    return Column(name, String, nullable=False, **options)


def _time(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


tenants: Final = Table(
    "tenants",
    metadata,
    _id(primary_key=True),
    _text("email", unique=True),
    _text("name"),
    _time("created_at"),
    CheckConstraint("email = lower(email)", name="email_is_lower_case"),
)

api_keys: Final = Table(
    "api_keys",
    metadata,
    _id(primary_key=True),
    _id("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    _text("prefix"),
    _text("role"),
    _text("tier"),
    _text("label"),
    _time("created_at"),
    _time("disabled_at", nullable=True),
    _text("disabled_reason"),
    _time("last_used_at", nullable=True),
    _id("rotated_from", ForeignKey("api_keys.id"), nullable=True),
    CheckConstraint("length(hash) = 64", name="hash_is_sha256"),
    CheckConstraint("role IN ('user', 'admin')", name="role"),
    CheckConstraint("tier IN ('free', 'pro', 'enterprise')", name="tier"),
    Index(None, "tenant_id", "id"),
)

# No foreign keys: the log outlives what it speaks of.
key_events: Final = Table(
    "key_events",
    metadata,
    _id(primary_key=True),
    _id("key_id", nullable=False),
    _id("tenant_id", nullable=False),
    _text("action"),
    _text("actor"),
    _text("request_id"),
    _time("at"),
    _text("detail"),
    CheckConstraint("action IN ('created', 'registered', 'rotated', 'disabled')", name="action"),
    Index(None, "key_id", "id"),
    Index(None, "tenant_id", "id"),
)

once: Final = Table(
    "once",
    metadata,
    Column("scope", String(64), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("answer", LargeBinary, nullable=False),
    _time("created_at"),
    _time("expires_at"),
    CheckConstraint("length(scope) = 64", name="scope_is_sha256"),
    CheckConstraint("length(fingerprint) = 64", name="fingerprint_is_sha256"),
    Index(None, "expires_at"),
)
