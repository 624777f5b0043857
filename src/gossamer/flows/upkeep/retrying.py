"""The retry policy of jobs that fetch: not again if the target would answer the same."""

from gossamer import problems
from gossamer.problems import Problem
from gossamer.reach.http.failures import is_transient
from gossamer.state.jobs.job_retry import RetryPolicy


class FetchPolicy(RetryPolicy, frozen=True, kw_only=True):
    def is_transient(self, error: BaseException) -> bool:
        if isinstance(error, Problem) and error.kind is problems.FETCH_FAILED:
            return is_transient(error)
        return RetryPolicy.is_transient(self, error)
