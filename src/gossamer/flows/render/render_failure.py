"""Why a render failed: one of four codes, what happened, and whether it is tried again.

render_timeout   once more, at once, with twice the time
network_error    three times, with growing pauses; never what no further attempt can change
worker_error     likewise: a browser that died, or none that had a place
page_error       never: the page itself is the reason
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from gossamer import problems
from gossamer.problems import Problem, ProblemKind
from gossamer.reach.http import failures
from gossamer.reach.page.visit import Awaited, PageTrouble, render_failed
from gossamer.state.jobs.job import Job, JobState
from gossamer.state.jobs.job_retry import RetryPolicy
from gossamer.web.render.request import RenderErrorCode

MAX_ATTEMPTS: Final = 4
LIMITED: Final = "render_limit"  # the cause, if the limit did not allow a further attempt


_RETRIES: Final[Mapping[RenderErrorCode, int]] = {
    RenderErrorCode.RENDER_TIMEOUT: 1,
    RenderErrorCode.NETWORK_ERROR: 3,
    RenderErrorCode.WORKER_ERROR: 3,
}
_SUGGESTIONS: Final[Mapping[RenderErrorCode, str]] = {
    RenderErrorCode.RENDER_TIMEOUT: (
        "Increase timeout, name what to wait for with waitForSelector, or check the site."
    ),
    RenderErrorCode.NETWORK_ERROR: "Check that the URL can be reached publicly.",
    RenderErrorCode.PAGE_ERROR: (
        "Open the URL in a private window of a browser: what that shows must be right first."
    ),
    RenderErrorCode.WORKER_ERROR: "Try again; if it stays, tell the operator the jobId.",
    RenderErrorCode.CANCELED: "Ask for the page again.",
}
# Used where the kind of the problem says more than its code.
_OF_KIND: Final[Mapping[str, str]] = {
    problems.INVALID_URL.code: "Only public addresses can be rendered; the operator may open others.",
    problems.INVALID_SELECTOR.code: "Try waitForSelector with document.querySelector in a browser's console.",
    problems.CONTENT_TOO_LARGE.code: "Make the page smaller, or ask for the parts of it by themselves.",
}
_NEEDS_MORE: Final = frozenset((PageTrouble.OUT_OF_MEMORY, PageTrouble.TOO_BUSY, PageTrouble.CRASHED))
_LOAD_LESS: Final = "The page needs more than a browser is given: see what its scripts do, and load less."
_BY_KIND: Final[Mapping[str, RenderErrorCode]] = {
    problems.INVALID_URL.code: RenderErrorCode.NETWORK_ERROR,
    problems.INVALID_SELECTOR.code: RenderErrorCode.PAGE_ERROR,
    problems.CONTENT_TOO_LARGE.code: RenderErrorCode.PAGE_ERROR,
    problems.CONTENT_UNREADABLE.code: RenderErrorCode.PAGE_ERROR,
}
_KINDS: Final[Mapping[str, ProblemKind]] = {kind.code: kind for kind in problems.KINDS.values()}
_FAULTS_OF_REQUEST: Final = (problems.INVALID_URL, problems.INVALID_SELECTOR)
# Causes of a network error that another attempt would not change: those that a fetch does not retry either,
# and what Chromium says about the address itself.
_NEVER_AGAIN: Final = failures.NEVER_AGAIN | {
    "ERR_DISALLOWED_URL_SCHEME",
    "ERR_INVALID_REDIRECT",
    "ERR_TOO_MANY_REDIRECTS",
    "ERR_UNKNOWN_URL_SCHEME",
    "ERR_UNSAFE_PORT",
    "ERR_UNSAFE_REDIRECT",
    LIMITED,
}


def refuse_retry(last: "RenderFailure") -> Problem:
    """The tenant's limit does not allow a further attempt: the job ends with its last failure."""
    detail = f"{last.detail} No more renders were left to try it again."
    problem = render_failed(last.code, detail, cause=LIMITED)
    add_label(problem)
    return problem


