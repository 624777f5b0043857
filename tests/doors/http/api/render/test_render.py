"""POST /api/render and GET /api/status: pages that a real browser rendered, from the cache and into it."""

import asyncio
import gzip
import hashlib
import json
import socket
import time
from datetime import datetime
from typing import Any

import httpx
import pytest
from tests.browser import slow
from tests.doors.fetches import say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.http.server.test_server import serving
from tests.doors.renders import (
    RENDERED,
    OpenRendering,
    Rendering,
    app_page,
    article,
    idle,
    open_rendering,
    rendering,
)
from tests.doors.services import AS_ADMIN, PUBLIC_URL, bearer

from gossamer.flows.render.pace import UNKNOWN
from gossamer.flows.render.render import RenderPayload
from gossamer.state.jobs.job import NewJob
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.web.render.request import RenderRequest

__all__ = ["idle", "open_rendering", "rendering"]

IDENTITY = {"Accept-Encoding": "identity"}


async def test_seed3_1_from_a_miss_to_a_hit(rendering: Rendering) -> None:
    target = app_page()
    missed = await rendering.ask(f"{target}?utm_source=x#part")
    assert missed.status_code == 202
    assert missed.headers["x-cache"] == "MISS"
    accepted = missed.json()
    assert accepted["status"] == "queued"
    assert len(accepted["jobId"]) == 26
    assert accepted["statusUrl"] == f"/api/status/{accepted['jobId']}" == missed.headers["location"]
    assert accepted["estimatedTime"] > 0
    assert accepted["message"] == "Page is being rendered. Poll statusUrl for completion."
    assert 1 <= int(missed.headers["retry-after"]) <= 60
    done = await rendering.over(accepted["jobId"])
    assert done["status"] == "completed", done
    assert done["url"] == rendering.site.url(target)  # as it was visited
    assert done["cachedUrl"] == "/api/render"
    assert done["renderTime"] > 0
    assert done["completedAt"].endswith("Z")
    assert done["message"].startswith("Page rendered successfully.")
    hit = await rendering.ask(target, sent=IDENTITY)
    assert hit.status_code == 200
    assert hit.headers["content-type"] == "text/html; charset=utf-8"
    assert hit.headers["x-cache"] == "HIT"
    assert hit.headers["x-cache-location"] == "hot"
    assert 0 <= int(hit.headers["x-cache-age"]) < 60
    assert hit.headers["x-page-status"] == "200"
    assert int(hit.headers["content-length"]) == len(hit.content) == done["size"]
    assert "content-encoding" not in hit.headers
    assert RENDERED in hit.content
    assert b"<script>" not in hit.content
    assert b"application/ld+json" in hit.content
    assert f'<base href="{rendering.site.url(target)}">'.encode() in hit.content
    assert (rendering.visits(target), rendering.visits(f"{target}?utm_source=x")) == (1, 0)


async def test_hits_are_compressed_and_known_ones_are_304(rendering: Rendering) -> None:
    target = say(article("Compressed"))
    await rendering.keep(target, article("Compressed"))
    plain = await rendering.ask(target, sent=IDENTITY)
    for accepts in ("gzip", "br, gzip;q=0.5", "*"):
        packed = await rendering.ask(target, sent={"Accept-Encoding": accepts})
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers["vary"] == "Accept-Encoding"
        assert int(packed.headers["content-length"]) < len(plain.content)
        assert packed.content == plain.content  # the client has unpacked it
    for accepts in ("gzip;q=0", "br", "*;q=0, identity"):
        assert (
            "content-encoding" not in (await rendering.ask(target, sent={"Accept-Encoding": accepts})).headers
        )
    etag = plain.headers["etag"]
    for known in (etag, etag.removeprefix("W/"), f'"x", {etag}', "*"):
        same = await rendering.ask(target, sent={"If-None-Match": known})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    assert (await rendering.ask(target, sent={"If-None-Match": '"other"'})).status_code == 200


