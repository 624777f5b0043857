"""Ready-to-paste configurations for the clients that people use."""

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from gossamer.doors.mcp.identity import NAME


class Place(Struct, frozen=True):
    """Where the tools are: at a server, or in a process that the client starts."""

    server: str = ""
    key: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    @property
    def url(self) -> str:
        return f"{self.server.rstrip('/')}/mcp"

    @property
    def command(self) -> list[str]:
        """Clients rarely have the PATH of a shell, so the program is named by its whole path."""
        found = shutil.which(NAME)
        return [found, "mcp"] if found else [sys.executable, "-m", NAME, "mcp"]

    def entry(self, url_name: str = "url", **more: Any) -> dict[str, Any]:
        if self.server:
            return {**more, url_name: self.url, **({"headers": self.headers} if self.headers else {})}
        program, *arguments = self.command
        return {"command": program, "args": arguments}


def _json(found: dict[str, Any]) -> str:
    return json.dumps(found, indent=2, ensure_ascii=False)


def _claude_desktop(place: Place) -> str:
    """It takes commands alone; `mcp-remote` stands between it and a server."""
    if not place.server:
        return _json({"mcpServers": {NAME: place.entry()}})
    headers = [part for name, value in place.headers.items() for part in ("--header", f"{name}:{value}")]
    remote = {"command": "npx", "args": ["-y", "mcp-remote", place.url, *headers]}
    return _json({"mcpServers": {NAME: remote}})


def _claude_code(place: Place) -> str:
    if not place.server:
        return shlex.join(["claude", "mcp", "add", NAME, "--", *place.command])
    headers = [part for name, value in place.headers.items() for part in ("--header", f"{name}: {value}")]
    return shlex.join(["claude", "mcp", "add", "--transport", "http", NAME, place.url, *headers])


def _cursor(place: Place) -> str:
    return _json({"mcpServers": {NAME: place.entry()}})


def _windsurf(place: Place) -> str:
    return _json({"mcpServers": {NAME: place.entry("serverUrl")}})


def _vscode(place: Place) -> str:
    kind = "http" if place.server else "stdio"
    return _json({"servers": {NAME: {"type": kind, **place.entry()}}})


def _codex(place: Place) -> str:
    lines = [f"[mcp_servers.{NAME}]"]
    for name, value in place.entry().items():
        if name == "headers":
            pairs = ", ".join(f"{json.dumps(key)} = {json.dumps(each)}" for key, each in value.items())
            lines.append(f"http_headers = {{ {pairs} }}")
        else:
            lines.append(f"{name} = {json.dumps(value)}")
    return "\n".join(lines)


CLIENTS: Final[Mapping[str, Callable[[Place], str]]] = {
    "claude-desktop": _claude_desktop,
    "claude-code": _claude_code,
    "cursor": _cursor,
    "vscode": _vscode,
    "windsurf": _windsurf,
    "codex": _codex,
}
