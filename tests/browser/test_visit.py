"""What one visit does, with a real browser on pages of every kind."""

import asyncio
import re
import socket
from typing import Any
from urllib.parse import quote

import pytest

from gossamer.problems import Problem
from gossamer.reach.page.visit import Screenshot, Visit
from gossamer.web.render.actions import WaitAction
from gossamer.web.url.url import Url
from tests.browser.pages import COMPLETE, DONE
from tests.browser.pools import USER_AGENT, Pool
from tests.site.canary import canary
from tests.site.server import Site


async def refused(pool: Pool, url: str, **how: Any) -> tuple[str, dict[str, Any]]:
    with pytest.raises(Problem) as caught:
        await pool.visit(url, **how)
    return caught.value.kind.code, caught.value.members["details"]


@pytest.mark.parametrize("name", COMPLETE)
async def test_a_page_is_complete_when_it_is_read(pool: Pool, site: Site, name: str) -> None:
    rendered = await pool.visit(site.url(f"/page/{name}?complete"))
    assert DONE in rendered.page.text
    assert rendered.page.text.lower().startswith("<!doctype html")
    assert rendered.settled
    assert not site.seen("/page/static?popup")


async def test_what_is_told_of_a_page(pool: Pool, site: Site) -> None:
    rendered = await pool.visit(site.url("/page/fetched#part"))
    page, timings = rendered.page, rendered.timings
    assert (page.url, page.final_url) == (site.url("/page/fetched#part"), site.url("/page/fetched"))
    assert (page.status, page.via, page.media_type, page.charset) == (200, "render", "text/html", "utf-8")
    assert page.header("content-type") == "text/html; charset=utf-8"
    assert page.redirects == ()
    assert (rendered.requests, rendered.refused, rendered.capture) == (2, 0, None)
    assert rendered.bytes > 200
    assert page.elapsed_ms >= timings.navigate_ms + timings.wait_ms + timings.capture_ms - 3
    assert timings.wait_ms > 0


async def test_steps_are_told_in_order(pool: Pool, site: Site) -> None:
    told: list[int] = []

    async def step(doing: str, percent: int) -> None:
        assert doing
        told.append(percent)

    await pool.browsers.visit(Visit(url=Url.parse(site.url("/page/static"))), step)
    assert told == sorted(told)
    assert len(set(told)) == 4


async def test_a_step_that_hangs_has_the_same_deadline(pool: Pool, site: Site) -> None:
    async def step(doing: str, percent: int) -> None:
        if percent == 80:
            await asyncio.Event().wait()

    visit = Visit(url=Url.parse(site.url("/page/static")), timeout=1)
    with pytest.raises(Problem) as caught:
        await pool.browsers.visit(visit, step)
    assert caught.value.members["details"]["reason"] == "render_timeout"
    assert await pool.contexts() == 0


async def test_a_status_is_no_error(pool: Pool, site: Site) -> None:
    assert (await pool.visit(site.url("/nowhere"))).page.status == 404
    assert (await pool.visit(site.url("/status/503"))).page.status == 503


async def test_a_visit_that_stays_says_where_it_would_have_been_led(pool: Pool, site: Site) -> None:
    leading = {
        "/redirect-to?url=/page/static?astray": ("/page/static?astray", 302),
        "/page/location": ("/page/static?relocated", 200),
        "/page/meta-refresh": ("/page/static?refreshed", 200),
    }
    for target, (elsewhere, status) in leading.items():
        seen = len(site.seen(elsewhere))
        rendered = await pool.visit(site.url(target), follow=False)
        page = rendered.page
        assert (page.url, page.final_url) == (site.url(target), site.url(elsewhere))
        assert [(hop.url, hop.status) for hop in page.redirects] == [(site.url(target), status)]
        assert (page.status, page.body, rendered.settled) == (status, b"", True)
        assert len(site.seen(elsewhere)) == seen
    for name in ("reloaded", "framed"):
        page = (await pool.visit(site.url(f"/page/{name}"), follow=False)).page
        assert (page.status, page.redirects, DONE in page.text) == (200, (), True), name


