"""The MCP server, as the official SDK runs it: what each request of the protocol does here."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from gossamer.client.transport import Transport
from gossamer.doors.mcp import resources
from gossamer.doors.mcp.identity import EXTENSIONS, INSTRUCTIONS, NAME, TITLE, VERSION
from gossamer.doors.mcp.own_api import OwnApi
from gossamer.doors.mcp.tools.calling import TOOLS, UNKNOWN_TOOL, call_tool
from gossamer.doors.mcp.tools.tool import ToolDeclaration

LIST_SECONDS: Final = 3600  # for which a client may keep the list of tools

Context = ServerRequestContext[Transport, Any]
Lifespan = Callable[[Server[Transport]], AbstractAsyncContextManager[Transport]]


def _shown(tool: ToolDeclaration) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.changes,
            destructive_hint=tool.destroys,
            open_world_hint=True,
        ),
    )


_LISTED: Final = types.ListToolsResult(tools=[_shown(tool) for tool in TOOLS.values()])


@asynccontextmanager
async def no_lifespan(_server: Server[Transport]) -> AsyncIterator[Any]:
    """Each request brings its own transport."""
    yield None


def open_server(lifespan: Lifespan = no_lifespan) -> Server[Transport]:
    """A server whose requests find our API behind the transport in their context."""
    server = Server[Transport](
        NAME,
        version=VERSION,
        title=TITLE,
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_SECONDS * 1000, scope="public")},
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,  # type: ignore[arg-type]  # the result of an extension is a dict
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
    )
    server.extensions.update(EXTENSIONS)
    server.middleware.clear()  # spans of OpenTelemetry: our own layers make them
    return server


async def _list_tools(_context: Context, _params: Any) -> types.ListToolsResult:
    return _LISTED


async def _call_tool(context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(code=types.INVALID_PARAMS, message=UNKNOWN_TOOL)
    report, meta = context.session.report_progress, context.meta or {}
    result = await call_tool(context.lifespan_context, report, tool, params.arguments, meta)
    return {"resultType": "complete", **result}


async def _list_resources(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    return await resources.list_pages(OwnApi(context.lifespan_context), params.cursor if params else None)


async def _list_templates(_context: Context, _params: Any) -> types.ListResourceTemplatesResult:
    return resources.templates()


async def _read_resource(
    context: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    return await resources.read_page(OwnApi(context.lifespan_context), str(params.uri))
