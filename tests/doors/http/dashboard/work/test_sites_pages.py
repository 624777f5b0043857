"""The pages of sites: registered, proven, changed and removed, with what robots got."""

import httpx
from tests.doors.services import Visit

from gossamer.state.sites import sites
from gossamer.web.sites.bot_visits import BotVisit
from gossamer.web.sites.site_words import VisitOutcome


async def test_a_site_from_the_form_to_its_end(visit: Visit, user: httpx.AsyncClient) -> None:
    refused = await user.post("/app/sites", data={"origin": "http://127.0.0.1:9/path", "name": "<b>Shop"})
    assert refused.status_code == 400
    assert "An origin has no path" in refused.text
    assert "http://127.0.0.1:9/path" in refused.text
    made = await user.post("/app/sites", data={"origin": "http://127.0.0.1:9", "name": "<b>Shop"})
    assert made.status_code == 303, made.text
    here = made.headers["location"].partition("?")[0]
    shown = (await user.get(here)).text
    assert "&lt;b&gt;Shop" in shown
    assert "/.well-known/gossamer-" in shown
    assert "No robot was counted yet." in shown
    looked = await user.post(f"{here}/proof")
    assert "unreachable" in looked.text
    bad = await user.post(f"{here}/change", data={"name": "Shop", "settings": '{"maxAge": "x"}'})
    assert bad.status_code == 400
    assert "&#34;maxAge&#34;: &#34;x&#34;" in bad.text  # what was typed
    changed = await user.post(f"{here}/change", data={"name": "Shop", "settings": '{"maxAge": 60}'})
    assert changed.headers["location"].endswith("notice=site-changed")
    async with visit.service.database.read() as connection:
        site = await sites.get(connection, here.rpartition("/")[2])
    assert site is not None
    visit.service.bot_reports.count(site, BotVisit(bot="GPTBot", outcome=VisitOutcome.SHELL, url="/new"))
    shown = (await user.get(here)).text
    assert "GPTBot" in shown
    assert "http://127.0.0.1:9/new" in shown
    assert f'href="{here}"' in (await user.get("/app/sites")).text
    assert "Cached pages stay" in (await user.get(f"{here}/delete")).text
    assert (await user.post(f"{here}/delete")).headers["location"].endswith("notice=site-removed")
    assert (await user.get(here)).status_code == 404
