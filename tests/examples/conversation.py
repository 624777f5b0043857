"""A model's API on loopback that says what a script tells it to say."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Conversation:
    """A model that answers with these blocks, turn by turn, and keeps what it was asked."""

    turns: list[list[dict[str, Any]]]
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, body: dict[str, Any]) -> bytes:
        said = self.turns[len(self.asked)]
        self.asked.append(body)
        calls = any(block["type"] == "tool_use" for block in said)
        message = {
            "id": f"msg_{len(self.asked)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": said,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return json.dumps(message).encode()


@asynccontextmanager
async def conversing(*turns: list[dict[str, Any]]) -> AsyncIterator[Conversation]:
    conversation = Conversation(list(turns))

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = next(line for line in head.splitlines() if line.startswith("content-length:"))
                body = await reader.readexactly(int(length.partition(":")[2]))
                raw = conversation.answer(json.loads(body))
                start = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}"
                writer.write(start.encode() + b"\r\n\r\n" + raw)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    conversation.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield conversation
    server.close()
