"""A site whose pages a test changes, and crawls of it that are kept fresh."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.doors.crawls import PROSE, crawling, over, post
from tests.doors.services import AS_ADMIN, Visit


@dataclass
class LivingSite:
    """A host whose pages a test changes. Everything has an `ETag`; the sitemap lists what `listed` has."""

    pages: dict[str, str] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    listed: dict[str, datetime] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)
    held: str = ""  # a page that is not answered
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    origin: str = ""

    @asynccontextmanager
    async def open(self) -> AsyncIterator["LivingSite"]:
        server = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        self.origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            yield self
            server.close_clients() if hasattr(server, "close_clients") else None

    def write(self, path: str, text: str, *links: str) -> None:
        anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
        self.pages[path] = f"<title>{path}</title><h1>{path}</h1><p>{PROSE}</p><p>{text}</p>{anchors}"

    def times(self, path: str) -> list[int]:
        """The statuses with which it was answered."""
        return [status for asked, status in self.asked if asked == path]

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path = head.split(" ")[1]
        if path == self.held:
            self.reached.set()
            await reader.read()  # until the other side is gone
        status, kind, body, more = self._answer(path, head)
        self.asked.append((path, status))
        said = "" if status == 304 else body
        lines = [
            f"HTTP/1.1 {status} .",
            f"Content-Type: {kind}",
            f"Content-Length: {len(said.encode())}",
            *more,
        ]
        writer.write("\r\n".join([*lines, "Connection: close", "", said]).encode())
        writer.close()

    def _answer(self, path: str, head: str) -> tuple[int, str, str, list[str]]:
        if path in self.moved:
            return 301, "text/html", "", [f"Location: {self.moved[path]}"]
        body, kind = self.pages.get(path), "text/html"
        if path == "/sitemap.xml" and self.listed:
            body, kind = self._sitemap(), "application/xml"
        if body is None:
            return 404, "text/html", "<p>Nothing here.", []
        etag = f'"{hashlib.sha256(body.encode()).hexdigest()[:16]}"'
        status = 304 if f"if-none-match: {etag}" in head.lower() else 200
        return status, kind, body, [f"ETag: {etag}"]

    def _sitemap(self) -> str:
        entries = [
            f"<url><loc>{self.origin}{path}</loc><lastmod>{at.isoformat()}</lastmod>"
            "<changefreq>weekly</changefreq></url>"
            for path, at in self.listed.items()
        ]
        return f'<?xml version="1.0"?><urlset>{"".join(entries)}</urlset>'


@asynccontextmanager
async def living_site() -> AsyncIterator[LivingSite]:
    """Three pages: one that links to two others."""
    async with LivingSite().open() as site:
        site.write("/", "The first text.", "/a", "/b")
        site.write("/a", "About ants.")
        site.write("/b", "About bees.")
        yield site


async def crawl_of(visit: Visit, site: LivingSite, *, sent: dict[str, str] = AS_ADMIN, **options: Any) -> str:
    """A crawl that is kept fresh, and done."""
    body = {"seeds": [f"{site.origin}/"], "refresh": "auto", **options}
    begun = await post(visit, "/api/crawls", body, sent)
    assert begun.status_code == 202, begun.text
    async with crawling(visit):
        await over(visit, begun.json()["crawlId"])
    return str(begun.json()["crawlId"])


async def refresh(visit: Visit, crawl_id: str) -> int:
    """Visit all pages now."""
    queued = await post(visit, f"/api/crawls/{crawl_id}/refresh")
    assert queued.status_code == 200, queued.text
    async with crawling(visit):
        await over(visit, crawl_id)
    return int(queued.json()["queued"])
