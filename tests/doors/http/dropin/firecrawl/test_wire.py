"""What Firecrawl's clients need on the wire, where a small difference breaks them silently."""

import time
from typing import Any

import httpx
import pytest
from tests.doors.dropin import Served
from tests.doors.fetches import say

JOBS = ("status", "completed", "total", "creditsUsed", "expiresAt", "data")


def post(served: Served, path: str, **body: Any) -> dict[str, Any]:
    with served.client() as client:
        response = client.post(served.origin + path, json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    assert answer["success"] is True
    return answer


def get(served: Served, path: str) -> dict[str, Any]:
    with served.client() as client:
        response = client.get(served.origin + path, headers={"Content-Type": "application/json"})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def over(served: Served, path: str) -> dict[str, Any]:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        status = get(served, path)
        assert all(type(status[name]) is int for name in ("completed", "total", "creditsUsed"))
        assert all(name in status for name in JOBS)
        assert "error" not in status
        if status["status"] != "scraping":
            return status
        time.sleep(0.1)
    pytest.fail("the job does not end")


def test_a_page_is_scraped_in_all_formats_of_text(served: Served) -> None:
    formats = ["markdown", "html", "rawHtml", "links", "images", "changeTracking"]
    defaults = {"skipTlsVerification": True, "removeBase64Images": True, "blockAds": True, "maxAge": 14400000}
    page = post(served, "/v2/scrape", url=served.product, formats=formats, onlyMainContent=False, **defaults)[
        "data"
    ]
    assert page["markdown"].startswith("[elsewhere]")
    assert "<h1>Silk rope</h1>" in page["html"]
    assert "ld+json" in page["rawHtml"]
    assert page["links"] == [f"{served.web.origin}/elsewhere"]
    assert page["images"] == [f"{served.web.origin}/rope.png"]
    about = page["metadata"]
    assert (about["title"], about["ogTitle"], about["language"]) == ("Silk rope", "Rope", "en")
    assert (about["statusCode"], about["sourceURL"], about["creditsUsed"]) == (200, served.product, 1)
    assert isinstance(about["ogLocaleAlternate"], list)
    assert "changeTracking" in page["warning"]


def test_only_what_a_page_has_is_extracted(served: Served) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}
    wanted = {"type": "json", "schema": schema}
    page = post(served, "/v2/scrape", url=served.product, formats=[wanted])["data"]
    assert page["json"] == {"name": "Silk rope", "price": 1299.0}
    old = post(served, "/v1/scrape", url=served.product, formats=["extract"], extract={"schema": schema})[
        "data"
    ]
    assert old["extract"] == page["json"]
    several = post(
        served, "/v2/extract", urls=[served.web.seed, served.product], schema=schema, showSources=True
    )
    assert several["data"] == {"name": "The root", "price": 1299.0} or several["data"]["price"] == 1299.0
    assert several["status"] == "completed"
    assert "id" not in several


@pytest.mark.parametrize("version", ["/v1", "/v2", "//v1", "//v2"])
def test_a_crawl_from_its_start_to_its_documents(served: Served, version: str) -> None:
    options = {"formats": ["markdown", "links"], "onlyMainContent": False}
    begun = post(
        served,
        f"{version}/crawl",
        url=served.web.seed,
        crawlEntireDomain=True,
        sitemap="skip",
        scrapeOptions=options,
    )
    assert begun["url"] == f"{served.origin}/{version.strip('/')}/crawl/{begun['id']}"
    status = over(served, f"{version}/crawl/{begun['id']}")
    assert (status["status"], status["completed"], status["total"]) == ("completed", 3, 3)
    assert "next" not in status
    assert {page["metadata"]["sourceURL"] for page in status["data"]} == served.web.urls
    assert all(
        page["markdown"] and isinstance(page["links"], list) and "html" not in page for page in status["data"]
    )
    errors = get(served, f"{version}/crawl/{begun['id']}/errors")
    assert (errors["errors"], errors["robotsBlocked"]) == ([], [])
    with served.client() as client:
        ended = client.delete(f"{served.origin}{version}/crawl/{begun['id']}")
    assert (ended.status_code, ended.json()["status"]) == (200, "completed")


def test_a_running_crawl_is_cancelled(served: Served) -> None:
    slow = served.web.origin + say("<title>Slow</title>", pause=30.0)
    begun = post(served, "/v2/crawl", url=slow)
    active = get(served, "/v2/crawl/active")["crawls"]
    assert [crawl["teamId"] for crawl in active if crawl["url"] == slow] == [""]
    with served.client() as client:
        ended = client.delete(f"/v2/crawl/{begun['id']}")
    assert (ended.status_code, ended.json()) == (200, {"success": True, "status": "cancelled"})
    assert get(served, f"/v2/crawl/{begun['id']}")["status"] == "cancelled"


def test_a_long_list_goes_on_at_an_absolute_address(served: Served) -> None:
    pages = [served.web.origin + say(f"<title>{number}</title><p>Page {number}.") for number in range(105)]
    begun = post(served, "/v2/batch/scrape", urls=[*pages, "no URL"], formats=["markdown"])
    assert begun["invalidURLs"] == ["no URL"]
    status = over(served, f"/v2/batch/scrape/{begun['id']}")
    assert (status["completed"], status["total"], len(status["data"])) == (105, 105, 100)
    assert status["next"].startswith(f"{served.origin}/v2/batch/scrape/")
    last = httpx.get(
        status["next"], headers={"Authorization": f"Bearer {served.key}"}, trust_env=False
    ).json()
    assert last["success"] is True
    assert [page["metadata"]["title"] for page in last["data"]] == ["100", "101", "102", "103", "104"]
    assert "next" not in last


