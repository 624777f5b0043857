"""Turns every exception into a problem document."""

from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gossamer import problems
from gossamer.doors.http.core.exchange import ClientGone, Exchange
from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Damaged, Problem

ProblemPage = Callable[[Problem, Exchange], Awaitable[Response | None]]  # None: a document is better


class Problems(Struct, frozen=True):
    """Answers every exception with a problem document.

    It is in the list twice: outermost, where no exception gets past it, and around the endpoint, so that the
    layers between see a refusal as an ordinary answer (Idempotency stores it for repeats).
    """

    app: ASGIApp
    public_url: str
    page: ProblemPage
    log: Log
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope["exchange"]
        try:
            await self.app(scope, receive, send)
        except ClientGone:
            raise
        except Problem as error:
            problem = error
            problems.forget_frames(error)
        except HTTPException as error:
            problem = Problem(
                problems.BY_STATUS.get(error.status_code, problems.INTERNAL_ERROR), error.detail
            )
        except Exception as error:  # noqa: BLE001  (the last resort: every defect becomes a problem)
            self.log.error("internal_error", "a request failed", cause=error, requestId=exchange.request_id)
            problem = Problem(problems.INTERNAL_ERROR, problems.INTERNAL_ERROR.detail)
            problems.forget_frames(error)
        else:
            return
        if isinstance(problem, Damaged):
            self.log.error("damaged", str(problem), requestId=exchange.request_id)
        exchange.error, exchange.problem = problem.kind.code, problem
        self.metrics.error(problem.kind.code)
        if exchange.answered:  # too late for a document: the client sees that the answer was cut short
            self.log.warning("answer_cut_short", problem.detail, requestId=exchange.request_id)
            return
        shown = (
            exchange.dialect.refuse(problem, exchange)
            if exchange.dialect is not None
            else await self.page(problem, exchange) or self.document(problem, exchange)
        )
        await shown(scope, receive, send)

    def document(self, problem: Problem, exchange: Exchange) -> Response:
        if problem.kind is problems.NOT_FOUND and exchange.method in ("GET", "HEAD"):
            problem.headers["Vary"] = "Accept"
        body = problem.document(self.public_url, exchange.path, exchange.request_id)
        return Response(
            msgspec.json.encode(body),
            problem.kind.status,
            problem.headers,
            media_type=problems.MEDIA_TYPE,
        )
