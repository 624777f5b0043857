"""Monitors over HTTP."""

from typing import Any

import pytest
from tests.doors.services import Visiting, bearer

from gossamer.state.tenants.tenants import Tier

WATCH = {"kind": "page", "url": "http://127.0.0.1:9/page"}
FLAGS = {"egress_allow": "127.0.0.0/8", "egress_ports": "*"}


async def test_a_monitor_is_made_shown_changed_snoozed_and_deleted(visiting: Visiting) -> None:
    async with visiting(**FLAGS) as visit:
        client, headers = visit.client, bearer(await visit.key(tier=Tier.PRO))
        body = {
            "watch": WATCH,
            "name": "one",
            "timing": {"every": "2h"},
            "look": {"headers": {"cookie": "a=b"}},
        }
        made = await client.post("/api/monitors", json=body, headers=headers)
        assert made.status_code == 201
        shown = made.json()
        here = shown["statusUrl"]
        assert (shown["status"], shown["hasHeaders"], shown["look"]) == ("new", True, {})
        assert shown["rules"] == [{"kind": "text"}]
        assert shown["jobId"]
        assert (await client.get("/api/monitors", headers=headers)).json()["monitors"][0]["name"] == "one"
        changed = await client.patch(here, json={"paused": True, "muted": True}, headers=headers)
        assert (changed.json()["status"], changed.json()["muted"]) == ("paused", True)
        snoozed = await client.post(f"{here}/snooze", json={"for": "8h"}, headers=headers)
        assert snoozed.json()["snoozedUntil"]
        awake = await client.post(f"{here}/snooze", json={"for": "0s"}, headers=headers)
        assert awake.json()["snoozedUntil"] is None
        accepted = await client.post(f"{here}/check", headers=headers)
        assert (accepted.status_code, accepted.json()["jobId"]) == (202, shown["jobId"])
        assert (await client.get(f"{here}/changes", headers=headers)).json()["changes"] == []
        other = bearer((await visit.service.keys.create(_other(), _actor())).secret)
        assert (await client.get(here, headers=other)).status_code == 404
        assert (await client.delete(here, headers=headers)).status_code == 200
        assert (await client.get(here, headers=headers)).status_code == 404


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"watch": {"kind": "page", "url": "ftp://x"}}, ""),
        ({"watch": WATCH, "rules": []}, "rules"),
        ({"watch": WATCH, "rules": [{"kind": "number", "below": 1}]}, "selector"),
        ({"watch": WATCH, "rules": [{"kind": "selector", "selector": "a["}]}, ""),
        ({"watch": WATCH, "rules": [{"kind": "appearance"}]}, "browser"),
        ({"watch": WATCH, "timing": {"every": "1s"}}, "at least 1m"),
        ({"watch": {"kind": "search", "query": "x"}, "rules": [{"kind": "status"}]}, "needs a page"),
        ({"watch": {"kind": "crawl", "crawlId": "0" * 26}}, "no crawl"),
        ({"watch": {"kind": "page", "url": "http://10.0.0.1/"}}, ""),
    ],
)
async def test_what_cannot_be_watched_is_refused(
    visiting: Visiting, body: dict[str, Any], detail: str
) -> None:
    async with visiting(**FLAGS) as visit:
        refused = await visit.client.post("/api/monitors", json=body, headers=bearer(await visit.key()))
    assert refused.status_code in (400, 403, 404, 422)
    assert detail in refused.json()["detail"]


async def test_rules_are_tried_on_texts_and_pages_without_storing_anything(visiting: Visiting) -> None:
    async with visiting(**FLAGS) as visit:
        headers = bearer(await visit.key())
        body: dict[str, Any] = {
            "before": {"text": "Price: £22.00\n12 views"},
            "after": {"text": "Price: £19.00\n31 views"},
        }
        tried = (await visit.client.post("/api/monitors/try", json=body, headers=headers)).json()
        assert tried["changed"]
        assert tried["reasons"] == [
            {"kind": "text_changed", "rule": 0, "old": "Price: £22.00", "new": "Price: £19.00"}
        ]
        assert tried["ignored"][0]["noise"] == "counter"
        body["rules"] = [{"kind": "number", "selector": "b", "below": 20}]
        body["before"], body["after"] = {"html": "<p>Now <b>£22</b></p>"}, {"html": "<p>Now <b>£19</b></p>"}
        tried = (await visit.client.post("/api/monitors/try", json=body, headers=headers)).json()
        assert [reason["kind"] for reason in tried["reasons"]] == ["number_below"]
        body["after"] = {}
        assert (await visit.client.post("/api/monitors/try", json=body, headers=headers)).status_code == 400
        assert (await visit.client.get("/api/monitors", headers=headers)).json()["monitors"] == []


def _other() -> Any:
    from gossamer.flows.tenants.keys import NewKey

    return NewKey(email="other@example.com", role="user", tier=Tier.PRO)


def _actor() -> Any:
    from gossamer.state.tenants.activity import Actor

    return Actor("test")
