"""The tables, except those of crawls; hashes are SHA-256 in hex.

A change here needs a revision in `migrations/versions` and a new `HEAD` in `database.py`; a test compares.
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

from gossamer.state.columns import id_, metadata, text_, time_, where_

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
    id_("rotated_from", ForeignKey("api_keys.id"), nullable=True),
    CheckConstraint("length(hash) = 64", name="hash_is_sha256"),
    CheckConstraint("role IN ('user', 'admin')", name="role"),
    CheckConstraint("tier IN ('free', 'pro', 'enterprise')", name="tier"),
    Index(None, "tenant_id", "id"),
)

# No foreign keys: the log outlives what it speaks of.
key_events: Final = Table(
    "key_events",
    metadata,
    id_(primary_key=True),
    id_("key_id", nullable=False),
    id_("tenant_id", nullable=False),
    text_("action"),
    text_("actor"),
    text_("request_id"),
    time_("at"),
    text_("detail"),
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
    time_("created_at"),
    time_("expires_at"),
    CheckConstraint("length(scope) = 64", name="scope_is_sha256"),
    CheckConstraint("length(fingerprint) = 64", name="fingerprint_is_sha256"),
    Index(None, "expires_at"),
)

# The state machine is drawn in `job.py`. `locked_until` is the end of a running job's lease, and the time
# before which a queued one must wait; it is empty when nothing needs to be waited for.
jobs: Final = Table(
    "jobs",
    metadata,
    id_("job_id", primary_key=True),
    # Who puts a job looks that there is such a tenant: a foreign key would lock its row once for every job.
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
    # Text, not JSONB: nobody looks inside it here, and JSONB refuses what JSON allows (\u0000).
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

# What a job's own row does not tell; see `job_events.py`. Each is written by the statement that counts it in
# the job's row, so a foreign key would only look up again what that statement holds.
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
    id_("crawl_id", nullable=True),  # of the pages of a site; no foreign key: a report outlives it
    CheckConstraint("score BETWEEN 0 AND 100", name="score"),
    CheckConstraint("(score IS NULL) = (report_json IS NULL)", name="scored_when_reported"),
    Index(None, "tenant_id", "id"),
)

# Many pages that are read by one job, whose id is the batch's. No foreign key to the job: what it has read is
# deleted after it, a piece at a time.
batches: Final = Table(
    "batches",
    metadata,
    id_("job_id", primary_key=True),
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    text_("tier"),
    Column("total", Integer, nullable=False),
    time_("created_at"),
    Column("headers_json", Text, nullable=True),  # sent along with each request; empty when the job is over
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
    Column("body", LargeBinary, nullable=True),  # compressed; empty where a blob has it
    Column("blob", String, nullable=True),
    CheckConstraint("status IN ('done', 'failed')", name="status"),
    CheckConstraint("status = 'done' OR NOT ok", name="ok_when_done"),
    CheckConstraint("(body IS NULL) <> (blob IS NULL)", name="kept_once"),
)

# A page that the render face keeps; `page_cache.py` says how its parts stay together.
cached_pages: Final = Table(
    "cached_pages",
    metadata,
    Column("name", String(64), primary_key=True),  # SHA-256 of tenant, URL and variant
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    text_("site"),
    Column("url", Text, nullable=False),  # in its cache form
    text_("variant"),
    Column("edition", BigInteger, nullable=False),  # only grows, in the order of the transactions
    Column("blob", String, nullable=True),  # empty: the cold tier does not have it
    Column("hot_behind", Boolean, nullable=False),  # the hot tier may have an older edition
    time_("due_at", nullable=True),  # when repair has to look at it; empty: all is well
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
    Index("ix_cached_pages_due", "due_at", **where_("due_at IS NOT NULL")),
)

# Blobs that no row speaks of: not yet, or no more. Whatever is still here when it is due is dropped.
stray_blobs: Final = Table(
    "stray_blobs",
    metadata,
    Column("name", String, primary_key=True),
    time_("due_at"),
    Column("dropping", Boolean, nullable=False),
    Index(None, "due_at"),
)

# No foreign keys: what was used stays counted, and one that is gone does not stop the counting of others.
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
)

# What can be searched for; its words are in `search_words`, which each database has in a shape of its own.
# A page that is read again gets a new id, so ids are in the order of reading.
search_pages: Final = Table(
    "search_pages",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("name", String(64), nullable=False, unique=True),  # SHA-256 of tenant and URL
    id_("tenant_id", nullable=False),
    text_("site"),
    Column("url", Text, nullable=False),  # in its cache form
    Column("final_url", Text, nullable=False),  # where it was read
    time_("seen_at"),
    time_("published_at", nullable=True),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("text", Text, nullable=False),
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

# What was taken out, for as long as there are pages from before that are still to come.
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

# A payment for a request; the state machine is drawn in `ledger.py`. There is one row for each authorisation,
# beside those of times when it was released. No foreign keys: the ledger outlives what it speaks of.
payments: Final = Table(
    "payments",
    metadata,
    id_(primary_key=True),
    text_("network"),
    text_("payer"),
    text_("nonce"),
    text_("state"),
    Column("token", String(32), nullable=False),  # of who works on it
    time_("held_until"),  # for so long nobody else does
    Column("version", SmallInteger, nullable=False),
    text_("asset"),
    text_("pay_to"),
    Column("amount", BigInteger, nullable=False),  # in the asset's atomic units
    text_("endpoint"),
    Column("request_hash", String(64), nullable=False),
    text_("request_id"),
    Column("identifier", String(64), nullable=True),  # SHA-256 of payer and what the client calls it
    Column("wire_json", Text, nullable=True),  # the payment, as long as something may have to be asked of it
    time_("lasts_until"),  # after that it can move no money
    text_("reason"),
    text_("transaction_id"),
    time_("created_at"),
    time_("verified_at", nullable=True),
    time_("served_at", nullable=True),
    time_("settled_at", nullable=True),
    time_("ended_at", nullable=True),
    time_("delivered_at", nullable=True),
    CheckConstraint(
        "state IN ('reserved', 'verified', 'served', 'pending', 'settled', 'released')", name="state"
    ),
    CheckConstraint("amount > 0", name="amount_is_positive"),
    CheckConstraint("(state IN ('settled', 'released')) = (ended_at IS NOT NULL)", name="ended_when_it_ends"),
    CheckConstraint("(state = 'settled') = (settled_at IS NOT NULL)", name="settled_when_it_is"),
    CheckConstraint("length(request_hash) = 64", name="request_hash_is_sha256"),
    Index(
        "uq_payments_authorization",
        "network",
        "payer",
        "nonce",
        unique=True,
        **where_("state <> 'released'"),
    ),
    Index(
        "uq_payments_identifier",
        "identifier",
        unique=True,
        **where_("identifier IS NOT NULL AND state <> 'released'"),
    ),
    Index("ix_payments_open", "held_until", **where_("ended_at IS NULL")),
)