async def test_a_cold_page_is_promoted_behind_the_answer(open_rendering: OpenRendering) -> None:
    large = article("Large") + "".join(f"<p>{hashlib.sha256(b'%d' % n).hexdigest()}" for n in range(15_000))
    async with open_rendering(working=False) as before:
        await before.keep("/small", article("Small"))
        for target in ("/large", "/large-too", "/large-as-well"):
            await before.keep(target, large)
    async with open_rendering(working=False) as idle:  # what was hot went with the process
        cold = await idle.ask("/small")
        assert (cold.status_code, cold.headers["x-cache"]) == (200, "COLD")
        assert cold.headers["x-cache-location"] == "cold"
        assert cold.headers["x-promotion"] == "async"
        assert "Small" in cold.text
        assert (await idle.ask("/large")).text == large  # streamed
        assert (await idle.ask("/large-too", sent=IDENTITY)).text == large
        etag = (await idle.ask("/large-too")).headers["etag"]
        assert (await idle.ask("/large-as-well", sent={"If-None-Match": etag})).status_code == 304
        async with asyncio.timeout(60):
            for target in ("/small", "/large"):
                while (await idle.ask(target)).headers["x-cache"] != "HIT":
                    await asyncio.sleep(0.01)


async def test_wait_holds_the_request_until_the_page_is_there(rendering: Rendering) -> None:
    target = app_page()
    made = await rendering.ask(target, wait=30)
    assert (made.status_code, made.headers["x-cache"]) == (200, "MISS")
    assert RENDERED in made.content
    assert (await rendering.ask(target, wait=30)).headers["x-cache"] == "HIT"
    slow = await rendering.ask(app_page(pause=1.5), wait=0.3)
    assert slow.status_code == 202
    assert (await rendering.over(slow.json()["jobId"]))["status"] == "completed"


async def test_many_who_ask_at_once_get_one_render(rendering: Rendering) -> None:
    target = app_page(pause=0.3)
    answers = await asyncio.gather(*(rendering.ask(target, wait=30) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert rendering.visits(target) == 1


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (article("Gone"), "404 Not Found", "status 404"),
        (article("Broken"), "500 Oops", "status 500"),
        ("<title>Just a moment...</title><p>Checking your browser before accessing", "200 OK", "blocked"),
    ],
)
async def test_decision2_what_is_not_the_page_fails_with_page_error(
    rendering: Rendering, body: str, status: str, words: str
) -> None:
    target = say(body, status=status)
    problem: dict[str, Any] = assert_problem(await rendering.ask(target, wait=30), "RENDER_FAILED")
    assert problem["details"]["reason"] == "page_error"
    assert words in problem["detail"]
    shown = await rendering.over(problem["details"]["jobId"])
    assert shown["errorCode"] == "page_error"
    assert words in shown["error"]
    assert shown["retriesLeft"] == 0
    assert shown["failedAt"].endswith("Z")
    assert shown["suggestion"]
    assert rendering.visits(target) == 1  # not tried again


async def test_what_failed_for_good_is_believed_for_a_while(rendering: Rendering) -> None:
    target = say(article("Gone"), status="404 Not Found")
    first: dict[str, Any] = assert_problem(await rendering.ask(target, wait=30), "RENDER_FAILED")
    again: dict[str, Any] = assert_problem(
        await rendering.ask(target, wait=30, maxAge=1_000), "RENDER_FAILED"
    )
    assert again["details"] == first["details"]
    told = await rendering.ask(target)
    assert (told.status_code, told.headers["x-cache"]) == (202, "MISS")
    shown = told.json()
    assert (shown["status"], shown["jobId"]) == ("failed", first["details"]["jobId"])
    assert "maxAge 0" in shown["message"]
    assert 60 < int(told.headers["retry-after"]) <= 300
    assert (await rendering.over(shown["jobId"]))["errorCode"] == "page_error"
    assert rendering.visits(target) == 1
    assert_problem(await rendering.ask(target, wait=30, maxAge=0), "RENDER_FAILED")
    assert rendering.visits(target) == 2
    for which, cleared in (("url", target), ("prefix", "/")):
        await rendering.delete(**{which: rendering.site.url(cleared)})  # type: ignore[arg-type]
        assert_problem(await rendering.ask(target, wait=30), "RENDER_FAILED")
    assert rendering.visits(target) == 4
    say(article("Mended"), target=target)
    assert "Mended" in (await rendering.ask(target, wait=30, maxAge=0)).text


async def test_who_asks_in_another_manner_is_not_held_up(rendering: Rendering) -> None:
    target = app_page()
    never = await rendering.ask(target, waitForSelector="#never", timeout=10_000)
    page = await rendering.ask(target, wait=30)
    assert (page.status_code, page.headers["x-cache"]) == (200, "MISS")
    status = await rendering.get("/api/cache/status", url=rendering.site.url(target))
    assert status.json()["jobId"] == never.json()["jobId"]  # which is still at it
    await rendering.visit.client.delete(f"/api/jobs/{never.json()['jobId']}", headers=AS_ADMIN)
    assert (await rendering.over(never.json()["jobId"]))["errorCode"] == "canceled"


