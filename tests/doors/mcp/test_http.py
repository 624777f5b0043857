"""Streamable HTTP: the rules of each revision, and who may come in."""

import asyncio
import json
from typing import Any

import pytest
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner

from gossamer.doors.mcp.http.answering import Answering
from gossamer.doors.mcp.http.messages import InboundMessage
from gossamer.doors.mcp.http.plain_call import on_wire, plain_call
from gossamer.doors.mcp.payment import ask_for_payment, with_receipt
from gossamer.doors.mcp.server import open_server
from tests.doors.http.test_roles import session
from tests.doors.mcp.ground import Ground
from tests.doors.services import AS_ADMIN

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(method: str, number: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def modern(method: str, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    if "name" in params:
        headers["Mcp-Name"] = params["name"]
    return request(method, **params, _meta=META), {**AS_ADMIN, **headers}


@pytest.mark.parametrize("version", [*HANDSHAKE, "2099-01-01"])
async def test_a_handshake_agrees_on_a_revision_and_makes_no_session(ground: Ground, version: str) -> None:
    hello = request(
        "initialize", 0, protocolVersion=version, capabilities={}, clientInfo={"name": "a", "version": "1"}
    )
    answer = await ground.post(hello)
    assert answer.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in answer.headers
    said = answer.json()
    assert said["id"] == 0
    assert said["result"]["protocolVersion"] == (version if version in HANDSHAKE else "2025-11-25")
    noted = await ground.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (noted.status_code, noted.content) == (202, b"")


async def test_there_is_no_stream_and_no_session_to_end(ground: Ground) -> None:
    for method in ("GET", "DELETE"):
        answer = await ground.client.request(method, "/mcp", headers={"accept": "text/event-stream"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert answer.headers["content-type"] == "application/json"


async def test_a_modern_request_brings_everything_with_it(ground: Ground) -> None:
    found = (await ground.post(*modern("server/discover"))).json()["result"]
    assert found["supportedVersions"] == [MODERN]
    assert "org.x402/payment" in found["capabilities"]["extensions"]
    listed = (await ground.post(*modern("tools/list"))).json()["result"]
    assert {"resultType", "ttlMs", "cacheScope"} <= listed.keys()
    page = {"url": ground.page(), "render": "never"}
    result = (await ground.post(*modern("tools/call", name="fetch", arguments=page))).json()["result"]
    assert (result["resultType"], result["isError"]) == ("complete", False)


async def test_modern_errors_have_their_statuses(ground: Ground) -> None:
    body, headers = modern("tools/list")
    mismatch = await ground.post(body, {**headers, "Mcp-Method": "tools/call"})
    assert (mismatch.status_code, mismatch.json()["error"]["code"]) == (400, -32020)
    unknown = await ground.post(body, {**headers, "MCP-Protocol-Version": "2099-01-01"})
    assert unknown.status_code == 400
    missing = await ground.post(*modern("no/such"))
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, -32601)
    wrong = await ground.post(*modern("tools/call", name="fetch", arguments=3))
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, -32602)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"[]", -32600),
        (b'{"a":' * 5_000, -32700),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": [], "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32600),
    ],
)
async def test_what_is_no_message_is_refused(ground: Ground, body: bytes, code: int) -> None:
    answer = await ground.client.post(
        "/mcp", content=body, headers={**AS_ADMIN, "content-type": "application/json"}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


async def test_bodies_have_a_type_and_a_bound(ground: Ground) -> None:
    plain = await ground.client.post("/mcp", content=b"{}", headers={"content-type": "text/plain"})
    large = await ground.post({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "x" * 1_000_001}})
    for answer, status in ((plain, 415), (large, 413)):
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["jsonrpc"] == "2.0"


