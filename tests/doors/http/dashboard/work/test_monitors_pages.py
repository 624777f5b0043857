"""The pages of monitors: from the form to a change, and what is refused beside the form."""

from typing import Any

import httpx
import pytest
from tests.doors.services import Visit

SENT = {
    "watched": "pages",
    "addresses": "http://127.0.0.1:9/page",
    "every": "6h",
    "timezone": "UTC",
    "name": "<b>Pack",
    "text": "on",
    "appear": "sold out",
    "price": ".price",
    "below": "19,90",
}


async def make(user: httpx.AsyncClient, **more: str) -> str:
    made = await user.post("/app/monitors/new", data={**SENT, **more})
    assert made.status_code == 303, made.text
    return made.headers["location"].partition("?")[0]


async def shown(visit: Visit, user: httpx.AsyncClient, here: str) -> Any:
    """As the API shows it."""
    return (await user.get(here.replace("/app/", "/api/"))).json()


async def test_a_monitor_from_the_form_to_its_end(visit: Visit, user: httpx.AsyncClient) -> None:
    assert "/app/monitors/new" in (await user.get("/app/monitors")).text
    here = await make(user)
    page = (await user.get(here)).text
    assert "&lt;b&gt;Pack" in page
    made = await shown(visit, user, here)
    assert [rule["kind"] for rule in made["rules"]] == ["text", "keywords", "number"]
    assert made["rules"][2]["below"] == 19.9
    for action, key, value in (
        ("pause", "status", "paused"),
        ("resume", "status", "new"),
        ("mute", "muted", True),
        ("unmute", "muted", False),
    ):
        assert (await user.post(f"{here}/{action}")).status_code == 303
        assert (await shown(visit, user, here))[key] == value
    await user.post(f"{here}/snooze", data={"duration": "8h"})
    assert (await shown(visit, user, here))["snoozedUntil"]
    assert (await user.post(f"{here}/check")).status_code == 303
    assert "everything that it has found is deleted" in (await user.get(f"{here}/delete")).text
    deleted = await user.post(f"{here}/delete")
    assert deleted.headers["location"] == "/app/monitors?notice=monitor-deleted"
    assert (await user.get(here)).status_code == 404


async def test_lists_and_searches_are_watched_too(visit: Visit, user: httpx.AsyncClient) -> None:
    two = await make(user, addresses="http://127.0.0.1:9/a\nhttp://127.0.0.1:9/b")
    assert (await shown(visit, user, two))["watch"]["kind"] == "list"
    found = await make(user, watched="search", addresses="silk ropes", price="", below="")
    assert (await shown(visit, user, found))["watch"]["query"] == "silk ropes"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"addresses": ""}, "Nothing is watched."),
        ({"text": "", "appear": "", "price": ""}, "Nothing counts as a change."),
        ({"below": "cheap"}, "&#39;cheap&#39; is no number"),
        ({"every": "5x"}, "is no duration"),
        ({"rules": "{"}, "no JSON list"),
        ({"watched": "crawl", "addresses": "0" * 26, "price": ""}, "no crawl"),
    ],
)
async def test_what_is_refused_is_told_beside_the_form_with_all_that_was_typed(
    visit: Visit, user: httpx.AsyncClient, change: dict[str, str], said: str
) -> None:
    refused = await user.post("/app/monitors/new", data={**SENT, **change})
    assert refused.status_code in (400, 404, 422)
    assert said in refused.text
    assert "&lt;b&gt;Pack" in refused.text
    assert (await user.get("/api/monitors")).json()["monitors"] == []