async def test_who_asks_for_what_is_being_canceled_gets_a_render_of_their_own(rendering: Rendering) -> None:
    target = app_page(pause=5.0)
    first = (await rendering.ask(target)).json()["jobId"]
    async with asyncio.timeout(30):
        while not rendering.visits(target):
            await asyncio.sleep(0.01)
    canceled = await rendering.visit.client.delete(f"/api/jobs/{first}", headers=AS_ADMIN)
    assert (canceled.json()["status"], canceled.json()["cancelRequested"]) == ("running", True)
    app_page(target=target)
    assert (await rendering.ask(target, wait=30)).status_code == 200
    assert (await rendering.over(first))["errorCode"] == "canceled"


@pytest.mark.parametrize(
    "bad",
    [
        "<title>Just a moment...</title><p>Checking your browser before accessing",
        f'<meta name="prerender-status-code" content="503">{article("Bad")}',
    ],
)
async def test_a_bad_outcome_never_replaces_a_good_page(rendering: Rendering, bad: str) -> None:
    target = say(article("Good"))
    await rendering.keep(target, article("Good"), age=100)
    say(bad, target=target)
    failed = await rendering.ask(target, maxAge=10, wait=30)
    assert_problem(failed, "RENDER_FAILED")
    kept = await rendering.ask(target)
    assert (kept.status_code, kept.headers["x-cache"]) == (200, "HIT")
    assert int(kept.headers["x-cache-age"]) >= 100
    assert "Good" in kept.text


async def test_stale_if_error_serves_the_old_page_when_the_new_one_fails(rendering: Rendering) -> None:
    target = say(article("Good"))
    await rendering.keep(target, article("Good"), age=100)
    say(article("Broken"), target=target, status="503 Away")
    while_it_fails = await rendering.ask(target, maxAge=10, staleIfError=1000, wait=30)
    assert (while_it_fails.status_code, while_it_fails.headers["x-cache-stale"]) == (200, "true")
    afterwards = await rendering.ask(target, maxAge=10, staleIfError=1000)
    assert (afterwards.status_code, afterwards.headers["x-cache-stale"]) == (200, "true")
    assert rendering.visits(target) == 1  # and it is not tried again at once
    assert_problem(await rendering.ask(target, maxAge=10, staleIfError=20, wait=30), "RENDER_FAILED")
    say(article("Better"), target=target)
    assert "Better" in (await rendering.ask(target, maxAge=0, wait=30)).text
    assert "x-cache-stale" not in (await rendering.ask(target, maxAge=10, staleIfError=1000)).headers


async def test_stale_while_revalidate_serves_the_old_page_and_renders_behind_it(rendering: Rendering) -> None:
    target = say(article("New"))
    await rendering.keep(target, article("Old"), age=100)
    answers = await asyncio.gather(
        *(rendering.ask(target, maxAge=10, staleWhileRevalidate=1000) for _ in range(10))
    )
    assert all("Old" in answer.text for answer in answers)
    assert {answer.headers["x-cache-stale"] for answer in answers} == {"true"}
    assert {answer.headers["x-cache"] for answer in answers} == {"HIT"}
    async with asyncio.timeout(30):
        while "Old" in (await rendering.ask(target)).text:
            await asyncio.sleep(0.05)
    assert rendering.visits(target) == 1
    fresh = await rendering.ask(target, maxAge=60)
    assert (fresh.status_code, fresh.headers.get("x-cache-stale")) == (200, None)


async def test_the_page_names_its_own_status_and_headers(rendering: Rendering) -> None:
    head = (
        '<meta name="prerender-status-code" content="404">'
        '<meta name="prerender-header" content="X-Robots-Tag: noindex">'
        '<meta name="prerender-header" content="X-Robots-Tag: nofollow">'
        '<meta name="prerender-header" content="Location: /first">'
        '<meta name="prerender-header" content="Location: /second">'
        '<meta name="prerender-header" content="Set-Cookie: a=b">'
    )
    target = say(f"<!doctype html><head>{head}<title>Not found</title></head><h1>Not found</h1>")
    page = await rendering.ask(target, wait=30)
    assert (page.status_code, page.headers["x-page-status"]) == (200, "404")
    assert page.headers["x-robots-tag"] == "noindex, nofollow"
    assert page.headers["location"] == "/first"
    assert "set-cookie" not in page.headers


