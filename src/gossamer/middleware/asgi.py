"""The middleware for ASGI applications on asyncio."""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from typing import Any, Final
from urllib.parse import quote, urlsplit

from gossamer.middleware.breaker import Breaker
from gossamer.middleware.rules import Site, Visit, is_page, passed_on, status
from gossamer.middleware.wire import Broken, Reading, question

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CHUNK: Final = 65_536


class ServeBots:
    def __init__(self, app: App, **options: Any) -> None:
        """The options are the fields of `rules.Site`."""
        self._app = app
        self._site = Site(**options)
        self._breaker = Breaker(self._site.failures, self._site.pause, time.monotonic)
        secure = self._site.url.startswith("https:")
        self._tls = ssl.create_default_context() if secure else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            visit = _visit(scope)
            if self._site.wants(visit) and self._breaker.allows() and await self._serve(visit, send):
                return
        await self._app(scope, receive, send)

    async def _serve(self, visit: Visit, send: Send) -> bool:
        """False: Gossamer has nothing for this visit, and nothing was sent."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._site.deadline):
                    reader = await self._ask(visit, stack)
                    reading = await _begun(reader)
            except (OSError, TimeoutError, Broken):
                self._breaker.failed()
                return False
            answer = reading.answer
            if answer is None or answer.status >= 500:
                self._breaker.failed()
                return False
            self._breaker.succeeded()
            if not is_page(answer, visit):
                return False
            headers = [(name.lower().encode(), text.encode("latin-1")) for name, text in passed_on(answer)]
            await send({"type": "http.response.start", "status": status(answer), "headers": headers})
            if visit.method == "GET":
                await self._pass_on(reader, reading, send)
            await send({"type": "http.response.body", "body": b""})
            return True

    async def _ask(self, visit: Visit, stack: AsyncExitStack) -> asyncio.StreamReader:
        parts = urlsplit(self._site.url)
        port = parts.port or (443 if self._tls else 80)
        reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=self._tls, limit=CHUNK)
        stack.callback(_cut, writer)
        writer.write(question(self._site, visit))
        await writer.drain()
        return reader

    async def _pass_on(self, reader: asyncio.StreamReader, reading: Reading, send: Send) -> None:
        """What goes wrong from here on cuts the visitor's connection: a part must not look like the whole."""
        while True:
            if part := reading.taken():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            if reading.done:
                return
            async with asyncio.timeout(self._site.deadline):
                reading.feed(await reader.read(CHUNK))


def _cut(writer: asyncio.StreamWriter) -> None:
    # At once, and holding the writer until then: it closes the connection when nobody holds it.
    writer.transport.abort()


async def _begun(reader: asyncio.StreamReader) -> Reading:
    reading = Reading()
    while reading.answer is None:
        reading.feed(await reader.read(CHUNK))
    return reading


def _visit(scope: Scope) -> Visit:
    headers = {name.decode("latin-1").lower(): text.decode("latin-1") for name, text in scope["headers"]}
    path = scope.get("raw_path") or quote(scope["path"]).encode()
    target = path.partition(b"?")[0]
    if scope.get("query_string"):
        target += b"?" + scope["query_string"]
    return Visit(scope["method"], scope.get("scheme", "http"), target, headers)
