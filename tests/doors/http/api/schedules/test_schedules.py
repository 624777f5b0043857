"""Schedules over HTTP: made, checked, fired by the flows of the API, and kept apart by tenant."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from sqlalchemy import select
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer

from gossamer.flows.tenants.keys import NewKey
from gossamer.state.schedules.schedule_tables import schedules
from gossamer.state.schedules.schedules import read_clock, schedule_of
from gossamer.state.tenants.activity import Actor
from gossamer.state.tenants.tenants import Tier
from gossamer.web.schedules.schedule_task import ScheduledBatch

HOUR = 3_600_000
CRAWL = {"kind": "crawl", "seeds": ["http://127.0.0.1:9/"], "maxPages": 5}
BATCH = {"kind": "batch", "urls": ["http://127.0.0.1:9/a", "http://127.0.0.1:9/b"]}
AUDIT = {
    "kind": "audit",
    "url": "http://127.0.0.1:9/",
    "options": {"maxLinks": 0, "timeout": 30_000, "maxPages": 1, "crawlId": None},
}
HOURLY = {"every": "1h"}
OPEN = {"egress_allow": "127.0.0.0/8", "egress_ports": "*"}


@pytest.fixture
async def visit(visiting: Visiting) -> AsyncIterator[Visit]:
    async with visiting(quota_schedules="3,100,unlimited", quota_crawls="1,1,1", **OPEN) as opened:
        yield opened


@pytest.fixture
async def key(visit: Visit) -> dict[str, str]:
    return bearer(await visit.key())


async def make(visit: Visit, key: dict[str, str], task: Any = CRAWL, **more: Any) -> dict[str, Any]:
    body = {"task": task, "timing": HOURLY, **more}
    response = await visit.client.post("/api/schedules", json=body, headers=key)
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    assert response.headers["location"] == made["statusUrl"]
    return made


async def ask(visit: Visit, key: dict[str, str], method: str, path: str, body: Any = None) -> Any:
    response = await visit.client.request(method, f"/api/schedules{path}", json=body, headers=key)
    assert response.status_code < 300, response.text
    return response.json()


async def fire(visit: Visit, hours: float) -> None:
    async with visit.service.database.read() as connection:
        now = await read_clock(connection) + round(hours * HOUR)
    await visit.service.scheduler.fire_due(now=now)


@pytest.mark.parametrize("task", [CRAWL, BATCH, AUDIT])
async def test_a_schedule_starts_its_work_as_its_maker(
    visit: Visit, key: dict[str, str], task: dict[str, Any]
) -> None:
    made = await make(visit, key, task, name="nightly")
    assert made["task"] == task
    assert (made["status"], made["isRunning"], len(made["nextRuns"])) == ("active", False, 5)
    await fire(visit, 1.01)
    shown = await ask(visit, key, "GET", f"/{made['scheduleId']}")
    assert (shown["isRunning"], shown["lastRun"]["status"], shown["failures"]) == (True, "started", 0)
    work = await visit.client.get(shown["lastRun"]["statusUrl"], headers=key)
    assert work.status_code == 200, work.text
    log = (await visit.client.get("/api/activity", headers=key)).json()["activity"]
    assert [entry["action"] for entry in log[:2]] == [f"{task['kind']}.started", "schedule.made"]
    assert (log[0]["via"], log[0]["actor"]["name"]) == ("schedule", "nightly")
    await fire(visit, 2.01)
    runs = (await ask(visit, key, "GET", f"/{made['scheduleId']}/runs"))["runs"]
    assert [(run["status"], run["reason"]) for run in runs] == [
        ("skipped", "still_running"),
        ("started", None),
    ]


async def test_what_its_own_endpoint_refuses_is_refused_when_a_schedule_is_made(
    visit: Visit, key: dict[str, str]
) -> None:
    for task, code in (
        ({**CRAWL, "seeds": ["http://169.254.169.254/"]}, "INVALID_URL"),
        ({**CRAWL, "delay": 0}, "FORBIDDEN"),
        ({**CRAWL, "maxPages": 5_000_000}, "QUOTA_EXCEEDED"),
        ({**CRAWL, "webhook": {"url": "http://10.0.0.1/"}}, "INVALID_URL"),
        ({**CRAWL, "nonsense": 1}, "VALIDATION_ERROR"),
        ({**BATCH, "include": ["::("]}, "INVALID_SELECTOR"),
        ({**AUDIT, "url": "ftp://example.com/"}, "INVALID_URL"),
        ({"kind": "monitor"}, "VALIDATION_ERROR"),
    ):
        body = {"task": task, "timing": HOURLY}
        response = await visit.client.post("/api/schedules", json=body, headers=key)
        assert response.json()["code"] == code, response.text
    body = {"task": CRAWL, "timing": {"every": "30s"}}
    refused = await visit.client.post("/api/schedules", json=body, headers=key)
    assert_problem(refused, "VALIDATION_ERROR")
    assert refused.json()["details"]["field"] == "timing.every"


async def test_a_task_that_becomes_impossible_is_a_failed_run_with_its_code(
    visit: Visit, key: dict[str, str]
) -> None:
    made = await make(visit, key)
    first = await visit.client.post("/api/crawls", json={"seeds": CRAWL["seeds"]}, headers=key)
    assert first.status_code == 202
    await fire(visit, 1.01)
    shown = await ask(visit, key, "GET", f"/{made['scheduleId']}")
    assert (shown["lastRun"]["status"], shown["lastRun"]["reason"]) == ("failed", "QUOTA_EXCEEDED")
    assert (shown["failures"], shown["status"]) == (1, "active")


async def test_secrets_of_a_task_are_sealed_and_never_shown(visit: Visit, key: dict[str, str]) -> None:
    secret = "Bearer of-the-site"
    task = {
        **BATCH,
        "tier": "pro",
        "headers": {"authorization": secret},
        "cookies": [{"name": "session", "value": secret}],
        "actions": [{"type": "type", "selector": "#password", "text": secret}],
        "webhook": {"url": "http://127.0.0.1:9/hook", "headers": {"X-Own": secret}},
    }
    made = await make(visit, key, task)
    assert secret not in msgspec.json.encode(made).decode()
    assert made["task"]["headers"] == {"authorization": "[hidden]"}
    async with visit.service.database.read() as connection:
        row = (await connection.execute(select(schedules))).one()
    assert not any(secret in str(value) for value in row)
    opened = await visit.service.task_vault.open(schedule_of(row))
    assert isinstance(opened, ScheduledBatch)
    assert (opened.headers, opened.cookies[0].value) == ({"authorization": secret}, secret)
    body = {"task": made["task"]}
    refused = await visit.client.patch(made["statusUrl"], json=body, headers=key)
    assert refused.json()["details"]["field"] == "task"


async def test_a_schedule_is_changed_paused_resumed_and_deleted(visit: Visit, key: dict[str, str]) -> None:
    made = await make(visit, key, name="before")
    path = f"/{made['scheduleId']}"
    timing = {"cron": "0 6 * * MON-FRI", "timezone": "Europe/Zurich", "catchUp": "skip"}
    changed = await ask(visit, key, "PATCH", path, {"timing": timing, "name": "after", "task": AUDIT})
    assert (changed["name"], changed["kind"], changed["task"]) == ("after", "audit", AUDIT)
    assert changed["timing"]["catchUp"] == "skip"
    assert all("T06:00:00+0" in run["local"] for run in changed["nextRuns"])
    paused = await ask(visit, key, "POST", f"{path}/pause")
    assert (paused["status"], paused["pauseReason"], paused["nextRunAt"]) == ("paused", "request", None)
    resumed = await ask(visit, key, "POST", f"{path}/resume")
    assert (resumed["status"], resumed["nextRunAt"]) == ("active", changed["nextRunAt"])
    assert (await ask(visit, key, "GET", ""))["schedules"][0]["scheduleId"] == made["scheduleId"]
    assert (await ask(visit, key, "DELETE", path))["name"] == "after"
    assert (await visit.client.get(made["statusUrl"], headers=key)).status_code == 404
    log = (await visit.client.get("/api/activity?action=schedule", headers=key)).json()["activity"]
    did = [entry["action"].partition(".")[2] for entry in log]
    assert did == ["deleted", "resumed", "paused", "changed", "made"]


async def test_a_schedule_runs_when_somebody_asks_for_it_but_not_twice_at_once(
    visit: Visit, key: dict[str, str]
) -> None:
    made = await make(visit, key, paused=True)
    path = f"/{made['scheduleId']}/run"
    again = {**key, "Idempotency-Key": "once"}
    run = await ask(visit, again, "POST", path)
    assert (run["trigger"], run["plannedAt"], run["status"]) == ("request", None, "started")
    assert await ask(visit, again, "POST", path) == run
    refused = await visit.client.post(f"/api/schedules{path}", headers=key)
    assert_problem(refused, "UNPROCESSABLE_ENTITY")
    assert refused.json()["details"]["reason"] == "still_running"


async def test_others_see_nothing_and_admins_everything(visit: Visit, key: dict[str, str]) -> None:
    made = await make(visit, key)
    new = NewKey(email="other@example.com", role="user")
    other = bearer((await visit.service.keys.create(new, Actor("test"))).secret)
    path = made["statusUrl"]
    calls = [("GET", path), ("GET", f"{path}/runs"), ("DELETE", path), ("PATCH", path)]
    calls += [("POST", f"{path}/{what}") for what in ("pause", "resume", "run")]
    for method, where in calls:
        body: dict[str, str] | None = {} if method == "PATCH" else None
        response = await visit.client.request(method, where, json=body, headers=other)
        assert response.status_code == 404, (method, where)
    assert (await ask(visit, other, "GET", ""))["schedules"] == []
    assert (await visit.client.get(path, headers=AS_ADMIN)).status_code == 200
    stolen = await visit.client.patch(path, json={"task": AUDIT}, headers=AS_ADMIN)
    assert_problem(stolen, "UNPROCESSABLE_ENTITY")


async def test_a_stopped_schedule_goes_on_with_the_rights_of_who_resumes_it(
    visit: Visit, key: dict[str, str]
) -> None:
    made = await make(visit, key)
    me = (await visit.client.get("/api/keys", headers=key)).json()["keys"][0]
    second = bearer(await visit.key())
    await visit.client.delete(f"/api/keys/{me['id']}", headers=second)
    await fire(visit, 1.01)
    path = f"/{made['scheduleId']}"
    stopped = await ask(visit, second, "GET", path)
    assert (stopped["status"], stopped["pauseReason"]) == ("paused", "key_disabled")
    refused = await visit.client.post(f"/api/schedules{path}/run", headers=second)
    assert refused.json()["details"]["reason"] == "key_disabled"
    assert (await visit.client.post(f"/api/schedules{path}/resume", headers=AS_ADMIN)).status_code == 422
    resumed = await ask(visit, second, "POST", f"{path}/resume")
    assert resumed["status"] == "active"
    assert resumed["madeBy"] != made["madeBy"]
    await fire(visit, 1.01)
    assert (await ask(visit, second, "GET", path))["lastRun"]["status"] == "started"


async def test_a_tenant_has_as_many_schedules_as_its_tier_allows(visit: Visit) -> None:
    new = NewKey(email="free@example.com", role="user", tier=Tier.FREE)
    key = bearer((await visit.service.keys.create(new, Actor("test"))).secret)
    for _ in range(3):
        await make(visit, key)
    response = await visit.client.post("/api/schedules", json={"task": CRAWL, "timing": HOURLY}, headers=key)
    assert_problem(response, "QUOTA_EXCEEDED")
    assert response.json()["details"]["quota"] == "schedules"


async def test_a_timing_is_previewed_without_storing_anything(visit: Visit, key: dict[str, str]) -> None:
    body = {"timing": {"cron": "30 2 * * *", "timezone": "Europe/Zurich"}, "count": 3}
    shown = await ask(visit, key, "POST", "/preview", body)
    assert [run["local"][11:16] for run in shown["nextRuns"]] == ["02:30"] * 3
    assert (await ask(visit, key, "GET", ""))["schedules"] == []
    response = await visit.client.post(
        "/api/schedules/preview", json={"timing": {"cron": "nonsense"}}, headers=key
    )
    assert_problem(response, "VALIDATION_ERROR")
