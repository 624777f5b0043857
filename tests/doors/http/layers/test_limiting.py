"""Rate limits at the HTTP door: who is counted, and what every answer says about it."""

import asyncio
import re
import time
from random import Random
from typing import Any

import httpx
import pytest
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import ADMIN_KEY, AS_ADMIN, Visit, Visiting, bearer
from tests.servers.valkey import Valkey
from tests.site.server import Site

from gossamer.assembly.api import routes
from gossamer.flows.render.render import page_key
from gossamer.settings.settings import Settings
from gossamer.state.kv.hot_memory import MemoryHot
from gossamer.state.pages.cached_page import CachedPage
from gossamer.state.tenants.tenants import Role, Tier
from gossamer.web.url.url import Url

PAGE = "https://shop.example.com/product/123"
HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit", "ratelimit-policy")


async def test_fr008_fr010_request_61_of_an_hour_is_refused(visiting: Visiting) -> None:
    async with visiting(limit_anonymous_post="60/hour") as visit:
        for expected in range(59, -1, -1):
            response = await visit.client.post("/test/echo", json={"text": "a"})
            assert response.status_code == 200
            assert response.headers["x-ratelimit-limit"] == "60"
            assert response.headers["x-ratelimit-remaining"] == str(expected)
        refused = await visit.client.post("/test/echo", json={"text": "a"})
        document = assert_problem(refused, "RATE_LIMITED")
        assert document["limit"] == document["used"] == 60
        assert document["retryAfter"] == int(refused.headers["retry-after"])
        assert refused.headers["x-ratelimit-remaining"] == "0"
        assert visit.echo.runs == 60


def test_fr009_the_limit_is_configurable_by_the_seeds_name() -> None:
    settings = Settings.load({"RATE_LIMIT_PER_HOUR": "7"})
    assert (settings.limit_anonymous_post.limit, settings.limit_anonymous_post.seconds) == (7, 3600)


async def test_fr011_fr034_retry_after_is_whole_seconds_until_the_window_has_room(visiting: Visiting) -> None:
    async with visiting(limit_anonymous_read="1/30") as visit:
        await visit.client.get("/test/client")
        refused = await visit.client.get("/test/client")
        assert re.fullmatch(r"\d+", refused.headers["retry-after"])
        assert 1 <= int(refused.headers["retry-after"]) <= 30
        assert abs(int(refused.headers["x-ratelimit-reset"]) - (time.time() + 30)) <= 2


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/test/client", 200),
        ("GET", "/nowhere", 404),
        ("PUT", "/test/echo", 405),
        ("POST", "/test/echo", 415),
        ("GET", "/test/user", 401),
        ("POST", "/test/fail/defect", 500),
        ("GET", "/test/wait", 503),
        ("GET", "/health", 200),
        ("GET", "/docs", 200),
        ("GET", "/metrics", 401),
        ("GET", "/problems/not-found", 200),
    ],
)
async def test_fr012_fr034b_every_answer_carries_the_headers(
    visit: Visit, method: str, path: str, status: int
) -> None:
    response = await visit.client.request(method, path)
    assert response.status_code == status
    assert all(name in response.headers for name in HEADERS)
    assert re.fullmatch(r"\d{10}", response.headers["x-ratelimit-reset"])


async def test_ietf_fields_name_every_policy_that_applied(visiting: Visiting) -> None:
    async with visiting(limit_user="100/60", limit_seed_injection="10/60") as visit:
        headers = {**bearer(await visit.key()), "Content-Type": "application/json"}
        response = await visit.client.post("/test/seeds", json={"text": "a"}, headers=headers)
        assert response.headers["ratelimit-policy"] == '"user";q=100;w=60, "seed-injection";q=10;w=60'
        assert response.headers["ratelimit"] == '"user";r=99;t=60, "seed-injection";r=9;t=60'
        assert response.headers["x-ratelimit-limit"] == "10"  # the tightest


