"""The door for clients of Tavily: its Python package, sync and async, and what it reads of errors."""

import asyncio

import pytest
from tests.doors.crawls import PROSE, Web, page
from tests.doors.dropins import Served, served
from tests.doors.fetches import say

from gossamer.doors.http.dropin.tavily.patterns import pattern_of, patterns_of
from gossamer.problems import Problem

__all__ = ["served"]

PROGRAM = """
import asyncio, json, sys
from tavily import AsyncTavilyClient, TavilyClient
from tavily.errors import BadRequestError, InvalidAPIKeyError

url, key, seed, page, gone = sys.argv[1:]
client = TavilyClient(key, api_base_url=url + "/tavily")

def use(client):
    return {
        "extract": lambda: client.extract([page, gone], include_images=True),
        "one": lambda: client.extract(page, format="text"),
        "search": lambda: client.search("yellow garden weaver", max_results=3, include_raw_content=True),
        "elsewhere": lambda: client.search("yellow garden weaver", include_domains=["example.com"]),
        "crawl": lambda: client.crawl(seed, max_depth=2, limit=10),
        "map": lambda: client.map(seed),
    }

def refused(call):
    try:
        call()
    except (BadRequestError, InvalidAPIKeyError) as error:
        return [type(error).__name__, str(error)]

async def main():
    client = AsyncTavilyClient(key, api_base_url=url + "/tavily")
    return {name: await call() for name, call in use(client).items()}

said = {"sync": {name: call() for name, call in use(client).items()}, "async": asyncio.run(main())}
said["bad"] = refused(lambda: client.extract("no URL", format="poem"))
said["key"] = refused(lambda: TavilyClient("wrong", api_base_url=url + "/tavily").search("x"))
print(json.dumps(said))
"""


async def test_its_own_clients_work(served: Served) -> None:
    web = Web.on(served.site.url(""))
    garden = say(
        f"<title>Garden</title><h1>Yellow garden weaver</h1><p>{PROSE}<img src='/a.png' alt='a'></p>"
    )
    url, gone = served.site.url(garden), served.site.url(say("", status="404 Not Found"))
    said = await served.run_client(PROGRAM, web.seed, url, gone)
    for answers in (said["sync"], said["async"]):
        (read,) = answers["extract"]["results"]
        assert (read["url"], read["images"]) == (url, [served.site.url("/a.png")])
        assert read["raw_content"].startswith("# Yellow garden weaver\n\nOrb weavers")
        (failed,) = answers["extract"]["failed_results"]
        assert failed["url"] == gone
        assert "404" in failed["error"]
        assert answers["one"]["results"][0]["raw_content"].startswith("Orb weavers")
        (found,) = answers["search"]["results"]
        assert (found["url"], found["score"]) == (url, 1.0)
        assert "**" not in found["content"]
        assert found["raw_content"].startswith("# Yellow garden weaver")
        assert answers["elsewhere"]["results"] == []
        assert {one["url"] for one in answers["crawl"]["results"]} == web.urls
        assert all(PROSE[:50] in one["raw_content"] for one in answers["crawl"]["results"])
        assert web.urls <= set(answers["map"]["results"])
        assert all(answer["response_time"] >= 0 for answer in answers.values())
    kind, text = said["bad"]
    assert kind == "BadRequestError"
    assert "Invalid enum value 'poem'" in text
    assert said["key"][0] == "InvalidAPIKeyError"
    assert said["key"][1]
    listed = (await served.http.get("/api/crawls")).json()
    assert listed["crawls"] == []


async def test_a_crawl_takes_the_paths_that_are_selected(served: Served) -> None:
    wanted, other = page("Wanted"), page("Other")
    seed = served.site.url(page("Seed", wanted, other))
    body = {"url": seed, "select_paths": [f"{wanted}$"], "limit": 5}
    crawled = (await served.http.post("/tavily/crawl", json=body)).json()
    assert {one["url"] for one in crawled["results"]} == {seed, served.site.url(wanted)}
    body = {"url": seed, "exclude_paths": [f"{other}$"]}
    mapped = (await served.http.post("/tavily/map", json=body)).json()
    assert served.site.url(wanted) in mapped["results"]
    assert served.site.url(other) not in mapped["results"]


async def test_a_crawl_ends_with_its_client(served: Served) -> None:
    slow = say("", pause=30.0)
    seed = served.site.url(page("Slow", slow))
    asking = asyncio.create_task(served.http.post("/tavily/crawl", json={"url": seed}))
    async with asyncio.timeout(60):
        while not served.visits(slow):
            await asyncio.sleep(0.05)
        asking.cancel()
        while (await served.http.get("/api/crawls")).json()["crawls"]:
            await asyncio.sleep(0.05)


async def test_a_crawl_that_takes_too_long_answers_with_what_it_has(served: Served) -> None:
    seed = served.site.other_url(page("Early", say("", pause=30.0)))
    crawled = (await served.http.post("/tavily/crawl", json={"url": seed, "timeout": 3})).json()
    assert [one["url"] for one in crawled["results"]] == [seed]


async def test_many_pages_are_read_as_a_batch_that_leaves_nothing(served: Served) -> None:
    targets = [page(f"Number {number}") for number in range(12)]
    urls = [served.site.url(target) for target in targets]
    read = (await served.http.post("/tavily/extract", json={"urls": [*urls, "http://127.0.0.2/"]})).json()
    assert [one["url"] for one in read["results"]] == urls
    assert [one["url"] for one in read["failed_results"]] == ["http://127.0.0.2/"]
    jobs = (await served.http.get("/api/jobs", params={"kind": "batch"})).json()["jobs"]
    for job in jobs:
        assert (await served.http.get(f"/batch/fetch/{job['jobId']}")).status_code == 404


async def test_a_batch_ends_with_its_client(served: Served) -> None:
    slow = say("", pause=30.0)
    urls = [served.site.other_url(slow), *(served.site.other_url(page(f"Page {at}")) for at in range(11))]
    asking = asyncio.create_task(served.http.post("/tavily/extract", json={"urls": urls}))
    async with asyncio.timeout(60):
        while not served.visits(slow):
            await asyncio.sleep(0.05)
        asking.cancel()
        running = {"kind": "batch", "status": "running"}
        while (await served.http.get("/api/jobs", params=running)).json()["jobs"]:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("search", {}, 400),
        ("extract", {"urls": []}, 400),
        ("crawl", {"url": "http://127.0.0.2/"}, 400),
        ("crawl", {"url": "https://example.com/", "select_paths": ["/(a|b)/"]}, 400),
        ("research", {"input": "x"}, 400),
    ],
)
async def test_errors_have_an_object_as_detail(
    served: Served, path: str, body: dict[str, object], status: int
) -> None:
    response = await served.http.post(f"/tavily/{path}", json=body)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    assert response.json()["detail"]["error"]


@pytest.mark.parametrize(
    ("expression", "pattern"),
    [
        ("/docs/.*", "/docs/*"),
        ("^/docs/v1\\.0/.+$", "/docs/v1.0/*"),
        ("/a", "/a*"),
        ("/a$", "/a"),
        (".*\\.pdf$", "*.pdf"),
    ],
)
def test_an_expression_becomes_a_pattern(expression: str, pattern: str) -> None:
    assert pattern_of(expression) == pattern


def test_domains_and_paths_are_both_required() -> None:
    assert patterns_of(["/a/.*"], ["^docs\\.example\\.com$"]) == ["http*://docs.example.com/a/*"]
    assert patterns_of([], ["docs\\.example\\.com$"]) == ["http*://docs.example.com/*"]
    with pytest.raises(Problem):
        pattern_of("[ab]")