async def test_redirects_are_followed_and_told(pool: Pool, site: Site) -> None:
    rendered = await pool.visit(site.url("/redirect-to?url=/page/location"))
    urls = [(hop.url, hop.status) for hop in rendered.page.redirects]
    assert urls == [
        (site.url("/redirect-to?url=/page/location"), 302),
        (site.url("/page/location"), 200),
    ]
    assert rendered.page.final_url == site.url("/page/static?relocated")
    refreshed = await pool.visit(site.url("/page/meta-refresh"))
    assert refreshed.page.final_url == site.url("/page/static?refreshed")
    assert DONE in refreshed.page.text
    pushed = await pool.visit(site.url("/page/pushed"))
    assert pushed.page.final_url == site.url("/page/pushed/on")
    assert pushed.page.redirects == ()


async def test_a_circle_is_left(pool: Pool, site: Site) -> None:
    code, details = await refused(pool, site.url("/page/circle"))
    assert (code, details["reason"]) == ("RENDER_FAILED", "page_error")
    code, details = await refused(pool, site.url("/loop"))
    assert (code, details["reason"]) == ("RENDER_FAILED", "network_error")


async def test_prerender_ready_is_waited_for(pool: Pool, site: Site) -> None:
    rendered = await pool.visit(site.url("/page/ready"))
    assert rendered.settled
    assert DONE in rendered.page.text
    capped = await pool.visit(site.url("/page/never-ready"), timeout=3)
    assert not capped.settled
    assert DONE in capped.page.text


async def test_a_selector_is_waited_for(pool: Pool, site: Site) -> None:
    rendered = await pool.visit(site.url("/page/late"), wait_for="i.late")
    assert rendered.settled
    assert 'class="late"' in rendered.page.text
    code, details = await refused(pool, site.url("/page/late"), wait_for="b.never", timeout=2)
    assert (code, details) == (
        "RENDER_FAILED",
        {"reason": "render_timeout", "selector": "b.never", "awaited": "selector"},
    )
    code, details = await refused(pool, site.url("/ok?selector"), wait_for="b[")
    assert (code, details) == ("INVALID_SELECTOR", {"selector": "b["})
    assert not site.seen("/ok?selector")


async def test_forbidden_addresses_are_refused(pool: Pool, site: Site) -> None:
    async with canary("127.0.0.9") as bird:
        forbidden = f"http://127.0.0.9:{bird.port}/"
        for url in (
            forbidden,
            site.url(f"/redirect-to?url={forbidden}"),
            site.url(f"/leads?url={forbidden}"),
        ):
            code, details = await refused(pool, url)
            assert (code, details["reason"]) == ("INVALID_URL", "hostname_blocked")
            assert (details["host"], details["rule"]) == ("127.0.0.9", "loopback")
        rendered = await pool.visit(site.url(f"/embeds?url={forbidden}"))
        assert (rendered.page.status, rendered.refused) == (200, 1)
        assert bird.connections == 0


async def test_a_script_leads_nowhere_but_to_the_web(pool: Pool, site: Site) -> None:
    for url in (
        "file:///etc/passwd",
        "chrome://version",
        "view-source:http://127.0.0.1/",
        "data:text/html,x",
    ):
        rendered = await pool.visit(site.url(f"/leads?url={url}"))
        assert rendered.page.final_url.startswith(site.url("/leads"))
    code, details = await refused(pool, site.url("/page/blob"))
    assert (code, details["reason"]) == ("RENDER_FAILED", "page_error")


async def test_what_cannot_be_had_is_a_network_error(pool: Pool, site: Site) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        code, details = await refused(pool, f"http://127.0.0.1:{nobody.getsockname()[1]}/")
    assert (code, details["reason"], details["cause"]) == (
        "RENDER_FAILED",
        "network_error",
        "connection_refused",
    )
    code, details = await refused(pool, site.secure_url("/ok"))
    assert (code, details["reason"]) == ("RENDER_FAILED", "network_error")
    assert details["cause"] == "ERR_CERT_AUTHORITY_INVALID"
    with pytest.raises(Problem, match="The target said nothing in 2 seconds") as late:
        await pool.visit(site.url("/hang"), timeout=2)
    assert (late.value.reason, late.value.cause) == ("render_timeout", "no_answer")


async def test_what_is_no_page_is_a_page_error(pool: Pool, site: Site) -> None:
    for target in ("/download", "/204"):
        with pytest.raises(Problem, match="leads to a file or to nothing, not to a page") as caught:
            await pool.visit(site.url(target))
        assert caught.value.kind.code == "RENDER_FAILED"
        assert (caught.value.reason, caught.value.cause) == ("page_error", "no_page")