def add_label(problem: Problem) -> None:
    """Have the job's error show the reason before its sentence."""
    if problem.kind is problems.RENDER_FAILED:
        known = (problem.reason, problem.details.get("awaited"))
        problem.label = "/".join(str(part) for part in known if part is not None)
    elif problem.kind is problems.INVALID_URL:
        problem.label = problem.reason


def code_of(error: BaseException) -> RenderErrorCode:
    if not isinstance(error, Problem):
        return RenderErrorCode.WORKER_ERROR
    return _BY_KIND.get(error.kind.code) or _code_named(error.reason)


def _code_named(reason: str | None) -> RenderErrorCode:
    return next((code for code in RenderErrorCode if code == reason), RenderErrorCode.WORKER_ERROR)


class RenderPolicy(RetryPolicy, frozen=True, kw_only=True):
    def pause(self, error: BaseException, attempt: int, randomness: Callable[[], float]) -> float | None:
        code = code_of(error)
        if attempt > _RETRIES.get(code, 0) or not self.is_transient(error):
            return None
        if code is RenderErrorCode.RENDER_TIMEOUT:
            return 0.0
        return RetryPolicy.pause(self, error, attempt, randomness)

    def is_transient(self, error: BaseException) -> bool:
        return RetryPolicy.is_transient(self, error) and not _is_lasting(error)

    def is_last(self, error: BaseException, job: Job) -> bool:
        return job.attempt >= job.max_attempts or self.pause(error, job.attempt, lambda: 0.0) is None

    def is_final(self, error: BaseException) -> bool:
        """Whether not even a second attempt is of use."""
        return self.pause(error, 1, lambda: 0.0) is None and _cause(error) != LIMITED


def _cause(error: BaseException) -> str:
    return (error.cause or "") if isinstance(error, Problem) else ""


def _is_lasting(error: BaseException) -> bool:
    cause = _cause(error)
    return cause in _NEVER_AGAIN or cause.startswith("ERR_CERT_")


class RenderFailure(Struct, frozen=True, kw_only=True):
    """Why a job failed, or the last attempt of one that is tried again."""

    kind: ProblemKind
    code: RenderErrorCode
    reason: str  # the code, or the rule that refused the address
    detail: str
    cause: str | None = None  # what was behind the reason
    awaited: Awaited | None = None  # what the page was still waited for when time was up
    status: int | None = None  # of the page, if that is the reason

    @classmethod
    def of(cls, job: Job) -> "RenderFailure | None":
        if job.status is JobState.CANCELED:
            code = RenderErrorCode.CANCELED
            return cls(kind=problems.RENDER_FAILED, code=code, reason=code, detail="The render was canceled.")
        error = job.last_error
        if error is None:
            return None
        kind = _KINDS.get(error.code, problems.RENDER_FAILED)
        code = _BY_KIND.get(kind.code) or _code_named(error.reason)
        cause, awaited = error.details.get("cause"), error.details.get("awaited")
        status = error.details.get("status")
        return cls(
            kind=kind,
            code=code,
            reason=(error.reason if kind is problems.INVALID_URL else None) or code.value,
            detail=error.detail,
            cause=None if cause is None else str(cause),
            awaited=Awaited(awaited) if awaited in tuple(Awaited) else None,
            status=status if isinstance(status, int) else None,
        )

    @property
    def suggestion(self) -> str:
        if self.code is RenderErrorCode.PAGE_ERROR and self.cause in _NEEDS_MORE:
            return _LOAD_LESS
        return _OF_KIND.get(self.kind.code) or _SUGGESTIONS[self.code]

    def problem(self, job: Job) -> Problem:
        """For a request that waited: a fault of the request as itself, everything else as a failed render."""
        kind = self.kind if self.kind in _FAULTS_OF_REQUEST else problems.RENDER_FAILED
        known = {"awaited": self.awaited and self.awaited.value, "status": self.status}
        details = {
            "reason": self.reason,
            **{name: value for name, value in known.items() if value is not None},
            "jobId": job.job_id,
            "statusUrl": f"/api/status/{job.job_id}",
        }
        return Problem(kind, self.detail, hint=self.suggestion, details=details)
