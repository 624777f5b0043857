"""`POST /fetch/pro`, and `render` on `/fetch`: a page by a browser, where that is asked for or needed."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.doors.fetches import Fetching, OpenFetching, fetching, open_fetching, say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import APP, article
from tests.doors.services import bearer
from tests.web.documents.pdf_files import pdf

__all__ = ["fetching", "open_fetching"]

LATE = """<!doctype html><title>Late</title><p>First words, which are there at once, before any script.</p>
<script>setTimeout(() => document.body.insertAdjacentHTML("beforeend", "<p id=late>Last words.</p>"), 1500)
setInterval(() => fetch("/ok"), 50)</script>"""
SHADOWED = """<!doctype html><title>Fares</title><x-fares></x-fares><script>
customElements.define("x-fares", class extends HTMLElement {
  connectedCallback() { this.attachShadow({ mode: "open" }).innerHTML =
    "<h1>Trains to Rome</h1><p>Every hour from six in the morning, with a change in Florence.</p>" } })
</script>"""
MORE = "https://gossamer.example/more"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


async def test_a_page_as_its_scripts_make_it(fetching: Fetching) -> None:
    shell = say(APP)
    basic = await fetching.answer(shell, path="/fetch/basic")
    assert (basic["tier"], basic["via"], basic["outcome"]) == ("basic", "fetch", "empty")
    assert basic["outcomeReason"] == "script_needed"
    pro = await fetching.answer(shell, path="/fetch/pro", formats=["markdown", "html", "text", "links"])
    assert (pro["tier"], pro["via"], pro["outcome"], pro["statusCode"]) == ("pro", "render", "ok", 200)
    assert pro["content"].startswith("# Rendered by a script\n")
    assert "<h1>Rendered by a script</h1>" in pro["html"]
    assert {"url": fetching.site.url("/next"), "text": "next"} in pro["links"]
    assert (pro["title"], pro["kind"]) == ("Rendered by a script", "html")
    assert pro["contentType"] == "text/html"
    missing = await fetching.answer("/missing", path="/fetch/pro")
    assert (missing["statusCode"], missing["outcome"], missing["tier"]) == (404, "error", "pro")
    led = await fetching.answer("/redirect/2", path="/fetch/pro")
    assert len(led["redirects"]) == 2


async def test_what_a_shadow_root_shows_is_content(fetching: Fetching) -> None:
    answer = await fetching.answer(say(SHADOWED), path="/fetch/pro")
    assert (answer["outcome"], answer["words"]) == ("ok", 15)
    assert answer["content"].startswith("# Trains to Rome\n\nEvery hour")


async def test_auto_uses_a_browser_where_the_page_is_an_empty_shell(fetching: Fetching) -> None:
    plain = say(article())
    answer = await fetching.answer(plain, render="auto")
    assert (answer["tier"], answer["via"], fetching.visits(plain)) == ("basic", "fetch", 1)
    shell = say(APP)
    for status in ("MISS", "HIT"):
        response = await fetching.post(shell, render="auto", cache=True)
        assert response.headers["x-cache-status"] == status
        answer = response.json()
        assert (answer["tier"], answer["via"], answer["outcome"]) == ("pro", "render", "ok")
    assert fetching.visits(shell) == 2
    never = await fetching.answer(shell, render="never")
    assert (never["tier"], never["outcome"]) == ("basic", "empty")


async def test_how_it_is_got_is_part_of_the_key(fetching: Fetching) -> None:
    target = say(article())

    async def status(path: str, **body: Any) -> tuple[str, str]:
        response = await fetching.post(target, path=path, cache=True, **body)
        return response.headers["x-cache-status"], response.json()["tier"]

    assert await status("/fetch/pro") == ("MISS", "pro")
    assert await status("/fetch", render="always") == ("HIT", "pro")
    assert await status("/fetch/pro", timeout=5_000) == ("HIT", "pro")
    assert await status("/fetch/pro", waitForSelector="p") == ("MISS", "pro")
    assert await status("/fetch", render="auto") == ("MISS", "basic")
    assert await status("/fetch/basic") == ("MISS", "basic")
    assert await status("/fetch", render="never") == ("HIT", "basic")


NO_PAGES: dict[str, tuple[bytes, str, str]] = {
    "json": (b'{"silk": [1, 2]}', "application/json", "ok"),
    "pdf": (pdf(["Orb weavers build a new web nearly every day."]), "application/pdf", "ok"),
    "text": (b"Orb weavers build a new web nearly every day.\n" * 5, "text/plain", "ok"),
    "feed": (
        b"<rss><channel><title>Webs</title><item><title>New</title></item></channel></rss>",
        "application/rss+xml",
        "ok",
    ),
    "file": (b"a,b\n1,2\n", "text/csv", "ok"),
}


@pytest.mark.parametrize("name", NO_PAGES)
async def test_what_is_no_page_for_a_browser_is_fetched_plainly(fetching: Fetching, name: str) -> None:
    body, media_type, outcome = NO_PAGES[name]
    target = say(body, f"Content-Type: {media_type}")
    basic, pro = [await fetching.answer(target, path=f"/fetch/{tier}") for tier in ("basic", "pro")]
    assert (pro["tier"], pro["via"], pro["outcome"]) == ("pro", "fetch", outcome)
    for same in ("content", "kind", "contentType", "words", "title"):
        assert basic[same] == pro[same]


async def test_neither_can_read_a_picture_or_nothing(fetching: Fetching) -> None:
    picture = say(PNG, "Content-Type: image/png")
    assert_problem(await fetching.post(picture, path="/fetch/pro"), "CONTENT_UNREADABLE")
    nothing = await fetching.answer("/204", path="/fetch/pro")
    assert (nothing["statusCode"], nothing["outcome"], nothing["via"]) == (204, "empty", "fetch")


async def test_it_waits_for_what_it_is_told_to(fetching: Fetching) -> None:
    answer = await fetching.answer(say(LATE), path="/fetch/pro", waitForSelector="#late")
    assert "Last words." in answer["content"]
    never = await fetching.post(say(LATE), path="/fetch/pro", waitForSelector="#never", timeout=5_000)
    assert_problem(never, "RENDER_FAILED")
    assert never.json()["details"] == {
        "reason": "render_timeout",
        "selector": "#never",
        "awaited": "selector",
    }


async def test_headers_reach_the_page_by_a_browser_too(fetching: Fetching) -> None:
    answer = await fetching.answer("/echo", path="/fetch/pro", headers={"Cookie": "silk=1"}, formats=["text"])
    assert "silk=1" in json.dumps(answer)


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "basic with a browser": ("/fetch/basic", {"render": "always"}, "VALIDATION_ERROR"),
    "basic perhaps": ("/fetch/basic", {"render": "auto"}, "VALIDATION_ERROR"),
    "pro without": ("/fetch/pro", {"render": "never"}, "VALIDATION_ERROR"),
    "pro perhaps": ("/fetch/pro", {"render": "auto"}, "VALIDATION_ERROR"),
    "no such way": ("/fetch", {"render": "perhaps"}, "VALIDATION_ERROR"),
    "waiting without a browser": ("/fetch", {"waitForSelector": "p"}, "VALIDATION_ERROR"),
    "waiting for nothing": ("/fetch/pro", {"waitForSelector": ""}, "VALIDATION_ERROR"),
    "too little time": ("/fetch/pro", {"timeout": 4_999}, "VALIDATION_ERROR"),
    "too little time for /fetch": ("/fetch", {"timeout": 4_999, "render": "always"}, "VALIDATION_ERROR"),
    "too much time": ("/fetch/pro", {"timeout": 60_001}, "VALIDATION_ERROR"),
    "selector of the browser": ("/fetch/pro", {"waitForSelector": "a["}, "INVALID_SELECTOR"),
    "selector of ours": ("/fetch/pro", {"include": ["a["]}, "INVALID_SELECTOR"),
    "lifetime": ("/fetch/pro", {"cacheTtl": "long"}, "INVALID_TTL"),
    "header": ("/fetch/pro", {"headers": {"Host": "x"}}, "VALIDATION_ERROR"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused(fetching: Fetching, name: str) -> None:
    path, body, code = REFUSED[name]
    target = say(article())
    assert_problem(await fetching.post(target, path=path, **body), code)
    assert fetching.visits(target) == 0


@pytest.mark.parametrize("url", ["http://localhost/", "http://127.0.0.9/", "file:///etc/passwd"])
async def test_addresses_that_must_not_be_touched(fetching: Fetching, url: str) -> None:
    assert_problem(await fetching.post(url, path="/fetch/pro"), "INVALID_URL")


async def test_a_target_that_cannot_be_had(fetching: Fetching) -> None:
    response = await fetching.post("/drop", path="/fetch/pro")
    assert_problem(response, "RENDER_FAILED")
    assert response.json()["details"]["reason"] == "network_error"


async def test_a_target_that_says_nothing_is_told_as_that_by_whoever_waited(fetching: Fetching) -> None:
    asked: dict[str, dict[str, Any]] = {
        "/fetch/basic": {},
        "/fetch/pro": {},
        "/extract": {"render": "always", "fields": {"title": "string"}},
        "/screenshot": {},
    }
    assert (await fetching.post("/ok", path="/fetch/pro")).status_code == 200  # the browser has started
    target = "/first-byte-late"
    answers = [fetching.post(target, path=path, timeout=5_000, **body) for path, body in asked.items()]
    for answer in await asyncio.gather(*answers):
        assert_problem(answer, "FETCH_TIMEOUT")
    large = await fetching.post("/huge-declared", path="/fetch/pro")
    assert_problem(large, "CONTENT_TOO_LARGE")


async def test_every_visit_counts_as_a_render_and_hits_are_free(open_fetching: OpenFetching) -> None:
    async with open_fetching(limit_renders_pro="2/86400", upgrade_url=MORE) as service:
        user = bearer(await service.visit.key())
        shell, other = say(APP), say(APP)
        for _ in range(3):
            await service.answer(shell, path="/fetch/pro", cache=True, sent=user)
        await service.answer(say(article()), render="auto", sent=user)
        assert_problem(await service.post("/drop", path="/fetch/pro", sent=user), "RENDER_FAILED")
        await service.answer(other, render="auto", sent=user)
        for body in ({"path": "/fetch/pro"}, {"render": "auto"}, {"render": "always"}):
            over = await service.post(other, sent=user, **body)
            assert_problem(over, "RATE_LIMITED")
            assert over.json()["details"]["policy"] == "renders-pro"
            assert over.json()["upgradeUrl"] == MORE
            assert '"renders-pro";r=0' in over.headers["ratelimit"]
        assert (await service.answer(shell, path="/fetch/pro", cache=True, sent=user))["cache"]["hit"] is True


async def test_without_a_browser_there_is_no_pro(open_fetching: OpenFetching) -> None:
    async with open_fetching(chromium="/nowhere/chromium") as service:
        assert_problem(await service.post(say(APP), path="/fetch/pro"), "SERVICE_UNAVAILABLE")
        assert (await service.answer(say(article()), render="auto"))["tier"] == "basic"


SEEN = st.sampled_from(
    ["/ok", "/missing", "/redirect/1", "/204", "/charset/shift_jis", "/empty", "/drop", "ftp://x/"]
)


@settings(max_examples=12)
@given(target=SEEN, cache=st.booleans(), ttl=st.integers())
async def test_p5_p7_p10_p11_hold_with_a_browser(
    fetching: Fetching, target: str, cache: bool, ttl: int
) -> None:
    response = await fetching.post(target, path="/fetch/pro", cache=cache, cacheTtl=ttl)
    assert response.headers["x-request-id"] == response.json()["requestId"]
    assert response.headers["x-processing-time"].isdigit()
    if response.status_code != 200:
        assert_problem(response, response.json()["code"])
        return
    answer = response.json()
    assert answer["tier"] == "pro"
    assert ("cache" in answer) == cache
    if cache:
        assert response.headers["x-cache-status"] == ("HIT" if answer["cache"]["hit"] else "MISS")
        assert ("expiresAt" in answer["cache"]) == (answer["outcome"] == "ok")
        assert ("age" in answer["cache"]) == answer["cache"]["hit"]