def test_a_start_that_is_sent_again_at_once_is_one_job(served: Served) -> None:
    page = served.web.origin + say("<title>Once</title>")
    first, second = [post(served, "/v2/crawl", url=page)["id"] for _ in range(2)]
    other = post(served, "/v2/crawl", url=page, limit=7)["id"]
    assert first == second != other
    with served.client() as client:
        keyed = [
            client.post("/v2/crawl", json={"url": page}, headers={"x-idempotency-key": key}).json()["id"]
            for key in ("a-1", "a-1", "a-2")
        ]
    assert keyed[0] == keyed[1] != keyed[2]
    assert keyed[0] != first


def test_search_and_map_have_the_shape_of_their_version(served: Served) -> None:
    post(served, "/v2/scrape", url=served.product)
    found = post(
        served, "/v2/search", query="silk rope", limit=2, sources=["web", "alexandria"], toolDetail="compact"
    )
    assert found["data"]["web"][0]["url"] == served.product
    assert "alexandria" in found["warning"]
    read = post(served, "/v1/search", query="silk rope", scrapeOptions={"formats": ["markdown"]})["data"]
    assert read[0]["markdown"].startswith("# Silk rope")
    links = post(served, "/v2/map", url=served.web.seed, sitemap="skip")["links"]
    assert served.web.urls <= {link["url"] for link in links}
    assert served.web.urls <= set(post(served, "/v1/map", url=served.web.seed, ignoreSitemap=True)["links"])


def test_numbers_of_the_account_are_whole(served: Served) -> None:
    assert type(get(served, "/v2/team/credit-usage")["data"]["remainingCredits"]) is int
    assert type(get(served, "/v1/team/credit-usage")["data"]["remaining_credits"]) is int
    assert type(get(served, "/v2/team/token-usage")["data"]["remainingTokens"]) is int
    running = get(served, "/v2/concurrency-check")
    assert type(running["concurrency"]) is type(running["maxConcurrency"]) is int
    assert all(
        type(value) is int
        for name, value in get(served, "/v2/team/queue-status").items()
        if name != "success"
    )
    assert get(served, "/v2/team/credit-usage/historical?byApiKey=true")["periods"] == []


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v2/scrape", {"url": "no URL"}, 400, "INVALID_URL"),
        ("/v2/scrape", {"url": "http://127.0.0.1:9/"}, 500, "SCRAPE_SITE_ERROR"),
        ("/v2/scrape", {}, 400, "VALIDATION_ERROR"),
        ("/v2/scrape", {"url": "http://a.example/", "formats": ["json"]}, 400, "VALIDATION_ERROR"),
        ("/v2/crawl", {"url": "http://a.example/", "includePaths": ["^(?!a)b"]}, 400, "VALIDATION_ERROR"),
        ("/v2/batch/scrape", {"urls": ["no URL"]}, 400, "VALIDATION_ERROR"),
        ("/v2/crawl/params-preview", {"url": "http://a.example/"}, 404, "NOT_FOUND"),
        ("/v2/agent", {}, 404, "NOT_FOUND"),
    ],
)
def test_errors_have_the_members_that_clients_read(
    served: Served, path: str, body: dict[str, Any], status: int, code: str
) -> None:
    with served.client() as client:
        response = client.post(path, json=body)
    told = response.json()
    assert (response.status_code, told["success"], told["code"]) == (status, False, code), told
    assert isinstance(told["error"], str)
    assert told["error"]
    assert response.headers["content-type"] == "application/json"


def test_a_key_is_needed_and_strangers_jobs_are_unknown(served: Served) -> None:
    for headers in ({}, {"Authorization": "Bearer None"}):
        refused = httpx.post(
            f"{served.origin}/v2/scrape", json={"url": served.product}, headers=headers, trust_env=False
        )
        assert (refused.status_code, refused.json()["success"]) == (401, False)
    with served.client() as client:
        for unknown in ("01JGGR2Z3W8Q4T6V9X0Y1B2C3D-01", "a%3Fb", "x", "01JGGR2Z3W8Q4T6V9X0Y1B2C3D-zz"):
            assert client.get(f"/v2/crawl/{unknown}").status_code == 404


def test_steps_and_pictures_need_one_visit(served: Served) -> None:
    press = "document.querySelector('p').textContent = 'The button was pressed.'"
    shown = served.web.origin + say(
        "<title>Steps</title><body><h1>Steps</h1><p>A page that waits for somebody to press its button.</p>"
        f'<button onclick="{press}">Press</button>'
    )
    steps = [
        {"type": "click", "selector": "button"},
        {"type": "executeJavascript", "script": "6 * 7"},
        {"type": "pdf"},
    ]
    formats = ["markdown", {"type": "screenshot", "fullPage": True}]
    page = post(served, "/v2/scrape", url=shown, formats=formats, actions=steps, waitFor=10, mobile=True)[
        "data"
    ]
    assert "The button was pressed." in page["markdown"]
    assert page["screenshot"].startswith("data:image/png;base64,")
    assert page["actions"]["screenshots"] == []
    assert [one["value"] for one in page["actions"]["javascriptReturns"]] == [42]
    assert "pdf" in page["warning"]
    alone = post(served, "/v1/scrape", url=shown, formats=["screenshot@fullPage"])["data"]
    assert alone["screenshot"].startswith("data:image/png;base64,")
    assert alone["metadata"]["title"] == "Steps"
