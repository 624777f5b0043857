"""`gossamer mcp`: the engine in a process that a client starts, or a server behind it."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner

from gossamer.doors.mcp.http.answering import Answering
from gossamer.doors.mcp.http.messages import InboundMessage
from gossamer.doors.mcp.server import open_server
from gossamer.doors.mcp.stdio.configurations import CLIENTS, Place
from gossamer.doors.mcp.stdio.greeting import greeting
from gossamer.doors.mcp.tools.calling import TOOLS
from tests.clients import clients_python
from tests.doors.mcp.ground import Ground
from tests.doors.mcp.test_clients import HERE, ask, node
from tests.doors.mcp.test_http import HANDSHAKE, META, MODERN, request
from tests.doors.services import ADMIN_KEY

__all__ = ["node"]

ROOT = HERE.parents[2]
HELLO = request(
    "initialize", 0, protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "a", "version": "1"}
)


def environ(folder: Path) -> dict[str, str]:
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    allowed = {"GOSSAMER_EGRESS_ALLOW": "127.0.0.1/32", "GOSSAMER_EGRESS_PORTS": "*"}
    return {**os.environ, "PYTHONPATH": path, "GOSSAMER_DATA_DIR": str(folder), **allowed}


async def talk(folder: Path, lines: list[Any], *options: str) -> tuple[list[Any], str, int]:
    """All answers to these messages, what was said beside them, and the exit code."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gossamer",
        "mcp",
        *options,
        env=environ(folder),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers = []
    try:
        async with asyncio.timeout(60):
            for line in lines:
                process.stdin.write(json.dumps(line).encode() + b"\n")
                if "id" in line:
                    answers.append(json.loads(await process.stdout.readline()))
            process.stdin.close()
            rest = await process.stdout.read()
            assert process.stderr is not None
            said = (await process.stderr.read()).decode()
            code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert rest == b""
    return answers, said, code


@pytest.mark.parametrize("revision", [*HANDSHAKE, "2099-01-01"])
async def test_the_early_answer_is_the_one_that_the_sdk_gives(revision: str) -> None:
    params = {**HELLO["params"], "protocolVersion": revision}
    early = greeting(json.dumps({**HELLO, "params": params}).encode())
    assert early is not None
    assert json.loads(early)["result"] == await through_sdk("initialize", params, "2025-11-25")


async def test_so_is_the_one_to_a_modern_client() -> None:
    early = greeting(json.dumps(request("server/discover", "probe-1", _meta=META)).encode())
    assert early is not None
    assert json.loads(early)["id"] == "probe-1"
    assert json.loads(early)["result"] == await through_sdk("server/discover", {"_meta": META}, MODERN)


async def through_sdk(method: str, params: dict[str, Any], revision: str) -> Any:
    message = InboundMessage(1, method, params, revision, revision == MODERN)
    runner: ServerRunner[Any] = ServerRunner(
        open_server(), Connection.from_envelope(revision, None, None), None
    )
    return await runner.on_request(Answering(message, takes_events=False), method, params)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": {}}}',
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
    ],
)
def test_everything_else_is_left_to_the_sdk(line: bytes) -> None:
    assert greeting(line) is None


async def test_only_the_protocol_is_on_the_output_and_the_end_of_the_input_is_the_end(
    tmp_path: Path, ground: Ground
) -> None:
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    fetch = request("tools/call", 2, name="fetch", arguments={"url": ground.page(), "render": "never"})
    answers, said, code = await talk(tmp_path, [HELLO, initialized, request("ping", 1), fetch])
    assert [answer["id"] for answer in answers] == [0, 1, 2]
    assert "Worth it" in answers[2]["result"]["content"][0]["text"]
    assert (said, code) == ("", 0)


async def test_what_was_asked_before_the_end_of_the_input_is_answered(tmp_path: Path, ground: Ground) -> None:
    """As when messages are piped in."""
    fetch = request("tools/call", "last", name="fetch", arguments={"url": ground.page(), "render": "never"})
    lines = [HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}, fetch]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gossamer", "mcp"),
        env=environ(tmp_path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        said, _ = await process.communicate("".join(f"{json.dumps(line)}\n" for line in lines).encode())
    answers = [json.loads(line) for line in said.splitlines()]
    assert [answer["id"] for answer in answers] == [0, "last"]
    assert "Worth it" in answers[1]["result"]["content"][0]["text"]
    assert process.returncode == 0


async def test_a_server_can_do_the_work(tmp_path: Path, ground: Ground) -> None:
    fetch = request("tools/call", 2, name="fetch", arguments={"url": ground.page(), "render": "never"})
    options = ("--server", ground.address, "--key", ADMIN_KEY)
    answers, said, code = await talk(tmp_path, [HELLO, fetch], *options)
    assert "Worth it" in answers[1]["result"]["content"][0]["text"]
    assert (said, code, list(tmp_path.iterdir())) == ("", 0, [])
    away, _, _ = await talk(tmp_path, [HELLO, fetch], "--server", "http://127.0.0.1:9")
    assert away[1]["result"]["isError"]
    assert "Check the address" in away[1]["result"]["content"][0]["text"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_python_2_starts_it(tmp_path: Path, ground: Ground, mode: Any) -> None:
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gossamer", "mcp", "--server", ground.address, "--key", ADMIN_KEY],
        env=environ(tmp_path),
    )
    async with Client(started, mode=mode) as client:
        assert len((await client.list_tools()).tools) == len(TOOLS)
        fetched = await client.call_tool("fetch", {"url": ground.page(), "render": "never"})
        assert not fetched.is_error


async def test_python_1_starts_it(tmp_path: Path, ground: Ground) -> None:
    program = (sys.executable, "-m", "gossamer", "mcp", "--server", ground.address, "--key", ADMIN_KEY)
    settings = {"PYTHONPATH": environ(tmp_path)["PYTHONPATH"]}
    answer = await ask(clients_python(), HERE / "client_1x.py", "stdio", ground.page(), *program, **settings)
    assert len(answer["tools"]) == len(TOOLS)
    assert "Worth it" in answer["text"]


async def test_typescript_starts_the_engine(tmp_path: Path, ground: Ground, node: Path) -> None:
    program = (sys.executable, "-m", "gossamer", "mcp")
    answer = await ask("node", node / "client.mjs", "stdio", ground.page(), *program, **environ(tmp_path))
    assert answer["problems"] == []
    assert len(answer["tools"]) == len(TOOLS)
    assert "Worth it" in str(answer["fetched"])
    assert answer["reported"][-1] == 100


async def test_the_inspector_starts_the_engine(tmp_path: Path, node: Path) -> None:
    inspector = ("node", node / "node_modules" / ".bin" / "mcp-inspector", "--cli")
    program = (sys.executable, "-m", "gossamer", "mcp")
    listed = await ask(*inspector, *program, "--method", "tools/list", **environ(tmp_path))
    assert len(listed["tools"]) == len(TOOLS)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "place", [Place(), Place("https://web.example/", "sk_live_x")], ids=["here", "server"]
)
def test_configurations_name_the_program_or_the_server(client: str, place: Place) -> None:
    shown = CLIENTS[client](place)
    if place.server:
        assert "https://web.example/mcp" in shown
        assert "Bearer sk_live_x" in shown
    else:
        assert "mcp" in shown
    if shown.startswith("{"):
        json.loads(shown)
