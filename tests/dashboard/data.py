"""Fills a Gossamer with what people would have: crawls, audits, renders, batches, keys."""

import asyncio
from typing import Any

from tests.dashboard.stage import SECONDS, Stage


async def fill(stage: Stage) -> dict[str, str]:
    """The address of every page worth looking at, by its name."""
    client, shop = stage.client, stage.shop
    for label, tier in (("production", "enterprise"), ("staging", "pro"), ("a colleague's notebook", "free")):
        body = {"email": "team@lantern.example", "label": label, "tier": tier}
        (await client.post("/api/admin/keys", json=body)).raise_for_status()
    await stage.person("grace@lantern.example")
    shelf = {"seeds": [f"{shop}/"], "name": "Lantern Books", "maxPages": 60, "refresh": "auto"}
    crawl = await _post(stage, "/api/crawls", shelf)
    pictured = await _post(
        stage, "/api/crawls", {"seeds": [f"{shop}/"], "name": "Pictures", "maxPages": 3, "screenshots": True}
    )
    page = {"url": f"{shop}/", "wait": 30}
    for path in ("/", "/books", "/events"):
        await client.post("/api/render", json={**page, "url": f"{shop}{path}"})
    for path in ("/", "/books/maps-drawn"):
        await client.post("/fetch", json={"url": f"{shop}{path}", "cache": True})
    audit = await _post(stage, "/audits", {"url": f"{shop}/books"})
    urls = [f"{shop}/{path}" for path in ("", "books", "events", "nothing-here")]
    batch = await _post(stage, "/batch/fetch", {"urls": urls})
    await stage.wait(f"/api/crawls/{crawl['crawlId']}", "done")
    await stage.wait(f"/api/crawls/{pictured['crawlId']}", "done")
    await stage.wait(f"/api/jobs/{audit['jobId']}", "done", "failed")
    await stage.wait(f"/api/jobs/{batch['jobId']}", "done", "failed")
    site = await _post(stage, "/audits", {"url": f"{shop}/", "options": {"maxPages": 50}})
    await stage.wait(f"/api/jobs/{site['jobId']}", "done", "failed")
    for text in ("# Plan\n\nLook at the drawings.", "# Plan\n\nLook at the drawings, then measure."):
        plan = {
            "namespace": "research",
            "key": "plan",
            "value": text,
            "format": "markdown",
            "tags": ["draft"],
        }
        await _post(stage, "/memory/entries", {"entries": [plan]})
    running = {"seeds": [f"http://harbour.example:{shop.rpartition(':')[2]}/"], "name": "The same, slowly"}
    slow = await _post(stage, "/api/crawls", {**running, "delay": 2})
    await _until_it_moves(stage, slow["crawlId"])
    task = {"kind": "audit", "url": f"{shop}/"}
    timing = {"cron": "0 6 * * MON-FRI", "timezone": "Europe/Zurich", "jitter": "10m"}
    schedule = await _post(stage, "/api/schedules", {"task": task, "timing": timing, "name": "Every morning"})
    await _post(stage, f"/api/schedules/{schedule['scheduleId']}/run", {})
    owned = await _post(stage, "/api/sites", {"origin": shop, "name": "The shop"})
    visits = [{"bot": "GPTBot", "outcome": "shell", "url": "/", "status": 200}]
    await _post(stage, f"/api/sites/{owned['siteId']}/reports", {"visits": visits})
    seen = await _post(stage, f"/api/sites/{owned['siteId']}/comparison", {"pages": 1, "templates": 1})
    await stage.wait(f"/api/jobs/{seen['jobId']}", "done", "failed")
    pages = (await client.get(f"/api/crawls/{crawl['crawlId']}/pages", params={"limit": 5})).json()
    pictures = (await client.get(f"/api/crawls/{pictured['crawlId']}/pages")).json()
    linked = f"/app/crawls/{pictured['crawlId']}/pages/{pictures['pages'][-1]['pageId']}"
    return {
        "overview": "/app",
        "playground": "/app/playground",
        "crawls": "/app/crawls",
        "crawl-new": "/app/crawls/new",
        "crawl": f"/app/crawls/{slow['crawlId']}",
        "crawl-done": f"/app/crawls/{crawl['crawlId']}",
        "crawl-freshness": f"/app/crawls/{crawl['crawlId']}/freshness",
        "page": f"/app/crawls/{crawl['crawlId']}/pages/{_page_id(pages)}",
        "page-versions": f"/app/crawls/{crawl['crawlId']}/pages/{_page_id(pages)}/versions",
        "page-links": f"{linked}?view=links&links_in=yes#screenshot",
        "pages": "/app/pages",
        "domains": "/app/domains",
        "cache": "/app/cache",
        "audits": "/app/audits",
        "audit": f"/app/audits/{audit['auditId']}",
        "audit-site": f"/app/audits/{site['auditId']}",
        "schedules": "/app/schedules",
        "schedule-new": "/app/schedules/new",
        "schedule": f"/app/schedules/{schedule['scheduleId']}",
        "sites": "/app/sites",
        "site": f"/app/sites/{owned['siteId']}",
        "site-comparison": f"/app/sites/{owned['siteId']}/comparison",
        "batches": "/app/batches",
        "batch": f"/app/batches/{batch['jobId']}",
        "jobs": "/app/jobs",
        "job": f"/app/jobs/{audit['jobId']}",
        "search": "/app/search?query=drawings",
        "memory": "/app/memory",
        "memory-found": "/app/memory?query=drawings",
        "memory-entries": "/app/memory/namespace?namespace=research",
        "memory-entry": "/app/memory/entry?namespace=research&key=plan",
        "memory-delete": "/app/memory/delete?namespace=research",
        "keys": "/app/keys",
        "usage": "/app/usage",
        "payments": "/app/payments",
        "activity": "/app/activity",
        "people": "/app/people",
        "tenants": "/app/tenants",
        "settings": "/app/settings",
        "health": "/app/health",
        "doctor": "/app/health/doctor",
        "account": "/app/account",
    }


def _page_id(pages: dict[str, Any]) -> str:
    first = pages["pages"][0]
    return str(first["pageId"])


async def _until_it_moves(stage: Stage, crawl_id: str) -> None:
    """A crawl that has stored something, and is not done yet."""
    async with asyncio.timeout(SECONDS):
        while (await stage.client.get(f"/api/crawls/{crawl_id}")).json()["counts"]["pages"] < 2:
            await asyncio.sleep(0.1)


async def _post(stage: Stage, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await stage.client.post(path, json=body)
    assert answer.is_success, answer.text
    made: dict[str, Any] = answer.json()
    return made
