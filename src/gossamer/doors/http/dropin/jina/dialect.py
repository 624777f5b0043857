"""Errors as clients of Jina Reader read them."""

from typing import Final, NamedTuple

from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core.dialect import Dialect
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.dropin.shared.refusals import refusal, sentence_of
from gossamer.problems import Problem

TOKEN_BUDGET: Final = "token_budget"  # noqa: S105  (the reason of a problem)
PREFIXES: Final = ("/r/", "/s/")


class ReaderError(NamedTuple):
    """A name, and a number that begins with the HTTP status."""

    number: int
    name: str

    @property
    def status(self) -> int:
        return self.number // 100


_BUDGET: Final = ReaderError(40904, "BudgetExceededError")
_FORBIDDEN_TARGET: Final = ReaderError(45102, "SecurityCompromiseError")
_NO_PAGE: Final = ReaderError(42206, "AssertionFailureError")
_ERRORS: Final = {
    problems.UNAUTHORIZED.code: ReaderError(40103, "AuthenticationRequiredError"),
    problems.PAYMENT_REQUIRED.code: ReaderError(40203, "InsufficientBalanceError"),
    problems.PAYMENT_FAILED.code: ReaderError(40203, "InsufficientBalanceError"),
    problems.RATE_LIMITED.code: ReaderError(42903, "RateLimitTriggeredError"),
    problems.QUOTA_EXCEEDED.code: ReaderError(42903, "RateLimitTriggeredError"),
    problems.UNPROCESSABLE_ENTITY.code: _NO_PAGE,
    problems.FETCH_TIMEOUT.code: _NO_PAGE,
    problems.FETCH_FAILED.code: _NO_PAGE,
    problems.RENDER_FAILED.code: _NO_PAGE,
    problems.CONTENT_TOO_LARGE.code: _NO_PAGE,
    problems.CONTENT_UNREADABLE.code: _NO_PAGE,
}
_BLOCKED: Final = ("hostname_blocked", "port_blocked")


def error_of(problem: Problem) -> ReaderError:
    if problem.reason == TOKEN_BUDGET:
        return _BUDGET
    if problem.reason in _BLOCKED:
        return _FORBIDDEN_TARGET
    if problem.kind.status == 400:
        return ReaderError(40001, "ParamValidationError")
    return _ERRORS.get(problem.kind.code) or ReaderError(problem.kind.status * 100, _name(problem))


def _name(problem: Problem) -> str:
    return problem.kind.title.replace(" ", "").removesuffix("Error") + "Error"


def describe(problem: Problem) -> dict[str, object]:
    error = error_of(problem)
    message = sentence_of(problem)
    return {
        "data": None,
        "code": error.status,
        "status": error.number,
        "name": error.name,
        "message": message,
        "readableMessage": f"{error.name}: {message}",
    }


def refuse(problem: Problem, _exchange: Exchange) -> Response:
    return refusal(problem, describe(problem), error_of(problem).status)


JINA: Final = Dialect("jina", refuse, prefixes=PREFIXES)
