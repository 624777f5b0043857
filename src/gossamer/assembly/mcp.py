"""The door for clients of the Model Context Protocol, if its package is installed."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from gossamer.doors.http.core.relay import Relay
from gossamer.doors.http.core.routing import Route, ServedSubject
from gossamer.settings.settings import Settings

if TYPE_CHECKING:
    from gossamer.app import Service


def has_mcp(settings: Settings) -> bool:
    return settings.mcp and find_spec("mcp") is not None


def mcp_subjects(service: "Service", relay: Relay) -> list[ServedSubject]:
    settings = service.settings
    if not has_mcp(settings):
        return []

    def build() -> list[Route]:
        from gossamer.doors.mcp.http.browser_guard import BrowserGuard
        from gossamer.doors.mcp.http.endpoint import McpEndpoint

        guard = BrowserGuard.of(
            settings.public_url, settings.cors_origins, behind_proxy=bool(settings.trusted_proxies)
        )
        return McpEndpoint(relay, guard).routes()

    return [ServedSubject(("/mcp",), build)]
