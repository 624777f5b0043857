"""The pages of schedules: from the form with its preview to the history."""

import re

import httpx
import pytest
from tests.doors.services import Visit

from gossamer.state.schedules.schedules import read_clock

SENT = {
    "kind": "crawl",
    "addresses": "http://127.0.0.1:9/",
    "every": "6h",
    "timezone": "UTC",
    "name": "<b>News",
}


async def make(user: httpx.AsyncClient, **more: str) -> str:
    made = await user.post("/app/schedules/new", data={**SENT, **more})
    assert made.status_code == 303, made.text
    return made.headers["location"].partition("?")[0]


async def test_the_first_visit_says_what_to_do(visit: Visit, user: httpx.AsyncClient) -> None:
    assert "There is no schedule yet" in (await user.get("/app/schedules")).text


async def test_a_schedule_from_the_form_to_its_history(visit: Visit, user: httpx.AsyncClient) -> None:
    here = await make(user, options='{"maxPages": 3}')
    shown = (await user.get(here)).text
    assert "&lt;b&gt;News" in shown
    assert "&#34;maxPages&#34;: 3" in shown
    assert "It has not run yet." in shown
    async with visit.service.database.read() as connection:
        now = await read_clock(connection)
    await visit.service.scheduler.fire_due(now=now + 6 * 3_600_000)
    shown = (await user.get(here)).text
    assert re.search(r'href="/app/crawls/\w{26}"', shown)
    assert "It was time." in shown
    assert f'href="{here}"' in (await user.get("/app/schedules")).text
    refused = await user.post(f"{here}/run")
    assert refused.status_code == 422
    assert "The last run is not over yet." in refused.text


async def test_a_schedule_is_changed_paused_and_deleted(visit: Visit, user: httpx.AsyncClient) -> None:
    here = await make(user)
    changed = await user.post(
        f"{here}/change", data={"name": "after", "cron": "0 6 * * *", "timezone": "Asia/Tokyo"}
    )
    assert changed.headers["location"].endswith("notice=schedule-changed")
    await user.post(f"{here}/pause")
    shown = (await user.get(here)).text
    assert "It is paused." in shown
    assert "0 6 * * * (Asia/Tokyo)" in shown
    await user.post(f"{here}/resume")
    assert re.search(r"06:00:00\+09:00", (await user.get(here)).text)
    assert "its history is deleted" in (await user.get(f"{here}/delete")).text
    deleted = await user.post(f"{here}/delete")
    assert deleted.headers["location"] == "/app/schedules?notice=schedule-deleted"
    assert (await user.get(here)).status_code == 404


async def test_the_next_runs_are_previewed_and_nothing_is_stored(
    visit: Visit, user: httpx.AsyncClient
) -> None:
    sent = {**SENT, "every": "", "cron": "30 2 * * *", "timezone": "Europe/Zurich"}
    shown = (await user.post("/app/schedules/new/preview", data=sent)).text
    assert len(re.findall(r"\d\d 02:30:00\+0[12]:00", shown)) == 10
    assert 'value="30 2 * * *"' in shown
    assert "There is no schedule yet" in (await user.get("/app/schedules")).text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"every": "5x"}, "&#39;5x&#39; is no duration."),
        ({"every": ""}, "Give `cron` or `every`"),
        ({"options": "nonsense"}, "this is no JSON object"),
        ({"addresses": "http://10.0.0.1/"}, "Private, local and reserved addresses are not allowed"),
        ({"kind": "audit", "addresses": "http://127.0.0.1/\nhttp://127.0.0.2/"}, "one page or site"),
    ],
)
async def test_a_refused_form_is_shown_again_with_what_was_typed(
    visit: Visit, user: httpx.AsyncClient, change: dict[str, str], said: str
) -> None:
    refused = await user.post("/app/schedules/new", data={**SENT, **change})
    assert refused.status_code in (400, 422)
    assert said in refused.text
    assert "&lt;b&gt;News" in refused.text


async def test_others_do_not_see_it(visit: Visit, user: httpx.AsyncClient, admin: httpx.AsyncClient) -> None:
    here = await make(admin)
    for path in (here, f"{here}/delete"):
        assert (await user.get(path)).status_code == 404
    assert (await user.post(f"{here}/pause")).status_code == 404
