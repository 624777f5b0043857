"""Errors as clients of Tavily read them."""

from typing import Final

from starlette.responses import Response

from gossamer.doors.http.core.dialect import Dialect
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.dropin.shared.refusals import refusal, sentence_of
from gossamer.problems import Problem

_UNREAD: Final = {404: 400, 413: 400, 415: 400, 422: 400}  # statuses at which its clients drop the text


def refuse(problem: Problem, _exchange: Exchange) -> Response:
    status = _UNREAD.get(problem.kind.status, problem.kind.status)
    return refusal(problem, {"detail": {"error": sentence_of(problem)}}, status)


TAVILY: Final = Dialect("tavily", refuse, prefixes=("/tavily/",))
