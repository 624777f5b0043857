"""The tables, except those of crawls and payments. Hashes are SHA-256 in hex.

A change needs a revision in `migrations/versions` and a new `HEAD` in `database.py`; a test compares them.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    Text,
)

from gossamer.state.db.columns import id_, metadata, text_, time_, where_

tenants: Final = Table(
    "tenants",
    metadata,
    id_(primary_key=True),
    text_("email", unique=True),
    text_("name"),
    time_("created_at"),
    CheckConstraint("email = lower(email)", name="email_is_lower_case"),
)

api_keys: Final = Table(
    "api_keys",
    metadata,
    id_(primary_key=True),
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    text_("prefix"),
    text_("role"),
    text_("tier"),
    text_("label"),
    time_("created_at"),
    time_("disabled_at", nullable=True),
    text_("disabled_reason"),
    time_("last_used_at", nullable=True),
    time_("expires_at", nullable=True),
    id_("rotated_from", ForeignKey("api_keys.id"), nullable=True),
    CheckConstraint("length(hash) = 64", name="hash_is_sha256"),
    CheckConstraint("role IN ('user', 'admin')", name="role"),
    CheckConstraint("tier IN ('free', 'pro', 'enterprise')", name="tier"),
    Index(None, "tenant_id", "id"),
)

# People who sign in. An empty hash: the person has no password yet, or signs in elsewhere.
users: Final = Table(
    "users",
    metadata,
    id_(primary_key=True),
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    text_("email", unique=True),
    text_("password_hash"),
    text_("role"),
    time_("created_at"),
    time_("disabled_at", nullable=True),
    time_("seen_at", nullable=True),
    CheckConstraint("email = lower(email)", name="email_is_lower_case"),
    CheckConstraint("role IN ('user', 'admin')", name="role"),
    Index(None, "tenant_id", "id"),
)

sessions: Final = Table(
    "sessions",
    metadata,
    Column("hash", String(64), primary_key=True),  # of the cookie
    id_("user_id", ForeignKey(users.c.id), nullable=True),  # empty: came by a link that only shows usage
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    Column("csrf_secret", String(64), nullable=False),
    text_("client"),  # the address that it was opened from
    time_("created_at"),
    time_("seen_at"),
    time_("expires_at"),
    Index(None, "user_id"),
    Index(None, "expires_at"),
)

# Links that sign somebody in: to begin, after an invitation, to set a new password, or only to see usage.
sign_in_links: Final = Table(
    "sign_in_links",
    metadata,
    Column("hash", String(64), primary_key=True),  # of the token in the link
    text_("purpose"),
    id_("user_id", ForeignKey(users.c.id), nullable=True),
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    time_("created_at"),
    time_("expires_at"),
    CheckConstraint("purpose IN ('sign_in', 'invitation', 'reset', 'usage')", name="purpose"),
    CheckConstraint("(purpose = 'usage') = (user_id IS NULL)", name="user_signs_in"),
    Index(None, "user_id"),
    Index(None, "expires_at"),
)

# What was done by whom. No foreign keys: the log outlives its subjects, its actors and tenants.
activity: Final = Table(
    "activity",
    metadata,
    id_(primary_key=True),
    id_("tenant_id", nullable=False),
    time_("at"),
    text_("action"),
    text_("subject"),  # the id of what was changed
    text_("actor"),  # the id of a key or a user, or the name of a command
    text_("actor_name"),
    text_("via"),
    text_("client"),  # the address that the request came from
    text_("request_id"),
    text_("detail"),
    Index(None, "subject", "id"),
    Index(None, "tenant_id", "id"),
)

once: Final = Table(
    "once",
    metadata,
    Column("scope", String(64), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("answer", LargeBinary, nullable=False),
    time_("created_at"),
    time_("expires_at"),
    CheckConstraint("length(scope) = 64", name="scope_is_sha256"),
    CheckConstraint("length(fingerprint) = 64", name="fingerprint_is_sha256"),
    Index(None, "expires_at"),
)

# `job.py` shows the state machine. `locked_until` is the end of a running job's lease, or the time until
# which a queued job waits; it is empty if the job need not wait.
jobs: Final = Table(
    "jobs",
    metadata,
    id_("job_id", primary_key=True),
    # The statement that puts a job looks up its tenant: a foreign key would lock that row for every job.
    id_("tenant_id", nullable=False),
    text_("kind"),
    text_("status"),
    Column("priority", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    time_("queued_at"),
    time_("run_at"),
    time_("started_at", nullable=True),
    time_("finished_at", nullable=True),
    time_("locked_until", nullable=True),
    Column("locked_by", String, nullable=True),
    Column("lease_token", String(32), nullable=True),
    Column("cancel_requested", Boolean, nullable=False),
    Column("idempotency_key", String(64), nullable=True),
    # Text, not JSONB: it is never queried, and JSONB refuses a character that JSON allows (\u0000).
    Column("payload_json", Text, nullable=False),
    Column("result_json", Text, nullable=True),
    Column("last_error", Text, nullable=True),
    Column("progress_pct", SmallInteger, nullable=False),
    Column("event_seq", Integer, nullable=False),
    text_("request_id"),
    CheckConstraint("status IN ('queued', 'running', 'done', 'failed', 'canceled')", name="status"),
    CheckConstraint("progress_pct BETWEEN 0 AND 100", name="progress_pct"),
    CheckConstraint("attempt BETWEEN 0 AND max_attempts AND max_attempts > 0", name="attempts"),
    CheckConstraint("(status = 'running') = (lease_token IS NOT NULL)", name="leased_while_running"),
    CheckConstraint("status <> 'running' OR locked_until IS NOT NULL", name="lease_ends"),
    CheckConstraint(
        "(status IN ('queued', 'running')) = (finished_at IS NULL)", name="finished_when_it_ends"
    ),
    CheckConstraint(
        "(started_at IS NULL OR started_at >= queued_at)"
        " AND (finished_at IS NULL OR started_at IS NULL OR finished_at >= started_at)",
        name="valid_timestamps",
    ),
    Index(
        "ix_jobs_claimable",
        "kind",
        "tenant_id",
        "priority",
        "run_at",
        "job_id",
        **where_("status = 'queued' AND locked_until IS NULL"),
    ),
    Index("ix_jobs_expired", "locked_until", **where_("locked_until IS NOT NULL")),
    Index(
        "uq_jobs_idempotency_key",
        "tenant_id",
        "idempotency_key",
        unique=True,
        **where_("idempotency_key IS NOT NULL AND status IN ('queued', 'running')"),
    ),
    Index(None, "tenant_id", "job_id"),
)

# Events that do not follow from a job's own row; see `job_events.py`. The statement that writes an event also
# updates the job's row, so a foreign key would only look up that row once more.
job_events: Final = Table(
    "job_events",
    metadata,
    id_("job_id", primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    text_("event_type"),
    Column("message", Text, nullable=False),
    Column("data_json", Text, nullable=True),
    Column("progress_pct", SmallInteger, nullable=True),
    time_("created_at"),
    CheckConstraint(
        "event_type IN ('status_changed', 'step_started', 'step_done', 'warning', 'error', 'metric')",
        name="event_type",
    ),
    CheckConstraint("progress_pct BETWEEN 0 AND 100", name="progress_pct"),
)

workers: Final = Table(
    "workers",
    metadata,
    Column("name", String, primary_key=True),
    text_("kinds"),
    Column("running", Integer, nullable=False),
    time_("started_at"),
    time_("seen_at"),
)

# No foreign key to the job: a report outlives it.
audits: Final = Table(
    "audits",
    metadata,
    id_(primary_key=True),
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    id_("job_id", nullable=False, unique=True),
    Column("url", Text, nullable=False),
    Column("options_json", Text, nullable=False),
    time_("created_at"),
    time_("finished_at", nullable=True),
    Column("score", SmallInteger, nullable=True),
    Column("report_json", Text, nullable=True),
    Column("severities_json", Text, nullable=True),  # the findings of the report, counted
    id_("crawl_id", nullable=True),  # the crawl of a site audit; no foreign key: a report outlives it
    CheckConstraint("score BETWEEN 0 AND 100", name="score"),
    CheckConstraint("(score IS NULL) = (report_json IS NULL)", name="scored_when_reported"),
    Index(None, "tenant_id", "id"),
)

# Many pages that one job reads; the batch has the job's id. No foreign key to the job: the results are
# deleted after it, a few at a time.
batches: Final = Table(
    "batches",
    metadata,
    id_("job_id", primary_key=True),
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    text_("tier"),
    Column("total", Integer, nullable=False),
    time_("created_at"),
    Column("headers_json", Text, nullable=True),  # sent with each request; deleted when the job is over
    Column("plan_json", Text, nullable=False),
    Column("urls_json", Text, nullable=False),
    CheckConstraint("total > 0", name="total"),
    Index("ix_batches_headers", "job_id", **where_("headers_json IS NOT NULL")),
)

batch_results: Final = Table(
    "batch_results",
    metadata,
    id_("job_id", primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),  # in the list, from 0
    text_("status"),
    Column("ok", Boolean, nullable=False),
    Column("size", Integer, nullable=False),  # bytes, not compressed
    Column("body", LargeBinary, nullable=True),  # compressed; empty if it is in a blob
    Column("blob", String, nullable=True),
    CheckConstraint("status IN ('done', 'failed')", name="status"),
    CheckConstraint("status = 'done' OR NOT ok", name="ok_when_done"),
    CheckConstraint("(body IS NULL) <> (blob IS NULL)", name="kept_once"),
)

# A page that `/api/render` caches; `page_cache.py` explains how its row and its tiers stay consistent.
cached_pages: Final = Table(
    "cached_pages",
    metadata,
    Column("name", String(64), primary_key=True),  # SHA-256 of tenant, visited URL and variant
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    text_("site"),
    Column("url", Text, nullable=False),  # in its cache form
    text_("variant"),
    Column("edition", BigInteger, nullable=False),  # grows with every transaction that changes the page
    Column("blob", String, nullable=True),  # empty: the page is not in the cold tier
    Column("hot_behind", Boolean, nullable=False),  # the hot tier may have an older edition
    time_("due_at", nullable=True),  # when repair checks it; empty: nothing to repair
    time_("changed_at"),
    time_("deleted_at", nullable=True),
    Column("asked_url", Text, nullable=False),
    Column("final_url", Text, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("headers_json", Text, nullable=False),
    Column("etag", String(32), nullable=False),
    time_("rendered_at"),
    Column("render_ms", Integer, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("stored_size", BigInteger, nullable=False),
    Column("render_count", BigInteger, nullable=False),
    Column("access_count", BigInteger, nullable=False),
    time_("accessed_at", nullable=True),
    CheckConstraint("length(name) = 64", name="name_is_sha256"),
    CheckConstraint("deleted_at IS NULL OR blob IS NULL", name="deleted_everywhere"),
    Index(None, "tenant_id", "site"),
    Index(None, "edition"),
    Index("ix_cached_pages_rendered", "tenant_id", "rendered_at", "name", **where_("deleted_at IS NULL")),
    Index("ix_cached_pages_due", "due_at", **where_("due_at IS NOT NULL")),
)

# Orphan blobs: no row names them yet, or any more. A blob that is still here when it is due is dropped.
stray_blobs: Final = Table(
    "stray_blobs",
    metadata,
    Column("name", String, primary_key=True),
    time_("due_at"),
    Column("dropping", Boolean, nullable=False),
    Index(None, "due_at"),
)

# No foreign keys: usage stays counted after its key or tenant is deleted.
usage_days: Final = Table(
    "usage_days",
    metadata,
    id_("tenant_id", primary_key=True),
    id_("key_id", primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),  # since 1970-01-01, UTC
    Column("renders", BigInteger, nullable=False),
    Column("hot", BigInteger, nullable=False),
    Column("cold", BigInteger, nullable=False),
    Column("misses", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),
    Index(None, "day"),
)

# What the crawls of a tenant stored on a day. It stays when crawls are deleted, as quotas are counted by it.
tenant_days: Final = Table(
    "tenant_days",
    metadata,
    id_("tenant_id", primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),  # since 1970-01-01, UTC
    Column("pages", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
)

# The counts of deleted pages, by URL; see `past_usage.py`.
past_usage: Final = Table(
    "past_usage",
    metadata,
    Column("name", String(64), primary_key=True),  # SHA-256 of tenant and URL
    id_("tenant_id", nullable=False),
    Column("url", Text, nullable=False),  # in its cache form
    Column("renders", BigInteger, nullable=False),
    Column("accesses", BigInteger, nullable=False),
    Index(None, "tenant_id"),
)

# How much a page is about each of its terms (`web/search/analysis`), for ranking. Apart from its page, whose
# row is long.
search_weights: Final = Table(
    "search_weights",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("weights", Text, nullable=False),
)

# How many pages of a sample have a word. The word '' counts the pages, and '@en' those in English.
search_lexicon: Final = Table(
    "search_lexicon",
    metadata,
    id_("tenant_id", primary_key=True),
    Column("word", String().with_variant(String(collation="C"), "postgresql"), primary_key=True),
    Column("pages", BigInteger, nullable=False),  # that have it as a term: in any form
    Column("forms", BigInteger, nullable=False),  # that have exactly this word
    sqlite_with_rowid=False,
)

# Pages that can be searched. Their words are in `search_words`, whose shape depends on the database.
# A page that is read again gets a new id, so the order of ids is the order of reading.
search_pages: Final = Table(
    "search_pages",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("name", String(64), nullable=False, unique=True),  # SHA-256 of tenant and URL
    id_("tenant_id", nullable=False),
    text_("site"),
    Column("url", Text, nullable=False),  # in its cache form
    Column("final_url", Text, nullable=False),  # after redirects
    time_("seen_at"),
    time_("published_at", nullable=True),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("language", String, nullable=False, server_default=""),  # of its stems; empty: it has none
    Column("outline", Text, nullable=False, server_default=""),  # the headings in the text, as JSON
    CheckConstraint("length(name) = 64", name="name_is_sha256"),
    Index(None, "tenant_id", "id"),
    Index(None, "tenant_id", "site"),
)

search_tenants: Final = Table(
    "search_tenants",
    metadata,
    id_("tenant_id", primary_key=True),
    Column("pages", BigInteger, nullable=False),
)

# Deletions, kept as long as pages read before them may still be waiting for the index.
search_drops: Final = Table(
    "search_drops",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    id_("tenant_id", nullable=False),
    text_("extent"),
    Column("url", Text, nullable=False),
    time_("dropped_at"),
    CheckConstraint("extent IN ('page', 'below', 'beginning')", name="extent"),
    Index(None, "tenant_id", "dropped_at"),
)

# Deletions that were accepted and are not finished yet. No foreign keys: their subjects go.
deletions: Final = Table(
    "deletions",
    metadata,
    text_("kind", primary_key=True),
    id_("subject", primary_key=True),
    id_("tenant_id", nullable=False),  # whose job it is
    Column("detail_json", Text, nullable=False),
    time_("accepted_at"),
    Index(None, "tenant_id"),
)
