"""A server on loopback that speaks the Messages API with structured outputs, and says what a test wants."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

KEY = "sk-ant-test-key"
MODEL = "claude-haiku-5-5"
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
class MessagesApi:
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    says: Answering = field(default=lambda _: found())
    silent: bool = False  # takes the question and never answers

    @property
    def prompt(self) -> str:
        """What was asked last."""
        text: str = self.requests[-1]["messages"][0]["content"]
        return text

    def answer(self, headers: dict[str, str], target: str, body: dict[str, Any]) -> tuple[int, Any]:
        self.requests.append(body)
        if target != "/v1/messages":
            return _error(404, "not_found_error")
        sent = {headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer ")}
        if KEY not in sent or "anthropic-version" not in headers:
            return _error(401, "authentication_error")
        if not _is_acceptable(body):
            return _error(400, "invalid_request_error")
        said = self.says(body)
        if isinstance(said, Status):
            return _error(said.code, said.kind)
        return 200, _message(body["model"], said)


def _is_acceptable(body: dict[str, Any]) -> bool:
    """As strict about the schema as the real one: no open objects, nothing optional, no bounds."""
    given = body.get("output_config", {}).get("format", {})
    asked = [one["role"] for one in body.get("messages", [])]
    return (
        isinstance(body.get("max_tokens"), int)
        and isinstance(body.get("model"), str)
        and asked == ["user"]
        and given.get("type") == "json_schema"
        and _is_plain(given.get("schema"))
    )


def _is_plain(schema: Any) -> bool:
    if not isinstance(schema, dict) or not set(schema) <= {
        "type", "properties", "required", "additionalProperties", "items", "enum", "description",
    }:  # fmt: skip
        return False
    if schema["type"] == "array":
        return _is_plain(schema["items"])
    if schema["type"] != "object":
        return True
    members = schema["properties"]
    closed = schema.get("additionalProperties") is False and set(schema["required"]) == set(members)
    return closed and all(map(_is_plain, members.values()))


def _message(model: str, said: Any) -> dict[str, Any]:
    cut = said if isinstance(said, Cut) else Cut(json.dumps(said), "end_turn")
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": cut.text}] if cut.text else [],
        "stop_reason": cut.stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 321, "output_tokens": 45},
    }


def _error(status: int, kind: str) -> tuple[int, Any]:
    return status, {"type": "error", "error": {"type": kind, "message": "said the test"}}


@asynccontextmanager
async def messages_api() -> AsyncIterator[MessagesApi]:
    api = MessagesApi()
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
    yield api
    server.close()
    for task in list(connections):
        task.cancel()
    await asyncio.gather(*connections, return_exceptions=True)


async def _converse(api: MessagesApi, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers["content-length"]))
        status, answer = api.answer(headers, first.split(" ")[1].partition("?")[0], json.loads(body))
        if api.silent:
            await asyncio.Event().wait()
        raw = json.dumps(answer).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}\r\n\r\n"
        writer.write(head.encode() + raw)
        await writer.drain()
