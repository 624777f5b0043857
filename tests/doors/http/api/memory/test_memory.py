"""Memory over HTTP: conditions, pages by reference, lines, and what a stranger may send."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from tests.doors.fetches import Fetching, opened, say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import at_work
from tests.doors.services import AS_ADMIN, bearer
from tests.site.server import Site

from gossamer.flows.memory import memory as memory_flow
from gossamer.state.tenants.tenants import Role, Tier

ARTICLE = "<title>Silk rope</title><main><h1>Silk rope</h1><p>" + "It is spun by hand at night. " * 20


@pytest.fixture(scope="module")
async def fetching(tmp_path_factory: pytest.TempPathFactory, site: Site) -> AsyncIterator[Fetching]:
    async with opened(tmp_path_factory.mktemp("memory"), site) as one:
        yield one


async def ask(
    fetching: Fetching, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> httpx.Response:
    sent = {**AS_ADMIN, **(headers or {})}
    return await fetching.visit.client.request(method, path, json=body, headers=sent)


async def test_an_entry_is_written_read_and_deleted(fetching: Fetching) -> None:
    here = "/memory/entries/notes/user/42"
    written = await ask(fetching, "PUT", here, {"value": {"likes": ["silk"]}, "tags": ["people"]})
    assert (written.status_code, written.headers["etag"]) == (200, '"1"')
    read = await ask(fetching, "GET", here)
    assert read.json()["value"] == {"likes": ["silk"]}
    assert (read.json()["namespace"], read.json()["key"]) == ("notes", "user/42")
    assert (await ask(fetching, "GET", here, headers={"If-None-Match": '"1"'})).status_code == 304
    listed = (await ask(fetching, "GET", "/memory/entries?namespace=notes&prefix=user/&tag=people")).json()
    assert [entry["key"] for entry in listed["entries"]] == ["user/42"]
    assert "value" not in listed["entries"][0]
    assert (await ask(fetching, "DELETE", here)).json() == {"deleted": 1}
    assert_problem(await ask(fetching, "GET", here), "NOT_FOUND")


async def test_conditions_are_headers_or_a_field(fetching: Fetching) -> None:
    here = "/memory/entries/conditions/key"
    first = {"If-None-Match": "*"}
    assert (await ask(fetching, "PUT", here, {"value": 1}, first)).json()["version"] == 1
    assert_problem(await ask(fetching, "PUT", here, {"value": 2}, first), "PRECONDITION_FAILED")
    refused = await ask(fetching, "PUT", here, {"value": 2}, {"If-Match": '"7"'})
    assert_problem(refused, "PRECONDITION_FAILED")
    assert refused.json()["details"] == {
        "namespace": "conditions",
        "key": "key",
        "expected": 7,
        "version": 1,
    }
    assert_problem(await ask(fetching, "PUT", here, {"value": 2, "ifVersion": 0}), "VERSION_CONFLICT")
    assert (await ask(fetching, "PUT", here, {"value": 2}, {"If-Match": '"1"'})).json()["version"] == 2
    assert_problem(await ask(fetching, "DELETE", here, None, {"If-Match": '"1"'}), "PRECONDITION_FAILED")
    for headers in ({"If-Match": "*"}, {"If-Match": "2"}, {"If-None-Match": '"2"'}):
        assert_problem(await ask(fetching, "PUT", here, {"value": 3}, headers), "VALIDATION_ERROR")


async def test_a_repeated_post_writes_once(fetching: Fetching) -> None:
    body = {"entries": [{"namespace": "once", "key": "key", "value": 1, "ifVersion": 0}]}
    for _ in range(2):
        answer = await ask(fetching, "POST", "/memory/entries", body, {"Idempotency-Key": "memory-once"})
        assert answer.json()["entries"][0]["version"] == 1


async def test_versions_are_listed_read_and_restored(fetching: Fetching) -> None:
    for number in (1, 2, 3):
        await ask(fetching, "PUT", "/memory/entries/history/key", {"value": number})
    versions = (await ask(fetching, "GET", "/memory/versions/history/key")).json()["versions"]
    assert [one["version"] for one in versions] == [3, 2, 1]
    old = await ask(fetching, "GET", "/memory/entries/history/key?version=1")
    assert (old.json()["value"], old.json()["version"]) == (1, 1)
    restored = await ask(fetching, "PUT", "/memory/entries/history/key", {"restore": 1, "ifVersion": 3})
    assert restored.json()["version"] == 4
    assert (await ask(fetching, "GET", "/memory/entries/history/key")).json()["value"] == 1


async def test_several_are_read_and_deleted_at_once(fetching: Fetching) -> None:
    entries = [{"namespace": "many", "key": key, "value": key} for key in "ab"]
    await ask(fetching, "POST", "/memory/entries", {"entries": entries})
    keys = [{"namespace": "many", "key": key} for key in "bxa"]
    found = (await ask(fetching, "POST", "/memory/entries/get", {"keys": keys})).json()
    assert [entry["value"] for entry in found["entries"]] == ["b", "a"]
    assert found["missing"] == [{"key": "x", "namespace": "many"}]
    gone = await ask(fetching, "POST", "/memory/entries/delete", {"keys": keys})
    assert gone.json() == {"deleted": 2}


async def test_a_page_is_remembered_by_its_address_and_read_again(fetching: Fetching) -> None:
    target = say(ARTICLE)
    url = fetching.site.url(target)
    here = "/memory/pages/web/rope"
    entry = (await ask(fetching, "PUT", here, {"url": url, "tags": ["silk"], "ttl": 3600})).json()
    assert (entry["title"], entry["format"], entry["tags"]) == ("Silk rope", "markdown", ["silk"])
    assert (entry["source"]["url"], entry["source"]["origin"]) == (url, "web")
    say(ARTICLE.replace("night", "noon"), target=target)
    again = (await ask(fetching, "PUT", here, {"ifVersion": 1})).json()
    assert (again["version"], again["tags"], again["expiresAt"]) == (2, ["silk"], entry["expiresAt"])
    value = (await ask(fetching, "GET", "/memory/entries/web/rope")).json()["value"]
    assert value.startswith("# Silk rope")
    assert "at noon" in value


async def test_only_the_page_that_was_asked_for_is_remembered(fetching: Fetching) -> None:
    target = say(ARTICLE)
    url = fetching.site.url(target)
    await ask(fetching, "PUT", "/memory/pages/web/fickle", {"url": url})
    say("<title>Not found</title><p>Nothing is here.", target=target, status="404 Not Found")
    refused = await ask(fetching, "PUT", "/memory/pages/web/fickle", {})
    assert_problem(refused, "UNPROCESSABLE_ENTITY")
    assert refused.json()["details"]["statusCode"] == 404
    kept = (await ask(fetching, "GET", "/memory/entries/web/fickle")).json()
    assert (kept["version"], kept["title"]) == (1, "Silk rope")
    fenced = await ask(fetching, "PUT", "/memory/pages/web/inside", {"url": "http://127.0.0.2/"})
    assert_problem(fenced, "INVALID_URL")
    await ask(fetching, "PUT", "/memory/entries/web/value", {"value": 1})
    assert_problem(await ask(fetching, "PUT", "/memory/pages/web/value", {}), "UNPROCESSABLE_ENTITY")
    assert_problem(await ask(fetching, "PUT", "/memory/pages/web/none", {}), "NOT_FOUND")


async def test_a_page_that_is_stored_here_is_not_fetched_again(fetching: Fetching) -> None:
    target = say(ARTICLE)
    await fetching.post(target, cache=True)
    body = {"namespace": "web", "key": "cached", "url": fetching.site.url(target), "maxAge": 60}
    entry = (await ask(fetching, "POST", "/memory/pages", body)).json()
    assert entry["source"]["origin"] == "cache"
    assert fetching.visits(target) == 1


async def test_a_page_that_a_crawl_has_stored_is_not_fetched_again(fetching: Fetching) -> None:
    target = say(ARTICLE)
    url = fetching.site.url(target)
    async with at_work(fetching.visit):
        spec = {"seeds": [url], "sitemaps": False, "maxPages": 1, "maxDepth": 0}
        crawl = (await ask(fetching, "POST", "/api/crawls", spec)).json()
        worker = fetching.visit.service.crawl_worker()
        await crawled(fetching, worker, crawl["crawlId"])
    visits = fetching.visits(target)
    entry = (await ask(fetching, "PUT", "/memory/pages/web/crawled", {"url": url, "maxAge": 600})).json()
    assert (entry["source"]["origin"], entry["title"]) == ("crawl", "Silk rope")
    assert fetching.visits(target) == visits


async def crawled(fetching: Fetching, worker: Any, crawl_id: str) -> None:
    stop = asyncio.Event()
    working = asyncio.create_task(worker.run(stop))
    async with asyncio.timeout(30):
        while (await ask(fetching, "GET", f"/api/crawls/{crawl_id}")).json()["status"] == "running":
            await asyncio.sleep(0.05)
    stop.set()
    await working


async def test_a_search_finds_entries_by_body_or_address(fetching: Fetching) -> None:
    text = "# Rope\n\nIntroduction.\n\n## Care\n\nWash it in lukewarm water."
    await ask(fetching, "PUT", "/memory/entries/finding/rope", {"value": text, "format": "markdown"})
    body = {"query": "lukewarm", "namespaces": ["finding"]}
    found = (await ask(fetching, "POST", "/memory/search", body)).json()
    assert found["results"][0]["passages"][0]["headings"] == ["Rope", "Care"]
    assert found["results"][0]["entry"]["key"] == "rope"
    by_address = await ask(fetching, "GET", "/memory/search?query=lukewarm&namespace=finding")
    assert by_address.json() == found
    assert_problem(await ask(fetching, "POST", "/memory/search", {"query": " "}), "VALIDATION_ERROR")


async def test_lines_that_were_exported_are_imported_elsewhere(fetching: Fetching) -> None:
    for key in "ab":
        await ask(fetching, "PUT", f"/memory/entries/export/{key}", {"value": {"key": key}})
    lines = await ask(fetching, "GET", "/memory/export?namespace=export")
    assert lines.headers["content-type"] == "application/x-ndjson"
    assert [json.loads(line)["key"] for line in lines.text.splitlines()] == ["a", "b"]
    other = bearer(await fetching.visit.key())
    client = fetching.visit.client
    assert (await client.post("/memory/import", content=lines.content, headers=other)).json() == {
        "imported": 2
    }
    assert (await client.get("/memory", headers=other)).json()["entries"] == 2
    broken = lines.content + b'{"namespace": "export"}\n'
    refused = await client.post("/memory/import", content=broken, headers=other)
    assert_problem(refused, "VALIDATION_ERROR")
    assert "Line 3" in refused.json()["detail"]


async def test_much_is_deleted_by_a_job_and_hidden_at_once(
    fetching: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_flow, "MAX_DROPPED_AT_ONCE", 1)
    for key in "abc":
        await ask(fetching, "PUT", f"/memory/entries/much/{key}", {"value": "mountain"})
    accepted = await ask(fetching, "DELETE", "/memory/namespaces/much")
    assert accepted.status_code == 202
    overview = (await ask(fetching, "GET", "/memory")).json()
    assert "much" not in [one["name"] for one in overview["namespaces"]]
    assert (await ask(fetching, "GET", "/memory/search?query=mountain")).json()["results"] == []
    assert_problem(await ask(fetching, "DELETE", "/memory/namespaces/much"), "NOT_FOUND")
    async with at_work(fetching.visit):
        await over(fetching, accepted.json()["jobId"])


async def over(fetching: Fetching, job_id: str) -> None:
    async with asyncio.timeout(30):
        while True:
            job = (await ask(fetching, "GET", f"/api/jobs/{job_id}")).json()
            if job["status"] not in ("queued", "running"):
                assert job["status"] == "done", job
                return
            await asyncio.sleep(0.05)


async def test_a_tier_bounds_what_is_remembered(fetching: Fetching) -> None:
    overview = await fetching.visit.client.get(
        "/memory", headers=bearer(await fetching.visit.key(Role.USER, Tier.FREE))
    )
    assert (overview.json()["maxEntries"], overview.json()["maxBytes"]) == (10_000, 50_000_000)
    assert (await ask(fetching, "GET", "/memory")).json()["maxEntries"] is None


async def test_what_a_stranger_may_send_is_refused_and_breaks_nothing(fetching: Fetching) -> None:
    client = fetching.visit.client
    deep = "[" * 5_000 + "]" * 5_000
    bodies = [
        '{"value": "\\ud800"}',
        '{"value": "\\u0000"}',
        f'{{"value": {deep}}}',
        "{}",
        '{"value": 1, "x": 1}',
    ]
    json_headers = {**AS_ADMIN, "Content-Type": "application/json"}
    for body in bodies:
        answer = await client.put("/memory/entries/hostile/key", content=body, headers=json_headers)
        assert_problem(answer, "VALIDATION_ERROR")
    for path in ("-x/key", f"{'n' * 65}/key", f"ok/{'k' * 257}", "ok/%0A", "n%20s/key"):
        answer = await client.put(f"/memory/entries/{path}", content='{"value": 1}', headers=json_headers)
        assert_problem(answer, "VALIDATION_ERROR")
    large = await ask(fetching, "PUT", "/memory/entries/hostile/key", {"value": "x" * 1_048_576})
    assert_problem(large, "PAYLOAD_TOO_LARGE")
    many = {"entries": [{"key": f"{number}", "value": 1} for number in range(101)]}
    assert_problem(await ask(fetching, "POST", "/memory/entries", many), "VALIDATION_ERROR")
    assert_problem(await client.get("/memory"), "UNAUTHORIZED")