async def test_pictures_and_fonts_are_asked_for_only_where_they_are_seen(pool: Pool, site: Site) -> None:
    def asked() -> set[str]:
        return {request.target for request in site.requests if request.target.startswith("/picture")}

    before = asked()
    assert "<title>run</title>" in (await pool.visit(site.url("/page/pictures"))).page.text
    assert asked() == before
    await pool.visit(site.url("/page/pictures"), capture=Screenshot())
    assert {"/picture?1", "/picture?font", "/picture?css", "/picture?framed"} <= asked()


async def test_a_page_is_drawn_only_where_it_is_seen(pool: Pool, site: Site) -> None:
    read = await pool.visit(site.url("/page/drawn"))
    assert DONE in read.page.text
    assert "class=" not in read.page.text
    looked = await pool.visit(site.url("/page/drawn"), wait_for=".drawn", capture=Screenshot())
    assert 'class="drawn"' in looked.page.text
    stepped = await pool.visit(
        site.url("/page/drawn"), wait_for=".drawn", actions=(WaitAction(milliseconds=1),)
    )
    assert 'class="drawn"' in stepped.page.text
    assert await pool.contexts() == 0


async def test_headers_go_to_the_origin_alone(pool: Pool, site: Site) -> None:
    headers = (("X-Secret", "s3cret"), ("Accept-Language", "de"))
    target = f"/embeds?url={site.other_url('/ok?cross')}"
    await pool.visit(site.url(f"/redirect-to?url={quote(target)}"), headers=headers, user_agent="Visitor/1")
    (request,) = site.seen(target)
    assert (request.header("x-secret"), request.header("accept-language")) == ("s3cret", "de")
    assert request.header("user-agent") == "Visitor/1"
    assert [seen.header("x-secret") for seen in site.seen("/ok?cross")] == [None]
    await pool.visit(site.url(f"/redirect-to?url={site.other_url('/ok?other-origin')}"), headers=headers)
    (request,) = site.seen("/ok?other-origin")
    assert request.header("x-secret") is None
    assert request.header("user-agent") == USER_AGENT
    assert request.header("proxy-authorization") is None


async def test_nothing_crosses_visits(pool: Pool, site: Site) -> None:
    for _ in range(4):
        assert '["",0,0]' in (await pool.visit(site.url("/page/storage"))).page.text


async def test_service_workers_are_passed_by(pool: Pool, site: Site) -> None:
    rendered = await pool.visit(site.url("/page/worker-serviced"))
    assert "from the worker" not in rendered.page.text


async def test_the_errors_of_a_page_are_told(pool: Pool, site: Site) -> None:
    told = (await pool.visit(site.url("/page/errors"))).console
    assert told[0] == "said so"
    assert any("nobody caught" in line for line in told)
    assert any("nothing is not defined" in line for line in told)


async def test_shadow_roots_are_written_out(pool: Pool, site: Site) -> None:
    text = (await pool.visit(site.url("/page/shadow"))).page.text
    assert re.search(rf"<x-card><template shadowrootmode=\"open\"><b>{DONE}</b></template></x-card>", text)


async def test_a_document_that_is_too_large_is_not_waited_for(pool: Pool, site: Site) -> None:
    for target, largest in (("/huge-declared", 10_000_000), ("/huge", 2_000_000), ("/big-1mb", 100_000)):
        code, details = await refused(pool, site.url(target), max_document=largest)
        assert (code, details["reason"], details["maxBytes"]) == ("CONTENT_TOO_LARGE", "too_large", largest)
    seen = await pool.visit(
        site.url("/big-1mb"), max_document=100_000, capture=Screenshot()
    )  # which is not read
    assert seen.capture is not None
    assert await pool.contexts() == 0


async def test_bounds_of_a_visit(pool: Pool, site: Site) -> None:
    code, details = await refused(pool, site.url("/big-1mb"), max_bytes=100_000)
    assert (code, details["reason"]) == ("RENDER_FAILED", "page_error")
    rendered = await pool.visit(site.url("/page/chain"), max_requests=2)
    assert rendered.requests == 2
    assert rendered.refused > 0


async def test_visits_at_once_do_not_mix(pool: Pool, site: Site) -> None:
    targets = [f"/echo?{number}" for number in range(6)]
    rendered = await asyncio.gather(*(pool.visit(site.url(target)) for target in targets))
    for target, each in zip(targets, rendered, strict=True):
        assert target in each.page.text
    assert await pool.contexts() == 0
