"""The door for clients of Crawl4AI: its Python client, and the traps of what it reads."""

import json
from typing import Any

import pytest
from tests.doors.crawls import PROSE, page
from tests.doors.dropins import Served, served
from tests.doors.fetches import say
from tests.doors.renders import app_page

from gossamer.doors.http.dropin.crawl4ai.results import ResultsThatFit
from gossamer.problems import Problem

__all__ = ["served"]

WEBS = f"""<html lang="en"><title>Webs</title>
<nav><a href="/home">Home</a></nav><main><h1>Webs</h1><p>{PROSE}</p>
<p id="one">See <a href="/silk">silk</a> and <a href="https://example.com/">others</a>.
<img src="/orb.png" alt="An orb"></p></main>"""
PROGRAM = """
import asyncio, json, sys
from crawl4ai import (BrowserConfig, CacheMode, CrawlerRunConfig, DefaultMarkdownGenerator,
                      JsonCssExtractionStrategy, PruningContentFilter)
from crawl4ai.docker_client import ConnectionError, Crawl4aiDockerClient, RequestError

url, key, page, gone, script = sys.argv[1:]

def shown(result):
    return {"url": result.url, "success": result.success, "html": result.html, "status": result.status_code,
            "markdown": str(result.markdown), "cited": result.markdown.markdown_with_citations,
            "references": result.markdown.references_markdown, "fit": result.markdown.fit_markdown,
            "links": result.links, "media": result.media, "metadata": result.metadata,
            "message": result.error_message, "extracted": result.extracted_content,
            "screenshot": result.screenshot}

async def refused(call, kind):
    try:
        await call
    except kind as error:
        return str(error)

async def main():
    said = {}
    async with Crawl4aiDockerClient(url, verbose=False) as client:
        said["no_key"] = await refused(client.crawl([page]), RequestError)
        said["wrong"] = await refused(client.authenticate("you@example.com"), ConnectionError)
        await client.authenticate(key)
        said["one"] = shown(await client.crawl([page]))
        said["two"] = [shown(result) for result in await client.crawl([page, gone])]
        config = CrawlerRunConfig(css_selector="#one", excluded_tags=["img"], cache_mode=CacheMode.ENABLED)
        browser = BrowserConfig(headers={"Accept-Language": "de"}, cookies=[{"name": "a", "value": "1"}])
        said["chosen"] = shown(await client.crawl([page + "?chosen"], browser, config))
        generator = DefaultMarkdownGenerator(content_filter=PruningContentFilter())
        fit = CrawlerRunConfig(markdown_generator=generator, exclude_external_links=True)
        said["fit"] = shown(await client.crawl([page], crawler_config=fit))
        streamed = await client.crawl([page, gone], crawler_config=CrawlerRunConfig(stream=True))
        said["stream"] = [shown(result) async for result in streamed]
        schema = {"name": "s", "baseSelector": "p#one", "fields": [
            {"name": "first", "selector": "a", "type": "text"},
            {"name": "to", "selector": "a", "type": "attribute", "attribute": "href"}]}
        extraction = CrawlerRunConfig(extraction_strategy=JsonCssExtractionStrategy(schema))
        said["extracted"] = shown(await client.crawl([page], crawler_config=extraction))
        waiting = CrawlerRunConfig(wait_for="css:h1", screenshot=True, delay_before_return_html=0.01,
                                   js_code="document.querySelector('h1').append(' and by js_code')")
        said["waiting"] = shown(await client.crawl([script], crawler_config=waiting))
        said["hooks"] = await refused(client.crawl([page], hooks={"before_goto": "x = 1"}), RequestError)
        said["schema"] = await client.get_schema()
    print(json.dumps(said))

asyncio.run(main())
"""


@pytest.fixture(scope="module")
async def said(served: Served) -> dict[str, Any]:
    """Everything that its client has read, in one process: to import it takes seconds."""
    target = say(WEBS)
    gone = say("<title>Gone</title>", status="404 Not Found")
    urls = [served.site.url(target), served.site.url(gone), served.site.url(app_page())]
    told = await served.run_client(PROGRAM, *urls)
    return {**told, "page": urls[0], "gone": urls[1], "target": target}


async def test_a_page_is_read(served: Served, said: dict[str, Any]) -> None:
    one = said["one"]
    assert (one["url"], one["success"], one["status"], one["html"]) == (said["page"], True, 200, WEBS)
    silk = served.site.url("/silk")
    assert "Home" in one["markdown"]
    assert f"See [silk]({silk})" in one["markdown"]
    assert "See silk⟨2⟩ and others⟨3⟩" in one["cited"]
    assert f"⟨2⟩ {silk}: silk\n" in one["references"]
    assert [link["href"] for link in one["links"]["internal"]] == [served.site.url("/home"), silk]
    assert [link["href"] for link in one["links"]["external"]] == ["https://example.com/"]
    assert [image["src"] for image in one["media"]["images"]] == [served.site.url("/orb.png")]
    assert one["metadata"]["title"] == "Webs"


async def test_pages_that_fail_fail_by_themselves(said: dict[str, Any]) -> None:
    for results in (said["two"], said["stream"]):
        assert [(one["url"], one["success"]) for one in results] == [
            (said["page"], True),
            (said["gone"], False),
        ]
        assert "404" in results[1]["message"]


