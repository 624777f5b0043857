"""How fresh a crawl is, and what its pages were, as people see it."""

import re

import httpx
from tests.doors.living_site import crawl_of, living_site, refresh
from tests.doors.services import Visit

MORE = "Aphids <b>suck</b> on plants all day, and ants milk them. " * 20


async def test_a_crawl_is_kept_fresh_by_the_form_and_its_versions_are_compared(
    visit: Visit, admin: httpx.AsyncClient, user: httpx.AsyncClient
) -> None:
    async with living_site() as site:
        crawl_id = await crawl_of(visit, site, sitemaps=False, delay=0, refresh="off")
        here = f"/app/crawls/{crawl_id}"
        shown = await admin.get(f"{here}/freshness")
        assert "This crawl is not kept fresh" in shown.text
        bad = await admin.post(f"{here}/freshness", data={"refresh": "auto", "refresh_budget": "0"})
        assert bad.status_code == 400
        assert 'name="refresh_budget" value="0"' in bad.text  # what was typed
        wanted = {"refresh": "auto", "refresh_budget": "77", "refresh_least": "3600", "refresh_most": "86400"}
        changed = await admin.post(f"{here}/freshness", data=wanted)
        assert changed.headers["location"] == f"{here}/freshness?notice=crawl-freshness-changed"
        assert (await user.get(f"{here}/freshness")).status_code == 404
        site.write("/a", MORE)
        site.moved["/b"] = "/c"
        site.write("/c", "Elsewhere.")
        await refresh(visit, crawl_id)
        shown = await admin.get(f"{here}/freshness")
        assert "of 77 for each host" in shown.text
        assert 'value="77"' in shown.text
        pressed = await admin.post(f"{here}/refresh")
        assert pressed.headers["location"] == f"{here}/freshness?notice=crawl-refreshing"
    listed = await admin.get(f"{here}/pages")
    places = {
        title: path for path, title in re.findall(r'href="([^"]+/pages/[0-9a-f]{64})">([^<]+)<', listed.text)
    }
    page = await admin.get(places["/a"])
    assert f'href="{places["/a"]}/versions#difference"' in page.text
    for view in ("inline", "side"):
        compared = await admin.get(f"{places['/a']}/versions", params={"view": view})
        assert "<ins>" in compared.text
        assert "About ants" in compared.text
        assert "<b>suck</b>" not in compared.text
    same = await admin.get(f"{places['/a']}/versions", params={"before": "1", "after": "1"})
    assert "Their text is the same." in same.text
    assert (await admin.get(f"{places['/a']}/versions", params={"before": "9"})).status_code == 404
    assert (await admin.get(f"{places['/a']}/versions", params={"before": "x"})).status_code == 200
    assert (await user.get(f"{places['/a']}/versions")).status_code == 404
