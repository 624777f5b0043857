"""Clients that go away: what was done for them alone ends there, and holds no browser and no socket."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx
from tests.doors.fetches import Fetching, OpenFetching, open_fetching, say
from tests.doors.http.server.test_server import serving
from tests.doors.renders import article
from tests.doors.services import AS_ADMIN
from tests.servers.search_engines import SILENT, search_engines

__all__ = ["open_fetching"]

SILENCE = "/first-byte-late"
SECONDS = 60


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


class Door:
    """A service behind a socket, and clients that are impatient."""

    def __init__(self, service: Fetching, client: httpx.AsyncClient) -> None:
        self.service = service
        self.client = client

    async def ask(self, path: str, where: str, **body: Any) -> httpx.Response:
        asked = {"url": self.service.site.url(where), "timeout": 30_000, **body}
        return await self.client.post(path, json=asked, headers=AS_ADMIN)

    def gone(self) -> int:
        return sum(line.get("error") == "CLIENT_GONE" for line in self.service.visit.logged("request"))

    async def leave(self, asking: asyncio.Task[httpx.Response]) -> None:
        """Seen by the server, too."""
        before = self.gone()
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        await until(lambda: self.gone() > before)


async def test_who_goes_away_holds_nothing(open_fetching: OpenFetching) -> None:
    async with search_engines() as engines:
        engines.searxng = SILENT
        flags = {"search_providers": "searxng", "searxng_url": f"{engines.url}/instance"}
        async with open_fetching(**flags, browser_places="1") as service, serving(service.visit) as port:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS) as client:
                door = Door(service, client)
                asked: list[tuple[str, dict[str, Any]]] = [
                    ("/fetch", {}),
                    ("/fetch", {"cache": True}),
                    ("/fetch/pro", {}),
                    ("/extract", {"fields": {"title": "string"}}),
                    ("/screenshot", {}),
                    ("/pdf", {}),
                ]
                for path, body in asked:
                    before = service.visits(SILENCE)
                    asking = asyncio.create_task(door.ask(path, SILENCE, **body))
                    await until(lambda before=before: service.visits(SILENCE) > before)  # type: ignore[misc]
                    await door.leave(asking)
                search = client.post("/search", json={"query": "rope"}, headers=AS_ADMIN)
                searching = asyncio.create_task(search)
                await until(lambda: bool(engines.asked))
                await door.leave(searching)
                shown = await door.ask("/fetch/pro", say(article()))  # the one browser is free
                assert shown.json()["outcome"] == "ok"
            assert not service.visit.logged("internal_error")


async def test_who_waited_for_the_same_page_gets_it_all_the_same(open_fetching: OpenFetching) -> None:
    target = say(article(), pause=1.0)
    async with open_fetching() as service, serving(service.visit) as port:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS) as client:
            door = Door(service, client)
            first = asyncio.create_task(door.ask("/fetch", target, cache=True))
            await until(lambda: service.visits(target) == 1)
            others = [asyncio.create_task(door.ask("/fetch", target, cache=True)) for _ in range(3)]
            await asyncio.wait(others, timeout=0.2)
            await door.leave(first)
            answers = await asyncio.gather(*others)
        assert {answer.json()["outcome"] for answer in answers} == {"ok"}
        assert service.visits(target) == 1  # it went on for those who stayed
