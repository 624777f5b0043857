"""The overview over HTTP, once and as a stream."""

import json
from typing import Any

import httpx
import pytest
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.http.server.test_server import serving
from tests.doors.services import AS_ADMIN, Visit, bearer

from gossamer.doors.http.core import streaming
from gossamer.state.jobs.job import NewJob
from gossamer.state.tenants.tenants import Role

PATH = "/api/stats/stream"


async def overview(visit: Visit, sent: dict[str, str] = AS_ADMIN) -> dict[str, Any]:
    answer = await visit.client.get("/api/overview", headers=sent)
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


async def next_overview(lines: Any) -> dict[str, Any]:
    assert await anext(lines) == "event: overview"
    data = await anext(lines)
    assert await anext(lines) == ""
    shown: dict[str, Any] = json.loads(data.removeprefix("data: "))
    return shown


async def queue(visit: Visit, sent: dict[str, str] = AS_ADMIN) -> None:
    tenant = (await visit.client.get("/api/me", headers=sent)).json()["tenantId"]
    await visit.service.jobs.put(NewJob(kind="audit", tenant_id=tenant))


async def test_admins_see_all_tenants_and_users_their_own(visit: Visit) -> None:
    user = bearer(await visit.key(Role.USER))
    await queue(visit)
    await queue(visit, user)
    everything, own = await overview(visit), await overview(visit, user)
    assert everything["jobs"] == [{"kind": "audit", "queued": 2, "running": 0}]
    assert own["jobs"] == [{"kind": "audit", "queued": 1, "running": 0}]
    assert everything["revenue"] == {"total": "$0", "unproven": "$0", "byEndpoint": {}}
    assert own["revenue"] is None
    assert len(own["crawls"]["minutes"]) == 60
    assert everything["health"]["services"]["database"] == "healthy"
    assert everything["alerts"] == 1  # nobody works on what is queued
    assert_problem(await visit.client.get("/api/overview"), "UNAUTHORIZED")


async def test_the_stream_is_sent_once_to_clients_that_poll(visit: Visit) -> None:
    answer = await visit.client.get(PATH, headers={**AS_ADMIN, "Accept": "application/json"})
    assert answer.json().keys() == (await overview(visit)).keys()


async def test_the_stream_tells_of_what_changes(visit: Visit) -> None:
    async with (
        serving(visit) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
        client.stream("GET", PATH, headers=AS_ADMIN) as response,
    ):
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.aiter_lines()
        assert (await next_overview(lines))["jobs"] == []
        await queue(visit)
        seen = await next_overview(lines)
        while not seen["jobs"]:  # a minute may have begun in between
            seen = await next_overview(lines)
        assert seen["jobs"] == [{"kind": "audit", "queued": 1, "running": 0}]
        assert set(seen) == set(await overview(visit))
        assert_problem(await client.get(PATH), "UNAUTHORIZED")


async def test_a_quiet_stream_is_kept_open_and_streams_are_bounded(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gossamer.doors.http.api.admin import overview as endpoints

    monkeypatch.setattr(endpoints, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(streaming, "MAX_STREAMS", 1)
    async with (
        serving(visit) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
        client.stream("GET", PATH, headers=AS_ADMIN) as response,
    ):
        lines = response.aiter_lines()
        while (line := await anext(lines)) != ": still here":
            assert line == "" or line.startswith(("event: overview", "data: "))
        problem = assert_problem(await client.get(PATH, headers=AS_ADMIN), "RATE_LIMITED")
        assert problem["details"] == {"reason": "too_many_streams"}
