"""Slow apps: pages whose content comes late, each in its own way, and an origin that keeps them waiting.

The origin answers most of what these pages ask for only after a while: `held` says how long. `python -m
bench.apps.slow PORT` holds everything back for as many seconds as the page's address says.
"""

import asyncio
import base64
import hashlib
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from bench import servers
from bench.servers import Server

SECONDS: Final = 6.0
DONE: Final = "all of it is here"
PROSE: Final = (
    "The bridge was opened in the spring, after nine years of work, and carries trains, cars and people on "
    "foot across the bay. It rests on four piers, of which the deepest stands eighty metres below the water. "
)
_SCRIPT: Final = f"""
  const $ = (id) => document.getElementById(id)
  const fill = (where, text = {json.dumps(PROSE)}) => {{
    const last = ['all', 'of', 'it', 'is', 'here'].join(' ')
    where.innerHTML = `<h1>The bridge</h1><p>${{text}}</p><p>${{last}}</p>`
  }}
  const held = (path = '') => '/held' + path + location.search
  const load = (path) => fetch(held(path)).then((answer) => answer.json())
  const seconds = Number(new URLSearchParams(location.search).get('seconds') ?? {SECONDS:g})
"""
_NAVIGATION: Final = (
    "<nav>" + "".join(f"<a href=/{n}>Chapter {n} of the book</a> " for n in range(20)) + "</nav>"
)


def _page(code: str, body: str = "<div id=root></div>", *, module: bool = False) -> str:
    kind = " type=module" if module else ""
    return (
        f"<!doctype html><meta charset=utf-8><title>A slow page</title><body>{body}"
        f"<script{kind}>{_SCRIPT}{code}</script></body>"
    )


PAGES: Final = {
    "timer": _page("setTimeout(() => fill($('root')), 800)"),
    "long-timer": _page("setTimeout(() => fill($('root')), 1000 * seconds)"),
    "api": _page("load().then(({ text }) => fill($('root'), text))"),
    "chained": _page(
        "load('/first').then(() => load('/second')).then(() => load('/third'))"
        ".then(({ text }) => fill($('root'), text))"
    ),
    "hydration": _page(
        "",
        f"<div id=__next><header>{_NAVIGATION}</header><main><div class=skeleton-line></div></main></div>"
        "<script>addEventListener('load', () => { const s = document.createElement('script');"
        " s.type = 'module'; s.src = '/held/module.js' + location.search;"
        " document.body.append(s) })</script>",
    ),
    "observer": _page(
        "const seen = new IntersectionObserver((entries) => { for (const entry of entries)"
        " if (entry.isIntersecting) { seen.unobserve(entry.target);"
        " load('/' + entry.target.id).then(({ text }) => fill(entry.target, text)) } });"
        "document.querySelectorAll('section').forEach((each) => seen.observe(each))",
        f"<main><h1>Parts</h1><p>{PROSE}</p><section id=first></section>"
        "<div style='height: 6000px'></div><section id=second></section></main>",
    ),
    "socket": _page(
        "const socket = new WebSocket(`ws://${location.host}${held('/socket')}`);"
        "socket.onmessage = ({ data }) => fill($('root'), data)"
    ),
    "events": _page(
        "const events = new EventSource(held('/events'));"
        "events.onmessage = ({ data }) => { events.close(); fill($('root'), data) }"
    ),
    "chunk": _page("import(held('/module.js'))", module=True),
    "skeleton": _page(
        "load().then(({ text }) => fill($('story'), text))",
        f"{_NAVIGATION}<main><h1>News</h1><div id=story aria-busy=true class=skeleton></div></main>",
    ),
    "says-loading": _page(
        "load().then(({ text }) => fill($('story'), text))",
        f"{_NAVIGATION}<h1>News</h1><div id=story>Loading…</div>",
    ),
    "idle": _page(
        "const later = (times) => requestIdleCallback(() => times ? setTimeout(() => later(times - 1), 300)"
        " : fill($('root'))); later(4)"
    ),
    "streaming": "",  # in two parts
    "polling": _page(
        "const poll = () => load('/poll').then(({ ready, text }) =>"
        " ready ? fill($('root'), text) : setTimeout(poll, 200)); poll()"
    ),
    "interval": _page(
        "const timer = setInterval(() => load('/poll').then(({ ready, text }) => {"
        " if (ready) { clearInterval(timer); fill($('root'), text) } }), 200)"
    ),
    "worker": _page(
        "const code = `fetch('${location.origin}${held()}').then((a) => a.json()).then(postMessage)`;"
        "const worker = new Worker(URL.createObjectURL(new Blob([code])));"
        "worker.onmessage = ({ data }) => fill($('root'), data.text)"
    ),
    "spinner": _page(
        "let n = 0; const turn = setInterval(() => { n += 1;"
        " $('root').innerHTML = '<i></i>'.repeat(n % 9) }, 40);"
        "load().then(({ text }) => { clearInterval(turn); fill($('root'), text) })"
    ),
    "ready": _page(
        "window.prerenderReady = false; load().then(({ text }) => {"
        " fill($('root'), text); window.prerenderReady = true })"
    ),
}
_HALF: Final = f"<!doctype html><title>A slow page</title><main><h1>The bridge</h1><p>{PROSE}</p>"
_REST: Final = f"<p>{DONE}</p></main>"
_DATA: Final = {"text": PROSE, "ready": True}
_ENCODED: Final = json.dumps(_DATA).encode()
_MODULE: Final = f"{_SCRIPT};fill(document.querySelector('main') ?? $('root'))"
_GUID: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # of RFC 6455, section 1.3


