"""Crawls: what is to be fetched, of whom, and what came of it."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    _crawls()
    _hosts()
    _host_robots()
    _crawl_hosts()
    _frontier()
    _crawled_pages()
    _crawl_minutes()


def _crawls() -> None:
    op.create_table(
        "crawls",
        sa.Column("id", sa.String(26), nullable=False),
        sa.Column("tenant_id", sa.String(26), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("is_default", sa.Boolean, nullable=False),
        sa.Column("spec_json", sa.Text, nullable=False),
        sa.Column("max_pages", sa.BigInteger, nullable=False),
        sa.Column("pending", sa.BigInteger, nullable=False),
        sa.Column("in_progress", sa.BigInteger, nullable=False),
        sa.Column("completed", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("blocked", sa.BigInteger, nullable=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=True),
        sa.Column("finished_at", sa.BigInteger, nullable=True),
        sa.Column("request_id", sa.String, nullable=False),
        sa.CheckConstraint(
            "state IN ('running', 'paused', 'done', 'canceled')", name=op.f("ck_crawls_state")
        ),
        sa.CheckConstraint("pending >= 0 AND in_progress >= 0", name=op.f("ck_crawls_counts")),
        sa.CheckConstraint("pages + in_progress <= max_pages", name=op.f("ck_crawls_most_pages")),
        sa.CheckConstraint(
            "(state IN ('done', 'canceled')) = (finished_at IS NOT NULL)",
            name=op.f("ck_crawls_finished_when_over"),
        ),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], name=op.f("fk_crawls_tenant_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_crawls")),
    )
    _partial("ix_crawls_running", "crawls", ["id"], "state = 'running'")
    op.create_index(op.f("ix_crawls_tenant_id_id"), "crawls", ["tenant_id", "id"])
    _partial("uq_crawls_default", "crawls", ["tenant_id"], "is_default", unique=True)


def _hosts() -> None:
    op.create_table(
        "hosts",
        sa.Column("host", sa.String, nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=True),
        sa.Column("next_at", sa.BigInteger, nullable=False),
        sa.Column("resting_until", sa.BigInteger, nullable=False),
        sa.Column("lease_token", sa.String(32), nullable=True),
        sa.Column("locked_until", sa.BigInteger, nullable=True),
        sa.Column("locked_by", sa.String, nullable=True),
        sa.Column("delay_ms", sa.Integer, nullable=True),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("is_allowed", sa.Boolean, nullable=False),
        sa.Column("renders", sa.Boolean, nullable=False),
        sa.Column("pages", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("added_at", sa.BigInteger, nullable=False),
        sa.CheckConstraint(
            "(lease_token IS NULL) = (locked_until IS NULL)", name=op.f("ck_hosts_lease_ends")
        ),
        sa.CheckConstraint(
            "lease_token IS NULL OR due_at = locked_until", name=op.f("ck_hosts_due_when_the_lease_ends")
        ),
        sa.PrimaryKeyConstraint("host", name=op.f("pk_hosts")),
    )
    _partial("ix_hosts_due", "hosts", ["due_at"], "due_at IS NOT NULL")
    _partial("ix_hosts_leased", "hosts", ["locked_until"], "lease_token IS NOT NULL")


def _host_robots() -> None:
    op.create_table(
        "host_robots",
        sa.Column("host", sa.String, nullable=False),
        sa.Column("status", sa.SmallInteger, nullable=True),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("fetched_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("host", name=op.f("pk_host_robots")),
    )


def _crawl_hosts() -> None:
    op.create_table(
        "crawl_hosts",
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("pending", sa.BigInteger, nullable=False),
        sa.Column("in_progress", sa.BigInteger, nullable=False),
        sa.Column("completed", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("blocked", sa.BigInteger, nullable=False),
        sa.Column("taken_at", sa.BigInteger, nullable=False),
        sa.CheckConstraint("pending >= 0 AND in_progress >= 0", name=op.f("ck_crawl_hosts_counts")),
        sa.PrimaryKeyConstraint("crawl_id", "host", name=op.f("pk_crawl_hosts")),
    )
    _partial("ix_crawl_hosts_pending", "crawl_hosts", ["host", "taken_at"], "pending > 0")


def _frontier() -> None:
    op.create_table(
        "frontier",
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("url_hash", sa.String(64), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("priority", sa.SmallInteger, nullable=False),
        sa.Column("depth", sa.SmallInteger, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("attempt", sa.SmallInteger, nullable=False),
        sa.Column("lapses", sa.SmallInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=False),
        sa.Column("added_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.CheckConstraint(
            "state IN ('pending', 'in_progress', 'completed', 'failed', 'blocked')",
            name=op.f("ck_frontier_state"),
        ),
        sa.CheckConstraint("priority BETWEEN 1 AND 3", name=op.f("ck_frontier_priority")),
        sa.PrimaryKeyConstraint("crawl_id", "url_hash", name=op.f("pk_frontier")),
    )
    _partial("ix_frontier_in_progress", "frontier", ["host"], "state = 'in_progress'")
    _partial(
        "ix_frontier_pending", "frontier", ["crawl_id", "host", "priority", "due_at"], "state = 'pending'"
    )
    _partial(
        "ix_frontier_refused", "frontier", ["crawl_id", "state", "url_hash"], "state IN ('failed', 'blocked')"
    )


def _crawled_pages() -> None:
    op.create_table(
        "crawled_pages",
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("url_hash", sa.String(64), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("final_url", sa.Text, nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("status_code", sa.SmallInteger, nullable=True),
        sa.Column("content_type", sa.String, nullable=False),
        sa.Column("content_length", sa.BigInteger, nullable=False),
        sa.Column("content_hash", sa.String, nullable=False),
        sa.Column("simhash", sa.BigInteger, nullable=True),
        sa.Column("duplicate_of", sa.String(64), nullable=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("language", sa.String, nullable=False),
        sa.Column("canonical", sa.Text, nullable=False),
        sa.Column("directives", sa.String, nullable=False),
        sa.Column("links_count", sa.Integer, nullable=False),
        sa.Column("depth", sa.SmallInteger, nullable=False),
        sa.Column("via", sa.String, nullable=False),
        sa.Column("crawled_at", sa.BigInteger, nullable=False),
        sa.Column("duration_ms", sa.Integer, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("outcome", sa.String, nullable=False),
        sa.Column("blob", sa.String, nullable=True),
        sa.Column("blob_offset", sa.BigInteger, nullable=False),
        sa.Column("blob_size", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("crawl_id", "url_hash", name=op.f("pk_crawled_pages")),
    )
    op.create_index(
        op.f("ix_crawled_pages_crawl_id_crawled_at_url_hash"),
        "crawled_pages",
        ["crawl_id", "crawled_at", "url_hash"],
    )
    op.create_index(
        op.f("ix_crawled_pages_crawl_id_host_crawled_at_url_hash"),
        "crawled_pages",
        ["crawl_id", "host", "crawled_at", "url_hash"],
    )


def _crawl_minutes() -> None:
    op.create_table(
        "crawl_minutes",
        sa.Column("crawl_id", sa.String(26), nullable=False),
        sa.Column("minute", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("fetched", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("blocked", sa.BigInteger, nullable=False),
        sa.Column("retried", sa.BigInteger, nullable=False),
        sa.Column("added", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("duration_ms", sa.BigInteger, nullable=False),
        sa.Column("status_2xx", sa.BigInteger, nullable=False),
        sa.Column("status_3xx", sa.BigInteger, nullable=False),
        sa.Column("status_4xx", sa.BigInteger, nullable=False),
        sa.Column("status_5xx", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("crawl_id", "minute", name=op.f("pk_crawl_minutes")),
    )
    op.create_index(op.f("ix_crawl_minutes_minute"), "crawl_minutes", ["minute"])


def _partial(name: str, table: str, columns: list[str], condition: str, *, unique: bool = False) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, unique=unique, sqlite_where=where, postgresql_where=where)
