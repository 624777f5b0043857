"""The tables of alerts and webhooks."""

from typing import Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    Text,
)

from gossamer.state.db.columns import id_, metadata, text_, time_, where_
from gossamer.state.db.tables import tenants

# One row for each time that something is wrong. It waits until it has lasted long enough to be raised.
alerts: Final = Table(
    "alerts",
    metadata,
    id_(primary_key=True),
    text_("rule"),
    text_("subject"),
    text_("severity"),
    Column("detail", Text, nullable=False),
    time_("since"),
    time_("seen_at"),
    time_("raised_at", nullable=True),
    time_("resolved_at", nullable=True),
    time_("acknowledged_at", nullable=True),
    Column("acknowledged_by", String, nullable=True),
    CheckConstraint("severity IN ('warning', 'critical')", name="severity"),
    Index("ix_alerts_open", "rule", "subject", unique=True, **where_("resolved_at IS NULL")),
    Index("ix_alerts_resolved", "resolved_at", **where_("resolved_at IS NOT NULL")),
)

# Work that one process at a time does, and until when it is that one.
duties: Final = Table(
    "duties",
    metadata,
    Column("name", String, primary_key=True),
    text_("holder"),
    time_("until"),
)

# Who is told of a crawl or a batch. It lasts as long as the work.
webhook_subscriptions: Final = Table(
    "webhook_subscriptions",
    metadata,
    id_("work_id", primary_key=True),  # of the crawl, or of the batch's job
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    text_("kind"),
    text_("owner"),  # whose secret signs its events
    Column("url", Text, nullable=False),
    text_("events"),  # separated by commas
    text_("shape"),
    Column("metadata_json", Text, nullable=False),
    Column("headers_sealed", LargeBinary, nullable=True),  # deleted some time after the end of the work
    time_("created_at"),
    time_("ended_at", nullable=True),  # when its end was told
    CheckConstraint("kind IN ('crawl', 'batch')", name="kind"),
    Index(None, "tenant_id"),
    Index("ix_webhook_subscriptions_running", "work_id", **where_("ended_at IS NULL")),
    Index(
        "ix_webhook_subscriptions_headers",
        "ended_at",
        **where_("headers_sealed IS NOT NULL AND ended_at IS NOT NULL"),
    ),
)

# A body is written once and never changed, so a delivery that is repeated has the same id and contents.
webhook_deliveries: Final = Table(
    "webhook_deliveries",
    metadata,
    id_(primary_key=True),
    text_("sender"),  # whose secret signs it: a name, or the id of the work of a subscription
    Column("url", Text, nullable=False),  # empty: where the subscription says
    text_("event"),
    Column("body", Text, nullable=False),
    time_("created_at"),
    time_("due_at", nullable=True),  # empty: delivered, or given up
    Column("attempt", SmallInteger, nullable=False),
    time_("delivered_at", nullable=True),
    Column("failure", Text, nullable=False),  # of the last attempt
    Index("ix_webhook_deliveries_due", "due_at", **where_("due_at IS NOT NULL")),
    Index("ix_webhook_deliveries_sender", "sender", "due_at"),
    Index(None, "created_at"),
)
