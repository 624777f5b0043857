"""The door for clients of the Model Context Protocol, if its package is installed."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from gossamer.doors.http.core.relay import Relay
from gossamer.doors.http.core.routing import Route
from gossamer.doors.mcp.http.browser_guard import BrowserGuard
from gossamer.doors.mcp.http.endpoint import McpEndpoint

if TYPE_CHECKING:
    from gossamer.app import Service


def mcp_routes(service: "Service", relay: Relay) -> list[Route]:
    settings = service.settings
    if not settings.mcp or find_spec("mcp") is None:
        return []
    guard = BrowserGuard.of(
        settings.public_url, settings.cors_origins, behind_proxy=bool(settings.trusted_proxies)
    )
    return McpEndpoint(relay, guard).routes()
