"""JobSocket: tells a watcher over a WebSocket what a job does.

`catchup` with what there is, then each `document`, then `done` or `error`. A `catchup` never says that the
job is over: clients would stop listening before they have all documents.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Final

import msgspec
from msgspec import Struct
from websockets.frames import CloseCode

from gossamer.client.transport import Call, Reply
from gossamer.doors.http.core.relay import RelayedApi, problem_of
from gossamer.doors.http.core.websocket import WebSocket
from gossamer.doors.http.dropin.firecrawl.job_id import JobId
from gossamer.doors.http.dropin.firecrawl.jobs import JobProgress, JobSource
from gossamer.flows.upkeep.stopping import Stopping

FIRST_SECONDS: Final = 0.5  # to wait for documents that are there already
_NO_MESSAGE: Final = (
    "{}"  # one of the clients reads the reason of a close as a message, and complains if it is none
)
_LINES: Final = {"accept": "application/x-ndjson"}


class JobSocket(Struct, frozen=True):
    source: JobSource
    api: RelayedApi
    job: JobId
    progress: JobProgress  # when the watcher came
    stopping: Stopping

    async def talk(self, socket: WebSocket) -> None:
        telling = asyncio.ensure_future(self._tell(socket))
        stopped = asyncio.ensure_future(self.stopping.draining.wait())
        try:
            await asyncio.wait((telling, stopped), return_when=asyncio.FIRST_COMPLETED)
            if telling.done():
                telling.result()
            else:  # the client asks again, over HTTP
                await socket.close(CloseCode.GOING_AWAY, _NO_MESSAGE)
        finally:
            telling.cancel()
            stopped.cancel()
            await asyncio.gather(telling, stopped, return_exceptions=True)

    async def _tell(self, socket: WebSocket) -> None:
        arriving = self._pieces()
        first = asyncio.ensure_future(anext(arriving, None))
        try:
            done, _ = await asyncio.wait((first,), timeout=FIRST_SECONDS)
            there = (first.result() or []) if done else []
            catchup = {**self.progress.shown(), "status": "scraping", "data": there}
            await socket.tell(_message("catchup", catchup))
            if not done:
                await _tell_documents(socket, await first or [])
            async for piece in arriving:
                await _tell_documents(socket, piece)
        finally:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            await arriving.aclose()
        await self._finish(socket)

    async def _finish(self, socket: WebSocket) -> None:
        progress = await self.source.progress(self.api, self.job)
        if progress.status == "completed":
            numbers = progress.shown()
            told = {name: numbers[name] for name in ("completed", "total", "creditsUsed", "expiresAt")}
            await socket.tell(_message("done", told))
            await socket.close(CloseCode.NORMAL_CLOSURE, _NO_MESSAGE)
        elif progress.is_over:
            why = progress.error or f"The job is {progress.status}."
            await socket.tell(msgspec.json.encode({"type": "error", "error": why}))
            await socket.close(CloseCode.NORMAL_CLOSURE, _NO_MESSAGE)
        else:  # it has lasted long enough for the client to come again
            await socket.close(CloseCode.GOING_AWAY, _NO_MESSAGE)

    async def _pieces(self) -> AsyncGenerator[list[dict[str, Any]]]:
        """The documents as they come, several at a time."""
        rest = b""
        async with self.api.transport.stream(Call("GET", self.source.stream_path(self.job), _LINES)) as reply:
            if reply.status >= 400:
                body = b"".join([piece async for piece in reply.body])
                raise problem_of(Reply(reply.status, reply.headers, body))
            async for piece in reply.body:
                *lines, rest = (rest + piece).split(b"\n")
                shown = [
                    self.source.document_of(msgspec.json.decode(line), self.job) for line in lines if line
                ]
                yield [one for one in shown if one is not None]


def _message(kind: str, data: Any) -> bytes:
    return msgspec.json.encode({"type": kind, "data": data})


async def _tell_documents(socket: WebSocket, documents: list[dict[str, Any]]) -> None:
    for document in documents:
        await socket.tell(_message("document", document))
