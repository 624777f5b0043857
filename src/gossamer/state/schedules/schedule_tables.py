"""The tables of schedules."""

from typing import Final

from sqlalchemy import Column, ForeignKey, Index, Integer, LargeBinary, String, Table, Text

from gossamer.state.db.columns import id_, metadata, text_, time_, where_
from gossamer.state.db.tables import tenants

schedules: Final = Table(
    "schedules",
    metadata,
    id_(primary_key=True),
    id_("tenant_id", ForeignKey(tenants.c.id), nullable=False),
    text_("owner"),  # who sees it: the tenant, or a wallet of the tenant that all wallets share
    text_("name"),
    text_("kind"),
    text_("subject"),  # the id of what owns it, such as a monitor; empty: it stands by itself
    Column("task_json", Text, nullable=False),  # without secrets
    Column("task_sealed", LargeBinary, nullable=True),  # the whole task, if there are any
    Column("timing_json", Text, nullable=False),
    text_("maker_via"),  # whose rights it has
    text_("maker_id"),
    text_("maker_name"),
    time_("anchor_at"),  # from which `every` counts
    time_("planned_at", nullable=True),  # the next run, as the timing says; empty: it is paused
    time_("next_at", nullable=True),  # the same with its jitter
    time_("planned_from"),  # the time at which that was found
    time_("paused_at", nullable=True),
    text_("pause_reason"),
    Column("lease_token", String, nullable=True),
    time_("leased_until", nullable=True),  # without a token: not before
    text_("work_id"),  # of the last run that was started
    Column("last_run_id", String(26), nullable=True),
    Column("failures", Integer, nullable=False),  # in a row
    time_("created_at"),
    time_("updated_at"),
    Index("ix_schedules_due", "next_at", **where_("next_at IS NOT NULL")),
    Index("ix_schedules_planned_from", "planned_from", **where_("next_at IS NOT NULL")),
    Index("ix_schedules_owner", "owner", "id"),
    Index("ix_schedules_tenant_id", "tenant_id"),
    Index("ix_schedules_subject", "kind", "subject", unique=True, **where_("subject <> ''")),
)

# A planned time runs once, whatever happens to the clock.
schedule_runs: Final = Table(
    "schedule_runs",
    metadata,
    id_(primary_key=True),
    id_("schedule_id", nullable=False),
    id_("tenant_id", nullable=False),
    time_("planned_at", nullable=True),  # empty: somebody asked for it
    time_("at"),
    text_("trigger"),
    text_("status"),
    text_("reason"),  # of one that was skipped, or the code of the problem
    Column("detail", Text, nullable=False),
    text_("work_id"),  # of what it has started
    Column("missed", Integer, nullable=False),  # planned times before it that were not run
    Index("ix_schedule_runs_planned", "schedule_id", "planned_at", unique=True),
    Index("ix_schedule_runs_schedule", "schedule_id", "id"),
    Index("ix_schedule_runs_tenant_id", "tenant_id"),
    Index("ix_schedule_runs_at", "at"),
)