async def test_seed4_3_bots_scripts_and_phones_have_pages_of_their_own(rendering: Rendering) -> None:
    target = app_page()
    for options in ({}, {"bot": "claude"}, {"keepScripts": True}, {"device": "mobile"}):
        page = await rendering.ask(target, wait=30, **options)
        assert page.headers["x-cache"] == "MISS"
        assert (b"getElementById" in page.content) == ("keepScripts" in options)
        assert (await rendering.ask(target, **options)).headers["x-cache"] == "HIT"
    agents = [request.header("user-agent") or "" for request in rendering.site.seen(target)]
    assert ["Claude-User" in agent for agent in agents] == [False, True, False, False]
    assert [agent.endswith(" Mobile") for agent in agents] == [False, False, False, True]
    assert all("Gossamer/" in agent for agent in agents)
    status = await rendering.get("/api/cache/status", url=rendering.site.url(target), device="mobile")
    assert status.json()["cached"] is True
    cleared = (await rendering.delete(url=rendering.site.url(target))).json()
    assert cleared["pages"] == 4


async def test_network_errors_are_tried_again_and_told(rendering: Rendering) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    queued = await rendering.ask(dead, wait=1)
    assert queued.status_code == 202
    shown = (await rendering.get(queued.json()["statusUrl"])).json()
    assert shown["status"] in ("queued", "processing")
    assert shown["retriesLeft"] < 4
    assert shown["estimatedCompletion"]
    job = await rendering.service.jobs.get(queued.json()["jobId"])
    assert job is not None
    assert job.attempt >= 1
    assert str(job.last_error).startswith("RENDER_FAILED: network_error: ")
    await rendering.service.jobs.cancel(job.job_id)
    assert (await rendering.over(job.job_id))["errorCode"] == "canceled"
    unsafe = await rendering.ask("http://127.0.0.1:6000/", wait=30)  # which no browser asks for
    assert assert_problem(unsafe, "RENDER_FAILED")["details"]["reason"] == "network_error"  # type: ignore[index]
    job = await rendering.service.jobs.get(unsafe.json()["details"]["jobId"])
    assert job is not None
    assert job.attempt == 1  # nor is it of use to try again


async def counted(rendering: Rendering) -> tuple[int, int]:
    """How many renders count under the limit, and how many are told."""
    asks = [("renders-pro", await rendering.tenant())]
    status = (await rendering.service.limits.take(asks, cost=0))[0]
    return status.tally.used, (await rendering.get("/api/usage")).json()["renders"]["today"]


async def test_seed6_3_a_timeout_is_tried_once_more_and_each_visit_counts(rendering: Rendering) -> None:
    target = app_page(pause=30.0)
    limited, used = await counted(rendering)
    asked = asyncio.create_task(rendering.ask(target, timeout=1500, wait=30))
    async with asyncio.timeout(30):
        while not rendering.visits(target):
            await asyncio.sleep(0.01)
    app_page(target=target)
    page = await asked
    assert page.status_code == 200, page.text
    assert rendering.visits(target) == 2
    assert await counted(rendering) == (limited + 2, used + 2)


async def test_who_has_no_more_renders_is_told_what_the_first_attempt_failed_with(
    open_rendering: OpenRendering,
) -> None:
    target = app_page(pause=30.0)
    async with open_rendering(limit_renders_pro="2/86400") as service:
        assert (await service.ask(app_page(), wait=30)).status_code == 200  # the browser is there
        late = await service.ask(target, timeout=3000, wait=30)
        problem: dict[str, Any] = assert_problem(late, "RENDER_FAILED")
        assert problem["details"]["reason"] == "render_timeout"
        shown = await service.over(problem["details"]["jobId"])
        assert (shown["errorCode"], shown["retriesLeft"]) == ("render_timeout", 0)
        assert service.visits(target) == 1
        assert await counted(service) == (2, 2)
        assert (await service.get("/api/usage")).json()["renders"]["failed"] == 1


