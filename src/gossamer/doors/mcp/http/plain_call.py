"""The short way of a tool call: without the models by which the SDK checks requests and results.

Those take as long as a cached page takes to be answered (`scripts/bench mcp`). What this module does not
understand goes the SDK's way, and a test compares the results of both.
"""

from typing import Any, Final

import mcp_types as types
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct

from gossamer.doors.mcp.http.messages import InboundMessage
from gossamer.doors.mcp.identity import NAME, TITLE, VERSION
from gossamer.doors.mcp.tools.calling import TOOLS
from gossamer.doors.mcp.tools.tool import ToolDeclaration

_SERVER: Final = {"name": NAME, "title": TITLE, "version": VERSION}
_KNOWN: Final = frozenset({"name", "arguments", "_meta"})


class PlainCall(Struct, frozen=True):
    """A call of a tool that there is."""

    tool: ToolDeclaration
    arguments: dict[str, Any] | None
    meta: dict[str, Any]


def plain_call(message: InboundMessage) -> PlainCall | None:
    """None for everything else, which the SDK shall judge."""
    if message.method != "tools/call" or message.params is None:
        return None
    match message.params:
        case {"name": str() as name} if name in TOOLS and message.params.keys() <= _KNOWN:
            arguments, meta = message.params.get("arguments"), message.params.get("_meta", {})
            is_plain = isinstance(arguments, dict | None) and isinstance(meta, dict)
            return PlainCall(TOOLS[name], arguments, meta) if is_plain else None
        case _:
            return None


def on_wire(result: dict[str, Any], revision: str) -> dict[str, Any]:
    """The result as this revision writes it."""
    if revision not in MODERN_PROTOCOL_VERSIONS:
        return result
    meta = {**result.get("_meta", {}), types.SERVER_INFO_META_KEY: _SERVER}
    return {"resultType": "complete", **result, "_meta": meta}
