"""What a target says in its headers stays with us: nothing of it reaches the caller as a header."""

import json
from typing import Any

import httpx
import pytest
from tests.doors.fetches import say
from tests.doors.http.api.audit.test_audits import over
from tests.doors.renders import PROSE, Rendering, rendering
from tests.doors.services import AS_ADMIN
from tests.site.server import Site

__all__ = ["rendering"]

CANARY = "canary-3f9a"
SENSITIVE = {
    "Set-Cookie": f"session={CANARY}; Path=/; HttpOnly",
    "Set-Cookie2": f"session={CANARY}",
    "Authorization": f"Bearer {CANARY}",
    "Proxy-Authorization": f"Basic {CANARY}",
    "WWW-Authenticate": f'Basic realm="{CANARY}"',
    "Proxy-Authenticate": f'Basic realm="{CANARY}"',
    "Authentication-Info": f'nextnonce="{CANARY}"',
    "X-Api-Key": CANARY,
    "X-Auth-Token": CANARY,
    "X-Amz-Security-Token": CANARY,
    "Server": CANARY,
    "Via": f"1.1 {CANARY}",
    "X-Powered-By": CANARY,
    "X-AspNet-Version": CANARY,
    "X-Debug-Token": CANARY,
    "X-Request-Id": CANARY,
    "X-Processing-Time": CANARY,
    "X-Idempotent-Replayed": CANARY,
    "X-RateLimit-Limit": CANARY,
    "X-Cache": CANARY,
    "X-Cache-Status": CANARY,
    "X-Outcome": CANARY,
    "Strict-Transport-Security": f'max-age=1; includeSubDomains; x="{CANARY}"',
    "Content-Security-Policy": f"default-src 'self' https://{CANARY}.example",
    "Content-Security-Policy-Report-Only": f"default-src https://{CANARY}.example",
    "Report-To": f'{{"group": "{CANARY}"}}',
    "NEL": f'{{"report_to": "{CANARY}"}}',
    "Clear-Site-Data": f'"cookies", "{CANARY}"',
    "Refresh": f"100; url=https://{CANARY}.example/",
    "Link": f"<https://{CANARY}.example/>; rel=preconnect",
    "Alt-Svc": f'h3="{CANARY}.example:443"',
    "Access-Control-Allow-Origin": f"https://{CANARY}.example",
    "Access-Control-Expose-Headers": CANARY,
    "Service-Worker-Allowed": f"/{CANARY}",
    "SourceMap": f"/{CANARY}",
    "Speculation-Rules": f'"/{CANARY}"',
    "X-Robots-Tag": f"{CANARY}: noindex",
    "Payment-Response": CANARY,
    "X-Payment-Response": CANARY,
    "Retry-After": "4242",
    "ETag": f'"{CANARY}"',
    "Age": "4242",
    "Expires": "Thu, 01 Dec 1994 16:00:00 GMT",
    "Last-Modified": "Thu, 01 Dec 1994 16:00:00 GMT",
    "Cache-Control": "public, max-age=4242",
    "Content-Language": CANARY,
    "Content-Location": f"/{CANARY}",
    "Content-Disposition": f'inline; filename="{CANARY}.html"',
    "Trailer": CANARY,
}
TRACES = (CANARY, "4242", "1994")
# What a page may say by <meta> is another list; see web/render/prerender.py.
FORBIDDEN_METAS = [
    "Set-Cookie",
    "Authorization",
    "Server",
    "Via",
    "X-Powered-By",
    "Strict-Transport-Security",
    "Content-Security-Policy",
    "Clear-Site-Data",
    "Refresh",
    "Alt-Svc",
    "Access-Control-Allow-Origin",
    "Content-Type",
    "Content-Length",
    "Transfer-Encoding",
    "Cache-Control",
    "ETag",
    "X-Request-Id",
    "X-Cache",
]


def fields() -> tuple[str, ...]:
    return ("Content-Type: text/html", *(f"{name}: {value}" for name, value in SENSITIVE.items()))


def page(head: str = "", **options: Any) -> str:
    body = f"<!doctype html><html lang=en><title>Webs</title>{head}<h1>Webs</h1><p>{PROSE}</p>"
    return say(body, *fields(), **options)


@pytest.fixture
def target(site: Site) -> str:
    """A page that says everything, behind a redirect that does so too."""
    here = page()
    there = say("", *fields(), f"Location: {here}", status="302 Found")
    return site.url(there)