async def test_configurations_are_read(served: Served, said: dict[str, Any]) -> None:
    assert said["chosen"]["markdown"].startswith("See [silk](")
    assert "orb" not in said["chosen"]["markdown"]
    (request,) = served.site.seen(f"{said['target']}?chosen")
    assert (request.header("cookie"), request.header("accept-language")) == ("a=1", "de")
    assert said["fit"]["fit"].startswith("# Webs")
    assert "Home" not in said["fit"]["fit"]
    assert said["fit"]["links"]["external"] == []
    assert json.loads(said["extracted"]["extracted"]) == [{"first": "silk", "to": served.site.url("/silk")}]


async def test_a_browser_waits_and_takes_pictures(said: dict[str, Any]) -> None:
    assert "# Rendered by a script and by js_code" in said["waiting"]["markdown"]
    assert said["waiting"]["screenshot"].startswith("iVBORw0KGgo")


async def test_refusals_are_one_text(said: dict[str, Any]) -> None:
    assert said["no_key"].startswith("Server error 401: ")
    assert "401" in said["wrong"]
    assert said["hooks"].startswith("Server error 400: Hooks are not supported")
    assert "css_selector" in said["schema"]["crawler"]


async def test_no_line_of_a_stream_has_the_key_error(served: Served) -> None:
    urls = [
        served.site.url(say(WEBS)),
        served.site.url(say(b"PNG", "Content-Type: image/png")),
        "http://127.0.0.2/",
        "no URL",
    ]
    body = {"urls": urls, "crawler_config": {"type": "CrawlerRunConfig", "params": {"stream": True}}}
    response = await served.http.post("/crawl/stream", json=body)
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert lines.pop() == {"status": "completed"}
    assert [line["url"] for line in lines] == urls
    assert [line["success"] for line in lines] == [True, False, False, False]
    for line in lines:
        assert "error" not in line
        assert {"raw_markdown", "markdown_with_citations", "references_markdown"} <= set(line["markdown"])


async def test_a_stream_that_cannot_begin_is_refused(served: Served) -> None:
    response = await served.http.post(
        "/crawl/stream", json={"urls": ["https://example.com/"]}, headers={"Authorization": "Bearer wrong"}
    )
    assert response.status_code == 401
    assert isinstance(response.json()["detail"], str)


async def test_a_job_is_followed_by_its_id(served: Served) -> None:
    url = served.site.url(page("In a job"))
    started = await served.http.post("/crawl/job", json={"urls": [url]})
    assert started.status_code == 200
    task = started.json()["task_id"]
    while (shown := (await served.http.get(f"/crawl/job/{task}")).json())["status"] == "processing":
        assert "result" not in shown
    assert shown["status"] == "completed"
    (result,) = shown["result"]["results"]
    assert (result["url"], result["success"]) == (url, True)
    unknown = await served.http.get("/crawl/job/unknown%3Fa=b")
    assert (unknown.status_code, unknown.json()["detail"]) == (404, "There is no batch with this id.")


def test_results_that_do_not_fit_are_refused() -> None:
    results = ResultsThatFit()
    results.add({"html": "a" * 6_000_000})
    with pytest.raises(Problem) as refused:
        results.add({"html": "a" * 6_000_000})
    assert refused.value.hint == "Ask for fewer pages, or for a stream."


async def test_markdown_and_html_come_alone(served: Served) -> None:
    url = served.site.url(say(WEBS))
    fit = (await served.http.post("/md", json={"url": url})).json()
    assert fit["markdown"].startswith("# Webs")
    assert "Home" not in fit["markdown"]
    raw = (await served.http.post("/md", json={"url": url, "f": "raw", "c": "1"})).json()
    assert "Home" in raw["markdown"]
    assert "<h1>Webs</h1>" in (await served.http.post("/html", json={"url": url})).json()["html"]


def _nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"params": value}
    return value


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/crawl", {"urls": []}),
        ("/crawl", {"urls": ["https://example.com/"], "hooks": {"code": {"before_goto": "import os"}}}),
        ("/crawl", {"urls": ["https://example.com/"], "crawler_config": {"params": {"screenshot": "often"}}}),
        (
            "/crawl",
            {"urls": ["https://example.com/"], "crawler_config": {"params": {"wait_for": "js:() => 1"}}},
        ),
        (
            "/crawl/stream",
            {
                "urls": ["https://example.com/"],
                "crawler_config": {"params": {"extraction_strategy": {"type": "LLMExtractionStrategy"}}},
            },
        ),
        (
            "/crawl/job",
            {
                "urls": ["https://example.com/"],
                "crawler_config": {"params": {"deep_crawl_strategy": {"type": "BFSDeepCrawlStrategy"}}},
            },
        ),
        ("/crawl", {"urls": ["https://example.com/"], "crawler_config": {"params": {"page_timeout": "nan"}}}),
        ("/crawl", {"urls": ["https://example.com/"], "crawler_config": _nested(700)}),
        ("/md", {"url": "https://example.com/", "f": "llm"}),
        ("/token", {"email": "ä"}),
    ],
)
async def test_what_cannot_be_done_is_refused_in_one_text(
    served: Served, path: str, body: dict[str, Any]
) -> None:
    response = await served.http.post(path, json=body)
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/json"
    assert isinstance(response.json()["detail"], str)
