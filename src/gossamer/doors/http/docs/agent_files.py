"""The files by which agents find this server and learn to use it.

    /llms.txt, /llms-full.txt          the documentation for language models (llmstxt.org)
    /.well-known/api-catalog           where the API is described (RFC 9727)
    /.well-known/x402                  what can be bought here; a convention of the field, not yet a standard
    /.well-known/ai-catalog.json       names the MCP server's card; a draft
    /mcp/server-card                   how to connect to it (SEP-2127; its format is a draft)

Each is public, made once, and says only what is true of this server: without payments or MCP there is none of
the files that are about them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.core.exchange import Exchange
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.docs.llms import SUMMARY
from gossamer.doors.http.docs.page import HtmlPage
from gossamer.problems import Problem
from gossamer.state.tenants.tenants import Role

MCP: Final = "/mcp"
MARKDOWN: Final = "text/markdown; charset=utf-8"
_CARD: Final = "application/mcp-server-card+json"
_CATALOG: Final = "application/ai-catalog+json"
_LINKSET: Final = "application/linkset+json"
_CARD_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_NAME: Final = "gossamer"
_TITLE: Final = "Gossamer"
_CARD_TEXT: Final = "Reads the web for agents: fetch, search, map, crawl, extract, screenshot, audit."
_ALLOWED: Final = (b"access-control-allow-origin", b"*")


class AgentFiles(Struct, frozen=True):
    """The contents, by path."""

    public_url: str
    version: str
    write_guide: Callable[[], str]
    write_full: Callable[[], str]
    priced: Sequence[str]  # paths that can be paid for; empty if payments are off
    has_mcp: bool

    def llms(self) -> HtmlPage:
        return HtmlPage.of(self.write_guide().encode(), MARKDOWN)

    def llms_full(self) -> HtmlPage:
        return HtmlPage.of(self.write_full().encode(), MARKDOWN)

    def api_catalog(self) -> HtmlPage:
        """RFC 9727: a set of links (RFC 9264)."""
        here = self.public_url
        links = {
            "anchor": f"{here}/",
            "service-desc": [{"href": f"{here}/openapi.json", "type": "application/json"}],
            "service-doc": [
                {"href": f"{here}/docs", "type": "text/html"},
                {"href": f"{here}/llms.txt", "type": "text/markdown"},
            ],
            "service-meta": [{"href": f"{here}/api/prices", "type": "application/json"}],
            "status": [{"href": f"{here}/health", "type": "application/json"}],
        }
        return _json({"linkset": [links]}, f'{_LINKSET}; profile="https://www.rfc-editor.org/info/rfc9727"')

    def x402(self) -> HtmlPage | None:
        if not self.priced:
            return None
        return _json(
            {
                "version": 1,
                "x402Version": 2,
                "name": _TITLE,
                "description": SUMMARY,
                "resources": [f"{self.public_url}{path}" for path in self.priced],
                "instructions": f"{self.public_url}/llms.txt",
            }
        )

    def ai_catalog(self) -> HtmlPage | None:
        if not self.has_mcp:
            return None
        host = urlsplit(self.public_url).hostname or "localhost"
        entry = {
            "identifier": f"urn:air:{host}:{_NAME}",
            "displayName": _TITLE,
            "type": _CARD,
            "url": f"{self.public_url}{MCP}/server-card",
        }
        return _json({"specVersion": "draft", "entries": [entry]}, _CATALOG)

    def server_card(self) -> HtmlPage | None:
        if not self.has_mcp:
            return None
        key = {
            "name": "Authorization",
            "description": "`Bearer` and an API key of this server.",
            "isRequired": not self.priced,
            "isSecret": True,
        }
        return _json(
            {
                "$schema": _CARD_SCHEMA,
                "name": f"{_reverse(self.public_url)}/{_NAME}",
                "version": self.version,
                "title": _TITLE,
                "description": _CARD_TEXT,
                "websiteUrl": f"{self.public_url}/docs",
                "remotes": [{"type": "streamable-http", "url": f"{self.public_url}{MCP}", "headers": [key]}],
            },
            _CARD,
        )


class AgentFilesEndpoints:
    def __init__(self, files: AgentFiles) -> None:
        self._files = files
        self._made: dict[str, HtmlPage | None] = {}

    async def llms(self, exchange: Exchange) -> Response:
        return self._answer(exchange, self._files.llms)

    async def llms_full(self, exchange: Exchange) -> Response:
        return self._answer(exchange, self._files.llms_full)

    async def api_catalog(self, exchange: Exchange) -> Response:
        return self._answer(exchange, self._files.api_catalog)

    async def x402_resources(self, exchange: Exchange) -> Response:
        return self._answer(exchange, self._files.x402)

    async def ai_catalog(self, exchange: Exchange) -> Response:
        return self._answer(exchange, self._files.ai_catalog)

    async def mcp_server_card(self, exchange: Exchange) -> Response:
        return self._answer(exchange, self._files.server_card)

    def _answer(self, exchange: Exchange, make: Callable[[], HtmlPage | None]) -> Response:
        if exchange.path not in self._made:
            self._made[exchange.path] = make()
        page = self._made[exchange.path]
        if page is None:
            raise Problem(
                problems.NOT_FOUND, f"There is nothing at {exchange.path}: it is off on this server."
            )
        if not any(name == _ALLOWED[0] for name, _ in exchange.headers):
            exchange.headers.append(_ALLOWED)  # everybody may read it, from any page
        return page.answer(exchange)

    def routes(self) -> list[Route]:
        file = partial(Route, method="GET", needs=Role.NOBODY, tag="Documentation", counted=False)
        missing = (problems.NOT_FOUND,)
        return [
            file(
                path="/llms.txt",
                handler=self.llms,
                summary="This documentation for language models",
                description="Links to every endpoint, by the format of llmstxt.org.",
                media_type="text/markdown",
                example=f"# Gossamer\n\n> {SUMMARY}\n",
            ),
            file(
                path="/llms-full.txt",
                handler=self.llms_full,
                summary="All of this documentation in one file for language models",
                media_type="text/markdown",
                example=f"# Gossamer\n\n> {SUMMARY}\n",
            ),
            file(
                path="/.well-known/api-catalog",
                handler=self.api_catalog,
                summary="Where the API is described",
                description="RFC 9727: a linkset with the OpenAPI document, the documentation and the health "
                "report.",
                media_type=_LINKSET,
                example=_example(self._files.api_catalog()),
            ),
            file(
                path="/.well-known/x402",
                handler=self.x402_resources,
                summary="List what can be paid for by x402",
                description="The addresses of the endpoints with a price, if payments are on. The field uses "
                "this file, but there is no standard for it yet.",
                problems=missing,
                example={"version": 1, "x402Version": 2, "resources": [f"{self._files.public_url}/fetch"]},
            ),
            file(
                path="/.well-known/ai-catalog.json",
                handler=self.ai_catalog,
                summary="Name the MCP server of this host",
                description="An AI Catalog, if MCP is on. The format is a draft.",
                media_type=_CATALOG,
                problems=missing,
                example={"specVersion": "draft", "entries": []},
            ),
            file(
                path=f"{MCP}/server-card",
                handler=self.mcp_server_card,
                summary="How to connect to the MCP server",
                description="An MCP Server Card (SEP-2127), if MCP is on. The format is a draft.",
                media_type=_CARD,
                problems=missing,
                example={"$schema": _CARD_SCHEMA, "name": "example.gossamer/gossamer", "version": "1.0.0"},
            ),
        ]


def _json(value: Mapping[str, Any], media_type: str = "application/json") -> HtmlPage:
    return HtmlPage.of(msgspec.json.encode(value), media_type)


def _example(page: HtmlPage) -> Any:
    return msgspec.json.decode(page.body)


def _reverse(public_url: str) -> str:
    """The host in the order of domains, as names of MCP servers have it. An address is no name."""
    host = urlsplit(public_url).hostname or ""
    labels = host.split(".")
    if ":" in host or labels[-1].isdigit() or not host:
        return "local"
    return ".".join(reversed(labels))
