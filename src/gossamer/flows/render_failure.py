"""Why a render failed: one of four codes, what happened, and whether it is tried again.

    render_timeout   once more, at once, with twice the time
    network_error    three times, with growing pauses; never what no further attempt can change
    worker_error     likewise: a browser that died, or none that had a place
    page_error       never: the page itself is the reason

A job keeps its last error as a line of text; the code stands in it, so that it can be told to who asks later.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from gossamer import problems
from gossamer.problems import Kind, Problem
from gossamer.reach import failures, tab
from gossamer.state.jobs import Job, RetryPolicy, State

MAX_ATTEMPTS: Final = 4


class Code(StrEnum):
    RENDER_TIMEOUT = "render_timeout"
    NETWORK_ERROR = "network_error"
    PAGE_ERROR = "page_error"
    WORKER_ERROR = "worker_error"
    CANCELED = "canceled"


_RETRIES: Final[Mapping[Code, int]] = {Code.RENDER_TIMEOUT: 1, Code.NETWORK_ERROR: 3, Code.WORKER_ERROR: 3}
_SUGGESTIONS: Final[Mapping[Code, str]] = {
    Code.RENDER_TIMEOUT: "Increase timeout, name what to wait for with waitForSelector, or check the site.",
    Code.NETWORK_ERROR: "Check that the URL can be reached publicly.",
    Code.PAGE_ERROR: "Open the URL in a private window of a browser: what that shows must be right first.",
    Code.WORKER_ERROR: "Try again; if it stays, tell the operator the jobId.",
    Code.CANCELED: "Ask for the page again.",
}
# Where the kind of the problem says more than its code.
_OF_KIND: Final[Mapping[str, str]] = {
    problems.INVALID_URL.code: "Only public addresses can be rendered; the operator may open others.",
    problems.INVALID_SELECTOR.code: "Try waitForSelector with document.querySelector in a browser's console.",
    problems.CONTENT_TOO_LARGE.code: "Make the page smaller, or ask for the parts of it by themselves.",
}
_GIVEN_UP: Final = frozenset((tab.TOO_HEAVY, tab.TOO_BUSY, tab.CRASHED))
_LOAD_LESS: Final = "The page needs more than a browser is given: see what its scripts do, and load less."
_BY_KIND: Final[Mapping[str, Code]] = {
    problems.INVALID_URL.code: Code.NETWORK_ERROR,
    problems.INVALID_SELECTOR.code: Code.PAGE_ERROR,
    problems.CONTENT_TOO_LARGE.code: Code.PAGE_ERROR,
    problems.CONTENT_UNREADABLE.code: Code.PAGE_ERROR,
}
_LINE: Final = re.compile(r"(?P<kind>[A-Z_]+): (?:(?P<reason>[a-z_]+): )?(?P<detail>.*)", re.DOTALL)
_KINDS: Final[Mapping[str, Kind]] = {kind.code: kind for kind in problems.KINDS.values()}
_TOLD_AS_THEY_ARE: Final = (problems.INVALID_URL, problems.INVALID_SELECTOR)
# Causes of a network error that would be there again: what a fetch does not try again either, and what
# Chromium says of the address itself.
_NEVER_AGAIN: Final = failures.NEVER_AGAIN | {
    "ERR_DISALLOWED_URL_SCHEME",
    "ERR_INVALID_REDIRECT",
    "ERR_TOO_MANY_REDIRECTS",
    "ERR_UNKNOWN_URL_SCHEME",
    "ERR_UNSAFE_PORT",
    "ERR_UNSAFE_REDIRECT",
}


def failed(code: Code, detail: str, **details: Any) -> Problem:
    return Problem(problems.RENDER_FAILED, f"{code}: {detail}", details={"reason": code.value, **details})


def translated(problem: Problem) -> Problem:
    """A problem of a visit as one that says its reason also in the job's line."""
    details = dict(problem.members.get("details") or {})
    if problem.kind is problems.RENDER_FAILED:
        return failed(_known(details.pop("reason", None)), problem.detail, **details)
    if problem.kind is problems.INVALID_URL:
        return Problem(problem.kind, f"{details.get('reason')}: {problem.detail}", details=details)
    return problem


def code_of(error: BaseException) -> Code:
    if not isinstance(error, Problem):
        return Code.WORKER_ERROR
    reason = (error.members.get("details") or {}).get("reason")
    return _BY_KIND.get(error.kind.code) or _known(reason)


def _known(reason: object) -> Code:
    return next((code for code in Code if code == reason), Code.WORKER_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderPolicy(RetryPolicy):
    def pause(self, error: BaseException, attempt: int, randomness: Callable[[], float]) -> float | None:
        code = code_of(error)
        if attempt > _RETRIES.get(code, 0) or not self.is_transient(error):
            return None
        if code is Code.RENDER_TIMEOUT:
            return 0.0
        return RetryPolicy.pause(self, error, attempt, randomness)

    def is_transient(self, error: BaseException) -> bool:
        return RetryPolicy.is_transient(self, error) and not _is_lasting(error)

    def is_last(self, error: BaseException, job: Job) -> bool:
        return job.attempt >= job.max_attempts or self.pause(error, job.attempt, lambda: 0.0) is None

    def is_final(self, error: BaseException) -> bool:
        """Whether no further attempt is of use, not even the second."""
        return self.pause(error, 1, lambda: 0.0) is None


def _is_lasting(error: BaseException) -> bool:
    details = (error.members.get("details") or {}) if isinstance(error, Problem) else {}
    cause = str(details.get("cause", ""))
    return cause in _NEVER_AGAIN or cause.startswith("ERR_CERT_")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job failed, or the last attempt of one that is tried again."""

    kind: Kind
    code: Code
    reason: str  # the code, or which rule refused the address
    detail: str

    @classmethod
    def of(cls, job: Job) -> "Failure | None":
        if job.status is State.CANCELED:
            return cls(problems.RENDER_FAILED, Code.CANCELED, Code.CANCELED, "The render was canceled.")
        if not job.last_error:
            return None
        line = _LINE.fullmatch(job.last_error)
        if line is None:
            return cls(problems.RENDER_FAILED, Code.WORKER_ERROR, Code.WORKER_ERROR, job.last_error)
        kind = _KINDS.get(line["kind"], problems.RENDER_FAILED)
        code = _BY_KIND.get(kind.code) or _known(line["reason"])
        return cls(kind, code, line["reason"] or code.value, line["detail"])

    @property
    def suggestion(self) -> str:
        if self.code is Code.PAGE_ERROR and self.detail in _GIVEN_UP:
            return _LOAD_LESS
        return _OF_KIND.get(self.kind.code) or _SUGGESTIONS[self.code]

    def problem(self, job: Job) -> Problem:
        """For who waited: what was wrong with the request is told as that, all else as a failed render."""
        kind = self.kind if self.kind in _TOLD_AS_THEY_ARE else problems.RENDER_FAILED
        return Problem(
            kind,
            self.detail,
            hint=self.suggestion,
            details={"reason": self.reason, "jobId": job.job_id, "statusUrl": f"/api/status/{job.job_id}"},
        )
