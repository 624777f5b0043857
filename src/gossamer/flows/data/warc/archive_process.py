"""Runs the process that reads an archive (`import_process`), and hears what it says.

It is bounded from outside: it must say something every few seconds, and everything within its time.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import msgspec

from gossamer.flows.data.warc.import_process import LENGTH_BYTES, ImportEnd, ImportMessage
from gossamer.web.documents.warc.bad_archive import BadArchive
from gossamer.web.documents.warc.imported_page import MAX_BODY_BYTES

SECONDS: Final = 900  # of the processor, for one file
SILENT_SECONDS: Final = 120.0  # it tells how far it is every second, on a machine that has time for it
EXIT_SECONDS: Final = 10.0  # after it was killed
MAX_MESSAGE_BYTES: Final = 4 * MAX_BODY_BYTES
_TOO_MUCH: Final = ImportEnd(0, {}, BadArchive.TOO_MUCH_WORK)
_decode: Final = msgspec.msgpack.Decoder(ImportMessage).decode


async def read_archive(path: Path) -> AsyncGenerator[ImportMessage]:
    """The last message is an `ImportEnd`. Whoever stops early must close it."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gossamer.flows.data.warc.import_process",
        str(path),
        str(SECONDS),
        str(MAX_BODY_BYTES),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
    )
    assert child.stdout is not None  # noqa: S101 - opened as a pipe
    try:
        while True:
            message = await _next_message(child.stdout)
            yield message
            if isinstance(message, ImportEnd):
                return
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        with contextlib.suppress(TimeoutError):  # the pipe may be held by others, and is not needed
            async with asyncio.timeout(EXIT_SECONDS):
                await child.wait()


async def _next_message(source: asyncio.StreamReader) -> ImportMessage:
    """A process that dies without a word, or says nothing any more, has had too much work."""
    try:
        async with asyncio.timeout(SILENT_SECONDS):
            length = int.from_bytes(await source.readexactly(LENGTH_BYTES))
            if length > MAX_MESSAGE_BYTES:
                return _TOO_MUCH
            message: ImportMessage = _decode(await source.readexactly(length))
            return message
    except (TimeoutError, EOFError, msgspec.MsgspecError):
        return _TOO_MUCH
