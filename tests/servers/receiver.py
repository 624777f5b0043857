"""A receiver of webhooks."""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from standardwebhooks import Webhook


@dataclass
class Receiver:
    """Answers with these statuses, one after the other, and then with 200. A redirect is not followed."""

    statuses: list[int] = field(default_factory=list)
    heard: list[tuple[dict[str, str], str]] = field(default_factory=list)
    url: str = ""
    says: str = ""
    retry_after: str = ""  # with answers that are not 200

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = [line.partition(": ") for line in head.split("\r\n")[1:] if line]
        headers = {name.lower(): value for name, _, value in lines}
        body = (await reader.readexactly(int(headers["content-length"]))).decode()
        self.heard.append((headers, body))
        status = self.statuses.pop(0) if self.statuses else 200
        wait = f"retry-after: {self.retry_after}\r\n" if self.retry_after and status != 200 else ""
        writer.write(
            f"HTTP/1.1 {status} X\r\nlocation: {self.url}\r\n{wait}"
            f"content-length: {len(self.says)}\r\nconnection: close\r\n\r\n{self.says}".encode()
        )
        writer.close()

    @property
    def bodies(self) -> list[Any]:
        return [msgspec.json.decode(body) for _, body in self.heard]

    @property
    def types(self) -> list[str]:
        return [body["type"] for body in self.bodies]

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _ in self.heard]

    def verify(self, secret: str) -> None:
        """As receivers do. Raises if a signature is wrong; the age is not looked at."""
        webhook = Webhook(secret)
        for headers, body in self.heard:
            webhook.verify(body, headers)

    def verify_as_firecrawls(self, secret: str) -> None:
        for headers, body in self.heard:
            expected = hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()
            assert headers["x-firecrawl-signature"] == f"sha256={expected}"


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    made = Receiver()
    server = await asyncio.start_server(made.accept, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook?for=us"
    async with server:
        yield made
