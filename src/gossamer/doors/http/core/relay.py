"""Relay: a request in another form becomes calls to our own API, with the rights of whoever sent it."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.types import ASGIApp

from gossamer import problems
from gossamer.client.transport import Call, Reply
from gossamer.doors.http.core.dialect import Dialect
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.in_process import InProcess
from gossamer.doors.http.core.routing import Handler, Route
from gossamer.problems import Problem
from gossamer.state.tenants.tenants import Role

# What shows who calls, and what is paid. Everything else is the translator's business.
_PASSED_ON: Final = (
    "authorization",
    "cookie",
    "x-csrf-token",
    "payment-signature",
    "x-payment",
    "origin",
)
_TRACE: Final = b"traceparent"  # read without `Exchange.header`: no answer depends on it
_KINDS: Final = {kind.code: kind for kind in problems.KINDS.values()}
_SHAPE: Final = frozenset(
    {
        "type",
        "title",
        "status",
        "detail",
        "instance",
        "error",
        "code",
        "message",
        "requestId",
        "docsUrl",
        "hint",
    }
)
_KEPT_HEADERS: Final = (
    "retry-after",
    "payment-required",
    "www-authenticate",
    "x-payment-response",
    "payment-response",
)

_RECEIPTS: Final = ("payment-response", "x-payment-response")


class Relay:
    """Routes that relay are open to everybody and not counted: the calls that they make are checked, counted
    and paid as every other call."""

    def __init__(self) -> None:
        self._app: ASGIApp | None = None

    def reach(self, app: ASGIApp) -> None:
        """Called once the application, which contains the routes that relay, is complete."""
        self._app = app

    def acting_for(
        self, exchange: Exchange, headers: Mapping[str, str] | None = None, resource: str = ""
    ) -> "RelayedApi":
        """`resource` is what the sender buys, in the terms of the protocol that it speaks."""
        assert self._app is not None  # noqa: S101  (requests come after `reach`)
        passed = {name: value for name in _PASSED_ON if (value := exchange.header(name.encode())) is not None}
        passed |= {
            _TRACE.decode(): value.decode() for name, value in exchange.scope["headers"] if name == _TRACE
        }
        dialect = exchange.dialect
        if dialect is not None:
            if (secret := dialect.secret(exchange)) is not None:
                passed.setdefault("authorization", f"Bearer {secret}")
            if (once := exchange.header(dialect.idempotency_header)) is not None:
                passed["idempotency-key"] = once
            if not dialect.takes_sessions:
                passed.pop("cookie", None)
        sent = {**passed, **(headers or {})}
        return RelayedApi(InProcess(self._app, outer=exchange, headers=sent, resource=resource))


def relaying_route(
    dialect: Dialect, method: str, path: str, handler: Handler, summary: str, *, deadline: float | None = None
) -> Route:
    """A route of a dialect whose handler relays."""
    return Route(
        method=method,
        path=path,
        handler=handler,
        needs=Role.NOBODY,
        counted=False,
        tag=dialect.name,
        summary=summary,
        dialect=dialect,
        deadline=deadline,
        idempotent=False,
    )


class RelayedApi:
    """Our API, as the sender of a request may use it."""

    def __init__(self, transport: InProcess) -> None:
        self.transport = transport

    async def send(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Raises the problem of an answer that is one."""
        sent = b"" if body is None else msgspec.json.encode(body)
        reply = await self.transport.send(Call(method, path, headers or {}, sent))
        if reply.status >= 400:
            raise problem_of(reply)
        self._pass_receipt(reply)
        return reply

    def _pass_receipt(self, reply: Reply) -> None:
        """Whoever has paid for the call gets the receipt with the answer to their own request."""
        if self.transport.outer is not None:
            told = [
                (name.encode(), reply.headers[name].encode()) for name in _RECEIPTS if name in reply.headers
            ]
            self.transport.outer.headers += told

    async def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """The JSON of the answer."""
        return msgspec.json.decode((await self.send(method, path, body, headers)).body)


def problem_of(reply: Reply) -> Problem:
    """The problem that an answer documents."""
    document = msgspec.json.decode(reply.body)
    members = {name: value for name, value in document.items() if name not in _SHAPE}
    return Problem(
        _KINDS[document["code"]],
        document["detail"],
        hint=document.get("hint"),
        headers={name: reply.headers[name] for name in _KEPT_HEADERS if name in reply.headers},
        **members,
    )
