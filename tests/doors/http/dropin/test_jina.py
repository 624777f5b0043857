"""The door for clients of Jina Reader: what curl and programs send, and what they read."""

import json
from typing import Any

import httpx
import pytest
from tests.doors.crawls import PROSE, page
from tests.doors.dropins import Served, served
from tests.doors.fetches import say
from tests.doors.renders import app_page

from gossamer.doors.http.dropin.jina.target import target_of

__all__ = ["served"]

WEBS = f"""<html lang="en"><title>Webs</title>
<meta property="article:published_time" content="2026-01-02T03:04:05Z">
<nav><a href="/home">Home</a></nav><main><h1>Webs</h1><p>{PROSE}</p><p id="one">See <a href="/silk">silk</a>.
<img src="/orb.png" alt="An orb"></p></main>"""
JSON = {"Accept": "application/json"}


async def read(served: Served, target: str, **headers: str) -> httpx.Response:
    return await served.http.get(
        f"/r/{served.site.url(target)}", headers={name.replace("_", "-"): v for name, v in headers.items()}
    )


async def data(served: Served, target: str, **headers: str) -> dict[str, Any]:
    response = await read(served, target, Accept="application/json", **headers)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    assert (answer["code"], answer["status"]) == (200, 20000)
    assert answer["meta"]["usage"] == answer["data"]["usage"]
    shown: dict[str, Any] = answer["data"]
    return shown


@pytest.mark.parametrize(
    ("written", "query", "url"),
    [
        ("https://site/a%20b", "x=1&y=%20", "https://site/a%20b?x=1&y=%20"),
        ("https:/site/a", "", "https://site/a"),
        ("https://https://site/", "", "https://site/"),
        ("https:/http:/site/", "", "http://site/"),
        ("https%3A%2F%2Fsite%2Fa%3Fb%3D1", "", "https://site/a?b=1"),
        ("site/a", "", "https://site/a"),
        ("HTTP://Site/", "", "http://Site/"),
    ],
)
def test_the_target_stands_behind_the_mount_in_any_spelling(written: str, query: str, url: str) -> None:
    assert target_of(written, query) == url


async def test_the_text_form_is_exact(served: Served) -> None:
    response = await read(served, (target := say(WEBS)) + "?a=1&b=%20", Accept="*/*")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert int(response.headers["x-usage-tokens"]) > 50
    url = served.site.url(target)
    head, content = response.text.split("\nMarkdown Content:\n")
    published = "2026-01-02T03:04:05Z"
    assert head == f"Title: Webs\n\nURL Source: {url}?a=1&b=%20\n\nPublished Time: {published}\n"
    assert content.startswith("# Webs\n\nOrb weavers")
    assert content.endswith("\n")
    assert "Home" not in content
    assert served.visits(f"{target}?a=1&b=%20") == 1


async def test_json_comes_only_if_text_is_not_acceptable(served: Served) -> None:
    target = say(WEBS)
    for accept in ("*/*", "text/html,application/xhtml+xml,*/*;q=0.8", "application/json, text/plain, */*"):
        assert (await read(served, target, Accept=accept)).text.startswith("Title: ")
    shown = await data(served, target)
    assert (shown["title"], shown["url"]) == ("Webs", served.site.url(target))
    assert set(shown) == {"title", "description", "url", "content", "publishedTime", "metadata", "usage"}


async def test_events_carry_the_page_without_an_envelope(served: Served) -> None:
    response = await read(served, say(WEBS), Accept="text/event-stream")
    assert response.headers["content-type"].startswith("text/event-stream")
    event, line = response.text.strip().split("\n")
    assert event == "event: data"
    assert json.loads(line.removeprefix("data: "))["title"] == "Webs"
    failed = await read(served, say(b"PNG", "Content-Type: image/png"), Accept="text/event-stream")
    assert failed.text.startswith("event: error\ndata: ")


async def test_headers_choose_what_is_shown(served: Served) -> None:
    target = say(WEBS)
    assert (await read(served, target, X_Respond_With="html")).text == WEBS
    text = (await read(served, target, X_Return_Format="text")).text
    assert text.startswith("Home")
    assert "Title:" not in text
    assert "Home" in (await data(served, target, X_Respond_With="markdown"))["content"]
    several = await data(served, target, X_Respond_With="markdown, html, text")
    assert {"content", "html", "text"} <= set(several)
    one = await data(served, target, X_Target_Selector="#one")
    assert one["content"].startswith("See [silk](")
    rest = await data(served, target, X_Respond_With="markdown", X_Remove_Selector="nav, #one")
    assert "Home" not in rest["content"]
    assert "silk" not in rest["content"]
    bare = await data(served, target, X_Target_Selector="#one", X_Retain_Images="none", X_Retain_Links="text")
    assert bare["content"] == "See silk."
    described = await data(served, target, X_Target_Selector="#one", X_Retain_Images="alt")
    assert described["content"].endswith("(An orb)")


async def test_summaries_follow_the_content(served: Served) -> None:
    target = say(WEBS)
    shown = await data(served, target, X_With_Links_Summary="true", X_With_Images_Summary="true")
    assert shown["links"] == {"Home": served.site.url("/home"), "silk": served.site.url("/silk")}
    assert shown["images"] == {"Image 1: An orb": served.site.url("/orb.png")}
    text = (await read(served, target, X_With_Links_Summary="all", X_With_Images_Summary="true")).text
    assert text.endswith(
        f"\n\nImages:\n- ![Image 1: An orb]({served.site.url('/orb.png')})\n\n"
        f"Links/Buttons:\n- [Home]({served.site.url('/home')})\n- [silk]({served.site.url('/silk')})\n"
    )


