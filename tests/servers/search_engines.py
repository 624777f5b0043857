"""A server on loopback that speaks SearXNG's JSON and Brave's search API, and says what a test wants."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

KEY = "BSA-test-key-0123456789"


@dataclass(frozen=True)
class Page:
    url: str
    title: str = "A page"
    snippet: str = ""
    published: str | None = None


@dataclass(frozen=True)
class Raw:
    """Bytes in place of an answer, and then the connection ends."""

    data: bytes


@dataclass(frozen=True)
class Status:
    code: int
    fields: tuple[str, ...] = ()
    body: str = "{}"


SILENT = "takes the question and never answers"
Said = list[Page] | Status | Raw | str | dict[str, Any]


@dataclass
class Engines:
    url: str = ""
    searxng: Said = field(default_factory=list)
    brave: Said = field(default_factory=list)
    unresponsive: list[list[str]] = field(default_factory=list)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)  # who, and with what
    connections: int = 0

    def questions(self, engine: str) -> list[dict[str, str]]:
        return [query for name, query in self.asked if name == engine]

    def answer(self, target: str, headers: dict[str, str]) -> Said:
        path, _, query = target.partition("?")
        parameters = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True))
        if path == "/instance/search":
            self.asked.append(("searxng", parameters))
            if parameters.get("format") != "json":
                return Status(403)
            return self._searxng(parameters) if isinstance(self.searxng, list) else self.searxng
        if path == "/res/v1/web/search":
            self.asked.append(("brave", parameters))
            if headers.get("x-subscription-token") != KEY:
                return Status(422, body=json.dumps({"error": headers.get("x-subscription-token")}))
            return self._brave(parameters) if isinstance(self.brave, list) else self.brave
        return Status(404)

    def _searxng(self, parameters: dict[str, str]) -> Said:
        assert isinstance(self.searxng, list)
        if parameters.get("time_range", "day") not in ("day", "week", "month", "year"):
            return Status(400)
        return {
            "query": parameters["q"],
            "number_of_results": 0,
            "results": [
                {
                    "url": page.url,
                    "title": page.title,
                    "content": page.snippet,
                    "publishedDate": page.published,
                    "engine": "web",
                    "engines": ["web"],
                    "score": 1.0,
                    "category": "general",
                }
                for page in self.searxng
            ],
            "answers": [],
            "suggestions": [],
            "unresponsive_engines": self.unresponsive,
        }

    def _brave(self, parameters: dict[str, str]) -> Said:
        assert isinstance(self.brave, list)
        count, freshness = int(parameters.get("count", "20")), parameters.get("freshness", "pd")
        if not 1 <= count <= 20 or freshness not in ("pd", "pw", "pm", "py"):
            return Status(422)
        found = [
            {"type": "search_result", "url": page.url, "title": page.title, "description": page.snippet}
            | ({"page_age": page.published, "age": "recently"} if page.published else {})
            for page in self.brave[:count]
        ]
        whole: dict[str, Any] = {"type": "search", "query": {"original": parameters["q"]}, "mixed": {}}
        return whole | ({"web": {"type": "search", "results": found}} if found else {})


@asynccontextmanager
async def search_engines() -> AsyncIterator[Engines]:
    engines = Engines()
    connections: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        engines.connections += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            await _converse(engines, reader, writer)
        connections.discard(task)
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    engines.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield engines
    server.close()
    for task in list(connections):
        task.cancel()
    await asyncio.gather(*connections, return_exceptions=True)


async def _converse(engines: Engines, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
        pairs = (line.partition(":") for line in lines)
        said = engines.answer(first.split(" ")[1], {name.lower(): value.strip() for name, _, value in pairs})
        if said == SILENT:
            await asyncio.Event().wait()
        if isinstance(said, Raw):
            writer.write(said.data)
            await writer.drain()
            return
        status = said if isinstance(said, Status) else Status(200, body=json.dumps(said))
        raw = status.body.encode()
        fields = "".join(f"{line}\r\n" for line in (*status.fields, f"content-length: {len(raw)}"))
        writer.write(f"HTTP/1.1 {status.code} X\r\n{fields}\r\n".encode() + raw)
        await writer.drain()
