"""A line of a batch: the result for one of its URLs, as it is stored and answered."""

from typing import Final, cast

import msgspec
from msgspec import UNSET, Struct

from gossamer.flows.batch.batch import BatchOutcome
from gossamer.flows.pages.encoding import MAX_ANSWER_BYTES, bounded, encode_by_pieces
from gossamer.flows.pages.read import Reader
from gossamer.flows.render.serve import LimitReached
from gossamer.problems import Problem
from gossamer.state.jobs.batches import Line
from gossamer.state.tenants.limits import limit_problem
from gossamer.web.pages.batch_result import BatchProblem, BatchResult
from gossamer.web.pages.read_result import FetchAnswer, ReadReply

# A page of results is an answer too, with something around the line.
MAX_LINE_BYTES: Final = MAX_ANSWER_BYTES - 100_000


class LineEncoder(Struct, frozen=True):
    """Encodes outcomes as lines. `request_id` is that of the request which began the batch."""

    reader: Reader
    upgrade_url: str
    request_id: str

    async def encode(self, outcome: BatchOutcome) -> Line:
        if isinstance(outcome.reply, LimitReached):
            problem = limit_problem(outcome.reply.status, self.upgrade_url or None)
            return _failed_line(outcome, problem)
        if isinstance(outcome.reply, Problem):
            return _failed_line(outcome, outcome.reply)
        try:
            text = await self._encode_reply(outcome, outcome.reply)
        except Problem as too_large:
            return _failed_line(outcome, too_large)
        return Line(outcome.index, "done", outcome.ok, text)

    async def _encode_reply(self, outcome: BatchOutcome, reply: ReadReply) -> bytes:
        answer = reply.to_answer(
            outcome.request, self.request_id, self.reader.boundary(), self.reader.clock()
        )
        encoded = cast("FetchAnswer", msgspec.Raw(await encode_by_pieces(answer, MAX_LINE_BYTES)))
        done = BatchResult(outcome.index, outcome.url, "done", result=encoded)
        return bounded(msgspec.json.encode(done), MAX_LINE_BYTES)


def _failed_line(outcome: BatchOutcome, problem: Problem) -> Line:
    why = BatchProblem(
        code=problem.kind.code,
        message=problem.detail,
        reason=problem.reason or UNSET,
        hint=problem.hint or UNSET,
    )
    result = BatchResult(outcome.index, outcome.url, "failed", problem=why)
    return Line(outcome.index, "failed", ok=False, text=msgspec.json.encode(result))
