"""All tables of all rooms, for what works on every one of them: revisions, backups."""

from gossamer.state.backup import backup_tables
from gossamer.state.crawl import crawl_tables
from gossamer.state.crawl.refresh import refresh_tables
from gossamer.state.db import tables
from gossamer.state.db.columns import metadata
from gossamer.state.memory import memory_tables
from gossamer.state.monitors import monitor_tables
from gossamer.state.operations import operation_tables
from gossamer.state.pay import pay_tables
from gossamer.state.schedules import schedule_tables
from gossamer.state.sites import site_tables
from gossamer.state.webhooks import webhook_tables

__all__ = [
    "backup_tables",
    "crawl_tables",
    "metadata",
    "monitor_tables",
    "operation_tables",
    "pay_tables",
    "refresh_tables",
    "schedule_tables",
    "site_tables",
    "tables",
    "webhook_tables",
    "memory_tables",
]
