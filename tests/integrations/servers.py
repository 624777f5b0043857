"""A stand-in for Gossamer that speaks its wire, and a site to be in front of."""

import asyncio
import gzip
import json
import re
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

PAGE = "<!doctype html><title>Rendered</title><p>" + "as people see it " * 200
MARKDOWN = "# Read\n\nas an agent likes it\n"
ETAG = 'W/"5f1d"'
LARGE = b"<p>" + b"0123456789abcdef" * 200_000
HTML = "text/html; charset=utf-8"
OF_THE_API = {  # which speak of the API, and not of the page
    "Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
    "Strict-Transport-Security": "max-age=31536000", "Set-Cookie": "a=b", "X-Request-Id": "wl_1",
    "X-Processing-Time": "3", "X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "99",
    "X-RateLimit-Reset": "1777000000", "RateLimit": '"user";r=99', "RateLimit-Policy": '"user";q=100;w=60',
    "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "ETag", "X-Promotion": "async",
    "X-Cache-Stale": "true", "X-Cache-Status": "HIT", "X-Outcome": "ok", "X-Final-Url": "https://a.example/",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def url(self) -> str:
        url: str = json.loads(self.body)["url"]
        return url


@dataclass
class Server:
    """HTTP/1.1 by hand, so that it can be broken by hand."""

    answer: Callable[["Server", Asked, asyncio.StreamWriter], Awaitable[None]]
    asked: list[Asked] = field(default_factory=list)
    silent: bool = False
    released: asyncio.Event = field(default_factory=asyncio.Event)  # what `/held` waits for
    port: int = 0
    tls: ssl.SSLContext | None = None

    async def start(self) -> None:
        self.over = asyncio.Event()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self.over.set()
        self._server.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                asked = await _read(reader)
                self.asked.append(asked)
                if self.silent:
                    await self.over.wait()
                else:
                    await self.answer(self, asked, writer)
                    await writer.drain()
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = line.split(" ", 2)
    headers = {name.lower(): text.strip() for name, _, text in (one.partition(":") for one in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, target, headers, body)


def head(status: int, **headers: object) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def document(status: int, media_type: str = "application/problem+json", **members: Any) -> bytes:
    body = json.dumps({"status": "queued" if status == 202 else status, **members}).encode()
    return head(status, Content_Type=media_type, Content_Length=len(body), Cache_Control="no-store") + body


def page(body: bytes = PAGE.encode(), own_status: int = 200, **headers: object) -> bytes:
    return head(
        200, Content_Type=HTML, Content_Length=len(body), X_Cache="HIT", X_Cache_Age=3600,
        X_Cache_Location="hot", X_Page_Status=own_status, ETag=ETAG, Vary="Accept-Encoding",
        **OF_THE_API, **headers,
    ) + body  # fmt: skip


async def gossamer(server: Server, asked: Asked, writer: asyncio.StreamWriter) -> None:
    """POST /api/render and POST /fetch as they are answered, by the path of the page that is asked for."""
    if asked.target == "/fetch":
        path = urlsplit(asked.url).path
        writer.write(IN_MARKDOWN.get(path) or ANSWERS.get(path) or markdown())
        return
    if (asked.method, asked.target) != ("POST", "/api/render"):
        writer.write(document(404))
        return
    if asked.headers.get("authorization") != "Bearer sk_live_test":
        writer.write(document(401, code="UNAUTHORIZED"))
        return
    path = urlsplit(asked.url).path
    if path == "/large":
        await _in_chunks(writer)
    elif path == "/held":
        await server.released.wait()
        writer.write(page())
    elif path == "/stall":
        writer.write(page(LARGE)[:500_000])
        await writer.drain()
        await server.over.wait()
    elif path in ANSWERS:
        writer.write(ANSWERS[path])
    elif asked.headers.get("if-none-match") == ETAG:
        writer.write(head(304, ETag=ETAG, X_Cache="HIT", X_Cache_Location="hot"))
    elif re.search(r"gzip(?!;q=0$)", asked.headers.get("accept-encoding", "")):
        writer.write(page(gzip.compress(PAGE.encode()), Content_Encoding="gzip"))
    else:
        writer.write(page())


def markdown(outcome: str = "ok", kind: str = "html") -> bytes:
    about = {**OF_THE_API, "X-Outcome": outcome, "X-Page-Kind": kind}
    told = head(200, Content_Type="text/markdown; charset=utf-8", Content_Length=len(MARKDOWN), **about)
    return told + MARKDOWN.encode()


IN_MARKDOWN = {
    "/wall": markdown(outcome="blocked"),
    "/report": markdown(kind="pdf"),
    "/held": document(502, code="FETCH_TIMEOUT"),
}
ANSWERS = {
    "/missing": document(202, "application/json", jobId="01H"),
    "/refused": document(400, code="INVALID_URL"),
    "/limited": document(429, code="RATE_LIMITED"),
    "/failing": document(502, code="RENDER_FAILED"),
    "/json": document(200, "application/json"),
    "/proxy-error": head(502, Content_Type="text/html", Content_Length=4) + b"oops",
    "/not-found": head(404, Content_Type="text/html", Content_Length=4) + b"oops",
    "/odd": page(b"odd", 204),
    "/gone": page(b"<h1>Gone</h1>", 410),
    "/moved": page(b"<h1>Moved</h1>", 301, Location="https://www.example.com/new"),
    "/cut": page(LARGE)[:500_000],
    "/garbage": b"SSH-2.0-OpenSSH\r\n\r\n",
}


async def _in_chunks(writer: asyncio.StreamWriter) -> None:
    writer.write(
        head(200, Content_Type=HTML, Transfer_Encoding="chunked", X_Cache_Location="cold", X_Cache="COLD")
    )
    for start in range(0, len(LARGE), 70_001):
        part = LARGE[start : start + 70_001]
        writer.write(b"%x\r\n%s\r\n" % (len(part), part))
        await writer.drain()
    writer.write(b"0\r\n\r\n")


async def site(server: Server, asked: Asked, writer: asyncio.StreamWriter) -> None:
    body = f"site: {asked.method} {asked.target}".encode()
    answer = head(200, Content_Type=HTML, Content_Length=len(body), X_Site="yes")
    writer.write(answer if asked.method == "HEAD" else answer + body)