async def test_a_bad_key_is_told_at_once(ground: Ground) -> None:
    answer = await ground.post(request("tools/list"), {"Authorization": "Bearer sk_live_nobody"})
    assert answer.status_code == 401
    assert answer.json()["error"]["data"]["code"] == "UNAUTHORIZED"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://gossamer.example"}, 200),
        ({"Origin": "http://localhost:6274"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Host": "gossamer.example"}, 200),
        ({"Host": "localhost:8080"}, 200),
        ({"Host": "[::1]:8080"}, 200),
        ({"Host": "gossamer:8080"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:80"}, 403),
    ],
)
async def test_pages_of_strangers_cannot_use_the_tools(
    ground: Ground, headers: dict[str, str], status: int
) -> None:
    answer = await ground.post(request("ping"), {**AS_ADMIN, **headers})
    assert answer.status_code == status


async def test_a_call_is_one_relayed_request_in_the_log(ground: Ground) -> None:
    visit = ground.fetching.visit
    before = len(visit.logged())
    await ground.text("fetch", url=ground.page(), render="never")
    lines = [line for line in visit.logged()[before:] if line.get("endpoint") in ("/fetch", "/mcp")]
    assert [line["endpoint"] for line in lines] == ["/fetch", "/mcp"]
    assert lines[0]["requestId"] == lines[1]["requestId"]


async def test_progress_comes_as_events_and_the_answer_as_the_last(ground: Ground) -> None:
    pages = {"urls": [ground.page(), ground.page()], "render": "never"}
    body = request("tools/call", name="batch", arguments=pages, _meta={"progressToken": "abc"})
    answer = await ground.post(body)
    assert answer.headers["content-type"] == "text/event-stream"
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert [event.get("method", "answer") for event in events[-2:]] == ["notifications/progress", "answer"]
    reported = [event["params"]["progress"] for event in events[:-1]]
    assert reported == sorted(set(reported))
    assert all(event["params"]["progressToken"] == "abc" for event in events[:-1])


async def test_whoever_leaves_cancels_the_work(ground: Ground) -> None:
    visit, slow = ground.fetching.visit, ground.page(pause=40.0)
    before = len(visit.logged())
    body = request("tools/call", name="fetch", arguments={"url": slow, "render": "never"})
    asking = asyncio.create_task(ground.post(body))

    def ended() -> set[str]:
        return {line["endpoint"] for line in visit.logged()[before:] if "endpoint" in line}

    async with asyncio.timeout(25):  # the page, or giving it up, would take longer
        while not ground.fetching.visits("/" + slow.split("/", 3)[3]):
            await asyncio.sleep(0.02)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        while not {"/fetch", "/mcp"} <= ended():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("revision", [*HANDSHAKE, MODERN])
async def test_the_short_way_answers_as_the_sdk_does(revision: str) -> None:
    """Results of a tool as we write them, beside the same results through the SDK's models."""
    terms = {"x402Version": 2, "error": "x", "accepts": [], "resource": {"url": "mcp://tool/fetch"}}
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    results = [
        {"content": [{"type": "text", "text": "ü\n"}, picture], "isError": False},
        {"content": [{"type": "text", "text": "no"}], "isError": True},
        with_receipt({"content": [], "isError": False}, "eyJzdWNjZXNzIjogdHJ1ZX0="),
        ask_for_payment(terms, as_extension=False),
    ]
    if revision == MODERN:
        results.append(ask_for_payment(terms, as_extension=True))
    params = {"name": "fetch", "arguments": {}, "_meta": META}
    for result in results:
        message = InboundMessage(1, "tools/call", params, revision, revision == MODERN)
        assert plain_call(message) is not None
        server = open_server()

        async def answer(_context: Any, _params: Any, result: dict[str, Any] = result) -> Any:
            return {"resultType": "complete", **result}

        entry = server.get_request_handler("tools/call")
        assert entry is not None
        server.add_request_handler("tools/call", entry.params_type, answer)
        runner: ServerRunner[Any] = ServerRunner(server, Connection.from_envelope(revision, None, None), None)
        channel = Answering(message, takes_events=False)
        assert on_wire(result, revision) == await runner.on_request(channel, "tools/call", params)


async def test_clients_that_take_no_events_get_json(ground: Ground) -> None:
    pages = {"urls": [ground.page()], "render": "never"}
    body = request("tools/call", name="batch", arguments=pages, _meta={"progressToken": 1})
    answer = await ground.post(body, {**AS_ADMIN, "accept": "application/json"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["isError"] is False


async def test_a_session_is_as_good_as_a_key_if_it_names_its_token(ground: Ground) -> None:
    signed_in = await session(ground.fetching.visit, "agent@example.com", "user")
    assert "Worth it" in await ground.text_for(signed_in, "fetch", url=ground.page(), render="never")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    without_token = await ground.post(body, {"Cookie": signed_in["Cookie"]})
    assert without_token.status_code == 403
