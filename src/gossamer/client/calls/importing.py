"""Sends a file of a web archive, and waits until it is a crawl."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

import msgspec

from gossamer.client.calls.waiting import OnStep, wait_for
from gossamer.client.errors import raise_for
from gossamer.client.transport import Call, Reply
from gossamer.web.crawl.crawl_answer import ImportAccepted, ImportResult
from gossamer.web.outcome.job_state import JobState

if TYPE_CHECKING:
    from gossamer.client.client import Client

SECONDS: Final = 7200.0  # for reading the file


class ImportJob(msgspec.Struct):
    """What is needed of the job that reads a file."""

    status: JobState
    result: ImportResult | None = None


async def import_file(
    client: "Client",
    file: Path | bytes,
    *,
    name: str = "",
    partial: bool = False,
    on_step: OnStep | None = None,
) -> ImportResult:
    accepted = await _send(client, file, {"name": name, "partial": str(partial).lower()})

    async def look() -> ImportResult | None:
        job = await client.ask("GET", f"/api/jobs/{quote(accepted.job_id, safe='')}", ImportJob)
        if job.status.is_over and job.result is None:
            raise await client.job_error(accepted.job_id, "The file was not imported")
        return job.result

    late = "The file was not imported"
    return await wait_for(client, accepted.job_id, look, seconds=SECONDS, late=late, on_step=on_step)


async def _send(client: "Client", file: Path | bytes, query: dict[str, str]) -> ImportAccepted:
    """As a stream, which may take as long as it needs, and is not sent twice."""
    headers = {"Accept": "application/json", "Content-Type": "application/octet-stream"}
    path = f"/api/crawls/import?{urlencode(query)}"
    if isinstance(file, bytes):
        call = Call("POST", path, headers, file)
    else:
        size = (await asyncio.to_thread(file.stat)).st_size
        call = Call("POST", path, {**headers, "Content-Length": str(size)}, file=file)
    async with client.transport.stream(call) as streamed:
        body = b"".join([piece async for piece in streamed.body])
    reply = Reply(streamed.status, streamed.headers, body)
    raise_for(reply)
    return msgspec.json.decode(reply.body, type=ImportAccepted)
