"""Relayed calls: clients of other products use our API with their own rights, and read errors."""

import asyncio

import msgspec
import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from tests.doors.services import ADMIN_KEY, Visiting

from gossamer.client.transport import Call
from gossamer.doors.http.core.dialect import Dialect
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.in_process import InProcess
from gossamer.doors.http.core.relay import Relay, relaying_route
from gossamer.doors.http.core.routing import Route
from gossamer.flows.tenants.admit import Caller
from gossamer.problems import Problem
from gossamer.state.tenants.tenants import Role


def _refuse(problem: Problem, exchange: Exchange) -> Response:
    said = {"success": False, "error": problem.detail, "id": exchange.request_id}
    return Response(
        msgspec.json.encode(said), problem.kind.status, problem.headers, media_type="application/json"
    )


def _token(exchange: Exchange) -> str | None:
    return exchange.header(b"x-token")


DIALECT = Dialect("other", _refuse, prefixes=("/other/",), secret=_token)


class OtherDoor:
    def __init__(self) -> None:
        self.relay = Relay()

    async def me(self, exchange: Exchange) -> Response:
        return answer(await self.relay.acting_for(exchange).ask("GET", "/api/me"))

    async def rest(self, exchange: Exchange, url: str) -> Response:
        return answer({"rest": url, "query": exchange.scope["query_string"].decode()}, 203)

    def routes(self) -> list[Route]:
        return [
            relaying_route(DIALECT, "GET", "/other/me", self.me, "me"),
            relaying_route(DIALECT, "GET", "/other/pages/{url*}", self.rest, "rest"),
        ]


@pytest.mark.parametrize("headers", [{"X-Token": ADMIN_KEY}, {"Authorization": f"Bearer {ADMIN_KEY}"}])
async def test_a_relayed_call_has_the_rights_of_the_sender(
    visiting: Visiting, headers: dict[str, str]
) -> None:
    async with visiting() as visit:
        door = OtherDoor()
        app = visit.service.app(door.routes())
        door.relay.reach(app)
        reply = await InProcess(app, headers=headers).send(Call("GET", "/other/me"))
        assert reply.status == 200
        assert msgspec.json.decode(reply.body)["role"] == "admin"
        inner, outer = [line for line in visit.logged() if line.get("endpoint") in ("/api/me", "/other/me")]
        assert inner["requestId"] == outer["requestId"]


async def test_errors_are_told_in_the_dialect(visiting: Visiting) -> None:
    async with visiting() as visit:
        door = OtherDoor()
        app = visit.service.app(door.routes())
        door.relay.reach(app)
        without_key = await InProcess(app).send(Call("GET", "/other/me"))
        nothing_there = await InProcess(app).send(Call("GET", "/other/nothing"))
        wrong_method = await InProcess(app).send(Call("DELETE", "/other/me"))
        for reply, status in ((without_key, 401), (nothing_there, 404), (wrong_method, 405)):
            assert reply.status == status
            assert msgspec.json.decode(reply.body)["success"] is False


async def test_the_rest_of_a_path_may_be_an_address(visiting: Visiting) -> None:
    async with visiting() as visit:
        app = visit.service.app(OtherDoor().routes())
        reply = await InProcess(app).send(Call("GET", "/other/pages/https://site/a/b?x=1&y=%20"))
        assert (reply.status, msgspec.json.decode(reply.body)) == (
            203,
            {"rest": "https://site/a/b", "query": "x=1&y=%20"},
        )


async def test_a_caller_in_this_process_needs_no_key(visiting: Visiting) -> None:
    async with visiting() as visit:
        api = InProcess(visit.service.app(), caller=Caller(Role.ADMIN, key_id="owner"))
        assert (await api.send(Call("GET", "/api/admin/users"))).status == 200


async def test_leaving_a_stream_cancels_its_work() -> None:
    cancelled = asyncio.Event()

    async def endless(_scope: Scope, _receive: Receive, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:
                await send({"type": "http.response.body", "body": b"x", "more_body": True})
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with InProcess(endless).stream(Call("GET", "/")) as reply:
        assert [await anext(reply.body), await anext(reply.body)] == [b"x", b"x"]
    assert cancelled.is_set()