def assert_nothing_passed_on(response: httpx.Response, *, status: int = 200) -> None:
    assert response.status_code == status, response.text
    leaked = [
        (name, value) for name, value in response.headers.multi_items() if any(t in value for t in TRACES)
    ]
    assert leaked == []
    assert "set-cookie" not in response.headers
    assert response.headers.get_list("x-request-id")[0].startswith("wl_")
    assert len(response.headers.get_list("x-request-id")) == 1


async def test_the_target_does_say_all_this(target: str) -> None:
    async with httpx.AsyncClient() as client:
        first = await client.get(target)
        assert first.next_request is not None
        for response in (first, await client.send(first.next_request)):
            assert {name.lower() for name in SENSITIVE} <= set(response.headers)


async def post(service: Rendering, path: str, body: dict[str, Any], accept: str = "*/*") -> httpx.Response:
    return await service.visit.client.post(
        path, json=body, headers={**AS_ADMIN, "Accept": accept}, timeout=60
    )


async def test_what_is_read_extracted_and_captured(rendering: Rendering, target: str) -> None:
    everything = ["markdown", "html", "rawHtml", "text", "links", "metadata"]
    fetched: list[tuple[str, dict[str, Any], str]] = [
        ("/fetch", {"formats": everything}, "*/*"),
        ("/fetch", {"cache": True}, "*/*"),
        ("/fetch", {"cache": True}, "*/*"),  # now from the cache
        ("/fetch", {}, "text/markdown"),
        ("/fetch/basic", {}, "*/*"),
        ("/fetch/pro", {"formats": everything, "timeout": 30_000}, "*/*"),
        ("/extract", {"fields": ["title"]}, "*/*"),
        ("/extract", {"fields": ["title"], "render": "always", "timeout": 30_000}, "*/*"),
        ("/screenshot", {"timeout": 30_000}, "*/*"),
        ("/screenshot", {"timeout": 30_000}, "image/png"),
        ("/pdf", {"timeout": 30_000}, "application/pdf"),
    ]
    for path, body, accept in fetched:
        assert_nothing_passed_on(await post(rendering, path, {"url": target, **body}, accept))


async def test_what_is_rendered_cached_and_served(rendering: Rendering, target: str) -> None:
    body = {"url": target, "wait": 60, "timeout": 30_000}
    for cached in ("MISS", "HIT"):
        response = await post(rendering, "/api/render", body)
        assert response.headers["x-cache"] == cached
        assert_nothing_passed_on(response)
    etag = response.headers["etag"]
    headers = {**AS_ADMIN, "If-None-Match": etag}
    known = await rendering.visit.client.post("/api/render", json=body, headers=headers)
    assert_nothing_passed_on(known, status=304)


async def test_what_a_page_says_by_meta(rendering: Rendering, site: Site) -> None:
    metas = [f'<meta name="prerender-header" content="{name}: {CANARY}">' for name in FORBIDDEN_METAS]
    metas += [
        f'<meta name="prerender-header" content="Last-Modified: x&#13;&#10;Set-Cookie: a={CANARY}">',
        f'<meta name="prerender-header" content="Retry-After : {CANARY}&#0;">',
    ]
    good = '<meta name="prerender-header" content="Content-Language: de">'
    for at in range(0, len(metas), 6):  # a page may say only so much
        url = site.url(page("".join([*metas[at : at + 6], good])))
        for _ in range(2):
            response = await post(rendering, "/api/render", {"url": url, "wait": 60, "timeout": 30_000})
            assert_nothing_passed_on(response)
            assert response.headers["content-language"] == "de"  # which is allowed


async def test_what_a_job_has_read(rendering: Rendering, target: str) -> None:
    client = rendering.visit.client
    for tier in ("basic", "pro"):
        accepted = await post(rendering, "/batch/fetch", {"urls": [target, "x"], "tier": tier})
        assert_nothing_passed_on(accepted, status=202)
        job = accepted.json()
        await over(rendering.visit, job["jobId"])
        for accept in ("*/*", "application/x-ndjson"):
            headers = {**AS_ADMIN, "Accept": accept}
            response = await client.get(job["resultsUrl"], headers=headers)
            assert_nothing_passed_on(response)
        lines = [json.loads(line) for line in response.text.splitlines()]
        assert [line["status"] for line in lines] == ["done", "failed"]
        assert_nothing_passed_on(await client.get(job["statusUrl"], headers=AS_ADMIN))
    audit = (await post(rendering, "/audits", {"url": target, "options": {"maxLinks": 0}})).json()
    await over(rendering.visit, audit["jobId"])
    for accept in ("*/*", "text/html"):
        shown = await client.get(audit["reportUrl"], headers={**AS_ADMIN, "Accept": accept})
        assert_nothing_passed_on(shown)
