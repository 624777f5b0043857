"""Who may read /metrics: a token, an admin, or this machine if no proxy is in front."""

import pytest
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.services import AS_ADMIN, Visiting, bearer

from gossamer.state.tenants.tenants import Role

TOKEN = "a-token-for-prometheus"
LOCAL_URL = "http://127.0.0.1:8080"


async def test_a_token_or_an_admin_may_read_from_anywhere(visiting: Visiting) -> None:
    async with visiting(metrics_token=TOKEN) as visit, visit.client_from("203.0.113.9") as client:
        assert (await client.get("/metrics", headers=bearer(TOKEN))).status_code == 200
        assert (await client.get("/metrics", headers=AS_ADMIN)).status_code == 200
        user = bearer(await visit.key(Role.USER))
        assert_problem(await client.get("/metrics", headers=user), "FORBIDDEN")
        for headers in ({}, bearer("another-token"), bearer("")):
            assert_problem(await client.get("/metrics", headers=headers), "UNAUTHORIZED")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1"])
async def test_this_machine_may_read(visiting: Visiting, address: str) -> None:
    async with visiting(public_url=LOCAL_URL) as visit, visit.client_from(address) as client:
        assert (await client.get("/metrics")).status_code == 200


@pytest.mark.parametrize(
    ("settings", "headers"),
    [
        ({"public_url": LOCAL_URL}, {"X-Forwarded-For": "203.0.113.9"}),
        ({"public_url": LOCAL_URL}, {"X-Forwarded-For": "127.0.0.1"}),
        ({"public_url": LOCAL_URL}, {"Forwarded": "for=203.0.113.9"}),
        ({"public_url": LOCAL_URL}, {"Via": "1.1 proxy"}),
        ({"trusted_proxies": "127.0.0.0/8"}, {"X-Forwarded-For": "203.0.113.9"}),
        ({"trusted_proxies": "127.0.0.0/8"}, {"X-Forwarded-For": "127.0.0.1"}),
        ({"trusted_proxies": "*"}, {"X-Forwarded-For": "127.0.0.1"}),
        ({}, {}),  # https: there is a proxy, which may add no header
    ],
)
async def test_a_proxy_on_this_machine_is_not_this_machine(
    visiting: Visiting, settings: dict[str, str], headers: dict[str, str]
) -> None:
    async with visiting(**settings) as visit:
        assert (await visit.client.get("/metrics", headers=headers)).status_code == 401


async def test_a_named_proxy_leaves_this_machine_its_way(visiting: Visiting) -> None:
    async with visiting(trusted_proxies="127.0.0.0/8") as visit:
        assert (await visit.client.get("/metrics")).status_code == 200
        async with visit.client_from("203.0.113.9") as client:
            assert_problem(await client.get("/metrics"), "UNAUTHORIZED")


async def test_a_scrape_shows_the_state_of_everything(visiting: Visiting) -> None:
    async with visiting(egress_allow="127.0.0.0/8", egress_ports="*") as visit:
        body = {"url": "http://127.0.0.1:9/", "cache": True}
        await visit.client.post("/fetch/basic", json=body, headers=AS_ADMIN)
        text = (await visit.client.get("/metrics", headers=AS_ADMIN)).text
    for line in (
        'gossamer_fetches_total{outcome="connection_refused"} 1.0',
        'gossamer_answer_cache_total{endpoint="fetch",result="miss"} 1.0',
        'gossamer_breaker_state{breaker="database"} 0.0',
        'gossamer_breaker_state{breaker="search.index"} 0.0',
        'gossamer_repairs_waiting{what="pages"} 0.0',
        "gossamer_index_waiting_batches 0.0",
        "gossamer_silent_workers 0.0",
        'gossamer_alerts{rule="disk_low",severity="critical"} 0.0',
        "crawler_frontier_size 0.0",
    ):
        assert line in text
    for name in (
        'gossamer_database_wait_seconds_count{pool="read"}',
        'gossamer_disk_free_bytes{folder="data"}',
        "gossamer_event_loop_lag_seconds_count",
        "process_open_fds",
    ):
        assert name in text
