"""The tables of alerts and duties."""

from typing import Final

from sqlalchemy import CheckConstraint, Column, Index, String, Table, Text

from gossamer.state.db.columns import id_, metadata, text_, time_, where_

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
