"""A server on loopback for APIs of language models: what they say, and how it goes over the wire."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Answering = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True)
class Status:
    """An answer that is none."""

    code: int
    kind: str = "api_error"


@dataclass(frozen=True)
class Cut:
    """An answer that ends in the middle, or is none at all."""

    text: str
    stop_reason: str = "max_tokens"


def found(**fields: Any) -> dict[str, Any]:
    """What a model says that it has found: a value, or a value with its quote."""
    pairs = {name: one if isinstance(one, tuple) else (one, one) for name, one in fields.items()}
    return {
        "found": [
            {"field": name, "value": _text(value), "quote": _text(quote)}
            for name, (value, quote) in pairs.items()
        ]
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@dataclass
class ModelApi:
    """One dialect; a subclass says how a request is judged and an answer is written."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    says: Answering = field(default=lambda _: found())
    silent: bool = False  # takes the question and never answers
    seconds: float = 0.0  # between the head of an answer and its body

    def answer(self, target: str, body: dict[str, Any]) -> tuple[int, Any]:
        raise NotImplementedError


@asynccontextmanager
async def serving(api: ModelApi) -> AsyncIterator[None]:
    connections: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            await _converse(api, reader, writer)
        connections.discard(task)
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    api.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield
    server.close()
    for task in list(connections):
        task.cancel()
    await asyncio.gather(*connections, return_exceptions=True)


async def _converse(api: ModelApi, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        api.headers.append(headers)
        api.requests.append(body)
        status, answer = api.answer(first.split(" ")[1].partition("?")[0], body)
        if api.silent:
            await asyncio.Event().wait()
        raw = json.dumps(answer).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n\r\n"
        writer.write(head.encode())
        await asyncio.sleep(api.seconds)
        writer.write(raw)
        await writer.drain()
