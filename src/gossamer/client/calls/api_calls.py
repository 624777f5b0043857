"""ApiCalls: what every group of calls is built on. A group is a class below this one, with calls about one
noun; `Client` is all of them together. Answers that take long to import are imported when a call is made."""

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from gossamer.client.errors import GossamerError, raise_for, unreadable
from gossamer.client.retrying import IDEMPOTENCY_KEY, Patience
from gossamer.client.transport import Call, Reply, Transport

T = TypeVar("T")


class ListPage(Protocol):
    """A page of a list."""

    @property
    def next_cursor(self) -> str | None: ...


P = TypeVar("P", bound=ListPage)


class ApiCalls:
    def __init__(self, transport: Transport, patience: Patience | None = None) -> None:
        self.transport = transport
        self.patience = patience or Patience()

    async def ask(self, method: str, path: str, answers: type[T], body: Any = None) -> T:
        """Any call of the API: the answer, decoded."""
        reply = await self.send(method, path, body)
        return decoded(reply, answers)

    async def send(
        self, method: str, path: str, body: Any = None, *, accept: str = "application/json"
    ) -> Reply:
        """Any call of the API. A POST has a key, so that the server does it once however often it is sent."""
        headers = {"Accept": accept}
        if method == "POST":
            headers[IDEMPOTENCY_KEY] = secrets.token_urlsafe(24)
        sent = b"" if body is None else msgspec.json.encode(body)
        reply = await self.transport.send(Call(method, path, headers, sent))
        raise_for(reply)
        return reply

    async def list_rows(
        self,
        path: str,
        answers: type[P],
        rows: Callable[[P], list[T]],
        limit: int,
        query: Mapping[str, str] | None = None,
        *,
        most: int = 100,
    ) -> list[T]:
        """The first rows of a list that comes in pages of at most so many."""
        found: list[T] = []
        wanted = dict(query or {})
        while len(found) < limit:
            wanted["limit"] = str(min(limit - len(found), most))
            page = await self.ask("GET", f"{path}?{urlencode(wanted)}", answers)
            found += rows(page)
            if page.next_cursor is None:
                break
            wanted["cursor"] = page.next_cursor
        return found[:limit]

    async def job_error(self, job_id: str, otherwise: str) -> GossamerError:
        """Why a job has failed."""
        job = await self.ask("GET", f"/api/jobs/{quote(job_id, safe='')}", FailedJob)
        problem = job.problem
        if problem is None:
            return GossamerError(job.error or otherwise, code="JOB_FAILED")
        reason = {"reason": problem.reason} if problem.reason else {}
        return GossamerError(problem.message, code=problem.code, hint=problem.hint, details=reason)


def decoded(reply: Reply, answers: type[T]) -> T:
    try:
        return msgspec.json.decode(reply.body, type=answers)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise unreadable(reply, str(error)) from error


def path_below(folder: str, *names: str) -> str:
    """The path of something by its id, and of what is below it."""
    return "/".join([folder, *(quote(name, safe="") for name in names)])


class FailureOfJob(msgspec.Struct, rename="camel"):
    """Why a job has failed."""

    code: str
    message: str
    hint: str
    reason: str | None = None


class FailedJob(msgspec.Struct, rename="camel"):
    """What is needed of a job that has failed."""

    error: str | None = None
    problem: FailureOfJob | None = None
