"""The middleware for ASGI applications on asyncio."""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from typing import Any, Final
from urllib.parse import quote, urlsplit

from gossamer.middleware.breaker import FrontBreaker
from gossamer.middleware.rules import SiteOptions, SiteVisit, has_failed, status
from gossamer.middleware.wire import Broken, ReplyReader, render_request

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CHUNK: Final = 65_536


class ServeBotsAsgi:
    def __init__(self, app: App, **options: Any) -> None:
        """The options are the fields of `rules.SiteOptions`."""
        self._app = app
        self._site = SiteOptions(**options)
        self._breaker = FrontBreaker(self._site.failures, self._site.pause, time.monotonic)
        secure = self._site.url.startswith("https:")
        self._tls = ssl.create_default_context() if secure else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            visit = _visit(scope)
            if self._site.wants(visit) and self._breaker.allows() and await self._serve(visit, send):
                return
            if self._site.varies(visit):
                send = _add_vary(send, *self._site.site_varies())
        await self._app(scope, receive, send)

    async def _serve(self, visit: SiteVisit, send: Send) -> bool:
        """False: Gossamer has nothing for this visit, and nothing was sent."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._site.patience):
                    reader = await self._ask(visit, stack)
                    reading = await _read_head(reader)
            except (OSError, TimeoutError, Broken):
                self._breaker.record_failure()
                return False
            answer = reading.answer
            if answer is None or has_failed(answer):
                self._breaker.record_failure()
                return False
            self._breaker.record_success()
            if not self._site.is_page(answer, visit):
                return False
            headers = [
                (name.lower().encode(), text.encode("latin-1"))
                for name, text in self._site.headers_to_pass_on(answer)
            ]
            await send({"type": "http.response.start", "status": status(answer), "headers": headers})
            if visit.method == "GET":
                await self._pass_on(reader, reading, send)
            await send({"type": "http.response.body", "body": b""})
            return True

    async def _ask(self, visit: SiteVisit, stack: AsyncExitStack) -> asyncio.StreamReader:
        parts = urlsplit(self._site.url)
        port = parts.port or (443 if self._tls else 80)
        reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=self._tls, limit=CHUNK)
        stack.callback(_cut, writer)
        writer.write(render_request(self._site, visit))
        await writer.drain()
        return reader

    async def _pass_on(self, reader: asyncio.StreamReader, reading: ReplyReader, send: Send) -> None:
        """An error from here on cuts the visitor's connection: a part must not look like the whole."""
        while True:
            if part := reading.take():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            if reading.done:
                return
            async with asyncio.timeout(self._site.deadline):
                reading.feed(await reader.read(CHUNK))


def _add_vary(send: Send, name: str, varied: str) -> Send:
    """Mark the site's own answer as one that depends on who asks."""
    field = (name.lower().encode(), varied.encode())

    async def send_varying(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), field]}
        await send(message)

    return send_varying


def _cut(writer: asyncio.StreamWriter) -> None:
    # At once. The stack holds the writer until then: without a reference it would close the connection.
    writer.transport.abort()


async def _read_head(reader: asyncio.StreamReader) -> ReplyReader:
    reading = ReplyReader()
    while reading.answer is None:
        reading.feed(await reader.read(CHUNK))
    return reading


def _visit(scope: Scope) -> SiteVisit:
    headers = {name.decode("latin-1").lower(): text.decode("latin-1") for name, text in scope["headers"]}
    path = scope.get("raw_path") or quote(scope["path"]).encode()
    target = path.partition(b"?")[0]
    if scope.get("query_string"):
        target += b"?" + scope["query_string"]
    return SiteVisit(scope["method"], target, headers)
