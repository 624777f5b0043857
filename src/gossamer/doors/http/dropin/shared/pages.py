"""Reads one or more pages within one request, through our own API."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer import problems
from gossamer.client.transport import Call, Reply
from gossamer.doors.http.core.relay import RelayedApi, problem_of
from gossamer.problems import Problem

FEW: Final = 10  # pages that are fetched one by one; more are a batch
AT_ONCE: Final = 4  # of a few
_TIERS: Final = {"never": "basic", "auto": "auto", "always": "pro"}
# With these, something is wrong with one page. With all others, the request cannot be served.
_OF_A_PAGE: Final = frozenset(
    {
        problems.INVALID_URL.code,
        problems.FETCH_TIMEOUT.code,
        problems.FETCH_FAILED.code,
        problems.RENDER_FAILED.code,
        problems.CONTENT_TOO_LARGE.code,
        problems.CONTENT_UNREADABLE.code,
    }
)


class RelayedPage(Struct, frozen=True):
    """A page that was read for a door: the answer of `/fetch`, or why there is none."""

    url: str  # as it was asked for
    answer: dict[str, Any]
    trouble: str = ""

    @property
    def is_ok(self) -> bool:
        return not self.trouble and self.answer["outcome"] == "ok"

    @property
    def complaint(self) -> str:
        """Why this is not the page that was asked for; empty if it is."""
        if self.trouble or self.is_ok:
            return self.trouble
        outcome, reason = self.answer["outcome"], self.answer.get("outcomeReason")
        said = f"{outcome}, {reason}" if reason else outcome
        return f"The target answered {self.answer['statusCode']}, and not with the page ({said})."


async def read_page(api: RelayedApi, url: str, options: Mapping[str, Any]) -> RelayedPage:
    try:
        return RelayedPage(url, await api.ask("POST", "/fetch", {"url": url, **options}))
    except Problem as problem:
        if problem.kind.code in _OF_A_PAGE or problem.reason == "silent_target":
            return RelayedPage(url, {}, problem.detail)
        raise


async def read_pages(
    api: RelayedApi, urls: Sequence[str], options: Mapping[str, Any], seconds: float
) -> AsyncGenerator[RelayedPage]:
    """The pages in this order, each as soon as it is there. Those that are late are not waited for."""
    until = asyncio.get_running_loop().time() + seconds
    read = _read_few if len(urls) <= FEW else _read_many
    done = 0
    try:
        async with aclosing(read(api, urls, options)) as pages:
            while done < len(urls):
                async with asyncio.timeout_at(until):
                    page = await anext(pages)
                done += 1
                yield page
    except (TimeoutError, StopAsyncIteration):
        for url in urls[done:]:
            yield RelayedPage(url, {}, f"The page was not read within {seconds:g} seconds.")


async def _read_few(
    api: RelayedApi, urls: Sequence[str], options: Mapping[str, Any]
) -> AsyncGenerator[RelayedPage]:
    free = asyncio.Semaphore(AT_ONCE)

    async def read(url: str) -> RelayedPage:
        async with free:
            return await read_page(api, url, options)

    reading = [asyncio.create_task(read(url)) for url in urls]
    try:
        for page in reading:
            yield await page
    finally:
        for page in reading:
            page.cancel()
        await asyncio.gather(*reading, return_exceptions=True)


async def _read_many(
    api: RelayedApi, urls: Sequence[str], options: Mapping[str, Any]
) -> AsyncGenerator[RelayedPage]:
    """The batch is deleted at the end, or when nobody wants it any more, which cancels it."""
    here = f"/batch/fetch/{await start_batch(api, urls, options)}"
    try:
        call = Call("GET", f"{here}/results", {"Accept": "application/x-ndjson"})
        async with api.transport.stream(call) as reply:
            if reply.status >= 400:
                body = b"".join([piece async for piece in reply.body])
                raise problem_of(Reply(reply.status, reply.headers, body))
            rest = b""
            async for piece in reply.body:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    yield page_of_line(msgspec.json.decode(line))
    finally:
        with suppress(Problem):  # it goes later by itself
            await api.send("DELETE", here)


async def start_batch(api: RelayedApi, urls: Sequence[str], options: Mapping[str, Any]) -> str:
    """The id of a new batch."""
    others = {name: value for name, value in options.items() if name != "render"}
    batch = {"urls": list(urls), "tier": _TIERS[options.get("render", "never")], **others}
    return str((await api.ask("POST", "/batch/fetch", batch))["batchId"])


def page_of_line(line: Mapping[str, Any]) -> RelayedPage:
    """The page of a batch's result."""
    if line["status"] == "done":
        return RelayedPage(line["url"], line["result"])
    return RelayedPage(line["url"], {}, line["problem"]["message"])
