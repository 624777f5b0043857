"""`POST /search`: a question in, pages out; and the same on the command line."""

import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.doors.cli.commands import gossamer
from tests.doors.fetches import Fetching, OpenFetching, fetching, open_fetching, say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visiting, bearer
from tests.servers.search_engines import KEY, Engines, Page, Status, search_engines

from gossamer.app import Service
from gossamer.observe.logs import Log
from gossamer.settings.settings import SettingError, Settings
from gossamer.state.search.search_document import IndexedDocument
from gossamer.state.tenants import tenants
from gossamer.state.tenants.tenants import PUBLIC

__all__ = ["fetching", "open_fetching"]

ROPE = """<html lang="en"><title>Silk rope</title><meta name="description" content="Rope, spun by hand.">
<h1>Silk rope</h1><p>A rope of silk is spun by hand, one strand after the other, until it is long enough to be
wound on a reel, and then it is left alone for a night.</p>"""

NOTHING: dict[str, Any] = {"description": "", "text": "", "language": "", "seen_at": 0.0}


async def search(service: Fetching, sent: dict[str, str] = AS_ADMIN, **body: Any) -> httpx.Response:
    return await service.visit.client.post("/search", json=body, headers=sent)


async def found(service: Fetching, sent: dict[str, str] = AS_ADMIN, **body: Any) -> list[str]:
    response = await search(service, sent, **body)
    assert response.status_code == 200, response.text
    return [result["url"] for result in response.json()["results"]]


async def test_a_page_that_was_fetched_is_found_at_once_and_by_its_tenant_alone(fetching: Fetching) -> None:
    target = say(ROPE)
    url = fetching.site.url(target)
    assert (await fetching.answer(target))["outcome"] == "ok"
    response = await search(fetching, query='"rope of silk" strand')
    answer = response.json()
    assert response.headers["x-cache-status"] == "BYPASS"
    (result,) = answer["results"]
    assert (result["url"], result["title"], result["score"], result["source"]) == (
        url,
        "Silk rope",
        1,
        "index",
    )
    assert "A **rope of silk** is spun by hand, one **strand** after" in result["snippet"]
    assert result["seenAt"].endswith("Z")
    assert set(answer["providers"]) == {"index"}
    assert (answer["providers"]["index"]["status"], answer["providers"]["index"]["count"]) == ("ok", 1)
    assert answer["requestId"].startswith("wl_")
    other = bearer(await fetching.visit.key())
    assert await found(fetching, other, query="silk") == []
    assert await found(fetching, query="silk -reel") == []
    assert await found(fetching, query="silk", site="127.0.0.1", language="en", recency="day") == [url]
    assert await found(fetching, query="silk", site="example.com") == []


async def test_what_is_public_is_found_by_all_and_what_was_read_with_a_secret_by_nobody(
    fetching: Fetching,
) -> None:
    service, target = fetching.visit.service, say(ROPE.replace("silk", "hemp"))
    await fetching.answer(target, headers={"Authorization": "Basic x"})
    await fetching.answer(target, include=["p"])
    assert await found(fetching, query="hemp") == []
    await fetching.answer(say(ROPE.replace("silk", "cotton"), status="404 Not Found"))
    assert await found(fetching, query="cotton") == []
    noted = await fetching.answer(target)
    assert await found(fetching, query="hemp") == [noted["finalUrl"]]
    service.index.note(PUBLIC, IndexedDocument(url="https://example.com/", title="Jute rope", **NOTHING))
    for sent in (AS_ADMIN, bearer(await fetching.visit.key())):
        assert await found(fetching, sent, query="jute") == ["https://example.com/"]
    async with service.database.read() as connection:
        assert await tenants.find_tenant(connection, "public") == PUBLIC


async def test_a_page_that_is_deleted_from_the_cache_is_not_found_any_more(fetching: Fetching) -> None:
    targets = [say(ROPE.replace("silk", "linen")) for _ in range(3)]
    urls = [(await fetching.answer(target))["finalUrl"] for target in targets]
    assert set(await found(fetching, query="linen")) == set(urls)
    client = fetching.visit.client
    await client.delete("/api/cache", params={"url": urls[0]}, headers=AS_ADMIN)
    assert set(await found(fetching, query="linen")) == set(urls[1:])
    await client.delete("/api/cache", params={"prefix": urls[1]}, headers=AS_ADMIN)
    assert await found(fetching, query="linen") == urls[2:]
    await client.delete("/api/cache", params={"all": "true"}, headers=AS_ADMIN)
    assert await found(fetching, query="linen") == []


REFUSED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "empty": {"query": ""},
    "blank": {"query": " \n"},
    "long": {"query": "x" * 401},
    "number": {"query": 7},
    "none": {"query": "a", "limit": 0},
    "many": {"query": "a", "limit": 51},
    "site": {"query": "a", "site": "https://example.com/"},
    "recency": {"query": "a", "recency": "hour"},
    "language": {"query": "a", "language": "no language"},
    "misspelt": {"query": "a", "sites": "b"},
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused(fetching: Fetching, name: str) -> None:
    assert_problem(await search(fetching, **REFUSED[name]), "VALIDATION_ERROR")


