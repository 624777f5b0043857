"""The whole schema: tenants and keys, jobs, pages, search, payments and crawls."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

PUBLIC_TENANT = "7" + "Z" * 25
_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _tenants()
    _api_keys()
    _users()
    _sessions()
    _sign_in_links()
    _activity()
    _once()
    _jobs()
    _job_events()
    _workers()
    _audits()
    _batches()
    _batch_results()
    _cached_pages()
    _stray_blobs()
    _usage_days()
    _past_usage()
    _search_pages()
    _search_tenants()
    _search_drops()
    _facilitator_kinds()
    _payments()
    _crawls()
    _hosts()
    _host_robots()
    _crawl_hosts()
    _frontier()
    _crawled_pages()
    _crawl_blobs()
    _unindexed()
    _crawl_minutes()
    _search_words()
    _public_tenant()


def _tenants() -> None:
    op.create_table(
        "tenants",
        *_columns(sa.String(26), "id"),
        *_columns(sa.String, "email", "name"),
        *_columns(sa.BigInteger, "created_at"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("email"),
        _check("email_is_lower_case", "email = lower(email)"),
    )


def _api_keys() -> None:
    op.create_table(
        "api_keys",
        *_columns(sa.String(26), "id", "tenant_id"),
        *_columns(sa.String(64), "hash"),
        *_columns(sa.String, "prefix", "role", "tier", "label"),
        *_columns(sa.BigInteger, "created_at"),
        *_columns(sa.BigInteger, "disabled_at", nullable=True),
        *_columns(sa.String, "disabled_reason"),
        *_columns(sa.BigInteger, "last_used_at", "expires_at", nullable=True),
        *_columns(sa.String(26), "rotated_from", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.ForeignKeyConstraint(["rotated_from"], ["api_keys.id"]),
        sa.UniqueConstraint("hash"),
        _check("hash_is_sha256", "length(hash) = 64"),
        _check("role", "role IN ('user', 'admin')"),
        _check("tier", "tier IN ('free', 'pro', 'enterprise')"),
    )
    op.create_index(None, "api_keys", ["tenant_id", "id"])


def _users() -> None:
    op.create_table(
        "users",
        *_columns(sa.String(26), "id", "tenant_id"),
        *_columns(sa.String, "email", "password_hash", "role"),
        *_columns(sa.BigInteger, "created_at"),
        *_columns(sa.BigInteger, "disabled_at", "seen_at", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.UniqueConstraint("email"),
        _check("email_is_lower_case", "email = lower(email)"),
        _check("role", "role IN ('user', 'admin')"),
    )
    op.create_index(None, "users", ["tenant_id", "id"])


def _sessions() -> None:
    op.create_table(
        "sessions",
        *_columns(sa.String(64), "hash"),
        *_columns(sa.String(26), "user_id", nullable=True),
        *_columns(sa.String(26), "tenant_id"),
        *_columns(sa.String(64), "csrf_secret"),
        *_columns(sa.String, "client"),
        *_columns(sa.BigInteger, "created_at", "seen_at", "expires_at"),
        sa.PrimaryKeyConstraint("hash"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
    )
    op.create_index(None, "sessions", ["user_id"])
    op.create_index(None, "sessions", ["expires_at"])


def _sign_in_links() -> None:
    op.create_table(
        "sign_in_links",
        *_columns(sa.String(64), "hash"),
        *_columns(sa.String, "purpose"),
        *_columns(sa.String(26), "user_id", nullable=True),
        *_columns(sa.String(26), "tenant_id"),
        *_columns(sa.BigInteger, "created_at", "expires_at"),
        sa.PrimaryKeyConstraint("hash"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        _check("purpose", "purpose IN ('sign_in', 'invitation', 'reset', 'usage')"),
        _check("user_signs_in", "(purpose = 'usage') = (user_id IS NULL)"),
    )
    op.create_index(None, "sign_in_links", ["user_id"])
    op.create_index(None, "sign_in_links", ["expires_at"])


def _activity() -> None:
    op.create_table(
        "activity",
        *_columns(sa.String(26), "id", "tenant_id"),
        *_columns(sa.BigInteger, "at"),
        *_columns(sa.String, "action", "subject", "actor", "actor_name", "via"),
        *_columns(sa.String, "client", "request_id", "detail"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(None, "activity", ["subject", "id"])
    op.create_index(None, "activity", ["tenant_id", "id"])


def _once() -> None:
    op.create_table(
        "once",
        *_columns(sa.String(64), "scope", "fingerprint"),
        *_columns(sa.LargeBinary, "answer"),
        *_columns(sa.BigInteger, "created_at", "expires_at"),
        sa.PrimaryKeyConstraint("scope"),
        _check("scope_is_sha256", "length(scope) = 64"),
        _check("fingerprint_is_sha256", "length(fingerprint) = 64"),
    )
    op.create_index(None, "once", ["expires_at"])


def _jobs() -> None:
    op.create_table(
        "jobs",
        *_columns(sa.String(26), "job_id", "tenant_id"),
        *_columns(sa.String, "kind", "status"),
        *_columns(sa.Integer, "priority", "attempt", "max_attempts"),
        *_columns(sa.BigInteger, "queued_at", "run_at"),
        *_columns(sa.BigInteger, "started_at", "finished_at", "locked_until", nullable=True),
        *_columns(sa.String, "locked_by", nullable=True),
        *_columns(sa.String(32), "lease_token", nullable=True),
        *_columns(sa.Boolean, "cancel_requested"),
        *_columns(sa.String(64), "idempotency_key", nullable=True),
        *_columns(sa.Text, "payload_json"),
        *_columns(sa.Text, "result_json", "last_error", nullable=True),
        *_columns(sa.SmallInteger, "progress_pct"),
        *_columns(sa.Integer, "event_seq"),
        *_columns(sa.String, "request_id"),
        sa.PrimaryKeyConstraint("job_id"),
        _check("status", "status IN ('queued', 'running', 'done', 'failed', 'canceled')"),
        _check("progress_pct", "progress_pct BETWEEN 0 AND 100"),
        _check("attempts", "attempt BETWEEN 0 AND max_attempts AND max_attempts > 0"),
        _check("leased_while_running", "(status = 'running') = (lease_token IS NOT NULL)"),
        _check("lease_ends", "status <> 'running' OR locked_until IS NOT NULL"),
        _check("finished_when_it_ends", "(status IN ('queued', 'running')) = (finished_at IS NULL)"),
        _check(
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
    op.create_index(None, "jobs", ["tenant_id", "job_id"])
    op.create_index(
        "uq_jobs_idempotency_key",
        "jobs",
        ["tenant_id", "idempotency_key"],
        unique=True,
        **_where("idempotency_key IS NOT NULL AND status IN ('queued', 'running')"),
    )


def _job_events() -> None:
    op.create_table(
        "job_events",
        *_columns(sa.String(26), "job_id"),
        *_columns(sa.Integer, "seq", autoincrement=False),
        *_columns(sa.String, "event_type"),
        *_columns(sa.Text, "message"),
        *_columns(sa.Text, "data_json", nullable=True),
        *_columns(sa.SmallInteger, "progress_pct", nullable=True),
        *_columns(sa.BigInteger, "created_at"),
        sa.PrimaryKeyConstraint("job_id", "seq"),
        _check(
            "event_type",
            "event_type IN ('status_changed', 'step_started', 'step_done', 'warning', 'error', 'metric')",
        ),
        _check("progress_pct", "progress_pct BETWEEN 0 AND 100"),
    )


def _workers() -> None:
    op.create_table(
        "workers",
        *_columns(sa.String, "name", "kinds"),
        *_columns(sa.Integer, "running"),
        *_columns(sa.BigInteger, "started_at", "seen_at"),
        sa.PrimaryKeyConstraint("name"),
    )


def _audits() -> None:
    op.create_table(
        "audits",
        *_columns(sa.String(26), "id", "tenant_id", "job_id"),
        *_columns(sa.Text, "url", "options_json"),
        *_columns(sa.BigInteger, "created_at"),
        *_columns(sa.BigInteger, "finished_at", nullable=True),
        *_columns(sa.SmallInteger, "score", nullable=True),
        *_columns(sa.Text, "report_json", "severities_json", nullable=True),
        *_columns(sa.String(26), "crawl_id", nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.UniqueConstraint("job_id"),
        _check("score", "score BETWEEN 0 AND 100"),
        _check("scored_when_reported", "(score IS NULL) = (report_json IS NULL)"),
    )
    op.create_index(None, "audits", ["tenant_id", "id"])


def _batches() -> None:
    op.create_table(
        "batches",
        *_columns(sa.String(26), "job_id", "tenant_id"),
        *_columns(sa.String, "tier"),
        *_columns(sa.Integer, "total"),
        *_columns(sa.BigInteger, "created_at"),
        *_columns(sa.Text, "headers_json", nullable=True),
        *_columns(sa.Text, "plan_json", "urls_json"),
        sa.PrimaryKeyConstraint("job_id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        _check("total", "total > 0"),
    )
    op.create_index("ix_batches_headers", "batches", ["job_id"], **_where("headers_json IS NOT NULL"))


def _batch_results() -> None:
    op.create_table(
        "batch_results",
        *_columns(sa.String(26), "job_id"),
        *_columns(sa.Integer, "position", autoincrement=False),
        *_columns(sa.String, "status"),
        *_columns(sa.Boolean, "ok"),
        *_columns(sa.Integer, "size"),
        *_columns(sa.LargeBinary, "body", nullable=True),
        *_columns(sa.String, "blob", nullable=True),
        sa.PrimaryKeyConstraint("job_id", "position"),
        _check("status", "status IN ('done', 'failed')"),
        _check("ok_when_done", "status = 'done' OR NOT ok"),
        _check("kept_once", "(body IS NULL) <> (blob IS NULL)"),
    )


def _cached_pages() -> None:
    op.create_table(
        "cached_pages",
        *_columns(sa.String(64), "name"),
        *_columns(sa.String(26), "tenant_id"),
        *_columns(sa.String, "site"),
        *_columns(sa.Text, "url"),
        *_columns(sa.String, "variant"),
        *_columns(sa.BigInteger, "edition"),
        *_columns(sa.String, "blob", nullable=True),
        *_columns(sa.Boolean, "hot_behind"),
        *_columns(sa.BigInteger, "due_at", nullable=True),
        *_columns(sa.BigInteger, "changed_at"),
        *_columns(sa.BigInteger, "deleted_at", nullable=True),
        *_columns(sa.Text, "asked_url", "final_url"),
        *_columns(sa.SmallInteger, "status"),
        *_columns(sa.Text, "headers_json"),
        *_columns(sa.String(32), "etag"),
        *_columns(sa.BigInteger, "rendered_at"),
        *_columns(sa.Integer, "render_ms"),
        *_columns(sa.BigInteger, "size", "stored_size", "render_count", "access_count"),
        *_columns(sa.BigInteger, "accessed_at", nullable=True),
        sa.PrimaryKeyConstraint("name"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        _check("name_is_sha256", "length(name) = 64"),
        _check("deleted_everywhere", "deleted_at IS NULL OR blob IS NULL"),
    )
    op.create_index("ix_cached_pages_due", "cached_pages", ["due_at"], **_where("due_at IS NOT NULL"))
    op.create_index(None, "cached_pages", ["edition"])
    op.create_index(
        "ix_cached_pages_rendered",
        "cached_pages",
        ["tenant_id", "rendered_at", "name"],
        **_where("deleted_at IS NULL"),
    )
    op.create_index(None, "cached_pages", ["tenant_id", "site"])


def _stray_blobs() -> None:
    op.create_table(
        "stray_blobs",
        *_columns(sa.String, "name"),
        *_columns(sa.BigInteger, "due_at"),
        *_columns(sa.Boolean, "dropping"),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index(None, "stray_blobs", ["due_at"])


def _usage_days() -> None:
    op.create_table(
        "usage_days",
        *_columns(sa.String(26), "tenant_id", "key_id"),
        *_columns(sa.Integer, "day", autoincrement=False),
        *_columns(sa.BigInteger, "renders", "hot", "cold", "misses", "failures"),
        sa.PrimaryKeyConstraint("tenant_id", "key_id", "day"),
    )
    op.create_index(None, "usage_days", ["day"])


def _past_usage() -> None:
    op.create_table(
        "past_usage",
        *_columns(sa.String(64), "name"),
        *_columns(sa.String(26), "tenant_id"),
        *_columns(sa.Text, "url"),
        *_columns(sa.BigInteger, "renders", "accesses"),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index(None, "past_usage", ["tenant_id"])


def _search_pages() -> None:
    op.create_table(
        "search_pages",
        *_columns(_SERIAL, "id"),
        *_columns(sa.String(64), "name"),
        *_columns(sa.String(26), "tenant_id"),
        *_columns(sa.String, "site"),
        *_columns(sa.Text, "url", "final_url"),
        *_columns(sa.BigInteger, "seen_at"),
        *_columns(sa.BigInteger, "published_at", nullable=True),
        *_columns(sa.Text, "title", "description", "text"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        _check("name_is_sha256", "length(name) = 64"),
    )
    op.create_index(None, "search_pages", ["tenant_id", "id"])
    op.create_index(None, "search_pages", ["tenant_id", "site"])


def _search_tenants() -> None:
    op.create_table(
        "search_tenants",
        *_columns(sa.String(26), "tenant_id"),
        *_columns(sa.BigInteger, "pages"),
        sa.PrimaryKeyConstraint("tenant_id"),
    )


def _search_drops() -> None:
    op.create_table(
        "search_drops",
        *_columns(_SERIAL, "id"),
        *_columns(sa.String(26), "tenant_id"),
        *_columns(sa.String, "extent"),
        *_columns(sa.Text, "url"),
        *_columns(sa.BigInteger, "dropped_at"),
        sa.PrimaryKeyConstraint("id"),
        _check("extent", "extent IN ('page', 'below', 'beginning')"),
    )
    op.create_index(None, "search_drops", ["tenant_id", "dropped_at"])


def _facilitator_kinds() -> None:
    op.create_table(
        "facilitator_kinds",
        *_columns(sa.String, "url", "network", "extra_json"),
        sa.PrimaryKeyConstraint("url", "network"),
    )


def _payments() -> None:
    op.create_table(
        "payments",
        *_columns(sa.String(26), "id"),
        *_columns(sa.String, "network", "payer", "nonce", "state"),
        *_columns(sa.String(32), "token"),
        *_columns(sa.BigInteger, "held_until"),
        *_columns(sa.SmallInteger, "version"),
        *_columns(sa.String, "asset", "pay_to"),
        *_columns(sa.BigInteger, "amount"),
        *_columns(sa.String, "endpoint"),
        *_columns(sa.String(64), "request_hash"),
        *_columns(sa.String, "request_id"),
        *_columns(sa.String(64), "identifier", nullable=True),
        *_columns(sa.Text, "wire_json", nullable=True),
        *_columns(sa.BigInteger, "lasts_until"),
        *_columns(sa.String, "reason", "transaction_id"),
        *_columns(sa.String, "proof", server_default=""),
        *_columns(sa.BigInteger, "created_at"),
        *_columns(
            sa.BigInteger, "verified_at", "served_at", "settled_at", "ended_at", "delivered_at", nullable=True
        ),
        sa.PrimaryKeyConstraint("id"),
        _check("state", "state IN ('reserved', 'verified', 'served', 'pending', 'settled', 'released')"),
        _check("amount_is_positive", "amount > 0"),
        _check("ended_when_it_ends", "(state IN ('settled', 'released')) = (ended_at IS NOT NULL)"),
        _check("settled_when_it_is", "(state = 'settled') = (settled_at IS NOT NULL)"),
        _check("request_hash_is_sha256", "length(request_hash) = 64"),
    )
    op.create_index("ix_payments_open", "payments", ["held_until"], **_where("ended_at IS NULL"))
    op.create_index(
        "ix_payments_unanswered",
        "payments",
        ["payer", "request_hash"],
        **_where("state <> 'released' AND delivered_at IS NULL"),
    )
    op.create_index(
        "ix_payments_unproven", "payments", ["network", "id"], **_where("state = 'settled' AND proof = ''")
    )
    op.create_index(
        "uq_payments_authorization",
        "payments",
        ["network", "payer", "nonce"],
        unique=True,
        **_where("state <> 'released'"),
    )
    op.create_index(
        "uq_payments_identifier",
        "payments",
        ["identifier"],
        unique=True,
        **_where("identifier IS NOT NULL AND state <> 'released'"),
    )


def _crawls() -> None:
    op.create_table(
        "crawls",
        *_columns(sa.String(26), "id", "tenant_id"),
        *_columns(sa.String, "name", "state"),
        *_columns(sa.Boolean, "is_default"),
        *_columns(sa.Boolean, "deleting", server_default=sa.false()),
        *_columns(sa.Text, "spec_json"),
        *_columns(
            sa.BigInteger,
            "max_pages",
            "pending",
            "in_progress",
            "completed",
            "failed",
            "blocked",
            "pages",
            "bytes",
        ),
        *_columns(sa.Integer, "revision", server_default="0"),
        *_columns(sa.BigInteger, "created_at"),
        *_columns(sa.BigInteger, "started_at", "finished_at", nullable=True),
        *_columns(sa.String, "request_id"),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        _check("state", "state IN ('running', 'paused', 'done', 'canceled')"),
        _check("finished_when_over", "(state IN ('done', 'canceled')) = (finished_at IS NOT NULL)"),
        _check("counts", "pending >= 0 AND in_progress >= 0"),
        _check("most_pages", "pages + in_progress <= max_pages"),
    )
    op.create_index("ix_crawls_deleting", "crawls", ["id"], **_where("deleting"))
    op.create_index("ix_crawls_running", "crawls", ["id"], **_where("state = 'running'"))
    op.create_index(None, "crawls", ["tenant_id", "id"])
    op.create_index("uq_crawls_default", "crawls", ["tenant_id"], unique=True, **_where("is_default"))


def _hosts() -> None:
    op.create_table(
        "hosts",
        *_columns(sa.String, "host"),
        *_columns(sa.BigInteger, "due_at", nullable=True),
        *_columns(sa.BigInteger, "next_at", "resting_until"),
        *_columns(sa.String(32), "lease_token", nullable=True),
        *_columns(sa.BigInteger, "locked_until", nullable=True),
        *_columns(sa.String, "locked_by", nullable=True),
        *_columns(sa.Integer, "delay_ms", nullable=True),
        *_columns(sa.Integer, "failures"),
        *_columns(sa.Boolean, "is_allowed", "renders"),
        *_columns(sa.BigInteger, "pages", "bytes", "added_at"),
        sa.PrimaryKeyConstraint("host"),
        _check("lease_ends", "(lease_token IS NULL) = (locked_until IS NULL)"),
        _check("due_when_the_lease_ends", "lease_token IS NULL OR due_at = locked_until"),
    )
    op.create_index("ix_hosts_due", "hosts", ["due_at"], **_where("due_at IS NOT NULL"))
    op.create_index("ix_hosts_leased", "hosts", ["locked_until"], **_where("lease_token IS NOT NULL"))


def _host_robots() -> None:
    op.create_table(
        "host_robots",
        *_columns(sa.String, "host"),
        *_columns(sa.SmallInteger, "status", nullable=True),
        *_columns(sa.Text, "body"),
        *_columns(sa.BigInteger, "fetched_at", "expires_at"),
        sa.PrimaryKeyConstraint("host"),
    )


def _crawl_hosts() -> None:
    op.create_table(
        "crawl_hosts",
        *_columns(sa.String(26), "crawl_id"),
        *_columns(sa.String, "host"),
        *_columns(sa.String(26), "tenant_id"),
        *_columns(sa.BigInteger, "pending", "in_progress", "completed", "failed", "blocked", "taken_at"),
        sa.PrimaryKeyConstraint("crawl_id", "host"),
        _check("counts", "pending >= 0 AND in_progress >= 0"),
    )
    op.create_index("ix_crawl_hosts_pending", "crawl_hosts", ["host", "taken_at"], **_where("pending > 0"))
    op.create_index("ix_crawl_hosts_turns", "crawl_hosts", ["crawl_id", "taken_at"], **_where("pending > 0"))
    op.create_index(None, "crawl_hosts", ["tenant_id", "host"])


def _frontier() -> None:
    op.create_table(
        "frontier",
        *_columns(sa.String(26), "crawl_id"),
        *_columns(sa.String(64), "url_hash"),
        *_columns(sa.Text, "url"),
        *_columns(sa.String, "host"),
        *_columns(sa.SmallInteger, "priority", "depth"),
        *_columns(sa.String, "state"),
        *_columns(sa.SmallInteger, "attempt", "lapses"),
        *_columns(sa.BigInteger, "due_at", "added_at", "updated_at"),
        *_columns(sa.Text, "reason"),
        *_columns(sa.SmallInteger, "hops", server_default="0"),
        *_columns(sa.Boolean, "as_sitemap", server_default=sa.false()),
        sa.PrimaryKeyConstraint("crawl_id", "url_hash"),
        _check("priority", "priority BETWEEN 1 AND 3"),
        _check("state", "state IN ('pending', 'in_progress', 'completed', 'failed', 'blocked')"),
    )
    op.create_index("ix_frontier_in_progress", "frontier", ["host"], **_where("state = 'in_progress'"))
    op.create_index(
        "ix_frontier_pending",
        "frontier",
        ["crawl_id", "host", "priority", "due_at"],
        **_where("state = 'pending'"),
    )
    op.create_index(
        "ix_frontier_refused",
        "frontier",
        ["crawl_id", "state", "url_hash"],
        **_where("state IN ('failed', 'blocked')"),
    )


def _crawled_pages() -> None:
    op.create_table(
        "crawled_pages",
        *_columns(sa.String(26), "crawl_id"),
        *_columns(sa.String(64), "url_hash"),
        *_columns(sa.Text, "url", "final_url"),
        *_columns(sa.String, "host"),
        *_columns(sa.SmallInteger, "status_code", nullable=True),
        *_columns(sa.String, "content_type"),
        *_columns(sa.BigInteger, "content_length"),
        *_columns(sa.String, "content_hash"),
        *_columns(sa.String(32), "fingerprint"),
        *_columns(sa.String(64), "duplicate_of", nullable=True),
        *_columns(sa.Text, "title", "description"),
        *_columns(sa.String, "language"),
        *_columns(sa.Text, "canonical"),
        *_columns(sa.String, "directives"),
        *_columns(sa.Integer, "links_count"),
        *_columns(sa.SmallInteger, "depth"),
        *_columns(sa.String, "via"),
        *_columns(sa.BigInteger, "crawled_at"),
        *_columns(sa.Integer, "duration_ms"),
        *_columns(sa.Text, "error"),
        *_columns(sa.String, "outcome"),
        *_columns(sa.String, "blob", nullable=True),
        *_columns(sa.BigInteger, "blob_offset", "blob_size"),
        sa.PrimaryKeyConstraint("crawl_id", "url_hash"),
    )
    op.create_index(None, "crawled_pages", ["crawl_id", "crawled_at", "url_hash"])
    op.create_index(None, "crawled_pages", ["crawl_id", "host", "crawled_at", "url_hash"])
    op.create_index(
        "ix_crawled_pages_odd_outcome",
        "crawled_pages",
        ["crawl_id", "outcome", "crawled_at", "url_hash"],
        **_where("outcome <> 'ok'"),
    )
    op.create_index(
        "ix_crawled_pages_odd_status_code",
        "crawled_pages",
        ["crawl_id", "status_code", "crawled_at", "url_hash"],
        **_where("status_code <> 200"),
    )


def _crawl_blobs() -> None:
    op.create_table(
        "crawl_blobs",
        *_columns(sa.String, "blob"),
        *_columns(sa.String(26), "crawl_id"),
        sa.PrimaryKeyConstraint("blob", "crawl_id"),
    )
    op.create_index(None, "crawl_blobs", ["crawl_id"])


def _unindexed() -> None:
    op.create_table(
        "unindexed",
        *_columns(sa.String, "blob"),
        *_columns(sa.String(26), "crawl_id", "tenant_id"),
        *_columns(sa.BigInteger, "crawled_at", "due_at"),
        *_columns(sa.SmallInteger, "attempt"),
        sa.PrimaryKeyConstraint("blob", "crawl_id"),
    )
    op.create_index(None, "unindexed", ["due_at"])


def _crawl_minutes() -> None:
    op.create_table(
        "crawl_minutes",
        *_columns(sa.String(26), "crawl_id"),
        *_columns(sa.Integer, "minute", autoincrement=False),
        *_columns(
            sa.BigInteger,
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
        ),
        sa.PrimaryKeyConstraint("crawl_id", "minute"),
    )
    op.create_index(None, "crawl_minutes", ["minute"])


def _search_words() -> None:
    """Each database has the words in a shape of its own."""
    if op.get_bind().dialect.name == "sqlite":
        # The words come ready (`web/search/words.py`): this tokenizer only splits them at spaces.
        op.execute(
            "CREATE VIRTUAL TABLE search_words USING fts5(facets, title, description, body, tokenize='ascii')"
        )
    else:
        op.execute("CREATE TABLE search_words (id BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)")
        op.execute("CREATE INDEX ix_search_words_words ON search_words USING gin (words)")


def _public_tenant() -> None:
    """The tenant of all callers without an account. It has no email address, so it can have no key."""
    # With types, as the statement may be written down too (`gossamer migrate --dry-run`).
    texts = [sa.column(name, sa.String) for name in ("id", "email", "name")]
    tenants = sa.table("tenants", *texts, sa.column("created_at", sa.BigInteger))
    op.bulk_insert(tenants, [{"id": PUBLIC_TENANT, "email": "public", "name": "Public", "created_at": 0}])


def _columns(kind: Any, *names: str, nullable: bool = False, **options: Any) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=nullable, **options) for name in names]


def _check(name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=name)


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}
