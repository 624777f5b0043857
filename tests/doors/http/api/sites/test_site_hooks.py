"""Incoming webhooks of sites: messages of content management systems render pages again."""

import json
import time
from typing import Any

import msgspec
from tests.doors.http.api.sites.test_sites import Ground, ground
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import open_rendering
from tests.doors.services import AS_ADMIN, PUBLIC_URL

from gossamer.flows.sites.site_warmer import KIND, SiteWarmPayload
from gossamer.flows.webhooks.signing import headers as signature
from gossamer.state.jobs.job import JobFilter

__all__ = ["ground", "open_rendering"]


async def make(ground: Ground, site: str, **body: Any) -> dict[str, Any]:
    made: dict[str, Any] = await ground.ask("POST", f"/{site}/hook", body, AS_ADMIN)
    return made


def path_of(hook: dict[str, Any]) -> str:
    url: str = hook["url"]
    assert url.startswith(f"{PUBLIC_URL}/hooks/sites/")
    return url.removeprefix(PUBLIC_URL)


async def queued(ground: Ground) -> list[SiteWarmPayload]:
    jobs = await ground.rendering.service.jobs.list_jobs(JobFilter(kind=KIND))
    return [msgspec.json.decode(job.payload_json, type=SiteWarmPayload) for job in jobs]


async def test_a_message_renders_pages_again_once_and_only_those_of_the_site(ground: Ground) -> None:
    site = (await ground.register(AS_ADMIN))["siteId"]
    client, origin = ground.rendering.visit.client, ground.origin.url
    here = path_of(await make(ground, site))
    body = {"post": {"permalink": f"{origin}/hello/", "author_url": "https://elsewhere.example/"}}
    sent = {"webhook-id": "msg_1"}
    first = await client.post(here, json=body, headers=sent)
    assert (first.status_code, first.json()) == (202, {"pages": 1, "ignored": 1, "repeated": False})
    again = await client.post(here, json=body, headers=sent)
    assert (again.status_code, again.json()["repeated"]) == (202, True)
    other = await client.post(here, json={"url": "/other"}, headers=sent)
    assert_problem(other, "IDEMPOTENCY_KEY_CONFLICT")
    (payload,) = await queued(ground)
    assert (payload.urls, payload.is_budgeted) == ((f"{origin}/hello/",), True)
    nothing = await client.post(here, json={"event": "ping"})
    assert (nothing.status_code, nothing.json()["pages"]) == (202, 0)
    assert_problem(await client.post(here, content=b"hello"), "VALIDATION_ERROR")
    token = here.rpartition("/")[2]
    assert token not in ground.rendering.visit.stream.getvalue()
    assert token not in json.dumps(await ground.ask("GET", f"/{site}/hook", None, AS_ADMIN))
    for wrong in (f"{here}x", here.replace(site, "01JGGR2Z3W8Q4T6V9X0Y1B2C3D")):
        assert_problem(await client.post(wrong, json=body), "NOT_FOUND")


async def test_the_renders_of_messages_are_within_the_budget_of_the_day(ground: Ground) -> None:
    warm_up = {"timing": {"every": "1d"}, "pagesPerDay": 2, "perMinute": 600}
    site = (await ground.register(AS_ADMIN, warmUp=warm_up))["siteId"]
    here = path_of(await make(ground, site))
    sent = await ground.rendering.visit.client.post(here, json={"urls": ["/a", "/b", "/c"]})
    assert sent.json()["pages"] == 3
    (payload,) = await queued(ground)
    result = await ground.rendering.service.site_warmer.run(payload, "", _quietly)
    assert (result.queued, result.limited) == (2, 1)


async def test_a_webhook_is_replaced_signed_and_removed(ground: Ground) -> None:
    site = (await ground.register(AS_ADMIN))["siteId"]
    client = ground.rendering.visit.client
    old = path_of(await make(ground, site))
    made = await make(ground, site, signed=True)
    here, body = path_of(made), '{"url": "/a"}'
    assert_problem(await client.post(here, content=body), "UNAUTHORIZED")
    now = int(time.time())
    good = signature([made["secret"]], "msg_1", now, body)
    assert (await client.post(here, content=body, headers=good)).status_code == 202
    for bad in (
        signature([made["secret"]], "msg_2", now - 3_600, body),
        signature([made["secret"]], "msg_3", now, body + " "),
        good | {"webhook-id": "msg_4"},
        good | {"webhook-timestamp": "soon"},
    ):
        assert_problem(await client.post(here, content=body, headers=bad), "UNAUTHORIZED")
    assert (await client.post(old, content=body)).status_code == 202  # as it was, for a while
    newest = path_of(await make(ground, site, oldSeconds=0))
    assert_problem(await client.post(here, content=body, headers=good), "NOT_FOUND")
    assert (await client.post(newest, content=body)).status_code == 202
    assert not (await ground.ask("DELETE", f"/{site}/hook", None, AS_ADMIN))["isSetUp"]
    assert_problem(await client.post(newest, content=body), "NOT_FOUND")


async def test_too_many_messages_are_refused(ground: Ground) -> None:
    site = (await ground.register(AS_ADMIN))["siteId"]
    here = path_of(await make(ground, site))
    limits = ground.rendering.service.limits
    await limits.take([("site-hook", site)], cost=120)
    assert_problem(await ground.rendering.visit.client.post(here, json={"url": "/a"}), "RATE_LIMITED")


async def _quietly(message: str, percent: int) -> None:
    pass