async def test_further_refusals(fetching: Fetching) -> None:
    assert_problem(await search(fetching, query="a", cacheTtl="long"), "INVALID_TTL")
    assert_problem(await search(fetching, bearer("sk_live_nobody"), query="a"), "UNAUTHORIZED")


async def test_the_cache_takes_part_when_asked(fetching: Fetching) -> None:
    await fetching.answer(say(ROPE.replace("silk", "wool")))
    for status in ("MISS", "HIT"):
        response = await search(fetching, query="wool", cache=True)
        assert response.headers["x-cache-status"] == status
        assert response.json()["cache"]["key"].startswith("weblens:search:")
        assert len(response.json()["results"]) == 1


@pytest.fixture(scope="module")
async def engines() -> AsyncIterator[Engines]:
    async with search_engines() as opened:
        yield opened


async def test_search_engines_from_settings(open_fetching: OpenFetching, engines: Engines) -> None:
    engines.searxng = [Page("https://b.example/", "B", "b")]
    engines.brave = [Page("https://a.example/", "A", "a <strong>rope</strong>", "2026-01-02T03:04:05")]
    flags = {
        "search_providers": "brave,index,searxng",
        "searxng_url": f"{engines.url}/instance",
        "brave_api_key": KEY,
        "brave_base_url": engines.url,
    }
    async with open_fetching(**flags) as service:
        answer = (await search(service, query="rope")).json()
        assert list(answer["providers"]) == ["brave", "index", "searxng"]
        assert answer["results"][0] == {
            "url": "https://a.example/",
            "title": "A",
            "snippet": "a **rope**",
            "score": 0.3333,
            "source": "brave",
            "publishedAt": "2026-01-02T03:04:05.000Z",
        }
        engines.brave = Status(401)
        partly = await search(service, query="rope", cache=True)
        assert partly.status_code == 200
        assert partly.json()["providers"]["brave"]["status"] == "failed"
        assert partly.json()["providers"]["brave"]["reason"] == "it answers with status 401"
        engines.searxng = []
        nothing = await search(service, query="rope")
        assert_problem(nothing, "SERVICE_UNAVAILABLE")
        assert nothing.headers["retry-after"] == "5"
        told = nothing.json()["details"]["providers"]
        assert {name: one["status"] for name, one in told.items()} == {
            "brave": "failed", "index": "ok", "searxng": "ok",
        }  # fmt: skip
        assert KEY not in nothing.text + partly.text + service.visit.stream.getvalue()
        health = (await service.visit.client.get("/health")).json()
        assert health["services"]["search"]["status"] == "healthy"


async def test_a_closed_service_has_written_down_what_was_read(open_fetching: OpenFetching) -> None:
    async with open_fetching() as service:
        await service.answer(say(ROPE))
    async with open_fetching() as service:
        assert len(await found(service, query="silk")) == 1


def test_an_engine_without_what_it_needs_is_refused(tmp_path: Path) -> None:
    for flags, why in (
        ({"search_providers": "searxng"}, "searxng_url"),
        ({"search_providers": "brave"}, "brave_api_key"),
        ({"search_providers": "brave", "brave_api_key": "a\nb"}, "brave_api_key"),
    ):
        with pytest.raises(SettingError, match=why):
            Service(Settings.load({}, None, {"data_dir": str(tmp_path), **flags}), Log(io.StringIO()))


async def test_searching_on_the_command_line(open_fetching: OpenFetching, tmp_path: Path) -> None:
    async with open_fetching() as service:
        url = (await service.answer(say(ROPE)))["finalUrl"]
    folder = ("--data-dir", str(tmp_path))
    shown = gossamer("search", *folder, "silk -cotton", folder=tmp_path)
    assert shown.stdout.splitlines()[:2] == ["Silk rope", f"{url}  {shown.stdout.split()[3]}"]
    assert "rope of silk is spun by hand" in shown.stdout
    told = json.loads(gossamer("search", *folder, "--format", "json", '"of silk"', folder=tmp_path).stdout)
    assert (told["url"], told["source"]) == (url, "index")
    assert "A rope **of silk** is" in told["snippet"]
    nothing = gossamer("search", *folder, "--site", "example.com", "silk", folder=tmp_path, check=False)
    assert (nothing.returncode, nothing.stdout) == (3, "")
    assert nothing.stderr == "gossamer: nothing was found (asked: index)\n"
    blank = gossamer("search", *folder, " ", folder=tmp_path, check=False)
    assert (blank.returncode, blank.stdout) == (2, "")
    assert "The query is blank." in blank.stderr
    theirs = gossamer("search", *folder, "--email", "b@example.com", "silk", folder=tmp_path, check=False)
    assert theirs.returncode == 3


async def test_every_search_is_worth_paying_for(visiting: Visiting) -> None:
    """Whatever answers with 200 has looked everywhere that it could."""
    async with visiting() as visit:
        response = await visit.client.post("/search", json={"query": "nothing"}, headers=AS_ADMIN)
        assert (response.status_code, response.json()["results"]) == (200, [])
