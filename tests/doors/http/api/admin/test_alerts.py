"""Alerts over HTTP and in the dashboard: shown by all servers, and acknowledged once."""

from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visit, bearer

from gossamer.state.operations import alert_rows
from gossamer.state.operations.alert_rows import AlertSeverity, Sighting, StoredAlert
from gossamer.state.tenants.tenants import Role

DISK = Sighting("disk_low", "data", AlertSeverity.CRITICAL, "1.0 of 100.0 GB are free")
BLOBS = Sighting("service_down", "blobs", AlertSeverity.CRITICAL, "the disk is full")


async def raise_alerts(visit: Visit, *sightings: Sighting) -> list[StoredAlert]:
    async with visit.service.database.write() as connection:
        return list((await alert_rows.apply(connection, sightings)).raised)


async def test_stored_alerts_are_shown_and_acknowledged_once(visit: Visit) -> None:
    disk, blobs = await raise_alerts(visit, DISK, BLOBS)
    shown = (await visit.client.get("/api/alerts", headers=AS_ADMIN)).json()["alerts"]
    assert [(one["id"], one["name"], one["acknowledgedAt"]) for one in shown] == [
        (blobs.id, "service_down", None),
        (disk.id, "disk_low", None),
    ]
    user = bearer(await visit.key(Role.USER))
    seen = (await visit.client.get("/api/alerts", headers=user)).json()["alerts"]
    assert [(one["id"], one["detail"]) for one in seen] == [(blobs.id, "")]  # the disk is the operator's
    path = f"/api/alerts/{disk.id}/acknowledge"
    assert_problem(await visit.client.post(path, headers=user), "FORBIDDEN")
    first = (await visit.client.post(path, headers=AS_ADMIN)).json()
    assert first["acknowledgedBy"]
    assert (await visit.client.post(path, headers=AS_ADMIN)).json() == first
    log = (await visit.client.get("/api/activity?action=alert", headers=AS_ADMIN)).json()["activity"]
    assert [(one["action"], one["subject"], one["detail"]) for one in log] == [
        ("alert.acknowledged", disk.id, "disk_low: data")
    ]
    await raise_alerts(visit, BLOBS)
    assert_problem(await visit.client.post(path, headers=AS_ADMIN), "NOT_FOUND")
    over = (await visit.client.get("/api/alerts?resolved=true", headers=AS_ADMIN)).json()["alerts"]
    assert [(one["id"], one["resolvedAt"] is not None) for one in over] == [(disk.id, True)]
    assert (await visit.client.get("/api/alerts?resolved=true", headers=user)).json() == {"alerts": []}


async def test_the_dashboard_has_a_button(visit: Visit) -> None:
    (disk,) = await raise_alerts(visit, DISK)
    client = await sign_in(visit, "admin")
    path = f"/app/alerts/{disk.id}/acknowledge"
    for page in ("/app", "/app/health"):
        shown = (await client.get(page)).text
        assert "The disk of the data folder is nearly full" in shown
        assert f'action="{path}"' in shown
    token = (await client.get("/api/me")).json()["csrfToken"]
    done = await client.post(path, data={"csrf": token})
    assert done.status_code == 303, done.text
    shown = (await client.get(done.headers["location"])).text
    assert "You have acknowledged the alert." in shown
    assert f'action="{path}"' not in shown
    assert "acknowledged" in shown
    await raise_alerts(visit)
    refused = await client.post(path, data={"csrf": token})
    assert refused.status_code == 404
    assert "There is no such alert, or it is resolved." in refused.text
    user = await sign_in(visit, "user")
    await raise_alerts(visit, BLOBS)
    assert "Acknowledge" not in (await user.get("/app/health")).text
