"""Types of events: everything that a webhook can tell, and the patterns that choose among them."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from gossamer.problems import validation_error

EVERYTHING: Final = "*"
_GROUP_END: Final = ".*"


class EventType(StrEnum):
    """A new type is one row here, and one in `DESCRIPTIONS`."""

    JOB_COMPLETED = "job.completed"
    JOB_FAILED = "job.failed"
    JOB_CANCELED = "job.canceled"
    CRAWL_STARTED = "crawl.started"
    CRAWL_PAGE = "crawl.page"
    CRAWL_COMPLETED = "crawl.completed"
    CRAWL_CANCELED = "crawl.canceled"
    BATCH_STARTED = "batch.started"
    BATCH_PAGE = "batch.page"
    BATCH_COMPLETED = "batch.completed"
    BATCH_FAILED = "batch.failed"
    BATCH_CANCELED = "batch.canceled"
    AUDIT_COMPLETED = "audit.completed"
    AUDIT_FAILED = "audit.failed"
    AUDIT_CANCELED = "audit.canceled"
    MONITOR_CHANGED = "monitor.changed"
    MONITOR_FAILED = "monitor.failed"
    MONITOR_RECOVERED = "monitor.recovered"
    SCHEDULE_FAILED = "schedule.failed"
    SCHEDULE_STOPPED = "schedule.stopped"
    SITE_PROVEN = "site.proven"
    SITE_UNPROVEN = "site.unproven"
    WEBHOOK_TEST = "webhook.test"
    WEBHOOK_DISABLED = "webhook.disabled"
    ALERT_RAISED = "alert.raised"
    ALERT_RESOLVED = "alert.resolved"
    PAYMENT_SETTLED = "payment.settled"
    PAYMENT_IN_DOUBT = "payment.in_doubt"
    PAYMENT_FAILED = "payment.failed"

    @property
    def group(self) -> str:
        """What it is about, such as `crawl`."""
        return self.value.partition(".")[0]

    @property
    def is_for_operators(self) -> bool:
        """Only endpoints of admins hear of it."""
        return self.group in OPERATOR_GROUPS


DESCRIPTIONS: Final[Mapping[EventType, str]] = {
    EventType.JOB_COMPLETED: "A job has a result. Batches and audits have events of their own.",
    EventType.JOB_FAILED: "A job was given up; `error` says why.",
    EventType.JOB_CANCELED: "A job was canceled.",
    EventType.CRAWL_STARTED: "A crawl was accepted.",
    EventType.CRAWL_PAGE: "Pages of a crawl were stored; up to 50 in one event.",
    EventType.CRAWL_COMPLETED: "A crawl has nothing left to do. If it gets more URLs, it completes again.",
    EventType.CRAWL_CANCELED: "A crawl was stopped.",
    EventType.BATCH_STARTED: "A batch was accepted.",
    EventType.BATCH_PAGE: "Pages of a batch have a result; up to 50 in one event.",
    EventType.BATCH_COMPLETED: "All pages of a batch have a result.",
    EventType.BATCH_FAILED: "A batch was given up; `error` says why.",
    EventType.BATCH_CANCELED: "A batch was canceled.",
    EventType.AUDIT_COMPLETED: "The report of an audit is there.",
    EventType.AUDIT_FAILED: "An audit was given up; `error` says why.",
    EventType.AUDIT_CANCELED: "An audit was canceled.",
    EventType.MONITOR_CHANGED: "A monitored page is not what it was.",
    EventType.MONITOR_FAILED: "A monitored page could not be read.",
    EventType.MONITOR_RECOVERED: "A monitored page can be read again.",
    EventType.SCHEDULE_FAILED: "A run of a schedule could not be started; `reason` says why.",
    EventType.SCHEDULE_STOPPED: "Who made a schedule may do this no more, so it was paused.",
    EventType.SITE_PROVEN: "The proof of a site was found.",
    EventType.SITE_UNPROVEN: "The proof of a site is gone; its settings are not used any more.",
    EventType.WEBHOOK_TEST: "You asked for a test. It goes to that endpoint, whatever it listens to.",
    EventType.WEBHOOK_DISABLED: "Another endpoint of yours failed for days, or is gone, and was disabled.",
    EventType.ALERT_RAISED: "Something is wrong with the server. For endpoints of admins.",
    EventType.ALERT_RESOLVED: "It is right again. For endpoints of admins.",
    EventType.PAYMENT_SETTLED: "A payment was settled. For endpoints of admins.",
    EventType.PAYMENT_IN_DOUBT: "It is not known whether a payment moved money. For endpoints of admins.",
    EventType.PAYMENT_FAILED: "A payment for a served answer moved no money. For endpoints of admins.",
}
OPERATOR_GROUPS: Final = frozenset({"alert", "payment"})
GROUPS: Final = tuple(dict.fromkeys(each.group for each in EventType))


def is_chosen(event: EventType, patterns: Collection[str]) -> bool:
    return EVERYTHING in patterns or event in patterns or f"{event.group}{_GROUP_END}" in patterns


def check_patterns(patterns: Collection[str], *, field: str) -> None:
    """Raises `Problem` for what chooses nothing."""
    for pattern in patterns:
        if pattern != EVERYTHING and pattern not in _KNOWN:
            raise validation_error(
                f"There are no events {pattern[:100]!r}.",
                hint="A type such as `crawl.completed`, a group such as `crawl.*`, or `*` for everything.",
                details={"field": field},
            )


_KNOWN: Final = frozenset(each.value for each in EventType) | {f"{group}{_GROUP_END}" for group in GROUPS}