async def test_fr013_fr031_processes_that_share_a_store_share_the_count(
    visiting: Visiting, own_valkey: Valkey
) -> None:
    flags = {"redis_url": own_valkey.url, "limit_anonymous_read": "10/60"}
    async with visiting(**flags) as one, visiting(**flags) as other:
        answers = await asyncio.gather(
            *(visit.client.get("/test/client") for visit in (one, other) for _ in range(20))
        )
        assert sorted(answer.status_code for answer in answers) == [200] * 10 + [429] * 30


async def test_fr014_fr031c_the_first_entry_counts_where_the_platform_overwrites_the_header(
    visiting: Visiting,
) -> None:
    async with visiting(trusted_proxies="*") as visit:
        response = await visit.client.get(
            "/test/client", headers={"X-Forwarded-For": "203.0.113.7, 10.0.0.1"}
        )
        assert response.json()["text"] == "203.0.113.7"


@pytest.mark.parametrize("trusted", ["", "10.0.0.0/8"])
async def test_a_forged_forwarded_for_never_changes_the_bucket(visiting: Visiting, trusted: str) -> None:
    async with visiting(limit_anonymous_read="5/60", trusted_proxies=trusted) as visit:
        statuses = [
            (
                await visit.client.get("/test/client", headers={"X-Forwarded-For": f"198.51.100.{n}"})
            ).status_code
            for n in range(8)
        ]
        assert statuses == [200] * 5 + [429] * 3


async def test_ipv6_addresses_of_one_network_are_one_caller(visiting: Visiting) -> None:
    async with visiting(limit_anonymous_read="2/60", public_url="http://127.0.0.1:8080") as visit:
        statuses = []
        for host in ("2001:db8::1", "2001:db8::2", "2001:db8::ffff", "2001:db8:0:1::1"):
            async with visit.client_from(host) as client:
                statuses.append((await client.get("/test/client")).status_code)
        assert statuses == [200, 200, 429, 200]


async def test_decision3_each_role_has_its_policy(visiting: Visiting) -> None:
    async with visiting(limit_user="100/60", limit_admin="500/60", limit_anonymous_post="10/60") as visit:
        senders = [bearer(await visit.key(Role.USER)), AS_ADMIN, None]
        answers = [
            await visit.client.post("/test/echo", json={"text": "a"}, headers=sender) for sender in senders
        ]
        assert [r.headers["x-ratelimit-limit"] for r in answers] == ["100", "500", "10"]


async def test_reads_and_posts_of_nobody_are_counted_apart(visiting: Visiting) -> None:
    async with visiting(limit_anonymous_read="1/60", limit_anonymous_post="1/60") as visit:
        assert (await visit.client.get("/test/client")).status_code == 200
        assert (await visit.client.post("/test/echo", json={"text": "a"})).status_code == 200
        assert (await visit.client.get("/test/client")).status_code == 429


async def test_guessing_keys_is_counted(visiting: Visiting) -> None:
    async with visiting(limit_anonymous_read="3/60") as visit:
        statuses = [
            (await visit.client.get("/test/user", headers=bearer(f"sk_live_guess{n}"))).status_code
            for n in range(5)
        ]
        assert statuses == [401, 401, 401, 429, 429]


async def test_open_pages_are_not_counted(visiting: Visiting) -> None:
    async with visiting(limit_anonymous_read="2/60", public_url="http://127.0.0.1:8080") as visit:
        for path in ("/health", "/health/live", "/docs", "/problems", "/metrics", "/openapi.json") * 3:
            response = await visit.client.get(path)
            assert response.status_code == 200
            assert response.headers["x-ratelimit-remaining"] == "2"


