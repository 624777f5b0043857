"""`GET /fetch`: a page by its address alone, with the options in the query."""

from typing import Any

import httpx
from tests.doors.fetches import Fetching, fetching, open_fetching, say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, bearer

from gossamer.state.tenants.tenants import Tier

__all__ = ["fetching", "open_fetching"]

PAGE = "<title>Silk</title><main><h1>Silk</h1><p>A rope of silk is spun by hand, strand by strand.</p></main>"
MARKDOWN = {"Accept": "text/markdown"}


async def get(
    service: Fetching, where: str, sent: dict[str, str] | None = None, **query: Any
) -> httpx.Response:
    url = service.site.url(where) if where.startswith("/") else where
    return await service.visit.client.get(
        "/fetch", params={"url": url, **query}, headers=AS_ADMIN | (sent or {})
    )


async def test_accept_chooses_markdown_or_json(fetching: Fetching) -> None:
    target = say(PAGE)
    bare = await get(fetching, target, MARKDOWN)
    assert bare.headers["content-type"] == "text/markdown; charset=utf-8"
    assert bare.text.startswith("# Silk\n")
    assert bare.headers["x-page-status"] == "200"
    whole = await get(fetching, target, formats="text, links", maxTokens=500)
    assert (whole.json()["title"], set(whole.json()) >= {"text", "links"}) == ("Silk", True)
    assert [one.headers["vary"] for one in (bare, whole)] == ["Accept, Authorization"] * 2
    assert [one.headers["cache-control"] for one in (bare, whole)] == ["no-store"] * 2
    posted = (await fetching.post(target)).json()
    assert posted["content"] == bare.text


async def test_a_kept_answer_may_be_kept_by_the_client_too(fetching: Fetching) -> None:
    target = say(PAGE)
    first = await get(fetching, target, cache="true", cacheTtl=600)
    assert first.headers["cache-control"] in ("private, max-age=600", "private, max-age=599")
    tag = {"If-None-Match": first.headers["etag"]}
    again = await get(fetching, target, tag, cache="true", cacheTtl=600)
    assert (again.status_code, again.content, again.headers["x-cache-status"]) == (304, b"", "HIT")
    other = await get(fetching, target, tag | MARKDOWN, cache="true", cacheTtl=600)
    assert (other.status_code, other.headers["etag"] != tag["If-None-Match"]) == (200, True)
    assert fetching.visits(target) == 1
    assert (await fetching.post(target, cache=True)).headers["x-cache-status"] == "HIT"  # the same cache


async def test_options_are_checked_as_those_of_a_post(fetching: Fetching) -> None:
    target = say(PAGE)
    kept = await get(fetching, target, MARKDOWN, include="h1")
    assert kept.text.strip() == "# Silk"
    wrong: list[dict[str, Any]] = [
        {"formats": "tea"},
        {"render": "maybe"},
        {"headers": "x"},
        {"timeout": "0"},
    ]
    for query in wrong:
        assert_problem(await get(fetching, target, **query), "VALIDATION_ERROR")
    assert_problem(await get(fetching, "ftp://a.example/"), "INVALID_URL")
    assert_problem(await get(fetching, "http://169.254.169.254/"), "INVALID_URL")
    assert_problem(await fetching.visit.client.get("/fetch", headers=AS_ADMIN), "VALIDATION_ERROR")
    assert_problem(
        await fetching.visit.client.get("/fetch", params={"url": "http://a.example"}), "UNAUTHORIZED"
    )


async def test_it_counts_as_work_and_not_as_a_control_call(fetching: Fetching) -> None:
    sent = bearer(await fetching.visit.key(tier=Tier.FREE))
    fresh = await get(fetching, say(PAGE), sent)
    assert fresh.headers["ratelimit-policy"].startswith('"user"')
    target = say(PAGE)
    await get(fetching, target, sent, cache="true")
    assert (
        (await get(fetching, target, sent, cache="true"))
        .headers["ratelimit-policy"]
        .startswith('"hits-free"')
    )


async def test_head_has_no_body(fetching: Fetching) -> None:
    url = fetching.site.url(say(PAGE))
    answer = await fetching.visit.client.head("/fetch", params={"url": url}, headers=AS_ADMIN | MARKDOWN)
    assert (answer.status_code, answer.content) == (200, b"")
