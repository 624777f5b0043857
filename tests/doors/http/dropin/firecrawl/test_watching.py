"""Watchers of jobs: WebSockets that have the same rights, bounds and ends as requests."""

import asyncio
import json
import signal
from typing import Any

import pytest
import websockets
from tests.doors.crawls import OPEN, Web
from tests.doors.dropin import Served
from tests.doors.fetches import say
from tests.doors.processes import Start
from tests.site.server import Site
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol


async def start(served: Served, path: str = "/v2/crawl", **body: Any) -> str:
    def ask() -> str:
        with served.client() as client:
            begun: str = client.post(path, json=body).json()["id"]
            return begun

    return await asyncio.to_thread(ask)


def address(served: Served, path: str) -> str:
    return served.origin.replace("http", "ws") + path


async def watch(served: Served, path: str, **options: Any) -> list[dict[str, Any]]:
    """All messages until the server closes, which it must do properly."""
    async with (
        asyncio.timeout(60),
        websockets.connect(address(served, path), max_size=None, **options) as socket,
    ):
        told = [json.loads(message) async for message in socket]
    assert (socket.close_code, socket.close_reason) == (1000, "{}")
    return told


def documents(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*told[0]["data"]["data"], *(one["data"] for one in told if one["type"] == "document")]


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_a_crawl_is_watched_from_its_start_to_its_end(served: Served, version: str) -> None:
    job = await start(served, url=served.web.seed, crawlEntireDomain=True, sitemap="skip")
    told = await watch(
        served, f"/{version}/crawl/{job}", additional_headers={"Authorization": f"Bearer {served.key}"}
    )
    assert [told[0]["type"], told[-1]["type"]] == ["catchup", "done"]
    assert told[0]["data"]["status"] == "scraping"
    assert {page["metadata"]["sourceURL"] for page in documents(told)} == served.web.urls
    assert len(documents(told)) == 3
    assert (told[-1]["data"]["completed"], told[-1]["data"]["total"]) == (3, 3)
    assert "data" not in told[-1]["data"]


async def test_the_key_may_be_the_subprotocol(served: Served) -> None:
    page = served.web.origin + say("<title>Watched</title><p>Watched.")
    job = await start(served, "/v2/batch/scrape", urls=[page])
    async with websockets.connect(
        address(served, f"/v2/batch/scrape/{job}"), subprotocols=[Subprotocol(served.key)]
    ) as socket:
        assert socket.subprotocol == served.key
        assert json.loads(await socket.recv())["type"] == "catchup"
    told = await watch(served, f"/v2/batch/scrape/{job}", subprotocols=[served.key])
    assert [page["metadata"]["title"] for page in documents(told)] == ["Watched"]


async def test_a_cancelled_job_is_told_as_an_error(served: Served) -> None:
    job = await start(served, url=served.web.origin + say("<title>Slow</title>", pause=30.0))
    watching = asyncio.create_task(watch(served, f"/v2/crawl/{job}", subprotocols=[served.key]))
    with served.client() as client:
        await asyncio.to_thread(client.delete, f"/v2/crawl/{job}")
    told = await watching
    assert (told[-1]["type"], told[-1]["error"]) == ("error", "The job is cancelled.")


@pytest.mark.parametrize(
    ("path", "protocols", "status"),
    [
        ("/v2/crawl/01JGGR2Z3W8Q4T6V9X0Y1B2C3D-01", ["right"], 404),
        ("/v2/crawl/01JGGR2Z3W8Q4T6V9X0Y1B2C3D-01", ["wrong"], 401),
        ("/v2/crawl/01JGGR2Z3W8Q4T6V9X0Y1B2C3D-01", None, 401),
        ("/v2/crawl/01JGGR2Z3W8Q4T6V9X0Y1B2C3D-01", ["right", "another"], 401),
        ("/health/live", ["right"], 200),
    ],
)
async def test_others_are_refused(
    served: Served, path: str, protocols: list[str] | None, status: int
) -> None:
    named = (
        None
        if protocols is None
        else [Subprotocol(served.key if name == "right" else name) for name in protocols]
    )
    with pytest.raises(InvalidStatus) as refused:
        await websockets.connect(address(served, path), subprotocols=named)
    assert refused.value.response.status_code == status


async def test_a_watcher_may_not_send_much(served: Served) -> None:
    job = await start(served, url=served.web.origin + say("<title>Slow</title>", pause=30.0), limit=2)
    async with websockets.connect(
        address(served, f"/v2/crawl/{job}"), subprotocols=[Subprotocol(served.key)]
    ) as socket:
        await asyncio.wait_for(await socket.ping(), 5)
        await socket.send("words that nobody reads")
        await socket.send("x" * 100_000)
        async with asyncio.timeout(20):
            await socket.wait_closed()
        assert socket.close_code == 1009
    with served.client() as client:
        await asyncio.to_thread(client.delete, f"/v2/crawl/{job}")


async def test_a_handshake_that_is_not_one_is_an_answer_and_the_connection_goes_on(served: Served) -> None:
    job = await start(served, url=served.web.origin + say("<title>Plain</title>"), limit=1)
    host, port = served.origin.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    fields = f"Host: a\r\nAuthorization: Bearer {served.key}\r\n"
    writer.write(
        f"GET /v2/crawl/{job} HTTP/1.1\r\n{fields}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        f"GET /health/live HTTP/1.1\r\n{fields}Connection: close\r\n\r\n".encode()
    )
    answers = (await asyncio.wait_for(reader.read(), 10)).split(b"HTTP/1.1 ")
    assert [answer[:3] for answer in answers[1:]] == [b"400", b"200"]
    writer.close()


async def test_watchers_are_sent_away_when_the_server_stops(start_gossamer: Start, site: Site) -> None:
    process = await asyncio.to_thread(start_gossamer, **OPEN, dns_servers="127.0.0.1:9")
    served = Served(f"http://127.0.0.1:{process.port}", Web.on(site.origins(1)[0]), "")
    job = await start(served, url=served.web.origin + say("<title>Slow</title>", pause=30.0))
    async with websockets.connect(
        address(served, f"/v2/crawl/{job}"), subprotocols=[Subprotocol(served.key)]
    ) as socket:
        assert json.loads(await socket.recv())["type"] == "catchup"
        process.process.send_signal(signal.SIGINT)  # which does not wait for a load balancer
        async with asyncio.timeout(20):
            await socket.wait_closed()
        assert socket.close_code == 1001
    assert await asyncio.to_thread(process.process.wait, 20) == 0