async def test_tokens_are_trimmed_or_budgeted(served: Served) -> None:
    target = say(WEBS)
    assert (await data(served, target, X_Max_Tokens="10"))["usage"]["tokens"] <= 10
    over = await read(served, target, X_Token_Budget="10")
    assert (over.status_code, over.json()["status"]) == (409, 40904)


async def test_the_cache_is_used_as_the_reader_uses_it(served: Served) -> None:
    target = say(WEBS)
    for headers in ({}, {}, {"X_Cache_Tolerance": "60"}):
        await read(served, target, **headers)
    assert served.visits(target) == 1
    for headers in ({"X_No_Cache": "true"}, {"DNT": "1"}, {"X_Cache_Tolerance": "0"}):
        await read(served, target, **headers)
    assert served.visits(target) == 4


async def test_cookies_language_and_referer_reach_the_page(served: Served) -> None:
    target = say(WEBS)
    await served.http.get(
        f"/r/{served.site.url(target)}",
        headers=[
            ("X-Set-Cookie", "a=1; Path=/"),
            ("X-Set-Cookie", "b=2"),
            ("X-Locale", "de-CH"),
            ("X-Referer", "https://example.com/"),
        ],
    )
    (request,) = served.site.seen(target)
    assert request.header("cookie") == "a=1; b=2"
    assert (request.header("accept-language") or "").startswith("de-CH")
    assert request.header("referer") == "https://example.com/"


async def test_what_cannot_be_done_is_said_in_a_warning(served: Served) -> None:
    text = (await read(served, say(WEBS), X_User_Agent="Somebody", X_Proxy="auto")).text
    assert "\n\nWarning: X-Proxy is not supported here and was ignored.\n\nWarning: X-User-Agent is" in text
    missing = await read(served, say(WEBS, status="404 Not Found"))
    assert missing.status_code == 200
    assert "\nWarning: Target URL returned error 404.\n" in missing.text


@pytest.mark.parametrize("form", [True, False])
async def test_a_page_can_be_posted(served: Served, form: bool) -> None:
    body = {"url": served.site.url(say(WEBS)), "respondWith": "markdown", "removeSelector": "#one"}
    sent = {"data": body} if form else {"json": body}
    response = await served.http.post("/r/", headers=JSON, **sent)  # type: ignore[arg-type]
    content = response.json()["data"]["content"]
    assert "Home" in content
    assert "silk" not in content


@pytest.mark.parametrize(
    ("path", "headers", "status", "number", "name"),
    [
        ("http://127.0.0.2/", {}, 451, 45102, "SecurityCompromiseError"),
        ("ftp://", {}, 400, 40001, "ParamValidationError"),
        ("{site}/ok", {"X-Respond-With": "poem"}, 400, 40001, "ParamValidationError"),
        ("{site}/ok", {"X-Respond-With": "html, text"}, 400, 40001, "ParamValidationError"),
        ("{site}/ok", {"X-Timeout": "soon"}, 400, 40001, "ParamValidationError"),
        ("{site}/ok", {"X-Timeout": "nan"}, 400, 40001, "ParamValidationError"),
        ("{site}/ok", {"X-Max-Tokens": "-5"}, 400, 40001, "ParamValidationError"),
        ("{site}/ok", {"X-Target-Selector": "p["}, 400, 40001, "ParamValidationError"),
        ("{site}/ok", {"Authorization": "Bearer wrong"}, 401, 40103, "AuthenticationRequiredError"),
        ("{site}/drop", {"X-Engine": "direct"}, 422, 42206, "AssertionFailureError"),
        ("", {}, 400, 40001, "ParamValidationError"),
    ],
)
async def test_errors_have_the_readers_shape(
    served: Served, path: str, headers: dict[str, str], status: int, number: int, name: str
) -> None:
    where = path.replace("{site}", served.site.url(""))
    response = await served.http.get(f"/r/{where}", headers=headers)
    error = response.json()
    assert (response.status_code, error["code"], error["status"], error["name"]) == (
        status,
        status,
        number,
        name,
    )
    assert error["readableMessage"] == f"{name}: {error['message']}"
    assert response.headers["content-type"] == "application/json"


async def test_a_script_made_page_and_a_picture_come_from_a_browser(served: Served) -> None:
    target = app_page()
    assert "# Rendered by a script" in (await read(served, target)).text
    waited = await data(served, target, X_Target_Selector="h1")
    assert waited["content"] == "# Rendered by a script"
    picture = await read(served, target, X_Respond_With="screenshot")
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    shown = await data(served, target, X_Respond_With="pageshot")
    assert shown["pageshotUrl"].startswith("data:image/png;base64,")


async def test_a_search_reads_what_it_finds(served: Served) -> None:
    target = page("Zebra spiders")
    url = served.site.url(target)
    await read(served, target)
    for path in ("/s/zebra%20spiders", "/s/?q=zebra+spiders", "/s/search?q=zebra%20spiders"):
        text = (await served.http.get(path)).text
        assert text.startswith(f"[1] Title: Zebra spiders\n[1] URL Source: {url}\n[1] Description: ")
        assert "\n\n# Zebra spiders\n" in text
    (found,) = (await served.http.get("/s/zebra", headers=JSON)).json()["data"]
    assert found["content"].startswith("# Zebra spiders")
    links = await served.http.get("/s/zebra?num=1", headers={"X-Respond-With": "no-content"})
    assert "\n\n#" not in links.text
    posted = await served.http.post("/s/", json={"q": "zebra"}, headers=JSON)
    assert posted.json()["data"][0]["url"] == url
    for empty in ("/s/", "/s", "/r"):
        assert (await served.http.get(empty)).json()["status"] == 40001
