"""The bodies of Browserless and Cloudflare Browser Rendering, and their answers."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from shutil import copy
from typing import Any

import httpx
import msgspec
import pytest
from tests.doors.fetches import say
from tests.doors.renders import PROSE, RENDERED, Rendering, app_page, opened
from tests.doors.services import ADMIN_KEY, AS_ADMIN
from tests.site.server import Site

from gossamer.doors.http.dropin.browserless.body import BrowserBody
from gossamer.doors.http.dropin.browserless.captures import to_pdf, to_screenshot
from gossamer.problems import Problem

ACCOUNT = "/client/v4/accounts/0123abcd/browser-rendering"
MAGIC = {"png": b"\x89PNG\r\n", "jpeg": b"\xff\xd8\xff", "webp": b"RIFF"}


@pytest.fixture(scope="module")
async def rendering(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path, site: Site
) -> AsyncIterator[Rendering]:
    folder = tmp_path_factory.mktemp("service")
    copy(sqlite_template, folder)
    async with opened(folder, site, working=False) as service:
        yield service


async def ask(rendering: Rendering, name: str, target: str, **body: Any) -> httpx.Response:
    """As clients of Browserless do."""
    url = rendering.site.url(target)
    return await rendering.visit.client.post(
        f"/browserless/{name}?token={ADMIN_KEY}", json={"url": url, **body}
    )


async def ask_cloudflare(rendering: Rendering, name: str, target: str, **body: Any) -> httpx.Response:
    url = rendering.site.url(target)
    return await rendering.visit.client.post(f"{ACCOUNT}/{name}", json={"url": url, **body}, headers=AS_ADMIN)


def read(**body: Any) -> BrowserBody:
    return msgspec.convert({"url": "https://site/", **body}, BrowserBody)


def test_options_become_ours() -> None:
    asked = read(
        gotoOptions={"waitUntil": "networkidle2", "timeout": 8000, "referer": "https://from/"},
        waitForSelector={"selector": "#a", "visible": True},
        waitForTimeout=250,
        viewport={"width": 390, "height": 844, "isMobile": True},
        userAgent="Mozilla/5.0",
        cookies=[{"name": "a", "value": "b", "domain": "site", "expires": -1, "sourcePort": 1}],
        authenticate={"username": "u", "password": "p"},
        setExtraHTTPHeaders={"Accept-Language": "de"},
        rejectResourceTypes=["image", "font"],
        unknown={"x": 1},
    ).visit()
    assert asked == {
        "url": "https://site/",
        "timeout": 8000,
        "waitForSelector": "#a",
        "headers": {
            "Accept-Language": "de",
            "Referer": "https://from/",
            "Authorization": f"Basic {base64.b64encode(b'u:p').decode()}",
        },
        "cookies": [{"name": "a", "value": "b", "domain": "site"}],
        "block": ["images", "fonts"],
        "actions": [{"type": "wait", "milliseconds": 250, "timeout": 1250}],
        "device": "mobile",
    }


@pytest.mark.parametrize(("given", "expected"), [(0, 30_000), (100, 5_000), (90_000, 30_000), (7_000, 7_000)])
def test_a_timeout_is_within_bounds(given: int, expected: int) -> None:
    assert read(gotoOptions={"timeout": given}).visit()["timeout"] == expected


def test_a_picture_and_a_pdf_as_puppeteer_makes_them() -> None:
    viewport = {"width": 1000, "height": 500, "deviceScaleFactor": 2}
    picture = to_screenshot(
        read(options={"type": "jpg", "quality": 50, "fullPage": True}, viewport=viewport, selector="h1")
    )
    assert picture["format"] == "jpeg"
    assert (picture["quality"], picture["fullPage"], picture["selector"]) == (50, True, "h1")
    assert (picture["viewport"], picture["deviceScaleFactor"]) == ({"width": 1000, "height": 500}, 2)
    plain = to_pdf(read())
    assert (plain["format"], plain["printBackground"], plain["margins"]["top"]) == ("Letter", False, "0px")
    asked = {"format": "a4", "margin": {"top": 20, "left": "1cm"}, "landscape": True, "pageRanges": "1-2"}
    paper = to_pdf(read(pdfOptions=asked))
    assert (paper["format"], paper["landscape"], paper["pageRanges"]) == ("A4", True, "1-2")
    assert paper["margins"] == {"top": "20px", "right": "0px", "bottom": "0px", "left": "1cm"}


@pytest.mark.parametrize(
    "body",
    [
        {"html": "<h1>Hello</h1>"},
        {"url": ""},
        {"waitForFunction": {"fn": "() => true"}},
        {"waitForSelector": {"selector": "a", "hidden": True}},
        {"rejectResourceTypes": ["script"]},
        {"rejectRequestPattern": ["/x/"]},
        {"options": {"clip": {"x": 0}}},
        {"options": {"type": "gif"}},
    ],
)
def test_what_cannot_be_done_is_refused_by_name(body: dict[str, Any]) -> None:
    with pytest.raises(Problem) as refusal:
        to_screenshot(read(**body))
    assert refusal.value.kind.status == 400
    assert refusal.value.hint


@pytest.mark.parametrize("mount", ["", "chromium/", "chrome/"])
async def test_content_is_the_page_after_its_scripts(rendering: Rendering, mount: str) -> None:
    page = await ask(rendering, f"{mount}content", app_page(), waitForSelector={"selector": "h1"})
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert RENDERED in page.content
    assert page.headers["x-response-code"] == "200"


async def test_pictures_and_pdf_are_files(rendering: Rendering) -> None:
    target = app_page()
    for kind, start in MAGIC.items():
        for answer in (
            await ask(rendering, "screenshot", target, options={"type": kind}),
            await ask_cloudflare(rendering, "screenshot", target, screenshotOptions={"type": kind}),
        ):
            assert (answer.status_code, answer.headers["content-type"]) == (200, f"image/{kind}")
            assert answer.content.startswith(start)
    for answer in (await ask(rendering, "pdf", target), await ask_cloudflare(rendering, "pdf", target)):
        assert (answer.headers["content-type"], answer.content[:5]) == ("application/pdf", b"%PDF-")
    text = await ask(rendering, "screenshot", target, options={"encoding": "base64"})
    assert base64.b64decode(text.content).startswith(MAGIC["png"])


async def test_cloudflare_puts_results_into_an_envelope(rendering: Rendering) -> None:
    target = say(f"<title>T</title><h1>Hello</h1><p>{PROSE}<a href='/b'>b</a><a href='https://x.test/'>x</a>")
    content = (await ask_cloudflare(rendering, "content", target)).json()
    assert (content["success"], content["errors"], content["messages"]) == (True, [], [])
    assert "<h1>Hello</h1>" in content["result"]
    assert content["meta"] == {"status": 200, "title": "T"}
    assert "# Hello" in (await ask_cloudflare(rendering, "markdown", target)).json()["result"]
    links = (await ask_cloudflare(rendering, "links", target)).json()["result"]
    assert links == [rendering.site.url("/b"), "https://x.test/"]
    own = await ask_cloudflare(rendering, "links", target, excludeExternalLinks=True)
    assert own.json()["result"] == [rendering.site.url("/b")]
    both = (await ask_cloudflare(rendering, "snapshot", target)).json()["result"]
    assert "<h1>Hello</h1>" in both["content"]
    assert base64.b64decode(both["screenshot"]).startswith(MAGIC["png"])
    schema = {"type": "object", "properties": {"title": {"type": "string", "x-selector": "h1"}}}
    data = await ask_cloudflare(
        rendering, "json", target, response_format={"type": "json_schema", "schema": schema}
    )
    assert data.json()["result"] == {"title": "Hello"}


async def test_errors_as_each_product_tells_them(rendering: Rendering) -> None:
    client = rendering.visit.client
    for path, status in (
        ("/browserless/content", 401),
        ("/browserless/content?token=wrong", 401),
        ("/browserless/function", 404),
        (f"{ACCOUNT}/content", 401),
        (f"{ACCOUNT}/crawl", 404),
    ):
        refused = await client.post(path, json={"url": rendering.site.url("/")})
        assert refused.status_code == status
        if path.startswith("/browserless"):
            assert refused.headers["content-type"].startswith("text/plain")
        else:
            said = refused.json()
            assert (said["success"], said["result"]) == (False, None)
            assert isinstance(said["errors"][0]["code"], int)
            assert said["errors"][0]["message"]
    html = await client.post(f"/browserless/content?token={ADMIN_KEY}", json={"html": "<p>"})
    assert (html.status_code, "`html` is not supported" in html.text) == (400, True)
    forbidden = await ask_cloudflare(rendering, "content", "/", url="http://127.0.0.2/")
    assert (forbidden.status_code, forbidden.json()["success"]) == (400, False)


async def test_scrape_tells_where_elements_stand(rendering: Rendering) -> None:
    late = "document.body.insertAdjacentHTML('beforeend', '<h2>late</h2>')"
    html = f"<title>T</title><h1 class=big>Hello</h1><p>{PROSE}<script>setTimeout(() => {late}, 50)</script>"
    elements = [{"selector": "h1"}, {"selector": "h2", "timeout": 3000}, {"selector": "h3", "timeout": 1}]
    target = say(html)
    data = (await ask(rendering, "scrape", target, elements=elements)).json()["data"]
    assert [found["selector"] for found in data] == ["h1", "h2", "h3"]
    [heading] = data[0]["results"]
    assert (heading["text"], heading["html"]) == ("Hello", "Hello")
    assert heading["attributes"] == [{"name": "class", "value": "big"}]
    assert heading["width"] > 0
    assert [found["text"] for found in data[1]["results"]] == ["late"]
    assert data[2]["results"] == []
    result = (await ask_cloudflare(rendering, "scrape", target, elements=elements[:1])).json()["result"]
    assert result[0]["results"][0]["text"] == "Hello"
    assert (await ask(rendering, "scrape", target)).status_code == 400


async def test_scripts_styles_and_cookies_are_added(rendering: Rendering) -> None:
    target = say(f"<title>T</title><h1>Hello</h1><p id=p>{PROSE}")
    page = await ask(
        rendering,
        "content",
        target,
        addScriptTag=[{"content": "const mark = document.cookie; p.title = mark"}],
        addStyleTag=[{"content": "h1 { color: red }"}],
        cookies=[{"name": "a", "value": "b"}],
        waitForTimeout=10,
    )
    assert page.status_code == 200, page.text
    assert 'title="a=b"' in page.text
    assert rendering.site.seen(target)[-1].header("cookie") == "a=b"


async def test_an_element_that_never_appears(rendering: Rendering) -> None:
    target = say(f"<title>T</title><h1>Hello</h1><p>{PROSE}")
    awaited = {"selector": "#never", "timeout": 100}
    assert (await ask(rendering, "content", target, waitForSelector=awaited)).status_code >= 400
    page = await ask(rendering, "content", target, waitForSelector=awaited, bestAttempt=True)
    assert (page.status_code, "<h1>Hello</h1>" in page.text) == (200, True)