async def test_nfr004_without_the_store_each_process_limits_by_itself(
    visiting: Visiting, own_valkey: Valkey
) -> None:
    async with visiting(redis_url=own_valkey.url, limit_anonymous_read="3/60") as visit:
        assert (await visit.client.get("/test/client")).status_code == 200
        own_valkey.kill()
        statuses = [(await visit.client.get("/test/client")).status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        assert len(visit.logged("limits_local")) == 1


async def test_nfr006_a_hit_is_logged_with_address_time_and_quota(visiting: Visiting) -> None:
    async with visiting(limit_anonymous_read="1/60") as visit:
        await visit.client.get("/test/client")
        await visit.client.get("/test/client")
        [line] = visit.logged("rate_limited")
        assert line["client"] == "127.0.0.1"
        assert line["remaining"] == 0
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", line["timestamp"])


# What a request costs decides what it is counted as.


async def keep(visit: Visit, secret: str, url: str = PAGE, age: float = 0.0) -> None:
    """A page as rendered for the tenant of this key."""
    caller = await visit.service.admission.identify(secret)
    page = CachedPage.of(b"<title>A shop</title>", url=url, rendered_at=round((time.time() - age) * 1000))
    await visit.service.page_cache.put(page_key(caller.tenant_id, Url.parse(url)), page)


async def render(visit: Visit, secret: str, url: str = PAGE, **body: Any) -> httpx.Response:
    return await visit.client.post("/api/render", json={"url": url, **body}, headers=bearer(secret))


def policies_of(response: httpx.Response) -> list[str]:
    """Of which policies an answer speaks."""
    return re.findall(r'"([a-z-]+)";q=', response.headers["ratelimit-policy"])


def assert_over(response: httpx.Response, policy: str) -> None:
    document = assert_problem(response, "RATE_LIMITED")
    assert response.json()["details"]["policy"] == policy
    assert response.json()["details"]["reason"] == "limit_reached"
    assert response.headers["x-ratelimit-remaining"] == "0"
    assert int(response.headers["x-ratelimit-limit"]) == document["limit"]


@pytest.mark.parametrize(("tier", "limit"), [(Tier.FREE, 600), (Tier.PRO, 6_000), (Tier.ENTERPRISE, 60_000)])
async def test_decision3_hits_have_a_policy_by_tier_and_take_nothing_from_others(
    visit_on_each_hot: Visit, tier: Tier, limit: int
) -> None:
    visit = visit_on_each_hot
    secret = await visit.key(tier=tier)
    await keep(visit, secret)
    for _ in range(120):  # more than the role's policy would have allowed
        hit = await render(visit, secret)
        assert (hit.status_code, hit.headers["x-cache"]) == (200, "HIT")
    assert policies_of(hit) == [f"hits-{tier}"]
    assert hit.headers["x-ratelimit-limit"] == str(limit)
    assert hit.headers["x-ratelimit-remaining"] == str(limit - 120)
    missed = await render(visit, secret, "https://shop.example.com/other")
    assert (missed.status_code, policies_of(missed)) == (202, ["user", f"renders-{tier}"])
    assert '"user";r=99;' in missed.headers["ratelimit"]


async def test_who_has_no_work_left_is_served_from_the_cache_and_causes_none(
    visiting: Visiting, site: Site
) -> None:
    flags = {"egress_allow": "127.0.0.1/32", "egress_ports": "*", "limit_admin": "2/3600"}
    async with visiting(**flags) as visit:
        kept = {"url": site.url("/ok?kept"), "cache": True}

        async def fetch(**body: Any) -> httpx.Response:
            return await visit.client.post("/fetch", json=body, headers=AS_ADMIN)

        made = await fetch(**kept)
        assert (made.headers["x-cache-status"], policies_of(made)) == ("MISS", ["admin"])
        bypassing = await fetch(url=kept["url"])
        assert (bypassing.headers["x-cache-status"], bypassing.headers["x-ratelimit-remaining"]) == (
            "BYPASS",
            "0",
        )
        for _ in range(3):
            hit = await fetch(**kept)
            assert (hit.headers["x-cache-status"], policies_of(hit)) == ("HIT", ["hits-pro"])
            for work in ({"url": site.url("/ok?new"), "cache": True}, {"url": site.url("/ok?new")}):
                refused = await fetch(**work)
                assert_over(refused, "admin")
                assert policies_of(refused) == ["hits-pro", "admin"]
        searched = await visit.client.post("/search", json={"query": "silk rope"}, headers=AS_ADMIN)
        assert_over(searched, "admin")
        assert not site.seen("/ok?new")


async def test_only_what_the_cache_answers_is_a_hit(visiting: Visiting) -> None:
    async with visiting(limit_hits_pro="3/3600", limit_admin="6/3600") as visit:
        await keep(visit, ADMIN_KEY)
        for number in range(4):  # work is given back
            assert (await render(visit, ADMIN_KEY, f"https://shop.example.com/{number}")).status_code == 202
        for _ in range(2):  # and what makes no sense is no hit either
            bad = await render(visit, ADMIN_KEY, nonsense=1)
            assert (bad.status_code, policies_of(bad)) == (400, ["admin"])
        assert [(await render(visit, ADMIN_KEY)).status_code for _ in range(3)] == [200, 200, 200]
        assert_over(await render(visit, ADMIN_KEY), "hits-pro")


async def test_what_is_refused_as_work_stays_counted(visiting: Visiting) -> None:
    """Or the cache could be asked without end."""
    async with visiting(limit_hits_pro="5/3600", limit_admin="1/3600") as visit:
        answers = [await render(visit, ADMIN_KEY, f"https://shop.example.com/{n}") for n in range(8)]
        assert answers[0].status_code == 202
        assert [answer.json()["details"]["policy"] for answer in answers[1:]] == ["admin"] * 5 + [
            "hits-pro"
        ] * 2
        bad = await render(visit, ADMIN_KEY, nonsense=1)
        assert_over(bad, "hits-pro")


async def test_a_repeat_is_no_work(visiting: Visiting) -> None:
    async with visiting(limit_admin="1/3600") as visit:
        sent = {**AS_ADMIN, "Idempotency-Key": "0123456789abcdef"}
        answers = [await visit.client.post("/api/render", json={"url": PAGE}, headers=sent) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [202, 202, 202]
        assert [policies_of(answer) for answer in answers[1:]] == [["hits-pro"]] * 2


async def test_an_old_page_is_served_and_not_renewed_by_who_has_no_work_left(visiting: Visiting) -> None:
    async with visiting(limit_admin="1/3600") as visit:
        await keep(visit, ADMIN_KEY, age=100.0)
        assert (await render(visit, ADMIN_KEY, "https://shop.example.com/other")).status_code == 202
        old = await render(visit, ADMIN_KEY, maxAge=10, staleWhileRevalidate=1000)
        assert (old.status_code, old.headers["x-cache-stale"]) == (200, "true")
        async with asyncio.timeout(30):
            while not visit.logged("render_not_queued"):
                await asyncio.sleep(0.005)
        jobs = (await visit.client.get("/api/jobs", headers=AS_ADMIN)).json()["jobs"]
        assert len(jobs) == 1


@pytest.mark.parametrize("tier", list(Tier))
async def test_decision3_control_calls_have_a_policy_by_tier(visiting: Visiting, tier: Tier) -> None:
    async with visiting(limit_user="1/3600", **{f"limit_control_{tier}": "12/3600"}) as visit:
        sent = bearer(await visit.key(tier=tier))
        queued = await visit.client.post("/api/render", json={"url": PAGE}, headers=sent)
        job = queued.json()["jobId"]
        paths = [
            f"/api/status/{job}",
            f"/api/jobs/{job}",
            "/api/jobs",
            "/api/usage",
            "/api/me",
            "/api/crawls",
        ]
        for path in paths * 2:
            polled = await visit.client.get(path, headers=sent)
            assert (polled.status_code, policies_of(polled)) == (200, [f"control-{tier}"])
        for path in paths:
            assert_over(await visit.client.get(path, headers=sent), f"control-{tier}")
        assert_over(await visit.client.delete(f"/api/jobs/{job}", headers=sent), f"control-{tier}")
        assert_over(await visit.client.post("/audits", json={"url": PAGE}, headers=sent), "user")


def test_a_control_call_begins_no_work(visit: Visit) -> None:
    steering = {f"{route.method} {route.path}" for route in routes(visit.service) if route.control}
    assert steering == {
        "POST /api/alerts/{id}/acknowledge",
        "DELETE /api/jobs/{id}",
        "POST /api/crawls/{id}/pause",
        "POST /api/crawls/{id}/resume",
        "DELETE /api/crawls/{id}",
        "POST /api/admin/users/{id}",
        "POST /api/auth/logout",
        "POST /api/auth/password",
        "POST /api/usage/link",
        "POST /api/crawls/{id}/stop",
        "DELETE /audits/{id}",
        "DELETE /batch/fetch/{id}",
        "DELETE /api/admin/pages",
        "DELETE /api/admin/tenants/{id}",
        "POST /api/admin/archives/{id}/restore",
        "POST /api/admin/pages/replay",
        "DELETE /api/monitors/{id}",
        "DELETE /api/schedules/{id}",
        "DELETE /api/sites/{id}",
        "DELETE /api/sites/{id}/hook",
        "DELETE /api/webhooks/{id}",
        "DELETE /memory",
        "DELETE /memory/entries/{namespace}/{key*}",
        "DELETE /memory/namespaces/{namespace}",
        "GET /memory",
        "GET /memory/entries",
        "GET /memory/entries/{namespace}/{key*}",
        "GET /memory/export",
        "GET /memory/versions/{namespace}/{key*}",
        "PATCH /api/crawls/{id}",
        "PATCH /api/monitors/{id}",
        "PATCH /api/schedules/{id}",
        "PATCH /api/sites/{id}",
        "PATCH /api/webhooks/{id}",
        "POST /api/monitors/{id}/acknowledge",
        "POST /api/monitors/{id}/changes/{change}/acknowledge",
        "POST /api/monitors/{id}/snooze",
        "POST /api/schedules/preview",
        "POST /api/schedules/{id}/pause",
        "POST /api/schedules/{id}/resume",
        "POST /api/sites/{id}/hook",
        "POST /api/sites/{id}/reports",
        "PUT /api/sites/{id}/rules",
        "POST /api/webhooks/{id}/deliveries/{delivery}/retry",
        "POST /api/webhooks/{id}/retry",
        "POST /memory/entries",
        "POST /memory/entries/delete",
        "POST /memory/entries/get",
        "POST /memory/import",
        "PUT /memory/entries/{namespace}/{key*}",
    }
    assert not any(route.is_control for route in routes(visit.service) if route.peek is not None)


async def test_processes_share_hits_and_work_exactly(visiting: Visiting, own_valkey: Valkey) -> None:
    flags = {"redis_url": own_valkey.url, "limit_hits_pro": "40/3600", "limit_admin": "10/3600"}
    async with visiting(**flags) as one, visiting(**flags) as other:
        await keep(one, ADMIN_KEY)
        work = await asyncio.gather(
            *(
                render(visit, ADMIN_KEY, f"https://shop.example.com/{n}/{visit is one}")
                for visit in (one, other)
                for n in range(10)
            )
        )
        assert sorted(answer.status_code for answer in work) == [202] * 10 + [429] * 10
        hits = await asyncio.gather(*(render(visit, ADMIN_KEY) for visit in (one, other) for _ in range(30)))
        assert sorted(answer.status_code for answer in hits) == [200] * 30 + [429] * 30  # ten were refused


async def test_without_the_store_hits_and_work_are_limited_by_each_process(
    visiting: Visiting, own_valkey: Valkey
) -> None:
    flags = {"redis_url": own_valkey.url, "limit_hits_pro": "4/3600", "limit_admin": "1/3600"}
    async with visiting(**flags) as visit:
        await keep(visit, ADMIN_KEY)
        own_valkey.kill()
        statuses = [(await render(visit, ADMIN_KEY, "https://shop.example.com/1")).status_code]
        statuses += [(await render(visit, ADMIN_KEY)).status_code for _ in range(5)]
        assert statuses == [202, 200, 200, 200, 200, 429]


class Model:
    """What the policies allow, in the plainest way there is."""

    def __init__(self, **limits: int) -> None:
        self.limits = limits
        self.counted: dict[str, list[float]] = {name: [] for name in limits}

    def has_room(self, policy: str, now: float) -> bool:
        inside = [moment for moment in self.counted[policy] if moment > now - 60]
        return len(inside) < self.limits[policy]

    def expected(self, kind: str, now: float) -> tuple[int, str]:
        """The status, and the policy that it is counted under or refused by."""
        gate = "control-pro" if kind == "control" else "hits-pro"
        if not self.has_room(gate, now):
            return 429, gate
        if kind in ("hit", "control"):
            return self._count(200, gate, now)
        if self.has_room("admin", now):
            return self._count(202 if kind == "work" else 400, "admin", now)
        self._count(0, gate, now)
        return (429, "admin") if kind == "work" else (400, "admin")

    def _count(self, status: int, policy: str, now: float) -> tuple[int, str]:
        self.counted[policy].append(now)
        return status, policy


@pytest.mark.parametrize("seed", range(3))
async def test_each_policy_allows_exactly_its_limit_in_any_window(visiting: Visiting, seed: int) -> None:
    flags = {"limit_hits_pro": "9/60", "limit_admin": "4/60", "limit_control_pro": "6/60"}
    model, random = Model(**{"hits-pro": 9, "admin": 4, "control-pro": 6}), Random(seed)
    async with visiting(**flags) as visit:
        await keep(visit, ADMIN_KEY)
        now = time.time()
        hot = visit.service.hot
        assert isinstance(hot, MemoryHot)
        hot._clock = lambda: now
        for number in range(250):
            now += random.choice((0.0, 0.0, 0.5, 1.0, 4.0, 20.0))
            kind = random.choice(("hit", "hit", "hit", "work", "bad", "control"))
            answer = await send(visit, kind, number)
            status, policy = model.expected(kind, now)
            assert (answer.status_code, policy in policies_of(answer)) == (status, True), (number, kind)
            if status == 429:
                assert_over(answer, policy)


async def send(visit: Visit, kind: str, number: int) -> httpx.Response:
    match kind:
        case "control":
            return await visit.client.get("/api/me", headers=AS_ADMIN)
        case "work":
            return await render(visit, ADMIN_KEY, f"https://shop.example.com/{number}")
        case "bad":
            return await render(visit, ADMIN_KEY, nonsense=number)
        case _:
            return await render(visit, ADMIN_KEY)


async def test_a_refusal_says_which_policy_and_what_helps(visiting: Visiting) -> None:
    more = "https://gossamer.example/pricing"
    limits = {"limit_user": "1/3600", "limit_hits_free": "3/3600", "limit_control_free": "1/3600"}
    async with visiting(upgrade_url=more, **limits) as visit:
        secret = await visit.key(tier=Tier.FREE)
        await keep(visit, secret)
        sent = bearer(secret)
        said = {}
        for number in range(5):
            refused = await render(visit, secret, f"https://shop.example.com/{number}")
            said[refused.json().get("details", {}).get("policy")] = refused.json()
        for _ in range(2):
            polled = await visit.client.get("/api/me", headers=sent)
        said["control-free"] = polled.json()
    expected = {"user": "`cache`", "hits-free": "higher tier", "control-free": "events"}
    for policy, advice in expected.items():
        document = said[policy]
        assert advice in document["hint"]
        assert document["details"]["setting"] == f"GOSSAMER_LIMIT_{policy.replace('-', '_').upper()}"
        assert document["details"]["setting"] in document["hint"]
        assert document["upgradeUrl"] == more
        assert f"policy '{policy}'" in document["detail"]


async def test_the_usage_lists_the_callers_policies_and_what_is_left(visit_on_each_hot: Visit) -> None:
    visit = visit_on_each_hot
    secret = await visit.key(tier=Tier.FREE)
    await keep(visit, secret)
    await render(visit, secret)
    await render(visit, secret, "https://shop.example.com/other")
    shown = (await visit.client.get("/api/usage", headers=bearer(secret))).json()["limits"]
    assert [(one["policy"], one["limit"], one["remaining"], one["window"]) for one in shown] == [
        ("hits-free", 600, 599, 60),
        ("control-free", 1_200, 1_199, 60),
        ("user", 100, 99, 60),
        ("renders-free", 100, 99, 86_400),
    ]
    tenant = (await visit.client.get("/api/me", headers=bearer(secret))).json()["tenantId"]
    others = await visit.client.get("/api/usage", params={"tenant": tenant}, headers=AS_ADMIN)
    assert "limits" not in others.json()
