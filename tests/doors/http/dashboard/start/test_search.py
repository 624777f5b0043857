"""Search: the words of pages that were read here, shown as text."""

import httpx
import pytest
from tests.doors.fetches import Fetching, fetching, say
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit

__all__ = ["fetching"]

PROSE = "The trapdoor spider waits behind its door and feels the silk threads around it. " * 5


async def read(fetching: Fetching, client: httpx.AsyncClient, title: str) -> str:
    """Let this person read a page with this title."""
    url = fetching.site.url(say(f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{PROSE}</p>"))
    answer = await client.post("/fetch", json={"url": url})
    assert answer.status_code == 200, answer.text
    return url


async def test_the_empty_page_says_where_to_begin(visit: Visit) -> None:
    client = await sign_in(visit, "user")

    page = await client.get("/app/search")

    assert page.status_code == 200
    assert "What are you looking for?" in page.text
    assert 'href="/app/playground"' in page.text


async def test_a_page_that_was_read_is_found_with_its_words_marked(fetching: Fetching) -> None:
    client = await sign_in(fetching.visit, "user")
    url = await read(fetching, client, "Doors &lt;script&gt;alert(1)&lt;/script&gt;")

    page = await client.get("/app/search", params={"query": "trapdoor"})

    assert page.status_code == 200
    assert "<mark>trapdoor</mark>" in page.text
    assert f'<a href="{url}" rel="noreferrer noopener">' in page.text
    assert "Doors &lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    assert "<script>alert" not in page.text


async def test_nobody_finds_what_another_tenant_has_read(fetching: Fetching) -> None:
    reader, other = [await sign_in(fetching.visit, "user") for _ in range(2)]
    url = await read(fetching, reader, "Private burrow")

    mine = await reader.get("/app/search", params={"query": "burrow"})
    assert url in mine.text
    page = await other.get("/app/search", params={"query": "burrow"})

    assert url not in page.text


async def test_words_that_nobody_wrote_are_said_to_be_missing(fetching: Fetching) -> None:
    client = await sign_in(fetching.visit, "user")

    page = await client.get("/app/search", params={"query": 'zyzzyva"<b>'})

    assert page.status_code == 200
    assert "No page has these words" in page.text
    assert 'value="zyzzyva&#34;&lt;b&gt;"' in page.text


@pytest.mark.parametrize("typed", ["not a host", "a" * 300])
async def test_a_site_that_is_none_is_refused_beside_the_form(fetching: Fetching, typed: str) -> None:
    client = await sign_in(fetching.visit, "user")

    page = await client.get("/app/search", params={"query": "trapdoor", "site": typed})

    assert page.status_code == 400
    assert "data-problem" in page.text
