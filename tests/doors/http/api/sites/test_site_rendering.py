"""Settings of a site in a real browser, and what robots see without one."""

import asyncio
from typing import Any

from tests.doors.http.api.sites.test_site_rules import open_seen
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import APP, OpenRendering, Rendering, article, open_rendering
from tests.doors.services import AS_ADMIN

__all__ = ["open_rendering"]
LATE = """<!doctype html><title>A shop</title><h1>A shop</h1><p>It looks complete. {prose}</p>
<script>setTimeout(() => {{ const late = document.createElement("p"); late.id = "late";
late.textContent = "This comes late"; document.body.append(late) }}, 2500)</script>"""


async def finish(rendering: Rendering, path: str, body: Any) -> dict[str, Any]:
    """The job that the call has queued, when it is over."""
    answer = await rendering.visit.client.post(path, json=body, headers=AS_ADMIN)
    assert answer.status_code == 202, answer.text
    async with asyncio.timeout(60):
        while True:
            job: dict[str, Any] = (await rendering.get(answer.json()["statusUrl"])).json()
            if job["status"] in ("done", "failed"):
                return job
            await asyncio.sleep(0.05)


async def test_a_wait_selector_and_excluded_paths_act_in_a_browser(open_rendering: OpenRendering) -> None:
    async with open_seen() as origin, open_rendering() as rendering:
        origin.pages["/late"] = ("200 OK", LATE.format(prose=article()))
        origin.pages["/cart/1"] = ("200 OK", article())
        settings = {"waitForSelector": "#late", "excludedPaths": ["/cart"]}
        client = rendering.visit.client
        made = await client.post(
            "/api/sites", json={"origin": origin.url, "settings": settings}, headers=AS_ADMIN
        )
        assert made.status_code == 201, made.text
        excluded = await rendering.ask(f"{origin.url}/cart/1", wait=20)
        assert_problem(excluded, "RENDER_EXCLUDED")
        assert origin.paths() == []
        page = await rendering.ask(f"{origin.url}/late", wait=20)
        assert page.status_code == 200, page.text
        assert "This comes late" in page.text
        here = f"/api/sites/{made.json()['siteId']}"
        await client.patch(here, json={"settings": {}}, headers=AS_ADMIN)
        early = await rendering.ask(f"{origin.url}/late?early", wait=20)
        assert "This comes late" not in early.text  # so it was the selector that waited


async def test_a_comparison_tells_templates_apart_by_what_robots_see(open_rendering: OpenRendering) -> None:
    async with open_seen() as origin, open_rendering() as rendering:
        for number in (1, 2):
            origin.pages[f"/shop/{number}"] = ("200 OK", APP)
        origin.pages["/news/hello"] = ("200 OK", article())
        listed = "".join(f"<url><loc>{origin.url}{path}</loc></url>" for path in origin.pages)
        xml = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
        origin.pages["/maps/all.xml"] = ("200 OK\r\nContent-Type: application/xml", xml)
        robots = f"Sitemap: {origin.url}/maps/all.xml\n"
        origin.pages["/robots.txt"] = ("200 OK\r\nContent-Type: text/plain", robots)
        origin.pages["/"] = ("200 OK", '<title>Home</title><a href="/guide/start#top">The guide</a>')
        origin.pages["/guide/start"] = ("200 OK", article())  # in no sitemap
        client = rendering.visit.client
        body = {"origin": origin.url, "settings": {"excludedPaths": ["/cart"]}}
        made = (await client.post("/api/sites", json=body, headers=AS_ADMIN)).json()
        here = f"/api/sites/{made['siteId']}"
        visits = [{"bot": "GPTBot", "outcome": "shell", "url": "/shop/2", "count": 5}]
        await client.post(f"{here}/reports", json={"visits": visits}, headers=AS_ADMIN)
        await rendering.service.bot_reports.flush()
        job = await finish(rendering, f"{here}/comparison", {"pages": 1})
        assert job["status"] == "done", job
        found = (await client.get(f"{here}/comparison", headers=AS_ADMIN)).json()
        assert found["comparisonId"] == job["result"]["comparisonId"]
        templates = {one["pattern"]: one for one in found["comparison"]["templates"]}
        shop, news, home = templates["/shop/{n}"], templates["/news/{word}"], templates["/"]
        assert (shop["verdict"], shop["visits"], shop["misses"]) == ("shell", 5, 5)
        assert [page["url"] for page in shop["pages"]] == [f"{origin.url}/shop/2"]
        sight = shop["pages"][0]["sight"]
        assert (sight["raw"]["headlines"], sight["rendered"]["headlines"]) == ([], ["Rendered by a script"])
        assert (news["verdict"], news["pages"][0]["sight"]["shared"]) == ("same", 1.0)
        assert home["pages"][0]["sight"]["raw"]["title"] == "Home"
        assert templates["/guide/{word}"]["pages"][0]["url"] == f"{origin.url}/guide/start"
        assert found["comparison"]["robots"] == {"shell": 5}
        assert found["history"][0]["templates"] == {"shell": 1, "same": 3}
