"""A server without a Chromium: what needs one is refused at once, and one that comes is found."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.doors.fetches import say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import APP, RENDERED, OpenRendering, Rendering, article, open_rendering
from tests.doors.services import AS_ADMIN

from gossamer.reach.sandbox import chromium
from gossamer.state.jobs import heartbeats

__all__ = ["open_rendering"]

AT_ONCE = 10.0  # seconds, on a busy machine; what is waited for here would take thirty


async def post(service: Rendering, path: str, **body: Any) -> httpx.Response:
    async with asyncio.timeout(AT_ONCE):
        return await service.visit.client.post(path, json=body, headers=AS_ADMIN)


def refused(response: httpx.Response) -> None:
    document = assert_problem(response, "SERVICE_UNAVAILABLE")
    assert "no Chromium" in str(document["detail"])
    assert "apt-get install chromium-headless-shell" in str(document["hint"])
    assert response.headers["retry-after"] == "60"


async def test_what_needs_a_browser_is_503_at_once_and_what_does_not_goes_on(
    open_rendering: OpenRendering,
) -> None:
    async with open_rendering(chromium="/nowhere/chromium") as service:
        shell = service.site.url(say(APP))
        for path, body in (
            ("/api/render", {"url": shell}),
            ("/api/render", {"url": shell, "wait": 30}),
            ("/api/cache/warm", {"urls": [shell]}),
            ("/fetch/pro", {"url": shell}),
            ("/fetch", {"url": shell, "render": "always"}),
            ("/screenshot", {"url": shell}),
            ("/pdf", {"url": shell}),
            ("/extract", {"url": shell, "render": "always", "fields": ["title"]}),
            ("/batch/fetch", {"urls": [shell], "tier": "pro"}),
            ("/api/crawls", {"seeds": [shell], "render": "always"}),
        ):
            refused(await post(service, path, **body))
        assert (await service.service.jobs.depths()) == []  # nothing waits in vain

        auto = (await post(service, "/fetch", url=shell, render="auto")).json()
        assert (auto["via"], auto["outcome"], auto["outcomeReason"]) == ("fetch", "empty", "script_needed")
        plain = (await post(service, "/fetch", url=service.site.url(say(article())), render="auto")).json()
        assert plain["outcome"] == "ok"
        assert (await post(service, "/api/crawls", seeds=[shell], render="auto")).status_code == 202
        assert (await post(service, "/audits", url=shell)).status_code == 202

        await service.keep("/kept", age=1000)
        assert (await service.ask("/kept")).status_code == 200
        refused(await service.ask("/kept", maxAge=1))
        assert (await service.ask("/kept", maxAge=1, staleIfError=5000)).status_code == 200

        report = (await service.get("/health")).json()
        browser = report["services"]["browserRendering"]
        assert (report["status"], browser["status"]) == ("degraded", "unhealthy")
        assert browser["reason"] == "no Chromium was found on this machine"


async def test_one_that_is_installed_later_is_found_without_a_restart(
    open_rendering: OpenRendering, tmp_path: Path
) -> None:
    later = tmp_path / "programs" / "chromium"
    async with open_rendering(chromium=str(later)) as service:
        target = say(APP)
        refused(await service.ask(target, wait=30))
        later.parent.mkdir()
        later.write_text(f'#!/bin/sh\nexec {chromium.find("")} "$@"\n')
        later.chmod(0o755)
        rendered = await service.ask(target, wait=30)
        assert rendered.status_code == 200
        assert RENDERED in rendered.content


@pytest.mark.parametrize(("kinds", "expected"), [(("audit", "render"), 202), (("audit",), 503)])
async def test_a_worker_that_has_one_renders_for_a_server_that_has_none(
    open_rendering: OpenRendering, kinds: tuple[str, ...], expected: int
) -> None:
    async with open_rendering(chromium="/nowhere/chromium", working=False) as service:
        async with service.service.database.write() as connection:
            await heartbeats.beat(connection, "elsewhere", kinds, 0)
        answer = await service.ask(say(APP))
        assert answer.status_code == expected
        if expected == 202:
            browser = (await service.get("/health")).json()["services"]["browserRendering"]
            assert (browser["status"], browser["details"]) == ("healthy", {"workers": 1})


async def test_a_worker_without_one_leaves_renders_to_others(open_rendering: OpenRendering) -> None:
    async with open_rendering(chromium="/nowhere/chromium") as service, asyncio.timeout(AT_ONCE):
        while True:
            async with service.service.database.read() as connection:
                alive = await heartbeats.alive(connection)
            if alive:
                break
            await asyncio.sleep(0.05)
    assert "audit" in alive[0].kinds
    assert "render" not in alive[0].kinds
