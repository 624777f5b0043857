"""A line of a batch: what came of one of its URLs, as it is kept and answered."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.doors.http.caching import cache_metadata
from gossamer.doors.http.exchange import LARGEST_ANSWER, bounded
from gossamer.doors.http.limiting import refused
from gossamer.doors.http.read_answer import FetchAnswer, read_answer, tier_of
from gossamer.flows.batch import Came
from gossamer.flows.read import Reader, Reply
from gossamer.flows.serve import LimitReached
from gossamer.problems import Problem
from gossamer.state.batches import Line

# A page of results is an answer too, with something around the line.
LARGEST_RESULT: Final = LARGEST_ANSWER - 100_000


class BatchProblem(msgspec.Struct, rename="camel"):
    """Why a page could not be had."""

    code: Annotated[str, Meta(description="The code that /fetch would have answered with.")]
    message: str
    reason: Annotated[str | UnsetType, Meta(description="More precisely.")] = UNSET
    hint: str | UnsetType = UNSET


class BatchResult(msgspec.Struct, rename="camel"):
    """What came of one URL."""

    index: Annotated[int, Meta(ge=0, description="Where it stands in `urls`.")]
    url: Annotated[str, Meta(description="As it was given.")]
    status: Annotated[
        Literal["done", "failed"], Meta(description="`done`: the target answered; see `result.outcome`.")
    ]
    result: Annotated[FetchAnswer | UnsetType, Meta(description="What /fetch would have answered.")] = UNSET
    problem: BatchProblem | UnsetType = UNSET


class LineMaker:
    """Makes lines of what came."""

    def __init__(self, reader: Reader, upgrade_url: str) -> None:
        self._reader = reader
        self._upgrade_url = upgrade_url or None

    def line(self, came: Came, request_id: str) -> Line:
        """`request_id` is that of the request which began the batch."""
        try:
            text = bounded(msgspec.json.encode(self._done(came, request_id)), LARGEST_RESULT)
        except LimitReached as reached:
            return _failed(came, refused(reached.standing, self._upgrade_url))
        except Problem as problem:
            return _failed(came, problem)
        return Line(came.index, "done", came.ok, text)

    def _done(self, came: Came, request_id: str) -> BatchResult:
        reply = came.what
        if not isinstance(reply, Reply):
            raise reply
        shown = read_answer(
            reply.read,
            tier_of(came.wish, reply.read),
            request_id,
            self._reader.boundary(),
            cache_metadata(reply.part, self._reader.clock()),
        )
        return BatchResult(came.index, came.url, "done", result=shown)


def _failed(came: Came, problem: Problem) -> Line:
    details = problem.members.get("details") or {}
    told = BatchProblem(
        code=problem.kind.code,
        message=problem.detail,
        reason=details.get("reason", UNSET),
        hint=problem.hint or UNSET,
    )
    result = BatchResult(came.index, came.url, "failed", problem=told)
    return Line(came.index, "failed", ok=False, text=msgspec.json.encode(result))
