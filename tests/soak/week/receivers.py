"""Receivers of webhooks that fail at known times, and remember what they have heard."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from standardwebhooks import Webhook

OK, HANG_UP, HANG = 200, 0, -1
Behaviour = Callable[[float, int], int]  # by the hour, and the number of the request


@dataclass(frozen=True, slots=True)
class HeardEvent:
    id: str
    type: str
    data: dict[str, Any]
    hour: float
    status: int  # what it was answered with


@dataclass
class WeekReceiver:
    name: str
    behave: Behaviour
    hour: Callable[[], float]
    secret: str = ""
    url: str = ""
    heard: list[HeardEvent] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> dict[str, HeardEvent]:
        """By id; whoever reads events looks at each once."""
        return {event.id: event for event in self.heard if event.status == OK}

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/{self.name}"
        async with server:
            yield

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lines = [line.partition(": ") for line in head.split("\r\n")[1:] if line]
            headers = {name.lower(): value for name, _, value in lines}
            body = (await reader.readexactly(int(headers["content-length"]))).decode()
            status = self._hear(headers, body)
            if status == HANG:
                await reader.read(1)  # until the sender gives up
            elif status != HANG_UP:
                writer.write(
                    f"HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode()
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _hear(self, headers: dict[str, str], body: str) -> int:
        hour, told = self.hour(), msgspec.json.decode(body)
        status = self.behave(hour, len(self.heard))
        self.heard.append(
            HeardEvent(headers["webhook-id"], told["type"], told.get("data") or {}, hour, status)
        )
        at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
        signed = Webhook(self.secret).sign(headers["webhook-id"], at, body)
        if signed not in headers["webhook-signature"].split():
            self.complaints.append(f"{self.name}: {headers['webhook-id']} is not signed by its secret")
        return status
