"""The tables. Times are milliseconds since the epoch, ids are ULIDs, hashes are SHA-256 in hex.

A change here needs a revision in `migrations/versions` and a new `HEAD` in `database.py`; a test compares.
"""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    text,
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


def _where(condition: str) -> dict[str, Any]:
    """What makes an index partial; both databases know it, and SQLAlchemy spells it twice."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


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

# The state machine is drawn in `job.py`. `locked_until` is the end of a running job's lease, and the time
# before which a queued one must wait; it is empty when nothing needs to be waited for.
jobs: Final = Table(
    "jobs",
    metadata,
    _id("job_id", primary_key=True),
    # Who puts a job looks that there is such a tenant: a foreign key would lock its row once for every job.
    _id("tenant_id", nullable=False),
    _text("kind"),
    _text("status"),
    Column("priority", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    _time("queued_at"),
    _time("run_at"),
    _time("started_at", nullable=True),
    _time("finished_at", nullable=True),
    _time("locked_until", nullable=True),
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
    _text("request_id"),
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
        **_where("status = 'queued' AND locked_until IS NULL"),
    ),
    Index("ix_jobs_expired", "locked_until", **_where("locked_until IS NOT NULL")),
    Index(
        "uq_jobs_idempotency_key",
        "tenant_id",
        "idempotency_key",
        unique=True,
        **_where("idempotency_key IS NOT NULL AND status IN ('queued', 'running')"),
    ),
    Index(None, "tenant_id", "job_id"),
)

# What a job's own row does not tell; see `job_events.py`. Each is written by the statement that counts it in
# the job's row, so a foreign key would only look up again what that statement holds.
job_events: Final = Table(
    "job_events",
    metadata,
    _id("job_id", primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    _text("event_type"),
    Column("message", Text, nullable=False),
    Column("data_json", Text, nullable=True),
    Column("progress_pct", SmallInteger, nullable=True),
    _time("created_at"),
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
    _text("kinds"),
    Column("running", Integer, nullable=False),
    _time("started_at"),
    _time("seen_at"),
)

# No foreign key to the job: a report outlives it.
audits: Final = Table(
    "audits",
    metadata,
    _id(primary_key=True),
    _id("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    _id("job_id", nullable=False, unique=True),
    Column("url", Text, nullable=False),
    Column("options_json", Text, nullable=False),
    _time("created_at"),
    _time("finished_at", nullable=True),
    Column("score", SmallInteger, nullable=True),
    Column("report_json", Text, nullable=True),
    _id("crawl_id", nullable=True),  # of the pages of a site; no foreign key: a report outlives it
    CheckConstraint("score BETWEEN 0 AND 100", name="score"),
    CheckConstraint("(score IS NULL) = (report_json IS NULL)", name="scored_when_reported"),
    Index(None, "tenant_id", "id"),
)

# Many pages that are read by one job, whose id is the batch's. No foreign key to the job: what it has read is
# deleted after it, a piece at a time.
batches: Final = Table(
    "batches",
    metadata,
    _id("job_id", primary_key=True),
    _id("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    _text("tier"),
    Column("total", Integer, nullable=False),
    _time("created_at"),
    Column("headers_json", Text, nullable=True),  # sent along with each request; empty when the job is over
    Column("plan_json", Text, nullable=False),
    Column("urls_json", Text, nullable=False),
    CheckConstraint("total > 0", name="total"),
    Index("ix_batches_headers", "job_id", **_where("headers_json IS NOT NULL")),
)

batch_results: Final = Table(
    "batch_results",
    metadata,
    _id("job_id", primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),  # in the list, from 0
    _text("status"),
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
    _id("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    _text("site"),
    Column("url", Text, nullable=False),  # in its cache form
    _text("variant"),
    Column("edition", BigInteger, nullable=False),  # only grows, in the order of the transactions
    Column("blob", String, nullable=True),  # empty: the cold tier does not have it
    Column("hot_behind", Boolean, nullable=False),  # the hot tier may have an older edition
    _time("due_at", nullable=True),  # when repair has to look at it; empty: all is well
    _time("changed_at"),
    _time("deleted_at", nullable=True),
    Column("asked_url", Text, nullable=False),
    Column("final_url", Text, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("headers_json", Text, nullable=False),
    Column("etag", String(32), nullable=False),
    _time("rendered_at"),
    Column("render_ms", Integer, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("stored_size", BigInteger, nullable=False),
    Column("render_count", BigInteger, nullable=False),
    Column("access_count", BigInteger, nullable=False),
    _time("accessed_at", nullable=True),
    CheckConstraint("length(name) = 64", name="name_is_sha256"),
    CheckConstraint("deleted_at IS NULL OR blob IS NULL", name="deleted_everywhere"),
    Index(None, "tenant_id", "site"),
    Index(None, "edition"),
    Index("ix_cached_pages_due", "due_at", **_where("due_at IS NOT NULL")),
)

# Blobs that no row speaks of: not yet, or no more. Whatever is still here when it is due is dropped.
stray_blobs: Final = Table(
    "stray_blobs",
    metadata,
    Column("name", String, primary_key=True),
    _time("due_at"),
    Column("dropping", Boolean, nullable=False),
    Index(None, "due_at"),
)

# No foreign keys: what was used stays counted, and one that is gone does not stop the counting of others.
usage_days: Final = Table(
    "usage_days",
    metadata,
    _id("tenant_id", primary_key=True),
    _id("key_id", primary_key=True),
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
    _id("tenant_id", nullable=False),
    _text("site"),
    Column("url", Text, nullable=False),  # in its cache form
    Column("final_url", Text, nullable=False),  # where it was read
    _time("seen_at"),
    _time("published_at", nullable=True),
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
    _id("tenant_id", primary_key=True),
    Column("pages", BigInteger, nullable=False),
)

# A payment for a request; the state machine is drawn in `ledger.py`. There is one row for each authorisation,
# beside those of times when it was released. No foreign keys: the ledger outlives what it speaks of.
payments: Final = Table(
    "payments",
    metadata,
    _id(primary_key=True),
    _text("network"),
    _text("payer"),
    _text("nonce"),
    _text("state"),
    Column("token", String(32), nullable=False),  # of who works on it
    _time("held_until"),  # for so long nobody else does
    Column("version", SmallInteger, nullable=False),
    _text("asset"),
    _text("pay_to"),
    Column("amount", BigInteger, nullable=False),  # in the asset's atomic units
    _text("endpoint"),
    Column("request_hash", String(64), nullable=False),
    _text("request_id"),
    Column("identifier", String(64), nullable=True),  # SHA-256 of payer and what the client calls it
    Column("wire_json", Text, nullable=True),  # the payment, as long as something may have to be asked of it
    _time("lasts_until"),  # after that it can move no money
    _text("reason"),
    _text("transaction_id"),
    _time("created_at"),
    _time("verified_at", nullable=True),
    _time("served_at", nullable=True),
    _time("settled_at", nullable=True),
    _time("ended_at", nullable=True),
    _time("delivered_at", nullable=True),
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
        **_where("state <> 'released'"),
    ),
    Index(
        "uq_payments_identifier",
        "identifier",
        unique=True,
        **_where("identifier IS NOT NULL AND state <> 'released'"),
    ),
    Index("ix_payments_open", "held_until", **_where("ended_at IS NULL")),
)

# What is to be fetched, and what came of it. `frontier.py` says in which order these are locked. Counts are
# kept beside what they count, in the same transaction. No foreign keys in what is written by the thousand.
crawls: Final = Table(
    "crawls",
    metadata,
    _id(primary_key=True),
    _id("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    _text("name"),
    _text("state"),
    Column(
        "is_default", Boolean, nullable=False
    ),  # takes what is added to no crawl in particular; never done
    Column("spec_json", Text, nullable=False),
    Column("max_pages", BigInteger, nullable=False),
    Column("pending", BigInteger, nullable=False),
    Column("in_progress", BigInteger, nullable=False),
    Column("completed", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("blocked", BigInteger, nullable=False),
    Column("pages", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    _time("created_at"),
    _time("started_at", nullable=True),
    _time("finished_at", nullable=True),
    _text("request_id"),
    CheckConstraint("state IN ('running', 'paused', 'done', 'canceled')", name="state"),
    CheckConstraint("(state IN ('done', 'canceled')) = (finished_at IS NOT NULL)", name="finished_when_over"),
    CheckConstraint("pending >= 0 AND in_progress >= 0", name="counts"),
    CheckConstraint("pages + in_progress <= max_pages", name="most_pages"),
    Index(None, "tenant_id", "id"),
    Index("uq_crawls_default", "tenant_id", unique=True, **_where("is_default")),
    Index("ix_crawls_running", "id", **_where("state = 'running'")),
)

# Who a host belongs to and how it wants to be asked, whoever crawls it.
hosts: Final = Table(
    "hosts",
    metadata,
    Column("host", String, primary_key=True),  # with its port
    _time(
        "due_at", nullable=True
    ),  # when it can be leased; the end of its lease; empty: nothing is to be done
    _time("next_at"),  # no request before
    _time("resting_until"),
    Column("lease_token", String(32), nullable=True),
    _time("locked_until", nullable=True),
    Column("locked_by", String, nullable=True),
    Column("delay_ms", Integer, nullable=True),
    Column("failures", Integer, nullable=False),  # one after another
    Column("is_allowed", Boolean, nullable=False),
    Column("renders", Boolean, nullable=False),  # its pages are empty without JavaScript
    Column("pages", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    _time("added_at"),
    CheckConstraint("(lease_token IS NULL) = (locked_until IS NULL)", name="lease_ends"),
    CheckConstraint("lease_token IS NULL OR due_at = locked_until", name="due_when_the_lease_ends"),
    Index("ix_hosts_due", "due_at", **_where("due_at IS NOT NULL")),
    Index("ix_hosts_leased", "locked_until", **_where("lease_token IS NOT NULL")),
)

host_robots: Final = Table(
    "host_robots",
    metadata,
    Column("host", String, primary_key=True),
    Column("status", SmallInteger, nullable=True),  # empty: there was no answer
    Column("body", Text, nullable=False),
    _time("fetched_at"),
    _time("expires_at"),
)

# What of a crawl lies on a host.
crawl_hosts: Final = Table(
    "crawl_hosts",
    metadata,
    _id("crawl_id", primary_key=True),
    Column("host", String, primary_key=True),
    Column("pending", BigInteger, nullable=False),
    Column("in_progress", BigInteger, nullable=False),
    Column("completed", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("blocked", BigInteger, nullable=False),
    _time("taken_at"),  # crawls take turns
    CheckConstraint("pending >= 0 AND in_progress >= 0", name="counts"),
    Index("ix_crawl_hosts_pending", "host", "taken_at", **_where("pending > 0")),
)

frontier: Final = Table(
    "frontier",
    metadata,
    _id("crawl_id", primary_key=True),
    Column("url_hash", String(64), primary_key=True),
    Column("url", Text, nullable=False),
    _text("host"),
    Column("priority", SmallInteger, nullable=False),
    Column("depth", SmallInteger, nullable=False),
    _text("state"),
    Column("attempt", SmallInteger, nullable=False),
    Column("lapses", SmallInteger, nullable=False),  # how often a worker was lost with it
    _time("due_at"),
    _time("added_at"),
    _time("updated_at"),
    Column("reason", Text, nullable=False),
    CheckConstraint("priority BETWEEN 1 AND 3", name="priority"),
    CheckConstraint("state IN ('pending', 'in_progress', 'completed', 'failed', 'blocked')", name="state"),
    Index(
        "ix_frontier_pending",
        "crawl_id",
        "host",
        "priority",
        "due_at",
        **_where("state = 'pending'"),
    ),
    Index("ix_frontier_in_progress", "host", **_where("state = 'in_progress'")),
    Index("ix_frontier_refused", "crawl_id", "state", "url_hash", **_where("state IN ('failed', 'blocked')")),
)

crawled_pages: Final = Table(
    "crawled_pages",
    metadata,
    _id("crawl_id", primary_key=True),
    Column("url_hash", String(64), primary_key=True),
    Column("url", Text, nullable=False),
    Column("final_url", Text, nullable=False),
    _text("host"),
    Column("status_code", SmallInteger, nullable=True),  # empty: there was no answer
    _text("content_type"),
    Column("content_length", BigInteger, nullable=False),
    _text("content_hash"),
    Column("simhash", BigInteger, nullable=True),  # 64 bits, as a signed number
    Column("duplicate_of", String(64), nullable=True),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    _text("language"),
    Column("canonical", Text, nullable=False),
    _text("directives"),  # what the page asks of robots, with commas
    Column("links_count", Integer, nullable=False),
    Column("depth", SmallInteger, nullable=False),
    _text("via"),
    _time("crawled_at"),  # only grows, in the order of a crawl's transactions
    Column("duration_ms", Integer, nullable=False),
    Column("error", Text, nullable=False),
    _text("outcome"),
    Column("blob", String, nullable=True),
    Column("blob_offset", BigInteger, nullable=False),
    Column("blob_size", BigInteger, nullable=False),
    Index(None, "crawl_id", "crawled_at", "url_hash"),
    Index(None, "crawl_id", "host", "crawled_at", "url_hash"),
)

crawl_minutes: Final = Table(
    "crawl_minutes",
    metadata,
    _id("crawl_id", primary_key=True),
    Column("minute", Integer, primary_key=True, autoincrement=False),  # since 1970-01-01
    Column("fetched", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("blocked", BigInteger, nullable=False),
    Column("retried", BigInteger, nullable=False),
    Column("added", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("duration_ms", BigInteger, nullable=False),
    Column("status_2xx", BigInteger, nullable=False),
    Column("status_3xx", BigInteger, nullable=False),
    Column("status_4xx", BigInteger, nullable=False),
    Column("status_5xx", BigInteger, nullable=False),
    Index(None, "minute"),
)
