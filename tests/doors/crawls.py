"""A small site to be crawled, and somebody who crawls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.doors.fetches import say
from tests.doors.services import AS_ADMIN, Visit
from tests.site.paths import not_found, path
from tests.site.server import Reply, Request, Site

PROSE = "Orb weavers build a new web nearly every day, mostly at night, and eat the old one first. " * 5
OPEN = {"egress_allow": "127.0.0.0/8", "egress_ports": "*", "crawl_delay": "0", "limit_admin": "1000000/60"}
ROBOTS: dict[str, str] = {}  # by host and port
NOT_SAID = "503"


@path("robots.txt")
async def robots(site: Site, request: Request, reply: Reply) -> None:
    """What a test wants to be said at an origin of its own."""
    if ROBOTS.get(request.origin) == NOT_SAID:
        await reply.send(b"", status="503 Busy")
    elif request.origin in ROBOTS:
        await reply.send(ROBOTS[request.origin].encode(), "Content-Type: text/plain")
    else:
        await not_found(site, request, reply)


def page(title: str, *links: str) -> str:
    """The target of a page that links to these."""
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return say(f'<html lang="en"><title>{title}</title><h1>{title}</h1><p>{PROSE}</p>{anchors}')


@dataclass(frozen=True)
class Web:
    """A page that links to two others, one of which links back."""

    origin: str
    root: str
    leaf: str
    twig: str

    @classmethod
    def on(cls, origin: str) -> "Web":
        leaf, twig = page("A leaf"), say("")
        root = page("The root", leaf, twig)
        say(f"<title>A twig</title><h1>A twig</h1><p>{PROSE}</p><a href='{root}'>back</a>", target=twig)
        return cls(origin, root, leaf, twig)

    @property
    def seed(self) -> str:
        return self.origin + self.root

    @property
    def urls(self) -> set[str]:
        return {self.origin + target for target in (self.root, self.leaf, self.twig)}


@asynccontextmanager
async def crawling(visit: Visit) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(visit.service.crawl_worker().run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def begin(visit: Visit, *seeds: str, sent: dict[str, str] = AS_ADMIN, **body: Any) -> dict[str, Any]:
    """Without sitemaps, which would be URLs of the crawl too."""
    wanted = {"seeds": list(seeds), "sitemaps": False, **body}
    response = await visit.client.post("/api/crawls", json=wanted, headers=sent)
    assert response.status_code == 202, response.text
    begun: dict[str, Any] = response.json()
    return begun


async def get(visit: Visit, path: str, *, sent: dict[str, str] = AS_ADMIN, **query: Any) -> Any:
    response = await visit.client.get(path, params=query, headers=sent)
    assert response.status_code == 200, response.text
    return response.json()


async def over(visit: Visit, crawl_id: str) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            crawl: dict[str, Any] = await get(visit, f"/api/crawls/{crawl_id}")
            if crawl["finishedAt"]:
                return crawl
            await asyncio.sleep(0.05)


async def post(visit: Visit, path: str, body: Any = None, sent: dict[str, str] = AS_ADMIN) -> httpx.Response:
    return await visit.client.post(path, json=body, headers=sent)
