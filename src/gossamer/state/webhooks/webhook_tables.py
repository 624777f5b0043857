"""The tables of webhooks."""

from typing import Final

from sqlalchemy import (
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
    false,
)

from gossamer.state.db.columns import id_, metadata, text_, time_, where_
from gossamer.state.db.tables import tenants

# In the words of the partial indexes, and of `state/jobs/job_statements`.
LISTENING: Final = "disabled_at IS NULL AND ended_at IS NULL"

# Who is told what. One that is bound to a piece of work hears of that alone, and lasts as long as it does.
webhook_endpoints: Final = Table(
    "webhook_endpoints",
    metadata,
    id_(primary_key=True),
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    text_("owner"),  # the tenant, or a wallet of the public tenant
    id_("work_id", nullable=True),  # of the crawl, or of the batch's job
    Column("for_operators", Boolean, nullable=False, server_default=false()),  # hears of alerts and payments
    Column("url", Text, nullable=False),
    Column("events", Text, nullable=False),  # patterns, separated by commas
    Column("description", Text, nullable=False, server_default=""),
    text_("shape"),
    Column("metadata_json", Text, nullable=False),  # texts that every event repeats
    Column("headers_sealed", LargeBinary, nullable=True),
    Column("secret_sealed", LargeBinary, nullable=True),  # empty: the owner's secret signs
    Column("old_secret_sealed", LargeBinary, nullable=True),  # signs too, until
    time_("old_secret_until", nullable=True),
    time_("created_at"),
    time_("updated_at"),
    time_("ended_at", nullable=True),  # when the end of its work was told
    time_("disabled_at", nullable=True),
    Column("disabled_reason", String, nullable=True),
    # The breaker: failures since the last success, and until when nothing is sent.
    Column("failures", Integer, nullable=False, server_default="0"),
    time_("failing_since", nullable=True),
    time_("held_until", nullable=True),
    time_("delivered_at", nullable=True),  # the last success
    Index(None, "tenant_id"),
    Index("ix_webhook_endpoints_work", "work_id", unique=True, **where_("work_id IS NOT NULL")),
    Index("ix_webhook_endpoints_listening", "tenant_id", **where_(LISTENING)),
    Index("ix_webhook_endpoints_operators", "id", **where_(f"for_operators AND {LISTENING}")),
    Index(
        "ix_webhook_endpoints_headers",
        "ended_at",
        **where_("headers_sealed IS NOT NULL AND ended_at IS NOT NULL"),
    ),
)

# Work whose end is to be published. The statement that ends it adds the row.
ended_work: Final = Table(
    "ended_work",
    metadata,
    id_("work_id", primary_key=True),
    text_("kind"),  # job, crawl
    CheckConstraint("kind IN ('job', 'crawl')", name="kind"),
)

# A body is written once and never changed, so a delivery that is repeated has the same id and contents.
webhook_deliveries: Final = Table(
    "webhook_deliveries",
    metadata,
    id_(primary_key=True),
    text_("sender"),  # the endpoint, or the name of a sender that settings know
    Column("url", Text, nullable=False),  # empty: where the endpoint says
    text_("event"),
    Column("body", Text, nullable=False),
    time_("created_at"),
    time_("due_at", nullable=True),  # empty: delivered, or given up
    Column("attempt", SmallInteger, nullable=False),
    time_("delivered_at", nullable=True),
    Column("failure", Text, nullable=False),  # of the last attempt
    text_("owner", server_default=""),
    text_("subject", server_default=""),  # the id of what it is about
    Column("event_key", String, nullable=True),  # an event with a key is queued once
    Column("attempts_json", Text, nullable=False, server_default="[]"),
    time_("resent_at", nullable=True),  # when somebody asked to send it again
    Index("ix_webhook_deliveries_due", "due_at", **where_("due_at IS NOT NULL")),
    Index("ix_webhook_deliveries_sender", "sender", "due_at"),
    Index("ix_webhook_deliveries_log", "sender", "id"),
    Index("ix_webhook_deliveries_owner", "owner", "id"),
    Index(
        "ix_webhook_deliveries_once", "sender", "event_key", unique=True, **where_("event_key IS NOT NULL")
    ),
    Index(None, "created_at"),
)

# Endpoints of work as servers before revision 0007 add them. `endpoints.adopt` moves them.
webhook_subscriptions: Final = Table(
    "webhook_subscriptions",
    metadata,
    id_("work_id", primary_key=True),
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    text_("kind"),
    text_("owner"),
    Column("url", Text, nullable=False),
    text_("events"),
    text_("shape"),
    Column("metadata_json", Text, nullable=False),
    Column("headers_sealed", LargeBinary, nullable=True),
    time_("created_at"),
    time_("ended_at", nullable=True),
    CheckConstraint("kind IN ('crawl', 'batch')", name="kind"),
    Index(None, "tenant_id"),
    Index("ix_webhook_subscriptions_running", "work_id", **where_("ended_at IS NULL")),
    Index(
        "ix_webhook_subscriptions_headers",
        "ended_at",
        **where_("headers_sealed IS NOT NULL AND ended_at IS NOT NULL"),
    ),
)
