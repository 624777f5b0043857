"""Clients that prefer markdown get it, if the site wants that, whatever the integration is written in."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.integrations.fronts import ORIGIN, Place
from tests.integrations.servers import MARKDOWN, PAGE
from tests.integrations.test_bots import PERSON, ROBOT, is_rendered, is_sites

AGENT = {"Accept": "text/markdown, text/html, */*", "User-Agent": "some-agent/1.0"}


@pytest.fixture
def place(markdown_place: Place) -> Place:
    markdown_place.gossamer.asked.clear()
    return markdown_place


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, timeout=30, headers=AGENT) as client:
        yield client


async def test_a_page_is_served_as_markdown(place: Place, client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{place.url}/a?b=1")
    assert is_rendered(answer)
    assert (answer.status_code, answer.text) == (200, MARKDOWN)
    assert answer.headers["content-type"].startswith("text/markdown")
    assert {"User-Agent", "Accept"} <= {name.strip() for name in answer.headers["vary"].split(",")}
    assert "x-outcome" not in answer.headers
    [asked] = place.gossamer.asked
    assert (asked.method, asked.target, asked.headers["accept"]) == ("POST", "/fetch", "text/markdown")
    options = {"render": "auto", "cache": True, "cacheTtl": 86_400, "timeout": 10_000}
    assert json.loads(asked.body) == {"url": f"{ORIGIN}/a?b=1", **options}
    head = await client.head(f"{place.url}/a")
    assert (is_rendered(head), head.content) == (True, b"")


async def test_whoever_likes_html_as_much_or_has_a_cookie_is_not_an_agent(
    place: Place, client: httpx.AsyncClient
) -> None:
    for accept in (
        "text/html",
        "text/html, text/markdown;q=0.9",
        "*/*",
        "text/markdown;q=0",
        "",
        "text/markdowns",
    ):
        answer = await client.get(f"{place.url}/", headers={"Accept": accept})
        assert is_sites(answer), accept
        assert "accept" in answer.headers["vary"].lower().replace("accept-encoding", "")
    assert is_sites(await client.get(f"{place.url}/", headers={"Cookie": "session=1"}))
    assert is_sites(await client.post(f"{place.url}/"))
    assert is_sites(await client.get(f"{place.url}/notes.md"))
    assert place.gossamer.asked == []
    assert is_rendered(
        await client.get(f"{place.url}/", headers={"Accept": "text/markdown;q=0.5", "User-Agent": PERSON})
    )


async def test_a_robot_that_prefers_html_gets_the_rendered_page(
    place: Place, client: httpx.AsyncClient
) -> None:
    answer = await client.get(f"{place.url}/", headers={"User-Agent": ROBOT, "Accept": "text/html"})
    assert (is_rendered(answer), answer.text) == (True, PAGE)


@pytest.mark.parametrize("path", ["/wall", "/report", "/refused", "/json", "/held"])
async def test_anything_but_a_page_comes_from_the_site(
    place: Place, client: httpx.AsyncClient, path: str
) -> None:
    answer = await client.get(place.url + path)
    assert is_sites(answer)
    assert answer.text == f"site: GET {path}"
