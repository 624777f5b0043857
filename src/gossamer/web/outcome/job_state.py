"""JobState: how far a job is. `state/jobs/job` draws how one state leads to another."""

from enum import StrEnum


class JobState(StrEnum):
    QUEUED = "queued"  # waits for a worker, or for its time
    RUNNING = "running"  # a worker has a lease on it
    DONE = "done"  # it has a result
    FAILED = "failed"  # it is not tried again; `last_error` says why
    CANCELED = "canceled"  # on request

    @property
    def is_over(self) -> bool:
        return self not in (JobState.QUEUED, JobState.RUNNING)