async def test_an_empty_page_that_was_out_of_time_is_told_as_that_and_never_believed(
    rendering: Rendering,
) -> None:
    target = "/slow/api?key=out-of-time"
    problem: dict[str, Any] = assert_problem(
        await rendering.ask(target, timeout=1_500, wait=60), "RENDER_FAILED"
    )
    details = problem["details"]
    assert (details["reason"], details["awaited"]) == ("render_timeout", "network")
    shown = await rendering.over(details["jobId"])
    assert (shown["errorCode"], shown["awaited"]) == ("render_timeout", "network")
    again = asyncio.create_task(rendering.ask(target, timeout=30_000, wait=60))
    async with asyncio.timeout(60):
        while rendering.visits(target.replace("/slow/api", "/held")) < 3:  # twice before, and now
            await asyncio.sleep(0.01)
    slow.RELEASED.add("out-of-time")
    page = await again
    assert (page.status_code, slow.DONE in page.text) == (200, True), page.text


async def test_an_address_that_leads_inside_is_told_as_that(rendering: Rendering) -> None:
    away = say("", "Location: http://127.0.0.2/", status="302 Found")
    problem: dict[str, Any] = assert_problem(await rendering.ask(away, wait=30), "INVALID_URL")
    assert problem["details"]["reason"] == "hostname_blocked"
    assert (await rendering.over(problem["details"]["jobId"]))["errorCode"] == "network_error"


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        ({"url": "http://localhost:3000/api"}, "INVALID_URL", "hostname_blocked"),
        ({"url": "http://169.254.169.254/"}, "INVALID_URL", "hostname_blocked"),
        ({"url": "ftp://example.com/"}, "INVALID_URL", "invalid_protocol"),
        ({"url": "nonsense"}, "INVALID_URL", "invalid_url_format"),
        ({"url": "https://e.example/" + "a" * 2048}, "INVALID_URL", "url_too_long"),
        ({"url": "https://a:b@e.example/"}, "INVALID_URL", "credentials_in_url"),
        ({}, "VALIDATION_ERROR", None),
        ({"url": "http://127.0.0.1/", "waitForSelector": "###"}, "INVALID_SELECTOR", None),
        ({"url": "http://127.0.0.1/", "timeout": 60_001}, "VALIDATION_ERROR", None),
        ({"url": "http://127.0.0.1/", "wait": 61}, "VALIDATION_ERROR", None),
        ({"url": "http://127.0.0.1/", "bot": "me"}, "VALIDATION_ERROR", None),
        ({"url": "http://127.0.0.1/", "maxAge": -1}, "VALIDATION_ERROR", None),
        ({"url": "http://127.0.0.1/", "other": 1}, "VALIDATION_ERROR", None),
    ],
)
async def test_seed3_1_what_cannot_be_rendered_is_refused_at_once(
    rendering: Rendering, body: dict[str, Any], code: str, reason: str | None
) -> None:
    refused = await rendering.visit.client.post("/api/render", json=body, headers=AS_ADMIN)
    problem: dict[str, Any] = assert_problem(refused, code)
    assert problem.get("details", {}).get("reason") == reason


async def test_seed3_1_who_is_not_known_gets_401(rendering: Rendering) -> None:
    answer = await rendering.visit.client.post("/api/render", json={"url": "http://127.0.0.1/"})
    assert_problem(answer, "UNAUTHORIZED")
    assert_problem(await rendering.visit.client.get("/api/status/x"), "UNAUTHORIZED")


async def test_seed3_1_the_daily_limit(open_rendering: OpenRendering) -> None:
    limits = {"limit_renders_free": "2/86400", "upgrade_url": "https://gossamer.example/pricing"}
    async with open_rendering(working=False, **limits) as idle:
        user = bearer(await idle.visit.key(Role.USER, Tier.FREE))
        first = await idle.ask("/a", sent=user)
        assert '"renders-free";r=1' in first.headers["ratelimit"]
        assert first.headers["x-ratelimit-limit"] == "2"
        assert (await idle.ask("/a", sent=user)).json()["jobId"] == first.json()["jobId"]  # joined: free
        await idle.keep("/hit", sent=user)
        assert (await idle.ask("/hit", sent=user)).status_code == 200  # a hit is free too
        assert (await idle.ask("/b", sent=user)).status_code == 202
        refused = await idle.ask("/c", sent=user)
        problem: dict[str, Any] = assert_problem(refused, "RATE_LIMITED")
        assert (problem["limit"], problem["used"]) == (2, 2)
        assert problem["resetAt"].endswith("Z")
        assert problem["upgradeUrl"] == "https://gossamer.example/pricing"
        assert problem["details"]["policy"] == "renders-free"
        assert "2 renders per day" in problem["detail"]
        assert 86_000 < int(refused.headers["retry-after"]) <= 86_400
        assert refused.headers["x-ratelimit-remaining"] == "0"
        assert (await idle.ask("/c")).status_code == 202  # another tenant
        await idle.keep("/old", age=100, sent=user)
        stood_in = await idle.ask("/old", sent=user, maxAge=10, staleIfError=1000)
        assert (stood_in.status_code, stood_in.headers["x-cache-stale"]) == (200, "true")


