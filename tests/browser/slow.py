"""Pages whose content comes when the test says so: what `/slow/NAME?key=KEY` and `/held` of the site are."""

import asyncio
from typing import TYPE_CHECKING

from bench.apps import slow
from bench.apps.slow import DONE, PAGES

from tests.site.paths import path
from tests.site.paths import slow as drips

if TYPE_CHECKING:
    from tests.site.server import Reply, Request, Site

__all__ = ["DONE", "PAGES", "RELEASED"]

RELEASED: set[str] = set()  # keys of pages of which nothing is held back any more


@path("slow")
@path("held")
async def answer(site: "Site", request: "Request", reply: "Reply") -> None:
    if request.path == "/slow":
        await drips(site, request, reply)
        return
    key = request.query("key")

    async def held() -> None:
        while key not in RELEASED:
            await asyncio.sleep(0.01)

    socket_key = request.header("sec-websocket-key") or ""
    await slow.answer(slow.SlowRequest(request.path, socket_key, reply.raw, held, lambda: key in RELEASED))
    reply.close()
