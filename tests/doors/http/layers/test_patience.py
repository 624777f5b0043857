"""Growing back-off at the HTTP door: what fails again and again is paused, and nothing else."""

import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.http.server import test_fast_path as fast
from tests.doors.services import ADMIN_KEY, AS_ADMIN, Visit, Visiting, bearer
from tests.servers.valkey import Valkey
from tests.site.server import Site

from gossamer.flows.render.render import page_key
from gossamer.state.pages.cached_page import CachedPage
from gossamer.state.tenants.backoff import FailureBackoff
from gossamer.state.tenants.tenants import Role
from gossamer.web.url.url import Url

NOON = 1_800_000_000.0


class Waiting:
    """A service in which four faults and two misses are free, and time passes as a test wants it to."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.now = NOON
        service = visit.service
        service.backoff = FailureBackoff(service.hot, free_faults=4, free_misses=2, clock=lambda: self.now)
        self.client = visit.client_from("127.0.0.1")

    async def post(self, path: str, sent: dict[str, str] | None = None, **body: Any) -> httpx.Response:
        return await self.client.post(path, json=body, headers=sent)

    async def bad(self, sent: dict[str, str] | None = None) -> httpx.Response:
        return await self.post("/test/echo", sent, nonsense=1)

    async def good(self, sent: dict[str, str] | None = None) -> httpx.Response:
        return await self.post("/test/echo", sent, text="a")

    async def miss(self, url: str, sent: dict[str, str] | None = None) -> httpx.Response:
        return await self.post("/test/reach", sent, url=url)


@pytest.fixture
async def waiting(visit_on_each_hot: Visit) -> AsyncIterator[Waiting]:
    waiting = Waiting(visit_on_each_hot)
    async with waiting.client:
        yield waiting


async def keep(visit: Visit, url: str) -> None:
    """As rendered."""
    caller = await visit.service.admission.identify(ADMIN_KEY)
    page = CachedPage.of(fast.HTML, url=url, rendered_at=round(time.time() * 1000))
    await visit.service.page_cache.put(page_key(caller.tenant_id, Url.parse(url)), page)


def assert_paused(response: httpx.Response, seconds: int, reason: str, about: str | None = None) -> None:
    document = assert_problem(response, "RATE_LIMITED")
    details = response.json()["details"]
    assert (details["reason"], details.get("paused")) == (reason, about)
    assert details["policy"] == "repeated-failures"
    assert response.headers["retry-after"] == str(seconds) == str(document["retryAfter"])
    assert str(document["resetAt"]).endswith("Z")
    assert "x-ratelimit-remaining" in response.headers


async def test_malformed_requests_are_paused_longer_and_longer_and_good_ones_are_not(
    waiting: Waiting,
) -> None:
    for _ in range(4):
        assert (await waiting.bad()).status_code == 400
    for seconds in (1, 2, 4, 8, 16, 32, 60, 60):
        for _ in range(2):  # a refusal does not make it longer
            assert_paused(await waiting.bad(), seconds, "malformed_request", "/test/echo")
        waiting.now += seconds - 0.5
        assert_paused(await waiting.bad(), 1, "malformed_request", "/test/echo")
        waiting.now += 0.5
        assert (await waiting.bad()).status_code == 400
    assert_paused(await waiting.bad(), 60, "malformed_request", "/test/echo")
    assert (await waiting.good()).status_code == 200  # also in the pause, which it ends
    for _ in range(4):
        assert (await waiting.bad()).status_code == 400
    assert_paused(await waiting.bad(), 1, "malformed_request", "/test/echo")
    text = (await waiting.client.get("/metrics", headers=AS_ADMIN)).text
    assert 'gossamer_rate_limited_total{policy="repeated-failures"}' in text
    assert waiting.visit.logged("backed_off")[0]["reason"] == "malformed_request"


async def test_the_good_requests_of_a_colleague_with_the_same_key_go_on(
    visiting: Visiting, site: Site
) -> None:
    async with visiting(egress_allow="127.0.0.1/32", egress_ports="*") as visit:
        waiting = Waiting(visit)
        async with waiting.client:
            for number in range(40):  # one of them sends nothing that can be read
                bad = await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok"), nonsense=number)
                assert bad.status_code == (400 if number < 4 else 429)
                if number % 10 == 9:  # nobody else is any the worse for it
                    for path in ("/api/jobs", "/api/usage", "/api/me"):
                        assert (await waiting.client.get(path, headers=AS_ADMIN)).status_code == 200
                    extracted = await waiting.post(
                        "/extract", AS_ADMIN, url=site.url("/ok"), fields=["title"]
                    )
                    assert extracted.status_code == 200
            assert (await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok"))).status_code == 200


async def test_a_malformed_request_is_counted_by_its_endpoint(waiting: Waiting) -> None:
    for _ in range(4):
        await waiting.bad()
    assert_paused(await waiting.bad(), 1, "malformed_request", "/test/echo")
    assert (await waiting.post("/test/effect", nonsense=1)).status_code == 400
    assert (
        await waiting.post("/test/effect", text="a")
    ).status_code == 201  # which says nothing of /test/echo
    assert_paused(await waiting.bad(), 1, "malformed_request", "/test/echo")


async def test_each_kind_of_failure_is_counted_by_itself(waiting: Waiting) -> None:
    names = ("forbidden", "not-found", "unprocessable-entity", "invalid-url", "internal-error")
    for _ in range(3):
        for name in (*names, "payload-too-large", "service-unavailable"):
            await waiting.post(f"/test/fail/{name}")
    for name in names:  # of each kind there were three
        assert (await waiting.post(f"/test/fail/{name}")).status_code != 429
    at = "/test/fail/{name}"
    assert_paused(await waiting.post("/test/fail/forbidden"), 1, "forbidden", at)
    assert_paused(await waiting.post("/test/fail/validation-error"), 1, "malformed_request", at)
    assert_paused(await waiting.post("/test/fail/invalid-url"), 1, "refused_url")
    assert (await waiting.post("/test/fail/not-found")).status_code == 404  # which is no fault


async def test_urls_that_are_refused_are_paused_wherever_they_are_sent_and_others_are_not(
    visiting: Visiting, site: Site
) -> None:
    async with visiting(egress_allow="127.0.0.1/32", egress_ports="*") as visit:
        waiting = Waiting(visit)
        async with waiting.client:
            for number in range(4):
                probe = await waiting.post("/fetch", AS_ADMIN, url=f"http://127.0.0.{number + 2}/")
                assert_problem(probe, "INVALID_URL")
            for path in ("/fetch", "/extract", "/api/render"):
                probe = await waiting.post(path, AS_ADMIN, url="http://127.0.0.9/", **_NEEDED.get(path, {}))
                assert_paused(probe, 1, "refused_url")
            assert (await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok"))).status_code == 200
            assert_problem(await waiting.post("/fetch", AS_ADMIN, url="http://127.0.0.9/"), "INVALID_URL")


_NEEDED: dict[str, dict[str, Any]] = {"/extract": {"fields": ["title"]}}


async def test_probing_with_bad_keys_is_paused_by_address_and_no_success_ends_it(waiting: Waiting) -> None:
    for number in range(4):
        probe = await waiting.client.get("/test/user", headers=bearer(f"sk_live_{number:032}"))
        assert_problem(probe, "UNAUTHORIZED")
    for _ in range(2):
        probe = await waiting.client.get("/test/user", headers=bearer("sk_live_another"))
        assert_paused(probe, 1, "refused_key")
        assert_paused(await waiting.client.get("/test/user"), 1, "refused_key")
        assert (await waiting.good()).status_code == 200  # which needs no key, and is no better for it
        assert (await waiting.good(AS_ADMIN)).status_code == 200
    async with waiting.visit.client_from("127.0.0.9") as elsewhere:
        assert_problem(await elsewhere.get("/test/user"), "UNAUTHORIZED")
    waiting.now += 1
    assert_problem(await waiting.client.get("/test/user"), "UNAUTHORIZED")
    assert_paused(await waiting.client.get("/test/user"), 2, "refused_key")


async def test_what_a_key_does_wrong_is_its_own_wherever_it_comes_from(waiting: Waiting) -> None:
    user = bearer(await waiting.visit.key(Role.USER))
    for _ in range(4):
        assert (await waiting.bad(user)).status_code == 400
    async with waiting.visit.client_from("127.0.0.9") as elsewhere:
        bad = await elsewhere.post("/test/echo", json={"nonsense": 1}, headers=user)
        assert_paused(bad, 1, "malformed_request", "/test/echo")
    assert (await waiting.bad(AS_ADMIN)).status_code == 400
    assert (await waiting.bad()).status_code == 400


async def test_a_silent_target_is_paused_for_who_asks_for_it_and_no_other(waiting: Waiting) -> None:
    one, other = "http://a.example/x", "http://b.example/"
    for _ in range(2):
        assert (await waiting.miss(one)).status_code == 502
    runs = waiting.visit.echo.runs
    assert_paused(await waiting.miss("http://A.example:80/another"), 1, "silent_target", "a.example:80")
    assert waiting.visit.echo.runs == runs  # it was not asked
    assert (await waiting.miss(other)).status_code == 502
    assert (await waiting.miss("https://a.example/")).status_code == 502  # another port
    assert (await waiting.miss("nonsense")).status_code == 502  # nobody's
    assert (await waiting.good()).status_code == 200  # which is of no host
    assert (await waiting.client.get("/test/client")).status_code == 200
    assert_paused(await waiting.miss(one), 1, "silent_target", "a.example:80")
    assert (await waiting.miss(one, AS_ADMIN)).status_code == 502  # somebody else
    waiting.now += 1
    assert (await waiting.miss(one)).status_code == 502
    assert_paused(await waiting.miss(one), 2, "silent_target", "a.example:80")


def assert_silent(response: httpx.Response, site: Site) -> None:
    assert_paused(response, 1, "silent_target", Url.parse(site.url("/")).site)


async def test_an_answer_of_the_host_ends_it(visiting: Visiting, site: Site) -> None:
    async with visiting(egress_allow="127.0.0.1/32", egress_ports="*") as visit:
        waiting = Waiting(visit)
        async with waiting.client:
            for target in ("/drop", "/ok", "/drop", "/drop"):
                response = await waiting.post("/fetch", AS_ADMIN, url=site.url(target), timeout=300)
                assert response.status_code == (200 if target == "/ok" else 502)
            assert_silent(await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok")), site)
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


async def test_what_the_cache_has_is_given_whatever_is_paused(visiting: Visiting, site: Site) -> None:
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
                assert_silent(await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok")), site)
            assert_silent(await waiting.post("/fetch", AS_ADMIN, **kept, mainContent=False), site)
            assert (await waiting.post("/fetch", AS_ADMIN, **kept, nonsense=1)).status_code == 400
            await keep(visit, site.url("/ok"))
            page = await waiting.post("/api/render", AS_ADMIN, url=site.url("/ok"))
            assert (page.status_code, page.headers["x-cache"]) == (200, "HIT")
            assert_silent(await waiting.post("/api/render", AS_ADMIN, url=site.url("/other")), site)
            for _ in range(5):
                await waiting.post("/fetch", AS_ADMIN, **kept, nonsense=1)
            assert (await waiting.post("/fetch", AS_ADMIN, **kept)).status_code == 200


async def test_who_is_paused_loses_none_of_the_work_that_a_key_may_have_done(
    visiting: Visiting, site: Site
) -> None:
    """What is refused before anything is done counts as a hit, of which there are many."""
    async with visiting(egress_allow="127.0.0.1/32", egress_ports="*", limit_admin="3/3600") as visit:
        waiting = Waiting(visit)
        async with waiting.client:
            for _ in range(2):
                await waiting.post("/fetch", AS_ADMIN, url=site.url("/drop"), timeout=300)
            for _ in range(10):
                assert_silent(await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok")), site)
            waiting.now += 1
            assert (await waiting.post("/fetch", AS_ADMIN, url=site.url("/ok"))).status_code == 200


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
            assert_paused(await waiting.bad(), 1, "malformed_request", "/test/echo")
            assert (await waiting.good()).status_code == 200


async def test_the_fast_path_serves_a_key_whose_other_requests_are_paused(
    visit_on_each_hot: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    Waiting(visit_on_each_hot)
    async with fast.serving(visit_on_each_hot) as served:
        watched = fast.Watched(served.fast_path, monkeypatch)
        line = await served.line()
        hits = [await line.ask(fast.asked()) for _ in range(3)]
        assert {answer.status for answer in hits} == {200}
        refused = [await line.ask(fast.asked(timeout=0)) for _ in range(5)]
        assert [answer.status for answer in refused] == [400, 400, 400, 400, 429]
        assert refused[-1].fields[b"retry-after"] == b"1"
        assert (await line.ask(fast.asked())).status == 200
        assert (watched.answered, watched.fell_back) == (3, 0)
