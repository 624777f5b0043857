"""An origin of hostile pages, as a process of its own: `python -m tests.site.hostile_origin` prints its port.

It is apart from whoever asks, so that what it takes to send them is not measured with them.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.site.hostile import MAKERS, Hostile

ROOT = Path(__file__).parents[2]


@cache
def wire(name: str) -> bytes:
    hostile = MAKERS[name]()
    body = hostile.body
    framing = f"Content-Length: {len(body)}"
    if hostile.one_byte_chunks:
        framing, body = "Transfer-Encoding: chunked", chunked(hostile)
    fields = f"Content-Type: {hostile.media_type}\r\n{framing}\r\nConnection: close"
    return f"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n".encode() + body


def chunked(hostile: Hostile) -> bytes:
    return b"".join([b"1\r\n%c\r\n" % byte for byte in hostile.body]) + b"0\r\n\r\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        name = head.split()[1].decode().strip("/")
        known = name in MAKERS
        writer.write(wire(name) if known else b"HTTP/1.1 404 .\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def hostile_origin() -> Iterator[str]:
    """Its address, while it runs."""
    command = [sys.executable, "-m", "tests.site.hostile_origin"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(main())
