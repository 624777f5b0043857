"""The visitor that a page sees: device, language, time zone, cookies, and what is not loaded."""

from typing import Any

import pytest

from gossamer.problems import Problem
from gossamer.reach.page.visit import Screenshot, VisitResult
from gossamer.web.documents.image_size import Size, size_of
from gossamer.web.render.actions import EvaluateAction, ScreenshotAction
from gossamer.web.render.cookies import PageCookie
from gossamer.web.render.visitor import Visitor
from tests.browser.pools import USER_AGENT, Pool
from tests.browser.test_steps import given
from tests.site.server import Request, Site

SEEN = """({ agent: navigator.userAgent, languages: navigator.languages, touch: navigator.maxTouchPoints,
width: innerWidth, scale: devicePixelRatio, hints: navigator.userAgentData?.mobile ?? null,
coarse: matchMedia('(pointer: coarse)').matches, zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
number: (1234.5).toLocaleString(), hour: new Date(0).getHours(), cookie: document.cookie })"""
VIEWPORT = "<meta name=viewport content='width=device-width'><p>text"


async def look(pool: Pool, url: str, **how: Any) -> dict[str, Any]:
    visited = await pool.visit(url, actions=(EvaluateAction(script=SEEN),), **how)
    seen: dict[str, Any] = visited.actions[0].result
    return seen


def asked(site: Site, url: str) -> Request:
    return site.seen(url.removeprefix(site.url("")))[-1]


async def test_a_phone_is_small_and_still_us(pool: Pool, site: Site) -> None:
    url = given(site, VIEWPORT, mine="phone")
    seen = await look(pool, url, visitor=Visitor(device="mobile"))
    assert (seen["width"], seen["scale"], seen["coarse"], seen["touch"] > 0) == (412, 2, True, True)
    assert seen["agent"] == f"{USER_AGENT} Mobile" == asked(site, url).header("user-agent")
    desktop = await look(pool, url)
    assert (desktop["width"], desktop["scale"], desktop["coarse"], desktop["touch"]) == (1280, 1, False, 0)
    assert desktop["agent"] == USER_AGENT


async def test_a_phone_is_small_in_pictures_too(pool: Pool, site: Site) -> None:
    url, phone = given(site, VIEWPORT), Visitor(device="mobile")
    visited = await pool.visit(url, visitor=phone, actions=(ScreenshotAction(),))
    assert size_of(visited.actions[0].screenshot or b"") == Size(824, 1830)
    shot = Screenshot(width=300, height=400, scale=2)
    captured = await pool.visit(url, visitor=phone, capture=shot)
    assert captured.capture
    assert size_of(captured.capture.body) == Size(600, 800)


async def test_a_locale_is_spoken_and_written(pool: Pool, site: Site) -> None:
    url = given(site, "<p>text", mine="locale")
    seen = await look(pool, url, visitor=Visitor(locale="de-CH", timezone="Asia/Tokyo"))
    assert seen["languages"] == ["de-CH", "de"]
    assert asked(site, url).header("accept-language") == "de-CH,de;q=0.9"
    assert seen["number"] in ("1'234.5", "1\u2019234.5")  # as the version of ICU has it
    assert (seen["zone"], seen["hour"]) == ("Asia/Tokyo", 9)
    plain = await look(pool, url)
    assert plain["languages"][0] == "en-US"
    assert plain["zone"] != "Asia/Tokyo"


async def test_a_time_zone_that_is_none_is_refused(pool: Pool, site: Site) -> None:
    url = given(site, "<p>text", mine="zone")
    with pytest.raises(Problem) as caught:
        await pool.visit(url, visitor=Visitor(timezone="Mars/Olympus"))
    assert caught.value.kind.code == "VALIDATION_ERROR"
    assert not site.seen(url.removeprefix(site.url("")))


async def test_cookies_go_in_and_come_out(pool: Pool, site: Site) -> None:
    url = given(site, "<script>document.cookie = 'script=3; path=/'</script>", cookie="answer=2; HttpOnly")
    sent = (PageCookie(name="sent", value="1"), PageCookie(name="other", value="x", path="/other"))
    visited = await pool.visit(url, cookies=sent, return_cookies=True)
    assert asked(site, url).header("cookie") == "sent=1"
    found = {cookie.name: cookie for cookie in visited.cookies or ()}
    assert {name: cookie.value for name, cookie in found.items()} == {
        "sent": "1",
        "answer": "2",
        "script": "3",
    }
    assert found["answer"].http_only
    assert found["sent"].domain == "127.0.0.1"
    assert found["sent"].expires is None


async def test_cookies_stay_with_their_visit(pool: Pool, site: Site) -> None:
    url = given(site, "<p>text", mine="cookies")
    await pool.visit(url, cookies=(PageCookie(name="secret", value="1"),))
    after = await pool.visit(url, return_cookies=True)
    assert asked(site, url).header("cookie") is None
    assert after.cookies == ()
    assert (await pool.visit(url)).cookies is None


async def test_a_cookie_that_no_browser_takes_is_refused(pool: Pool, site: Site) -> None:
    bad = PageCookie(name="__Host-x", value="1", secure=True, path="/deep")
    with pytest.raises(Problem) as caught:
        await pool.visit(given(site, "<p>text"), cookies=(bad,))
    assert caught.value.kind.code == "VALIDATION_ERROR"


async def visit_all(pool: Pool, site: Site, mine: str, **how: Any) -> tuple[VisitResult, set[str]]:
    kinds = {"images": "/picture?i", "media": "/picture?m", "stylesheets": "/style?s", "fonts": "/picture?f"}
    paths = {kind: f"{path}{mine}" for kind, path in kinds.items()}
    html = f"<img src={paths['images']}><video src={paths['media']}></video>"
    html += f"<link rel=stylesheet href={paths['stylesheets']}><style>@font-face {{ font-family: F;"
    html += f" src: url({paths['fonts']}) }} p {{ font-family: F }}</style><p>text"
    visited = await pool.visit(given(site, html), capture=Screenshot(), **how)
    return visited, {kind for kind, path in paths.items() if site.seen(path)}


async def test_what_is_blocked_is_not_asked_for(pool: Pool, site: Site) -> None:
    _, everything = await visit_all(pool, site, "1")
    assert everything == {"images", "media", "stylesheets", "fonts"}
    _, some = await visit_all(pool, site, "2", block=frozenset({"images", "stylesheets"}))
    assert some == {"media", "fonts"}
    _, others = await visit_all(pool, site, "3", block=frozenset({"media", "fonts", "ads"}))
    assert others == {"images", "stylesheets"}


async def test_ads_do_not_even_reach_the_proxy(pool: Pool, site: Site) -> None:
    ads = "<script src='http://ads.doubleclick.net/a.js'></script><iframe src='http://a.adnxs.com/'></iframe>"
    url = given(site, ads + "<script src=/script></script><p>text")
    assert (await pool.visit(url)).refused == 2
    blocked = await pool.visit(url, block=frozenset({"ads"}))
    assert (blocked.refused, blocked.requests) == (0, 2)
