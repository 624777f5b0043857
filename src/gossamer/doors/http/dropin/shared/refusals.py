"""What the refusals of several dialects have in common."""

from typing import Any, Final

import msgspec
from starlette.responses import Response

from gossamer.problems import Problem

_PAYMENT_MEMBERS: Final = ("x402Version", "accepts")  # which clients with a wallet read


def sentence_of(problem: Problem) -> str:
    """What went wrong and what helps, for clients that show one text."""
    return f"{problem.detail} {problem.hint}" if problem.hint else problem.detail


def refusal(problem: Problem, body: dict[str, Any], status: int) -> Response:
    """A refusal as JSON, with the terms of a payment if one is asked for."""
    terms = {name: problem.members[name] for name in _PAYMENT_MEMBERS if name in problem.members}
    return Response(
        msgspec.json.encode({**body, **terms}), status, problem.headers, media_type="application/json"
    )
