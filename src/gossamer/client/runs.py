"""CrawlRun and BatchRun: long work whose results arrive one after the other.

async for page in web.crawl("https://example.com/", max_pages=50):
    ...

async with web.crawl("https://example.com/") as crawl:  # ends the crawl if the block is left early
    async for page in crawl:
        if is_found(page):
            break
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, Unpack
from urllib.parse import quote, urlencode

import msgspec

from gossamer.client.errors import ConnectionFailed
from gossamer.client.lines import read_bytes, read_lines
from gossamer.client.options import RefreshKeywords, body_of
from gossamer.web.crawl.crawl_answer import ShownCrawl
from gossamer.web.crawl.graph.graph_answer import (
    ExportFormat,
    GraphAnswer,
    GraphFormat,
    GraphPart,
    GraphSection,
    GraphSort,
)
from gossamer.web.crawl.refresh.freshness import QueuedRefresh
from gossamer.web.crawl.refresh.shown_version import PageVersionList, ShownVersion, VersionFormat
from gossamer.web.crawl.shown_page import ShownPage
from gossamer.web.outcome.job_state import JobState
from gossamer.web.pages.batch_result import BatchResult

if TYPE_CHECKING:
    from gossamer.client.client import Client

T = TypeVar("T")
_ENDED: Final = frozenset({"done", "canceled"})


class LongRun(ABC, Generic[T]):
    """Work that begins when its results are asked for, or when its block is entered."""

    def __init__(self, client: "Client", *, keep: bool) -> None:
        self._client = client
        self._keep = keep
        self._is_over = False
        self.id = ""  # until the work has begun

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._is_over and not self._keep:
            await self._end_early()

    async def __aiter__(self) -> AsyncGenerator[T]:
        await self.start()
        async with aclosing(self._results()) as results:
            async for result in results:
                yield result
        self._is_over = True

    @abstractmethod
    async def start(self) -> None:
        """Begin the work, unless it has begun."""

    @abstractmethod
    def _results(self) -> AsyncGenerator[T]: ...

    @abstractmethod
    async def _end_early(self) -> None: ...


class CrawlRun(LongRun[ShownPage]):
    """A crawl: its pages as they are stored, and its control."""

    def __init__(
        self,
        client: "Client",
        body: Mapping[str, Any],
        *,
        id: str = "",  # noqa: A002  (the field's own name)
        content: str | None = None,
        keep: bool = False,
    ) -> None:
        super().__init__(client, keep=keep)
        self._body = body
        self._content = content
        self.id = id

    async def start(self) -> None:
        if not self.id:
            self.id = (await self._client.ask("POST", "/api/crawls", ShownCrawl, self._body)).crawl_id

    async def status(self) -> ShownCrawl:
        return await self._client.ask("GET", self._path, ShownCrawl)

    async def pause(self) -> ShownCrawl:
        return await self._client.ask("POST", f"{self._path}/pause", ShownCrawl)

    async def resume(self) -> ShownCrawl:
        return await self._client.ask("POST", f"{self._path}/resume", ShownCrawl)

    async def stop(self) -> ShownCrawl:
        """End it for good. Stored pages stay."""
        return await self._client.ask("POST", f"{self._path}/stop", ShownCrawl)

    async def change(self, **options: Unpack[RefreshKeywords]) -> ShownCrawl:
        """Keep it fresh, or change how."""
        body = body_of("change", RefreshKeywords, options)
        return await self._client.ask("PATCH", self._path, ShownCrawl, body)

    async def refresh(self) -> QueuedRefresh:
        """Visit its pages again now, as many as their budget allows."""
        return await self._client.ask("POST", f"{self._path}/refresh", QueuedRefresh)

    async def versions(self, page_id: str) -> list[ShownVersion]:
        """What a page was, newest first."""
        return (await self._client.ask("GET", self._versions(page_id), PageVersionList)).versions

    async def version(self, page_id: str, number: int, *, format: VersionFormat = "markdown") -> bytes:  # noqa: A002
        """The content of a version."""
        path = f"{self._versions(page_id)}/{number}?format={format}"
        return (await self._client.send("GET", path)).body

    async def diff(self, page_id: str, before: int, after: int | None = None) -> str:
        """What changed from a version to a later one, by default the newest, as a unified diff."""
        query = "" if after is None else f"?to={after}"
        return (
            await self._client.send("GET", f"{self._versions(page_id)}/{before}/diff{query}")
        ).body.decode()

    def _versions(self, page_id: str) -> str:
        return f"{self._path}/pages/{quote(page_id, safe='')}/versions"

    async def delete(self) -> None:
        """Delete it with everything that it has stored."""
        await self._client.send("DELETE", self._path)

    async def guide(self, *, full: bool = False) -> str:
        """The llms.txt of the site, once the crawl is over; llms-full.txt has the text of the pages, too."""
        name = "llms-full.txt" if full else "llms.txt"
        return (await self._client.send("GET", f"{self._path}/{name}")).body.decode()

    async def graph(
        self,
        section: GraphSection = "pages",
        *,
        sort: GraphSort = "pageRank",
        within: str = "",
        limit: int = 50,
        cursor: str | None = None,
    ) -> GraphAnswer:
        """How its pages are linked: a summary, and a part of one section."""
        query = {"section": section, "sort": sort, "limit": str(limit)}
        query |= {"within": within} if within else {}
        query |= {"cursor": cursor} if cursor is not None else {}
        return await self._client.ask("GET", f"{self._path}/graph?{urlencode(query)}", GraphAnswer)

    def graph_file(self, format: GraphFormat = "csv", part: GraphPart = "links") -> AsyncGenerator[bytes]:  # noqa: A002
        """The graph as a file for other programs, piece by piece."""
        query = urlencode({"format": format, "part": part})
        return read_bytes(self._client.transport, f"{self._path}/graph/export?{query}")

    def export(self, format: ExportFormat = "wacz") -> AsyncGenerator[bytes]:  # noqa: A002
        """All stored pages as a WARC or WACZ file, piece by piece."""
        return read_bytes(self._client.transport, f"{self._path}/export?format={format}")

    @property
    def _path(self) -> str:
        return f"/api/crawls/{quote(self.id, safe='')}"

    async def stored(self) -> AsyncGenerator[ShownPage]:
        """The pages that are stored by now. It does not wait for more."""
        query, count = {**self._query, "follow": "false"}, -1
        while count:  # a stream may end before the last page
            count = 0
            try:
                async with aclosing(self._read(query)) as pages:
                    async for page in pages:
                        count += 1
                        yield page
            except ConnectionFailed:
                count = -1
                await self.status()  # finds out whether the server is there

    async def _results(self) -> AsyncGenerator[ShownPage]:
        """Until the crawl is over or paused. A connection that breaks is opened again, from the last page."""
        query = self._query
        while True:
            # Before the pages: none comes after its end.
            has_ended = (await self.status()).status != "running"
            try:
                async with aclosing(self._read(query)) as pages:
                    async for page in pages:
                        yield page
            except ConnectionFailed:
                continue  # asking for the status finds out whether the server is there
            if has_ended:
                return

    @property
    def _query(self) -> dict[str, str]:
        return {"content": self._content} if self._content else {}

    async def _read(self, query: dict[str, str]) -> AsyncGenerator[ShownPage]:
        """What one connection brings. `query` is left as the next one needs it, to go on from there."""
        path = f"{self._path}/pages?{urlencode(query)}"
        async with aclosing(read_lines(self._client.transport, path, ShownPage)) as pages:
            async for page in pages:
                yield page
                if page.cursor:
                    query["cursor"] = page.cursor

    async def _end_early(self) -> None:
        if (await self.status()).status not in _ENDED:
            await self.stop()


class StartedBatch(msgspec.Struct, rename="camel"):
    """What is needed of an accepted batch."""

    batch_id: str
    total: int


class BatchProgress(msgspec.Struct, rename="camel"):
    """How far a batch is."""

    status: JobState
    total: int
    done: int
    failed: int
    pending: int


class BatchRun(LongRun[BatchResult]):
    """Many pages: the result for each URL, in the order of the list."""

    def __init__(
        self, client: "Client", urls: Sequence[str], body: Mapping[str, Any], *, keep: bool = False
    ) -> None:
        super().__init__(client, keep=keep)
        self._urls = urls
        self._body = body
        self._total = 0

    async def start(self) -> None:
        if not self.id:
            body = {**self._body, "urls": self._urls}
            accepted = await self._client.ask("POST", "/batch/fetch", StartedBatch, body)
            self.id, self._total = accepted.batch_id, accepted.total

    async def status(self) -> BatchProgress:
        return await self._client.ask("GET", self._path, BatchProgress)

    async def delete(self) -> None:
        """End it, and delete its results."""
        await self._client.send("DELETE", self._path)

    @property
    def _path(self) -> str:
        return f"/batch/fetch/{quote(self.id, safe='')}"

    async def _results(self) -> AsyncGenerator[BatchResult]:
        position = 0
        while position < self._total:
            has_ended = (await self.status()).status.is_over
            try:
                lines = read_lines(
                    self._client.transport, f"{self._path}/results?cursor={position}", BatchResult
                )
                async with aclosing(lines):
                    async for line in lines:
                        yield line
                        position = line.index + 1
            except ConnectionFailed:
                continue
            if has_ended:
                return

    async def _end_early(self) -> None:
        await self.delete()
