"""Clients as people have them: the official SDKs, in Python and TypeScript, and the Inspector."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from gossamer.doors.mcp.tools.calling import TOOLS
from tests.clients import clients_python
from tests.doors.mcp.ground import Ground
from tests.doors.services import ADMIN_KEY, AS_ADMIN
from tests.npm import install_packages
from tests.pay.payers import Income
from tests.pay.shops import BASIC
from tests.programs import run, usual_environ
from tests.servers.chains import wallets
from tests.servers.chains.fixtures import PAYER, Chains

HERE = Path(__file__).parent
NODE = HERE / "node"


async def ask(*command: str | Path, **environ: str) -> Any:
    """The JSON that a client prints."""
    return (await run(usual_environ(**environ), *command)).json()


@pytest.fixture(scope="module")
def node() -> Path:
    install_packages(NODE)
    return NODE


@asynccontextmanager
async def connected(url: str, mode: Any, headers: dict[str, str]) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_python_2_in_every_mode(ground: Ground, mode: str) -> None:
    reported: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reported.append(progress)

    async with connected(ground.url, mode, AS_ADMIN) as client:
        listed = await client.list_tools()
        assert len(listed.tools) == len(TOOLS)
        fetched = await client.call_tool("fetch", {"url": ground.page(), "render": "never"})
        assert not fetched.is_error
        assert "Worth it" in str(fetched.content)
        failed = await client.call_tool("fetch", {"url": "http://10.0.0.1/"})
        assert failed.is_error
        pages = {"urls": [ground.page()], "render": "never"}
        done = await client.call_tool("batch", pages, progress_callback=note)
        assert "The batch is done" in str(done.content)
        assert (await client.list_resources()).resources == []
        assert len((await client.list_resource_templates()).resource_templates) == 1
    assert reported[-1] == 100


async def test_python_1_over_http(ground: Ground) -> None:
    answer = await ask(clients_python(), HERE / "client_1x.py", "http", ground.url, ADMIN_KEY, ground.page())
    assert len(answer["tools"]) == len(TOOLS)
    assert not answer["isError"]
    assert "Worth it" in answer["text"]


async def test_python_1_pays_with_the_session_of_x402(ground: Ground, chains: Chains) -> None:
    income = Income(chains)
    wallet = "0x" + wallets.evm(PAYER).key.hex().removeprefix("0x")
    answer = await ask(clients_python(), HERE / "client_1x.py", "pay", ground.url, wallet, ground.page())
    assert answer == {"isError": False, "paid": True, "receipt": True}
    assert income.taken() == BASIC


async def test_typescript_works_pays_attention_and_has_no_errors(ground: Ground, node: Path) -> None:
    answer = await ask("node", node / "client.mjs", "http", ground.page(), ground.url, ADMIN_KEY)
    assert answer["problems"] == []
    assert len(answer["tools"]) == len(TOOLS)
    assert not answer["fetched"]["isError"]
    assert answer["reported"][-1] == 100
    unpaid = await ask("node", node / "client.mjs", "http", ground.page(), ground.url)
    assert unpaid["problems"] == []
    assert unpaid["fetched"]["structuredContent"]["x402Version"] == 2


async def test_the_inspector_lists_and_calls(ground: Ground, node: Path) -> None:
    inspector: list[str | Path] = [
        "node",
        node / "node_modules" / ".bin" / "mcp-inspector",
        "--cli",
        ground.url,
        "--transport",
        "http",
        "--header",
        f"Authorization: Bearer {ADMIN_KEY}",
    ]
    listed = await ask(*inspector, "--method", "tools/list", "--strict")
    assert len(listed["tools"]) == len(TOOLS)
    asked = ["--tool-name", "fetch", "--tool-arg", f"url={ground.page()}", "--tool-arg", "render=never"]
    called = await ask(*inspector, "--method", "tools/call", *asked)
    assert not called.get("isError")