@dataclass(frozen=True, slots=True)
class SlowRequest:
    """A request of a slow page, and how to answer it."""

    path: str
    socket_key: str
    send: Callable[[bytes], Awaitable[None]]
    held: Callable[[], Awaitable[None]]  # comes back when what is held back may go
    ready: Callable[[], bool]


async def answer(asked: SlowRequest) -> None:
    """With bytes, after which the connection is to be closed."""
    folder, _, name = asked.path.rpartition("/")
    if folder == "/slow" and name != "streaming":
        await asked.send(_head("text/html") + PAGES[name].encode())
        return
    match name:
        case "streaming":
            await asked.send(_head("text/html") + _HALF.encode())
            await asked.held()
            await asked.send(_REST.encode())
        case "socket":
            await _talk(asked)
        case "poll":
            data = _DATA if asked.ready() else {"ready": False}
            await asked.send(_head("application/json") + json.dumps(data).encode())
        case "events":
            await asked.send(_head("text/event-stream"))
            await asked.held()
            await asked.send(f"data: {PROSE}\n\n".encode())
        case _:
            await asked.held()
            body = _MODULE.encode() if name == "module.js" else _ENCODED
            await asked.send(_head("text/javascript" if name == "module.js" else "application/json") + body)


def _head(media: str) -> bytes:
    fields = f"Content-Type: {media}; charset=utf-8\r\nCache-Control: no-store\r\nConnection: close"
    return f"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n".encode()


async def _talk(asked: SlowRequest) -> None:
    digest = hashlib.sha1((asked.socket_key + _GUID).encode(), usedforsecurity=False).digest()
    accept = base64.b64encode(digest).decode()
    fields = f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}"
    await asked.send(f"HTTP/1.1 101 Switching Protocols\r\n{fields}\r\n\r\n".encode())
    await asked.held()
    text = PROSE.encode()
    await asked.send(bytes((0x81, 126)) + len(text).to_bytes(2) + text)
    await asyncio.sleep(1)  # the reader closes it


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    port = servers.free_port()
    command = [sys.executable, "-m", "bench.apps.slow", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(servers.ROOT)}
    with servers.running(
        command, port=port, ready="/slow/timer", folder=folder, environment=environment
    ) as server:
        yield server


class _Origin:
    def __init__(self) -> None:
        self._first: dict[str, float] = {}  # when a page was first asked for, by its address

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            raw = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            await answer(self._parse_request(raw, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client disconnected
        finally:
            writer.close()

    def _parse_request(self, raw: str, writer: asyncio.StreamWriter) -> SlowRequest:
        first, *lines = raw.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        parts = urlsplit(first.split(" ")[1])
        seconds = float(parse_qs(parts.query).get("seconds", [SECONDS])[0])
        now = asyncio.get_running_loop().time
        if "/slow/" in parts.path:
            self._first[parts.query] = now()

        async def send(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        return SlowRequest(
            parts.path,
            headers.get("sec-websocket-key", ""),
            send,
            lambda: asyncio.sleep(seconds),
            lambda: now() - self._first.get(parts.query, 0.0) >= seconds,
        )


async def _serve(port: int) -> None:
    server = await asyncio.start_server(_Origin().converse, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
