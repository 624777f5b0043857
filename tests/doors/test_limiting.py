"""Rate limits at the HTTP door: who is counted, and what every answer says about it."""

import asyncio
import re
import time

import pytest

from gossamer.settings import Settings
from gossamer.state.tenants import Role
from tests.doors.houses import AS_ADMIN, Visit, Visiting, bearer
from tests.doors.test_problems import assert_problem
from tests.servers.valkey import Valkey

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
        ("GET", "/metrics", 200),
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
    async with visiting(limit_anonymous_read="2/60") as visit:
        statuses = []
        for host in ("2001:db8::1", "2001:db8::2", "2001:db8::ffff", "2001:db8:0:1::1"):
            async with visit.client_from(host) as client:
                statuses.append((await client.get("/test/client")).status_code)
        assert statuses == [200, 200, 429, 200]


async def test_decision3_each_role_has_its_policy(visiting: Visiting) -> None:
    async with visiting(limit_user="100/60", limit_admin="500/60", limit_anonymous_read="10/60") as visit:
        as_user = await visit.client.get("/test/user", headers=bearer(await visit.key(Role.USER)))
        as_admin = await visit.client.get("/test/user", headers=AS_ADMIN)
        as_nobody = await visit.client.get("/test/client")
        assert [r.headers["x-ratelimit-limit"] for r in (as_user, as_admin, as_nobody)] == [
            "100",
            "500",
            "10",
        ]


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
    async with visiting(limit_anonymous_read="2/60") as visit:
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
