"""Growing back-off at the HTTP door: who fails again and again is kept waiting."""

import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from gossamer.flows.render import Look, page_key
from gossamer.state.backoff import Backoff
from gossamer.state.page_cache import CachedPage
from gossamer.state.tenants import Role
from gossamer.web.url import Url
from tests.doors import test_express as express
from tests.doors.houses import ADMIN_KEY, AS_ADMIN, Visit, Visiting, bearer
from tests.doors.test_problems import assert_problem
from tests.servers.valkey import Valkey
from tests.site.server import Site

NOON = 1_800_000_000.0


class Waiting:
    """A house in which four faults and two misses are free, and time passes as a test wants it to."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.now = NOON
        house = visit.house
        house.backoff = Backoff(house.hot, free_faults=4, free_misses=2, clock=lambda: self.now)
        self.client = visit.client_from("127.0.0.1")

    async def post(self, path: str, sent: dict[str, str] | None = None, **body: Any) -> httpx.Response:
        return await self.client.post(path, json=body, headers=sent)

    async def bad(self, sent: dict[str, str] | None = None) -> httpx.Response:
        return await self.post("/test/echo", sent, nonsense=1)

    async def good(self, sent: dict[str, str] | None = None) -> httpx.Response:
        return await self.post("/test/echo", sent, text="a")

    async def miss(self, url: str, sent: dict[str, str] | None = None) -> httpx.Response:
        return await self.post("/test/fail/fetch-failed", sent, url=url)


@pytest.fixture
async def waiting(visit_on_each_hot: Visit) -> AsyncIterator[Waiting]:
    waiting = Waiting(visit_on_each_hot)
    async with waiting.client:
        yield waiting


async def keep(visit: Visit, url: str) -> None:
    """As rendered."""
    caller = await visit.house.admission.identify(ADMIN_KEY)
    page = CachedPage.of(express.HTML, url=url, rendered_at=round(time.time() * 1000))
    await visit.house.page_cache.put(page_key(caller.tenant_id, Url.parse(url), Look()), page)


def assert_waits(response: httpx.Response, seconds: int) -> None:
    document = assert_problem(response, "RATE_LIMITED")
    assert response.json()["details"]["reason"] == "repeated_failures"
    assert response.headers["retry-after"] == str(seconds) == str(document["retryAfter"])
    assert "x-ratelimit-remaining" in response.headers


async def test_faults_in_a_row_make_a_caller_wait_longer_and_longer(waiting: Waiting) -> None:
    for _ in range(4):
        assert (await waiting.bad()).status_code == 400
    for seconds in (1, 2, 4, 8, 16, 32, 60, 60):
        runs = waiting.visit.echo.runs
        for response in (await waiting.bad(), await waiting.good()):
            assert_waits(response, seconds)  # a refusal does not make it longer
        waiting.now += seconds - 0.5
        assert_waits(await waiting.good(), 1)
        assert waiting.visit.echo.runs == runs
        waiting.now += 0.5
        assert (await waiting.bad()).status_code == 400
    waiting.now += 60
    assert (await waiting.good()).status_code == 200
    for _ in range(4):  # that has ended it
        assert (await waiting.bad()).status_code == 400
    assert_waits(await waiting.good(), 1)
    text = (await waiting.client.get("/metrics")).text
    assert 'gossamer_rate_limited_total{policy="repeated-failures"}' in text
    assert waiting.visit.logged("backed_off")


async def test_a_success_in_between_begins_anew_and_other_failures_do_not_count(waiting: Waiting) -> None:
    for _ in range(4):
        for _ in range(3):
            await waiting.bad()
        assert (await waiting.good()).status_code == 200
    for name in ("not-found", "internal-error", "payload-too-large", "service-unavailable"):
        await waiting.post(f"/test/fail/{name}")
    assert (await waiting.good()).status_code == 200
    for name in ("forbidden", "unauthorized", "not-found", "unprocessable-entity", "invalid-url"):
        await waiting.post(f"/test/fail/{name}")
    assert_waits(await waiting.good(), 1)  # of these five, four are the caller's own


async def test_probing_with_bad_keys_is_counted_by_address_and_keeps_no_key_waiting(waiting: Waiting) -> None:
    for number in range(4):
        probe = await waiting.client.get("/test/user", headers=bearer(f"sk_live_{number:032}"))
        assert_problem(probe, "UNAUTHORIZED")
    assert_waits(await waiting.client.get("/test/user", headers=bearer("sk_live_another")), 1)
    assert_waits(await waiting.good(), 1)
    assert (await waiting.good(AS_ADMIN)).status_code == 200
    async with waiting.visit.client_from("127.0.0.9") as elsewhere:
        assert (await elsewhere.post("/test/echo", json={"text": "a"})).status_code == 200
    for path in ("/health/live", "/docs", "/problems/rate-limit-exceeded", "/metrics"):  # not counted at all
        assert (await waiting.client.get(path)).status_code == 200
    assert_waits(await waiting.good(), 1)


async def test_a_key_waits_wherever_it_comes_from_and_others_do_not(waiting: Waiting) -> None:
    user = bearer(await waiting.visit.key(Role.USER))
    for _ in range(4):
        assert_problem(await waiting.client.get("/test/admin", headers=user), "FORBIDDEN")
    async with waiting.visit.client_from("127.0.0.9") as elsewhere:
        assert_waits(await elsewhere.get("/test/user", headers=user), 1)
    assert (await waiting.client.get("/test/user", headers=AS_ADMIN)).status_code == 200
    assert (await waiting.good()).status_code == 200


async def test_misses_of_one_host_keep_waiting_who_asks_for_that_host(waiting: Waiting) -> None:
    one, other = "http://a.example/x", "http://b.example/"
    for _ in range(2):
        assert (await waiting.miss(one)).status_code == 502
    assert_waits(await waiting.miss("http://A.example:80/another"), 1)
    assert (await waiting.miss(other)).status_code == 502
    assert (await waiting.miss("https://a.example/")).status_code == 502  # another port
    assert (await waiting.miss("nonsense")).status_code == 502  # nobody's
    assert (await waiting.good()).status_code == 200  # which is of no host
    assert (await waiting.client.get("/test/client")).status_code == 200
    assert_waits(await waiting.miss(one), 1)
    assert (await waiting.miss(one, AS_ADMIN)).status_code == 502  # somebody else
    waiting.now += 1
    assert (await waiting.miss(one)).status_code == 502
    assert_waits(await waiting.miss(one), 2)


async def test_an_answer_of_the_host_ends_it(visiting: Visiting, site: Site) -> None:
    async with visiting(egress_allow="127.0.0.1/32", egress_ports="*") as visit:
        waiting = Waiting(visit)
        async with waiting.client:
            for target in ("/drop", "/ok", "/drop", "/drop"):
                response = await waiting.post("/fetch", AS_ADMIN, url=site.url(target), timeout=300)
                assert response.status_code == (200 if target == "/ok" else 502)
            assert_waits(await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok")), 1)
            waiting.now += 1
            assert (await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok"))).status_code == 200
            assert (
                await waiting.post("/fetch", AS_ADMIN, url=site.url("/drop"), timeout=300)
            ).status_code == 502
            assert (await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok"))).status_code == 200


async def test_a_target_that_answers_is_no_miss_whatever_it_says(visiting: Visiting, site: Site) -> None:
    async with visiting(egress_allow="127.0.0.1/32", egress_ports="*") as visit:
        waiting = Waiting(visit)
        async with waiting.client:
            said = [
                (site.url("/loop"), "FETCH_FAILED"),
                (site.url("/redirect-to?url=ftp://a.example/"), "FETCH_FAILED"),
                (site.url("/not-http"), "FETCH_FAILED"),
                (site.url("/huge-declared"), "CONTENT_TOO_LARGE"),
                (site.url("/stacked"), "FETCH_FAILED"),
            ]
            for url, code in said:
                assert_problem(await waiting.post("/fetch", AS_ADMIN, url=url), code)
            assert (await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok"))).status_code == 200
            for name in ("content-too-large", "content-unreadable", "render-failed"):
                await waiting.post(f"/test/fail/{name}", AS_ADMIN, url=site.url("/ok"))
            assert (await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok"))).status_code == 200


async def test_what_the_cache_has_is_given_also_to_who_has_to_wait(visiting: Visiting, site: Site) -> None:
    async with visiting(egress_allow="127.0.0.1/32", egress_ports="*") as visit:
        waiting = Waiting(visit)
        async with waiting.client:
            kept = {"url": site.url("/ok"), "cache": True}
            assert (await waiting.post("/fetch", AS_ADMIN, **kept)).headers["x-cache-status"] == "MISS"
            for _ in range(2):
                await waiting.post("/fetch", AS_ADMIN, url=site.url("/drop"), timeout=300)
            for _ in range(2):  # it is no answer of the target's, and ends nothing
                hit = await waiting.post("/fetch", AS_ADMIN, **kept)
                assert (hit.status_code, hit.headers["x-cache-status"]) == (200, "HIT")
                assert_waits(await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok")), 1)
            assert_waits(await waiting.post("/fetch", AS_ADMIN, **kept, mainContent=False), 1)
            assert_waits(await waiting.post("/fetch", AS_ADMIN, **kept, nonsense=1), 1)
            await keep(visit, site.url("/ok"))
            page = await waiting.post("/api/render", AS_ADMIN, url=site.url("/ok"))
            assert (page.status_code, page.headers["x-cache"]) == (200, "HIT")
            assert_waits(await waiting.post("/api/render", AS_ADMIN, url=site.url("/other")), 1)
            for _ in range(4):  # but who is at fault himself waits for everything
                await waiting.bad(AS_ADMIN)
            assert_waits(await waiting.post("/fetch", AS_ADMIN, **kept), 1)


async def test_the_settings_are_the_free_allowance(visiting: Visiting) -> None:
    async with visiting(backoff_faults="2", backoff_misses="0") as visit:
        for _ in range(2):
            assert (await visit.client.post("/test/echo", json={})).status_code == 400
        assert (await visit.client.post("/test/echo", json={})).status_code == 429


async def test_a_store_that_is_away_blocks_nobody_and_opens_no_gate(
    visiting: Visiting, own_valkey: Valkey
) -> None:
    async with visiting(redis_url=own_valkey.url) as visit:
        waiting = Waiting(visit)
        own_valkey.kill()
        async with waiting.client:
            assert (await waiting.good()).status_code == 200
            for _ in range(4):
                assert (await waiting.bad()).status_code == 400
            assert_waits(await waiting.good(), 1)
            waiting.now += 1
            assert (await waiting.good()).status_code == 200


async def test_the_express_lane_passes_nobody_who_has_to_wait(visit_on_each_hot: Visit) -> None:
    Waiting(visit_on_each_hot)
    async with express.serving(visit_on_each_hot) as served:
        line = await served.line()
        hits = [await line.ask(express.asked()) for _ in range(3)]
        assert {answer.status for answer in hits} == {200}
        refused = [await line.ask(express.asked(timeout=0)) for _ in range(4)]
        assert {answer.status for answer in refused} == {400}
        waits = await line.ask(express.asked())
        assert (waits.status, waits.fields[b"retry-after"]) == (429, b"1")
