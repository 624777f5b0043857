"""Calls a tool, and makes the result of what it answers or of what went wrong."""

from collections.abc import Mapping
from typing import Any, Final

from gossamer.client.errors import ConnectionFailed
from gossamer.client.transport import Transport
from gossamer.doors.mcp import wording
from gossamer.doors.mcp.own_api import OwnApi, Refused
from gossamer.doors.mcp.payment import (
    ask_for_payment,
    decode_header,
    is_announced,
    payment_headers,
    with_receipt,
)
from gossamer.doors.mcp.tools import automation, long_work, memory, pages
from gossamer.doors.mcp.tools.tool import Report, ToolCall, ToolDeclaration, WrongArguments

TOOLS: Final[Mapping[str, ToolDeclaration]] = {
    tool.name: tool for tool in (*pages.TOOLS, *long_work.TOOLS, *memory.TOOLS, *automation.TOOLS)
}
UNKNOWN_TOOL: Final = "There is no tool with this name. tools/list names them."


async def call_tool(
    transport: Transport,
    report: Report,
    tool: ToolDeclaration,
    arguments: Mapping[str, Any] | None,
    meta: Mapping[str, Any],
) -> dict[str, Any]:
    """The result as the protocol writes it. What goes wrong is a result too, so that a model can read it."""
    api = OwnApi(transport, payment_headers(meta))
    try:
        content = await tool.run(ToolCall(api, report), tool.read(arguments))
    except WrongArguments as wrong:
        return {"content": [wording.text(str(wrong))], "isError": True}
    except ConnectionFailed as failed:
        return {"content": [wording.text(str(failed))], "isError": True}
    except Refused as refused:
        return with_receipt(_refusal(refused, meta), refused.receipt)
    return with_receipt({"content": content, "isError": False}, api.receipt)


def _refusal(refused: Refused, meta: Mapping[str, Any]) -> dict[str, Any]:
    terms = decode_header(refused.terms)
    if terms is not None:
        return ask_for_payment(terms, as_extension=is_announced(meta))
    return {"content": [wording.text(wording.error(refused.problem))], "isError": True}
