"""The pages of sites: registered, proven, changed and removed, with what robots got."""

import httpx
from tests.doors.services import Visit
from ulid import ULID

from gossamer.doors.http.dashboard.core.form import Form
from gossamer.doors.http.dashboard.work.site_form import read_settings, typed_settings
from gossamer.state.sites import comparisons, sites
from gossamer.web.sites.bot_visits import BotVisit
from gossamer.web.sites.page_facts import PageSight, RobotFacts, SeenVerdict
from gossamer.web.sites.site_comparison import ComparedPage, ComparedTemplate, SiteComparison
from gossamer.web.sites.site_words import VisitOutcome

FACTS = RobotFacts(
    status=200,
    words=3,
    title="<b>Lamp",
    description="",
    canonical="",
    robots="",
    headlines=["A", "B"],
    links=0,
    structured=[],
)
COMPARED = SiteComparison(
    templates=[
        ComparedTemplate(
            pattern="/shop/{n}",
            known=3,
            visits=9,
            misses=2,
            verdict=SeenVerdict.SHELL,
            pages=[
                ComparedPage(
                    url="http://127.0.0.1:9/shop/1",
                    verdict=SeenVerdict.SHELL,
                    sight=PageSight(
                        raw=FACTS,
                        rendered=FACTS,
                        shared=0.1,
                        differences=["title"],
                        verdict=SeenVerdict.SHELL,
                    ),
                ),
                ComparedPage(
                    url="http://127.0.0.1:9/shop/2", verdict=SeenVerdict.UNKNOWN, reason="render_limit"
                ),
            ],
        )
    ],
    robots={VisitOutcome.HIT: 7},
)


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
    typed = {
        "name": "Shop",
        "max_age": "60",
        "excluded_paths": "/cart\n/account/*",
        "headers": "none",
        "devices": "mobile",
        "is_warm": "on",
        "cron": "0 3 * * *",
        "pages_per_day": "7",
    }
    for wrong, told in (
        ({"max_age": "x"}, "Max age"),
        ({"cron": ""}, "no timing"),
        ({"cron": "soon"}, "cron"),
    ):
        bad = await user.post(f"{here}/change", data=typed | wrong)
        assert bad.status_code == 400
        assert told in bad.text
        assert "/account/*" in bad.text  # what was typed
    changed = await user.post(f"{here}/change", data=typed)
    assert changed.headers["location"].endswith("notice=site-changed")
    async with visit.service.database.read() as connection:
        site = await sites.get(connection, here.rpartition("/")[2])
    assert site is not None
    kept = site.settings
    assert (kept.max_age, kept.excluded_paths, kept.headers) == (60, ("/cart", "/account/*"), ())
    assert kept.devices == ("mobile",)
    assert kept.warm_up is not None
    assert (kept.warm_up.timing.cron, kept.warm_up.pages_per_day) == ("0 3 * * *", 7)
    assert typed_settings(read_settings(Form(typed_settings(kept)))) == typed_settings(kept)
    visit.service.bot_reports.count(site, BotVisit(bot="GPTBot", outcome=VisitOutcome.SHELL, url="/new"))
    shown = (await user.get(here)).text
    assert "GPTBot" in shown
    assert "http://127.0.0.1:9/new" in shown
    assert f'href="{here}"' in (await user.get("/app/sites")).text
    assert "Cached pages stay" in (await user.get(f"{here}/delete")).text
    assert (await user.post(f"{here}/delete")).headers["location"].endswith("notice=site-removed")
    assert (await user.get(here)).status_code == 404


async def test_rules_webhook_and_comparison_of_a_site(visit: Visit, admin: httpx.AsyncClient) -> None:
    made = await admin.post("/app/sites", data={"origin": "http://127.0.0.1:9"})
    here = made.headers["location"].partition("?")[0]
    bad = await admin.post(f"{here}/rules", data={"rules": '[{"keep": ["div["]}]'})
    assert bad.status_code == 400
    assert "div[" in bad.text
    good = '[{"drop": ["nav"], "headers": {"cookie": "secret=1"}}]'
    assert (await admin.post(f"{here}/rules", data={"rules": good})).status_code == 303
    shown = (await admin.get(here)).text
    assert "[hidden]" in shown
    assert "secret=1" not in shown
    hook = (await admin.post(f"{here}/hook", data={"signed": "on"})).text
    assert "/hooks/sites/" in hook
    assert "whsec_" in hook
    assert "whsec_" not in (await admin.get(here)).text
    removed = await admin.post(f"{here}/hook/remove")
    assert removed.headers["location"].endswith("notice=site-hook-removed")
    page = await admin.get(f"{here}/comparison")
    assert "Nothing was compared yet" in page.text
    site_id = here.rpartition("/")[2]
    async with visit.service.database.write() as connection:
        site = await sites.get(connection, site_id)
        assert site is not None
        await comparisons.add(connection, str(ULID()), site_id, site.tenant_id, COMPARED)
    page = await admin.get(f"{here}/comparison")
    for told in ("/shop/{n}", "is-shell", "&lt;b&gt;Lamp", "differs", "render_limit"):
        assert told in page.text
