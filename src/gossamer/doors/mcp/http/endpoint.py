"""McpEndpoint: `POST /mcp`. Every request stands for itself, so any process can answer it."""

import asyncio
from typing import TYPE_CHECKING, Final

import msgspec
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core.dialect import Dialect
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.relay import Relay, relaying_route
from gossamer.doors.http.core.routing import Route
from gossamer.doors.mcp.http.browser_guard import BrowserGuard
from gossamer.problems import Problem
from gossamer.state.tenants.tenants import Role

if TYPE_CHECKING:
    from gossamer.doors.mcp.http.answering import MessageServer

PATH: Final = "/mcp"
JSON: Final = "application/json"
DEADLINE_SECONDS: Final = 120.0  # a page may take 75, and long work answers after 25
_INVALID_REQUEST: Final = -32600  # of JSON-RPC
_INTERNAL_ERROR: Final = -32603


def _refuse(problem: Problem, exchange: Exchange) -> Response:
    """A refusal of the request itself, as clients of MCP can read it."""
    hint = f" {problem.hint}" if problem.hint else ""
    error = {
        "code": _INVALID_REQUEST if problem.kind.status < 500 else _INTERNAL_ERROR,
        "message": f"{problem.detail}{hint}",
        "data": {"code": problem.kind.code, "requestId": exchange.request_id},
    }
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})
    return Response(body, problem.kind.status, problem.headers, media_type=JSON)


DIALECT: Final = Dialect("MCP", _refuse, prefixes=(PATH,), takes_sessions=True)


class McpEndpoint:
    def __init__(self, relay: Relay, guard: BrowserGuard) -> None:
        self._relay = relay
        self._guard = guard
        self._server: MessageServer | None = None
        self._loading = asyncio.Lock()

    async def post(self, exchange: Exchange) -> Response:
        self._guard.check(exchange)
        _check_type(exchange)
        body = await exchange.body()
        await self._refuse_bad_key(exchange)
        server = self._server or await self._load()
        return await server.answer(exchange, body)

    async def _load(self) -> "MessageServer":
        """The SDK takes a second and 40 MB to load, so servers without clients of MCP never do."""
        async with self._loading:
            if self._server is None:
                self._server = (await asyncio.to_thread(_message_server))(self._relay)
        return self._server

    async def _refuse_bad_key(self, exchange: Exchange) -> None:
        """A key that is not known is refused at once, not with the first call of a tool."""
        if exchange.caller.role is Role.NOBODY and exchange.header(b"authorization") is not None:
            await self._relay.acting_for(exchange).send("GET", "/api/me")

    async def refuse_stream(self, exchange: Exchange) -> Response:
        """Clients of some revisions open a stream, or end a session. There are none."""
        raise Problem(problems.METHOD_NOT_ALLOWED, f"{PATH} takes POST alone.", headers={"Allow": "POST"})

    def routes(self) -> list[Route]:
        summary = "Use the tools over MCP"
        return [
            relaying_route(DIALECT, "POST", PATH, self.post, summary, deadline=DEADLINE_SECONDS),
            relaying_route(DIALECT, "GET", PATH, self.refuse_stream, "Refused: there are no streams"),
            relaying_route(DIALECT, "DELETE", PATH, self.refuse_stream, "Refused: there are no sessions"),
        ]


def _message_server() -> "type[MessageServer]":
    from gossamer.doors.mcp.http.answering import MessageServer

    return MessageServer


def _check_type(exchange: Exchange) -> None:
    """Pages cannot send JSON to strangers without asking first."""
    media_type = (exchange.header(b"content-type") or "").partition(";")[0].strip().lower()
    if media_type != JSON:
        raise Problem(problems.UNSUPPORTED_MEDIA_TYPE, f"The body must be {JSON}.", headers={"Accept": JSON})
