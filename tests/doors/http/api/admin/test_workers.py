"""The workers and the alerts over HTTP."""

import asyncio
from typing import Any

from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import at_work
from tests.doors.services import AS_ADMIN, Visit, Visiting, bearer

from gossamer.flows.alerts.alerts import Alerts
from gossamer.flows.upkeep.health import Checkup, Probe, Shortfall
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.state.jobs import heartbeats
from gossamer.state.jobs.job import NewJob
from gossamer.state.tenants.tenants import Role


async def workers(visit: Visit, sent: dict[str, str] = AS_ADMIN) -> list[dict[str, Any]]:
    answer = await visit.client.get("/api/workers", headers=sent)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["workers"]
    return found


async def test_a_worker_at_work_is_listed_with_what_it_can_do(visit: Visit) -> None:
    async with at_work(visit), asyncio.timeout(30):
        while not (found := await workers(visit)):
            await asyncio.sleep(0.01)
    assert found[0]["name"] == visit.service.worker_name
    assert found[0]["isAlive"] is True
    assert "audit" in found[0]["kinds"]
    assert await workers(visit) == []  # it has left


async def test_admins_see_what_a_worker_does_and_users_how_much(visit: Visit) -> None:
    tenant = (await visit.client.get("/api/me", headers=AS_ADMIN)).json()["tenantId"]
    job = await visit.service.jobs.put(NewJob(kind="audit", tenant_id=tenant))
    await visit.service.jobs.lease({"audit": 1}, worker="busy")
    await visit.service.jobs.beat("busy", ["audit"], 1)
    async with visit.service.database.write() as connection:
        silent_since = (await heartbeats.alive(connection))[0].seen_at - 3_600_000
        await heartbeats.beat(connection, "silent", ["audit"], 0, now=silent_since)
    busy, silent = await workers(visit)
    assert (busy["name"], busy["running"], busy["hosts"]) == ("busy", 1, {"count": 0, "names": []})
    assert [(each["jobId"], each["kind"], each["progress"]) for each in busy["jobs"]] == [
        (job.job_id, "audit", 0)
    ]
    assert (silent["name"], silent["isAlive"]) == ("silent", False)
    seen = await workers(visit, bearer(await visit.key(Role.USER)))
    assert [set(each) for each in seen] == [set(busy) - {"jobs", "hosts"}] * 2
    assert_problem(await visit.client.get("/api/workers"), "UNAUTHORIZED")


async def test_nothing_is_wrong_and_then_something_is(visiting: Visiting) -> None:
    async with visiting() as visit:
        assert (await visit.client.get("/api/alerts", headers=AS_ADMIN)).json() == {"alerts": []}
    async with visiting() as visit:  # a job that no worker can do, before the first look at the health
        tenant = (await visit.client.get("/api/me", headers=AS_ADMIN)).json()["tenantId"]
        await visit.service.jobs.put(NewJob(kind="audit", tenant_id=tenant))
        (alert,) = (await visit.client.get("/api/alerts", headers=AS_ADMIN)).json()["alerts"]
        assert (alert["id"], alert["severity"]) == ("service:workers", "critical")
        assert alert["detail"] == "no worker is running for audit"
        user = bearer(await visit.key(Role.USER))
        (seen,) = (await visit.client.get("/api/alerts", headers=user)).json()["alerts"]
        assert seen == {**alert, "detail": ""}
        assert_problem(await visit.client.get("/api/alerts"), "UNAUTHORIZED")


async def test_an_alert_lasts_as_long_as_its_service_is_unwell() -> None:
    now, is_away = 1_000.0, True

    async def down() -> None:
        if is_away:
            raise Unavailable("thing", "gone fishing")

    async def short() -> Shortfall:
        return Shortfall("half of it", {})

    probes = {"background": Probe(short), "cache": Probe(short), "blobs": Probe(down)}
    alerts = Alerts(Checkup(probes, Metrics("0"), clock=lambda: now), None, lambda: now)
    first = await alerts.current(internal=True)
    assert [(alert.subject, alert.severity.value, alert.detail) for alert in first] == [
        ("blobs", "critical", "gone fishing"),
        ("background", "warning", "half of it"),
        ("cache", "warning", "half of it"),
    ]
    assert [alert.subject for alert in await alerts.current(internal=False)] == ["blobs", "cache"]
    now += 60
    assert await alerts.current(internal=True) == first  # with the same `since`
    now, is_away = now + 60, False
    assert [alert.subject for alert in await alerts.current(internal=True)] == ["background", "cache"]
    now, is_away = now + 60, True
    assert (await alerts.current(internal=True))[0].since == "1970-01-01T00:19:40.000Z"