async def test_decision10_a_tenant_has_its_own_cache_and_jobs(idle: Rendering) -> None:
    user = bearer(await idle.visit.key(Role.USER))
    await idle.keep("/mine")
    assert (await idle.ask("/mine")).status_code == 200
    theirs = await idle.ask("/mine", sent=user)
    assert theirs.status_code == 202
    mine = await idle.ask("/other")
    assert_problem(await idle.get(mine.json()["statusUrl"], sent=user), "NOT_FOUND")
    assert (await idle.get(theirs.json()["statusUrl"])).status_code == 200  # admins see all
    assert_problem(await idle.get("/api/status/01JGGR2Z3W8Q4T6V9X0Y1B2C3D"), "NOT_FOUND")


async def test_decision5_an_idempotency_key_gets_the_same_job(idle: Rendering) -> None:
    once = {"Idempotency-Key": "one"}
    first = await idle.ask("/a", sent=once)
    await idle.service.jobs.cancel(first.json()["jobId"])
    again = await idle.ask("/a", sent=once)
    assert again.json() == first.json()
    assert again.headers["x-idempotent-replayed"] == "true"
    assert (await idle.ask("/a")).json()["jobId"] != first.json()["jobId"]


async def test_status_of_what_waits(idle: Rendering) -> None:
    queued = (await idle.ask("/a")).json()
    shown = (await idle.get(queued["statusUrl"])).json()
    assert (shown["status"], shown["progress"], shown["jobId"]) == ("queued", 0, queued["jobId"])
    assert shown["message"] == "Waiting for a browser."
    assert shown["estimatedCompletion"].endswith("Z")


async def test_the_estimate_is_never_in_the_past(idle: Rendering) -> None:
    long_ago = round(time.time() * 1000) - 3_600_000
    new = NewJob(
        kind="render",
        tenant_id=await idle.tenant(),
        payload=RenderPayload(request=RenderRequest(url="http://127.0.0.1/")),
    )
    await idle.service.jobs.put(new, now=long_ago)

    async def estimate() -> tuple[str, float]:
        shown = (await idle.get(f"/api/status/{new.job_id}")).json()
        return shown["status"], datetime.fromisoformat(shown["estimatedCompletion"]).timestamp()

    for status in ("queued", "processing"):
        before = time.time()
        shown, at = await estimate()
        assert shown == status
        assert before < at + 0.001
        assert at <= time.time() + UNKNOWN / 1000
        await idle.service.jobs.lease({"render": 1}, worker="w", now=long_ago)


async def test_a_client_that_goes_away_while_it_waits(rendering: Rendering) -> None:
    target = app_page(pause=0.5)
    body = json.dumps({"url": rendering.site.url(target), "wait": 30}).encode()
    async with serving(rendering.visit) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST /api/render HTTP/1.1\r\nHost: a\r\nAuthorization: {AS_ADMIN['Authorization']}\r\n"
        writer.write(
            f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        )
        async with asyncio.timeout(30):
            while not rendering.visits(target):
                await asyncio.sleep(0.01)
            writer.close()
            while not any(line.get("error") == "CLIENT_GONE" for line in rendering.visit.logged()):
                await asyncio.sleep(0.01)
    page = await rendering.ask(target, wait=30)  # the render went on: others may want it
    assert RENDERED in page.content
    assert rendering.visits(target) == 1
    assert not rendering.visit.logged("internal_error")


async def test_over_real_sockets_what_is_sent_is_what_is_kept(rendering: Rendering) -> None:
    await rendering.keep("/socket", article("Over a socket"))
    async with serving(rendering.visit) as port, httpx.AsyncClient() as client:
        url = f"http://127.0.0.1:{port}/api/render"
        async with client.stream(
            "POST", url, json={"url": rendering.site.url("/socket")}, headers=AS_ADMIN
        ) as answer:
            raw = b"".join([chunk async for chunk in answer.aiter_raw()])
    assert int(answer.headers["content-length"]) == len(raw)
    assert b"Over a socket" in gzip.decompress(raw)
    assert answer.headers["x-request-id"]
    assert PUBLIC_URL not in answer.headers.get("location", "")
