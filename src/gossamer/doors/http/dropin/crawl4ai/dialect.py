"""Errors as clients of Crawl4AI read them: one text, in plain JSON."""

from typing import Final

from starlette.responses import Response

from gossamer.doors.http.core.dialect import Dialect
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.dropin.shared.refusals import refusal, sentence_of
from gossamer.problems import Problem


def refuse(problem: Problem, _exchange: Exchange) -> Response:
    return refusal(problem, {"detail": sentence_of(problem)}, problem.kind.status)


CRAWL4AI: Final = Dialect("crawl4ai", refuse, prefixes=("/crawl/",))
