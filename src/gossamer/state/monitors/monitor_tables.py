"""The tables of monitors."""

from typing import Final

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, LargeBinary, String, Table, Text

from gossamer.state.db.columns import id_, metadata, text_, time_, where_
from gossamer.state.db.tables import tenants

monitors: Final = Table(
    "monitors",
    metadata,
    id_(primary_key=True),
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    text_("owner"),  # who sees it: the tenant, or a wallet of the tenant that all wallets share
    text_("name"),
    Column("spec_json", Text, nullable=False),  # without headers
    Column("headers_sealed", LargeBinary, nullable=True),
    Column("edition", Integer, nullable=False),  # of the spec: looks by an older one are not compared
    Column("muted", Boolean, nullable=False),
    time_("snoozed_until", nullable=True),
    Column("failures", Integer, nullable=False),  # checks in a row
    time_("failing_since", nullable=True),  # told as failing
    text_("last_problem"),
    time_("checked_at", nullable=True),
    time_("changed_at", nullable=True),
    Column("changes", Integer, nullable=False),
    text_("job_id"),  # of the last check
    time_("created_at"),
    time_("updated_at"),
    Index("ix_monitors_owner", "owner", "id"),
    Index("ix_monitors_tenant_id", "tenant_id"),
)

monitor_snapshots: Final = Table(
    "monitor_snapshots",
    metadata,
    id_(primary_key=True),
    id_("monitor_id", nullable=False),
    id_("tenant_id", nullable=False),
    Column("page", String(64), nullable=False),  # SHA-256 of its URL
    Column("url", Text, nullable=False),
    time_("taken_at"),
    Column("is_current", Boolean, nullable=False),
    Column("body", LargeBinary, nullable=True),  # compressed, if it is small
    Column("blob", String, nullable=True),  # else
    Column("picture", String, nullable=True),  # the blob of the screenshot
    Index("ix_monitor_snapshots_monitor_id", "monitor_id", "id"),
    Index("ix_monitor_snapshots_tenant_id", "tenant_id"),
    Index("ix_monitor_snapshots_current", "monitor_id", "page", unique=True, **where_("is_current")),
)

monitor_changes: Final = Table(
    "monitor_changes",
    metadata,
    id_(primary_key=True),
    id_("monitor_id", nullable=False),
    id_("tenant_id", nullable=False),
    id_("check_id", nullable=False),  # the job
    Column("url", Text, nullable=False),
    time_("seen_at"),
    Column("before_id", String(26), nullable=True),  # empty: the page has appeared
    Column("after_id", String(26), nullable=True),  # empty: it has disappeared
    Column("verdict_json", Text, nullable=False),
    Column("told", Boolean, nullable=False),  # not muted, and not snoozed
    time_("acknowledged_at", nullable=True),
    Index("ix_monitor_changes_monitor_id", "monitor_id", "id"),
    Index("ix_monitor_changes_tenant_id", "tenant_id"),
    Index("ix_monitor_changes_seen_at", "seen_at"),
)

monitor_checks: Final = Table(
    "monitor_checks",
    metadata,
    id_("id", primary_key=True),  # of the job
    id_("monitor_id", nullable=False),
    id_("tenant_id", nullable=False),
    time_("at"),
    text_("result"),
    Column("detail_json", Text, nullable=False),
    Index("ix_monitor_checks_monitor_id", "monitor_id", "id"),
    Index("ix_monitor_checks_tenant_id", "tenant_id"),
)
