"""What a long-running installation needs beside its pages.

Servers of the revision before go on working with this schema during an upgrade, so this only adds: columns
that may be empty or have a default, tables, and indexes.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Each step adds what one part needs."""
    _quotas()
    _outcomes_of_crawls()
    _how_urls_were_found()
    _screenshots_of_crawled_pages()
    _alerts()
    _duties()
    _webhook_deliveries()
    _deletions()
    _crawl_days()
    _backups()
    _restores()
    _archives()


def _quotas() -> None:
    op.create_table(
        "tenant_days",
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "day"),
    )
    op.add_column("crawls", sa.Column("quota_tier", sa.String, nullable=True))
    op.add_column("crawls", sa.Column("held_by", sa.String, nullable=True))
    held = sa.text("held_by IS NOT NULL")
    op.create_index("ix_crawls_held", "crawls", ["id"], sqlite_where=held, postgresql_where=held)


def _outcomes_of_crawls() -> None:
    for column in _outcome_counts():
        op.add_column("crawl_minutes", column)


def _outcome_counts() -> list[sa.Column[Any]]:
    outcomes = ("ok", "blocked", "soft_404", "login_wall", "parked", "empty", "error")
    return [
        sa.Column(f"outcome_{each}", sa.BigInteger, nullable=False, server_default="0") for each in outcomes
    ]


def _how_urls_were_found() -> None:
    op.add_column("frontier", sa.Column("found_on", sa.String(64), nullable=True))


def _screenshots_of_crawled_pages() -> None:
    op.add_column("crawled_pages", sa.Column("screenshot", sa.String, nullable=True))


def _alerts() -> None:
    op.create_table(
        "alerts",
        *_columns(sa.String(26), "id"),
        *_columns(sa.String, "rule", "subject", "severity"),
        *_columns(sa.Text, "detail"),
        *_columns(sa.BigInteger, "since", "seen_at"),
        *_columns(sa.BigInteger, "raised_at", "resolved_at", "acknowledged_at", nullable=True),
        *_columns(sa.String, "acknowledged_by", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.CheckConstraint("severity IN ('warning', 'critical')", name="severity"),
    )
    is_open = _where("resolved_at IS NULL")
    op.create_index("ix_alerts_open", "alerts", ["rule", "subject"], unique=True, **is_open)
    op.create_index("ix_alerts_resolved", "alerts", ["resolved_at"], **_where("resolved_at IS NOT NULL"))


def _duties() -> None:
    op.create_table(
        "duties",
        *_columns(sa.String, "name", "holder"),
        *_columns(sa.BigInteger, "until"),
        sa.PrimaryKeyConstraint("name"),
    )


def _webhook_deliveries() -> None:
    op.create_table(
        "webhook_deliveries",
        *_columns(sa.String(26), "id"),
        *_columns(sa.String, "sender"),
        *_columns(sa.Text, "url"),
        *_columns(sa.String, "event"),
        *_columns(sa.Text, "body"),
        *_columns(sa.BigInteger, "created_at"),
        *_columns(sa.BigInteger, "due_at", nullable=True),
        *_columns(sa.SmallInteger, "attempt"),
        *_columns(sa.BigInteger, "delivered_at", nullable=True),
        *_columns(sa.Text, "failure"),
        sa.PrimaryKeyConstraint("id"),
    )
    due = _where("due_at IS NOT NULL")
    op.create_index("ix_webhook_deliveries_due", "webhook_deliveries", ["due_at"], **due)
    op.create_index(None, "webhook_deliveries", ["created_at"])


def _columns(kind: Any, *names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=nullable) for name in names]


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def _deletions() -> None:
    op.create_table(
        "deletions",
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("subject", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("detail_json", sa.Text, nullable=False),
        sa.Column("accepted_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("kind", "subject"),
    )
    op.create_index(None, "deletions", ["tenant_id"])


def _crawl_days() -> None:
    op.create_table(
        "crawl_days",
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("day", sa.Integer, nullable=False, autoincrement=False),
        *_columns(sa.BigInteger, *_DAY_COUNTS),
        *_outcome_counts(),
        sa.PrimaryKeyConstraint("crawl_id", "day"),
    )
    op.create_index(None, "crawl_days", ["day"])


_DAY_COUNTS = (
    "fetched",
    "failed",
    "blocked",
    "retried",
    "added",
    "bytes",
    "duration_ms",
    "status_2xx",
    "status_3xx",
    "status_4xx",
    "status_5xx",
)


def _backups() -> None:
    op.create_table(
        "backups",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("place", sa.String, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("snapshot_at", sa.BigInteger, nullable=True),
        sa.Column("finished_at", sa.BigInteger, nullable=True),
        sa.Column("held_until", sa.BigInteger, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("bytes", sa.BigInteger, nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("id", name="pk_backups"),
    )
    op.create_index("ix_backups_finished_at", "backups", ["finished_at"])


def _restores() -> None:
    op.create_table(
        "restores",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("backup_id", sa.String, nullable=False),
        sa.Column("place", sa.String, nullable=False),
        sa.Column("snapshot_at", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_restores"),
    )


def _archives() -> None:
    op.create_table(
        "archives",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("first_at", sa.BigInteger, nullable=False),
        sa.Column("last_at", sa.BigInteger, nullable=False),
        sa.Column("pages", sa.Integer, nullable=False),
        sa.Column("bodies", sa.Integer, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("rows_blob", sa.String, nullable=False),
        sa.Column("warc_blob", sa.String, nullable=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("restored_at", sa.BigInteger, nullable=True),
        sa.Column("is_restored", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(None, "archives", ["crawl_id", "id"])
    op.create_index(None, "archives", ["tenant_id", "id"])
    op.create_index(None, "archives", ["created_at"])
