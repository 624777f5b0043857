"""Firecrawl's own clients, unmodified, with nothing changed but the address of the server."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.clients import clients_python
from tests.doors.dropin import Served
from tests.npm import install_packages
from tests.servers.receiver import receiving

HERE = Path(__file__).parent
NODE = HERE / "node"
TITLES = ["A leaf", "A twig", "The root"]
DATA = {"name": "Silk rope", "price": 1299.0}
TEXT = "# Silk rope"


def run(served: Served, *command: str | Path, folder: Path = HERE, **environment: str) -> dict[str, Any]:
    arguments = (served.origin, served.key, served.web.seed, served.product)
    ended = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(HERE), "NO_PROXY": "*", **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    told: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return told


def test_the_client_for_python(served: Served) -> None:
    told = run(served, clients_python(), HERE / "programs" / "sdk.py")
    assert told["scrape"] == [TEXT, DATA, "Silk rope", 200, True]
    assert served.web.urls <= set(told["map"])
    assert told["crawl"] == TITLES
    assert told["batch"] == ["completed", 2, ["Silk rope", "The root"]]
    assert told["search"] == served.product
    assert told["extract"] == DATA
    assert (told["usage"], told["queue"]) == (["int", True], True)
    assert (told["active"], told["cancel"], told["errors"]) == (True, True, [])
    assert told["error"] == ["InternalServerError", "SCRAPE_SITE_ERROR"]
    assert told["stranger"] == "UnauthorizedError"
    assert told["watched"] == [TITLES, ["completed"]]
    assert told["async"] == [TEXT, True, TITLES]
    assert told["async watched"] == "completed"
    assert told["v1 scrape"] == [TEXT, DATA, 200]
    assert served.web.urls <= set(told["v1 map"])
    assert told["v1 crawl"] == ["completed", TITLES, True]
    assert told["v1 batch"] == ["completed", ["Silk rope"]]
    assert told["v1 search"] == served.product
    assert told["v1 watched"] == [TITLES, "completed"]
    assert told["v1 async"] == TEXT


def test_the_client_for_javascript(served: Served) -> None:
    """Node 22 has WebSocket by itself; before, it is behind a switch."""
    install_packages(NODE)
    told = run(served, "node", "--experimental-websocket", "--no-warnings", NODE / "sdk.mjs")
    assert told["scrape"] == [TEXT, DATA, 200]
    assert served.web.urls <= set(told["map"])
    assert told["crawl"] == told["oldCrawl"] == told["oldWatched"] == TITLES
    assert told["batch"] == ["Silk rope", "The root"]
    assert (told["search"], told["extract"]) == (served.product, DATA)
    assert (told["credits"], told["cancel"]) == (True, True)
    assert told["error"] == [500, "SCRAPE_SITE_ERROR"]
    assert told["websocket"] == "function"
    assert told["watched"] == [TITLES, "completed"]
    assert told["oldScrape"] == TEXT


def test_its_tools_for_agents(served: Served) -> None:
    install_packages(NODE)
    with served.client() as client:  # so that there is something to search in
        client.post("/v2/scrape", json={"url": served.product})
    told = run(served, "node", "--no-warnings", NODE / "mcp.mjs")
    assert TEXT in told["scrape"]
    assert all(url in told["map"] for url in served.web.urls)
    assert served.product in told["search"]
    assert all(title in told["crawl"] for title in TITLES)
    assert "remainingCredits" in told["credits"]


def test_loaders(served: Served) -> None:
    with served.client() as client:
        client.post("/v2/scrape", json={"url": served.product})
    told = run(served, clients_python(), HERE / "programs" / "loaders.py")
    assert told["langchain scrape"] == told["llamaindex scrape"] == TEXT
    assert (told["langchain crawl"], told["llamaindex crawl"]) == (TITLES, 3)
    assert served.web.urls <= set(told["langchain map"])
    assert served.web.urls <= set(told["llamaindex map"])
    assert told["langchain search"] == [served.product]
    assert told["llamaindex search"] == ["Silk rope"]


async def test_webhooks_come_as_its_receivers_expect_them(served: Served) -> None:
    async with receiving() as receiver:
        program = HERE / "programs" / "hooks.py"
        told = await asyncio.to_thread(run, served, clients_python(), program, HOOK=receiver.url)
        async with asyncio.timeout(60):
            while not {"crawl.completed", "batch_scrape.completed"} <= set(receiver.types):
                await asyncio.sleep(0.05)
    with served.client() as client:
        secret = client.get("/api/webhook-secret").json()["secret"]
    receiver.verify(secret)
    receiver.verify_as_firecrawls(secret)
    crawled = [body for body in receiver.bodies if body["id"] == told["crawl"]]
    assert [body["type"] for body in crawled] == ["crawl.started", *["crawl.page"] * 3, "crawl.completed"]
    assert all(body["success"] and body["metadata"] == {"order": "7"} for body in crawled)
    documents = [document for body in crawled for document in body["data"]]
    assert sorted(document["metadata"]["title"] for document in documents) == TITLES
    assert all(document["markdown"] and "links" in document for document in documents)
    assert {headers.get("x-team") for headers, _ in receiver.heard} == {"spiders", None}
    assert [body["webhookId"] for body in receiver.bodies] == receiver.ids
    listed = [body for body in receiver.bodies if body["id"] == told["batch"]]
    assert [body["type"].partition(".")[2] for body in listed] == ["started", "page", "completed"]
    assert "<h1>Silk rope</h1>" in listed[1]["data"][0]["html"]
