"""Crawls a site within one request, through our own API."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlencode

from gossamer.doors.http.core.relay import RelayedApi
from gossamer.problems import Problem

LOOK_SECONDS: Final = 0.3  # how often we look whether the crawl is over
PAGES_AT_ONCE: Final = 100


async def crawl_site(
    api: RelayedApi, spec: Mapping[str, Any], seconds: float, content: str
) -> list[dict[str, Any]]:
    """The pages that a crawl has stored when it is over, or after so many seconds. The crawl is deleted then,
    or when nobody wants it any more."""
    here = f"/api/crawls/{(await api.ask('POST', '/api/crawls', spec))['crawlId']}"
    try:
        await _wait(api, here, seconds)
        return await _list_pages(api, here, content)
    finally:
        with suppress(Problem):  # it goes later by itself
            await api.send("DELETE", here)


async def _wait(api: RelayedApi, here: str, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        if (await api.ask("GET", here))["status"] != "running":
            return
        await asyncio.sleep(LOOK_SECONDS)


async def _list_pages(api: RelayedApi, here: str, content: str) -> list[dict[str, Any]]:
    pages: list[dict[str, Any]] = []
    query = {"content": content, "limit": str(PAGES_AT_ONCE)}
    while True:
        listed = await api.ask("GET", f"{here}/pages?{urlencode(query)}")
        pages += listed["pages"]
        if listed["nextCursor"] is None:
            return pages
        query["cursor"] = listed["nextCursor"]
