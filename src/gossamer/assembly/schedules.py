"""What schedules can start: one starter for each kind of work."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gossamer.flows.crawl.refreshing.recrawl_starter import RecrawlStarter
from gossamer.flows.monitors.monitor_starter import MonitorStarter
from gossamer.flows.schedules.starter import Starter, TaskStarter
from gossamer.flows.schedules.task_starters import AuditStarter, BatchStarter, CrawlStarter
from gossamer.web.schedules.schedule_words import ScheduleKind

if TYPE_CHECKING:
    from gossamer.app import Service


def open_task_starters(service: "Service") -> dict[ScheduleKind, TaskStarter]:
    """Of schedules that callers make themselves."""
    vault, subscriber = service.task_vault, service.subscriber
    return {
        ScheduleKind.CRAWL: CrawlStarter(service.seeder, subscriber, vault),
        ScheduleKind.BATCH: BatchStarter(service.batches, subscriber, vault),
        ScheduleKind.AUDIT: AuditStarter(service.audits, vault),
    }


def open_starters(
    service: "Service", tasks: Mapping[ScheduleKind, TaskStarter]
) -> dict[ScheduleKind, Starter]:
    """Of all schedules: a new kind of work adds its starter here."""
    return {
        **tasks,
        ScheduleKind.MONITOR: MonitorStarter(service.monitors),
        ScheduleKind.RECRAWL: RecrawlStarter(service.frontier, service.quotas, service.importance_weigher),
        ScheduleKind.WARM_UP: service.site_warmer,
    }
