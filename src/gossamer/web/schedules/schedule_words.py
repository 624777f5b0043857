"""The words of schedules: what they start, what becomes of a run, and why one stops."""

from enum import StrEnum


class ScheduleKind(StrEnum):
    """What a schedule starts."""

    CRAWL = "crawl"
    BATCH = "batch"
    AUDIT = "audit"
    MONITOR = "monitor"
    RECRAWL = "recrawl"
    WARM_UP = "warmUp"


class RunStatus(StrEnum):
    STARTED = "started"  # the work itself tells how it ends
    SKIPPED = "skipped"
    FAILED = "failed"  # it could not be started


class RunTrigger(StrEnum):
    TIMING = "timing"
    CATCH_UP = "catchUp"  # late, because no server was up in time
    REQUEST = "request"  # somebody asked for it


class SkipReason(StrEnum):
    STILL_RUNNING = "still_running"  # the run before it
    MISSED = "missed"  # no server was up in time, and the timing says not to catch up


class PauseReason(StrEnum):
    """Why a schedule does not run."""

    REQUEST = "request"
    KEY_DISABLED = "key_disabled"
    KEY_EXPIRED = "key_expired"
    PERSON_DISABLED = "person_disabled"
    MAKER_GONE = "maker_gone"
    NEVER_DUE = "never_due"  # the timing has no more times
