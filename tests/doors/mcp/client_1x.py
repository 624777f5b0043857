"""A client of the SDK's first major version, which runs in the environment of other products' clients.

python client_1x.py http URL KEY PAGE | stdio PAGE PROGRAM OPTION… | pay URL WALLET PAGE
"""

# The packages are those of another environment.
# mypy: ignore-errors

import asyncio
import json
import os
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def use(session: ClientSession, page: str) -> dict[str, Any]:
    await session.initialize()
    listed = await session.list_tools()
    result = await session.call_tool("fetch", {"url": page, "render": "never"})
    return {
        "tools": [tool.name for tool in listed.tools],
        "isError": result.isError,
        "text": result.content[0].text,
    }


async def over_http(url: str, key: str, page: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        streamablehttp_client(url, headers=headers) as (incoming, outgoing, _),
        ClientSession(incoming, outgoing) as session,
    ):
        return await use(session, page)


async def over_stdio(page: str, program: str, *options: str) -> dict[str, Any]:
    started = StdioServerParameters(command=program, args=list(options), env=dict(os.environ))
    async with stdio_client(started) as streams, ClientSession(*streams) as session:
        return await use(session, page)


async def paying(url: str, wallet: str, page: str) -> dict[str, Any]:
    from eth_account import Account
    from x402 import x402Client
    from x402.mcp import x402MCPSession
    from x402.mechanisms.evm import EthAccountSigner
    from x402.mechanisms.evm.exact import register_exact_evm_client

    payer = register_exact_evm_client(x402Client(), EthAccountSigner(Account.from_key(wallet)))
    async with (
        streamablehttp_client(url) as (incoming, outgoing, _),
        ClientSession(incoming, outgoing) as session,
    ):
        paid = x402MCPSession(session, payer)
        await paid.initialize()
        result = await paid.call_tool("fetch", {"url": page, "render": "never"})
        return {
            "isError": result.is_error,
            "paid": result.payment_made,
            "receipt": result.payment_response.success if result.payment_response else None,
        }


if __name__ == "__main__":
    way, *rest = sys.argv[1:]
    ways = {"http": over_http, "stdio": over_stdio, "pay": paying}
    print(json.dumps(asyncio.run(ways[way](*rest))))
